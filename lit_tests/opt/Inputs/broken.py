"""A file that cannot be imported."""

from jxc import rule  # noqa: F401

value = undefined_name + 1  # noqa: F821
