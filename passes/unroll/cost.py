"""Cost conditions of the pass `unroll`: by how much to unroll a loop.

Estimated by the compiler for TPU v5e and by the roofline for H100, jaxlib 0.10.2, on 23 loops of 20
to 1000 iterations: recurrent cells and their gradients, hidden Markov models, ODE steps, samplers,
conjugate gradients, k-means, stencils. Ratios above 1 mean that the unrolled loop is faster.

    GPU: two iterations 1.1 to 2.0, four 1.15 to 4.0, eight 0 to 20% more than four. XLA compiled
        0.7 to 2.4 times as long with two, 0.6 to 3.5 with four.
    TPU: two iterations 1.1 to 2.0, four 1.2 to 3.8; stencils and other bodies that shift elements
        1.0. XLA compiled 0.7 to 1.5 times as long with two, 0.7 to 1.8 with four.

Validated on other loops of 24 to 500 iterations: gated and spiking cells, state spaces, fields,
filters, n-body systems, shortest paths, pricing models, solvers, decoders with caches, many with
their gradients. 28 on TPU: 0.98 to 3.5, 1.4 at the median; 6 did not change. 31 on GPU: 1.09 to
4.0, 1.33 at the median. XLA compiled 0.6 to 2.7 times as long, at the median 1.3 and 1.6.

Not for CPU: 0.4 to 1.8 with elementwise bodies, 0.7 to 1.2 with others, in no order of size.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.flops import bytes_of, cost_of
from jxc.ir.elementwise import is_elementwise
from jxc.ir.values import shape_of
from jxc.rewrite import PassContext

from ..loops.counted import CountedLoop

_RENAMING = (hlo.ConstantOp, hlo.ReshapeOp)
_SHIFTING = (hlo.ConcatenateOp, hlo.PadOp, hlo.ReverseOp, hlo.SliceOp)
_FUSED = (
    *(hlo.BroadcastInDimOp, hlo.IotaOp, hlo.TransposeOp, hlo.ReduceOp, hlo.DotGeneralOp),
    *(hlo.DynamicSliceOp, hlo.DynamicUpdateSliceOp, *_SHIFTING, *_RENAMING),
)

FEW_OPS = {"gpu": 24, "tpu": 48}
"""The most ops of a body, apart from constants and reshapes, that is copied four times."""

MOST_OPS = 64
"""The most ops of a body that is copied twice."""

MOST_FLOPS = 1 << 26
"""The most flops of an iteration: with more, launches are a small part of its time."""

MOST_BYTES = 1 << 22
"""The most bytes of a value of the body, for the same reason."""

MOST_WRITTEN = 1 << 23
"""The most bytes of all tensors of which a body writes a part, on TPU.

XLA copies some of them in on-chip memory in each iteration of an unrolled loop. With up to 6 MB the
loops were faster nevertheless. On GPU it copies none: loops that write 26 MB gained as much as
others.
"""


LEAST_SUMMED = 128
"""Loops with a product that sums this many rows or more on each device stay as they are, on TPU.

If they are unrolled, XLA transposes whole tensors of which the body reads rows, in each iteration.
Gradients of LSTMs of 64 to 128 units ran at 0.08 to 0.86 of the speed with 128 and 200 sequences,
and took up to 50 times as much memory at the peak. With 16 to 96 sequences they ran 1.2 to 1.4
times faster. Gradients of GRUs would run 1.3 times faster with 128.
"""


def copies(loop: CountedLoop, context: PassContext) -> int:
    """The number of iterations of a loop to do in one; 1 to leave the loop alone."""
    if not all(is_elementwise(op) or isinstance(op, _FUSED) for op in loop.ops):
        return 1
    if context.target == "tpu" and any(_sums_rows(op, loop, context) for op in loop.ops):
        return 1
    most, trips = _most(context.target, loop), loop.trips
    return max(
        (n for n in range(2, most + 1) if n + trips % n <= most + 1 and n <= trips), default=1
    )


def _sums_rows(op: ir.OpView, loop: CountedLoop, context: PassContext) -> bool:
    """Whether an op is a product of two values of the body that sums over many rows."""
    match op:
        case hlo.DotGeneralOp(lhs=x, rhs=y) if not (loop.is_outside(x) or loop.is_outside(y)):
            dims = list(
                hlo.DotDimensionNumbers(op.dot_dimension_numbers).lhs_contracting_dimensions
            )
            rows = shape_of(x)[0] if 0 in dims else 0
            return rows >= LEAST_SUMMED and rows // context.parts(x, 0) >= LEAST_SUMMED
    return False


def _most(target: str, loop: CountedLoop) -> int:
    ops = loop.ops
    work, shifts = _work(ops), any(_shifts(op, loop) for op in ops)
    if target not in FEW_OPS or work > MOST_OPS or not _is_small(ops):
        return 1
    if target == "tpu" and _written(ops) > MOST_WRITTEN:
        return 1
    if shifts and target == "tpu" and not any(isinstance(op, hlo.DotGeneralOp) for op in ops):
        return 1
    # On GPU, one kernel of four iterations would compute the neighbours of each element repeatedly.
    return 4 if work <= FEW_OPS[target] and not (shifts and target == "gpu") else 2


def _shifts(op: ir.OpView, loop: CountedLoop) -> bool:
    """Whether an op can be fused and reads elements at other positions than its own."""
    if isinstance(op, hlo.DynamicSliceOp):
        return not loop.is_outside(op.operand)
    return isinstance(op, _SHIFTING)


def _work(ops: Sequence[ir.OpView]) -> int:
    return sum(not isinstance(op, _RENAMING) for op in ops)


def _written(ops: Sequence[ir.OpView]) -> int:
    return sum(bytes_of(op.result.type) for op in ops if isinstance(op, hlo.DynamicUpdateSliceOp))


def _is_small(ops: Sequence[ir.OpView]) -> bool:
    """Whether the launches of an iteration take a large part of its time."""
    made = (op.results[0] for op in ops if not isinstance(op, hlo.DynamicUpdateSliceOp))
    if any(bytes_of(value.type) > MOST_BYTES for value in made):
        return False
    return sum(cost.flops or 0 for op in ops if (cost := cost_of(op)) is not None) <= MOST_FLOPS
