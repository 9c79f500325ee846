"""The checks: a file for each family. A function decorated in a file here is a check."""
