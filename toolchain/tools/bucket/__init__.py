"""Few compiled programs for arrays of many lengths, if padding provably keeps the results."""
