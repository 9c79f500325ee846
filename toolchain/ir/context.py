"""The MLIR context that modules live in when JAX did not make them."""

from __future__ import annotations

from functools import cache

from jaxlib.mlir import ir

from . import _private


def make_context(*, allow_unregistered_dialects: bool = False) -> ir.Context:
    """A new context with every dialect that a lowered JAX program may hold."""
    registry = ir.DialectRegistry()
    _private.register_jax_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    _private.register_hlo_dialects(context)
    context.allow_unregistered_dialects = allow_unregistered_dialects
    return context


@cache
def register_native_passes() -> None:
    """Make StableHLO's and MHLO's passes known to MLIR's parser of pipelines, once a process."""
    _private.register_native_passes()
