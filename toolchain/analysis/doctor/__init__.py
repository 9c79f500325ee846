"""A linter of programs: what costs, at which line, and what to do about it."""
