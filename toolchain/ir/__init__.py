"""Modules and values: contexts, reading, writing, questions, builders. Never imports jax."""

from __future__ import annotations

from .context import make_context, register_native_passes
from .io import (
    ModuleSyntaxError,
    format_diagnostics,
    format_location,
    read_module,
    write_bytecode,
    write_portable,
    write_text,
)
from .module import argument_names, clone_module, count_ops, functions, has_regions, op_names, walk

__all__ = [
    "ModuleSyntaxError",
    "argument_names",
    "clone_module",
    "count_ops",
    "format_diagnostics",
    "format_location",
    "functions",
    "has_regions",
    "make_context",
    "op_names",
    "read_module",
    "register_native_passes",
    "walk",
    "write_bytecode",
    "write_portable",
    "write_text",
]
