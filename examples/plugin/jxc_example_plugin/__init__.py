"""Passes for jxc. The entry points in pyproject.toml name the modules of this package."""
