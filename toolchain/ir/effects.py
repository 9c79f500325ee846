"""Which ops do something besides computing their results: communicate, call, draw at random."""

from __future__ import annotations

from jaxlib.mlir import ir

_PURE_DIALECTS = ("stablehlo.", "chlo.")

NOTICED = frozenset(f"stablehlo.{name}" for name in ("infeed", "outfeed", "send", "recv"))
"""The ops, custom calls apart, that somebody outside the program notices."""

_ACTING = NOTICED | frozenset(
    f"stablehlo.{name}"
    for name in (
        *("after_all", "async_done", "async_start", "composite", "create_token"),
        *("all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_permute"),
        *("cross_replica_sum", "optimization_barrier", "partition_id", "reduce_scatter"),
        *("replica_id", "rng"),
    )
)


def is_pure(op: ir.OpView) -> bool:
    """Whether `op` itself, what is in its regions left out, only computes its results.

    Said of ops of StableHLO and CHLO only: calls, and ops of other dialects, may do anything. So
    may composites and what runs asynchronously; devices meet in collectives.
    """
    name = op.operation.name
    return name.startswith(_PURE_DIALECTS) and name not in _ACTING and not has_side_effect(op)


def has_side_effect(op: ir.OpView) -> bool:
    """Whether somebody outside the program notices `op` itself: a transfer, or a call marked so."""
    if op.operation.name != "stablehlo.custom_call":
        return op.operation.name in NOTICED
    return "has_side_effect" in op.attributes and bool(op.attributes["has_side_effect"].value)
