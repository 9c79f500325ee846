"""Cost conditions of the pass `collectives`, from optimized HLO and the data of devices."""

from __future__ import annotations

from collections.abc import Iterable

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.flops import bytes_of
from jxc.rewrite import PassContext

SMALL_ROW = 2**16
"""Rows of at most this many bytes are reduced after a loop, all at once.

The bytes that are sent stay the same, and the latency is paid once. At 64 KiB the transfer takes as
long as the latency: on the links of a v5e (45 GB/s) about 1 us. The reductions of larger rows, such
as the gradients of a layer, can overlap with the computation of the loop.
"""

SMALL_RESULTS = 2**20
"""Collectives move before a loop if their results take at most this many bytes: they stay live.

XLA leaves gathers in loops on purpose: the gathered weights of all layers might not fit.
"""


def is_small_row(value: ir.Value) -> bool:
    """Whether a row of a loop's output is reduced faster together with all others."""
    return bytes_of(value.type) <= SMALL_ROW


def is_left_in_loop(op: hlo.AllReduceOp | hlo.AllGatherOp, context: PassContext) -> bool:
    """Whether XLA itself leaves a collective of a loop-invariant value in a loop.

    The optimized HLO of a loop of 8 iterations has 8 all-gathers for a v5e and an H100, and 8
    all-reduces for an H100; XLA:CPU moves both out, XLA:TPU the all-reduce.
    """
    return context.target == "gpu" or isinstance(op, hlo.AllGatherOp)


def results_are_small(ops: Iterable[hlo.AllReduceOp | hlo.AllGatherOp]) -> bool:
    """Whether the results of collectives are small enough to be held throughout a loop."""
    return sum(bytes_of(op.results[0].type) for op in ops) <= SMALL_RESULTS
