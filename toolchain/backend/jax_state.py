"""What private names of jax say of its state and its executables, for other rooms."""

from ._private import (
    config_values,
    has_same_signature,
    hlo_text,
    is_outermost_trace,
    memory_of,
    own_process_id,
    placed_like,
    trace_context,
)

__all__ = [
    "config_values",
    "has_same_signature",
    "hlo_text",
    "is_outermost_trace",
    "memory_of",
    "own_process_id",
    "placed_like",
    "trace_context",
]
