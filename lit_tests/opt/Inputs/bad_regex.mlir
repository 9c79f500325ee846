// expected-error-re {{{{[a-z}}}}
