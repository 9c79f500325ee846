"""What a running program made JAX trace, lower and compile, and why it did so again."""

from __future__ import annotations

SCHEMA_VERSION = 1
"""Of the object that `jxc explain --json` writes."""
