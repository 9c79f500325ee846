"""A file with no rule in it."""

answer = 42
