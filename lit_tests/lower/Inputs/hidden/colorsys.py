"""Hides the module of the same name in the standard library."""
