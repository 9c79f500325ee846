"""Compiling in this process past every cache: for what the caches' keys know nothing of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jaxlib.mlir import ir

from ...ir import clone_module
from .. import _private
from ..lowered import Executable, Lowered


def compile_here(
    lowered: Lowered, module: ir.Module, xla_options: Mapping[str, Any] | None = None
) -> Executable:
    """Compile `module`, which is called as `lowered` is, for the devices that that was lowered for.

    JAX's persistent cache is neither asked nor written, and its cache in memory knows no copy.
    """
    copy = clone_module(module)
    carrying = _private.with_module(lowered.jax_lowered, copy)
    with _private.compiled_by(copy, lambda plain: plain()):
        return Executable(carrying.compile(dict(xla_options or {}) or None), lowered)
