"""Cost conditions of the pass `loops`: when work is faster outside of a loop, and fits in memory.

CPU: measured with XLA:CPU of jaxlib 0.10.2 on two x86 cores with AVX-512, f32: LSTMs, GRUs and
plain recurrent networks, 1 to 512 sequences, 4 to 512 inputs, 16 to 512 units; both programs ran
alternately in one process, the ratios are of medians. GPU: the rooflines of the kernels that XLA
makes for an H100. TPU: the cycles that the compiler estimates for a v5e. Neither was run.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.device import Device
from jxc.cost.flops import bytes_of
from jxc.ir.values import shape_of
from jxc.rewrite import PassContext

from .counted import CountedLoop
from .cuts import Cuts, Output, Sum

FREE_BYTES = 64 * 2**20
"""Rows of up to this many bytes may be kept in memory, whatever else the loop holds."""

LEAST_TERMS = 0.25
"""The least number of terms that a product before a loop sums, for each column.

With 1/4, an LSTM gained 1.0 to 1.5 on CPU, a GRU 1.0 to 1.55, `tanh(x @ w + h @ u)` 1.1 to 1.8;
with 1/16 they had 0.84, 0.89 and 1.0 to 1.2. H100: 1.05 to 1.5.
"""


def rows_fit(loop: CountedLoop, stored: Iterable[ir.Value], share: float = 1.0) -> bool:
    """Whether rows of `stored` take at most `FREE_BYTES`, or a share of what the loop holds."""
    needed = loop.trips * sum(bytes_of(value.type) for value in stored)
    if needed <= FREE_BYTES:
        return True
    rows = {row.tensor for value in loop.position if (row := loop.row_of(value)) is not None}
    return needed <= share * sum(bytes_of(value.type) for value in (*rows, *loop.op.results))


def product_before_pays(
    loop: CountedLoop, op: hlo.DotGeneralOp, shared: ir.Value, context: PassContext
) -> bool:
    """Whether a product of rows and a loop-invariant factor is faster before the loop."""
    terms = _summed(op)
    dims = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
    batch = prod(shape_of(op.lhs)[dim] for dim in dims.lhs_batching_dimensions)
    columns = prod(shape_of(shared)) / max(terms * batch, 1)
    if context.target == "cpu" and prod(shape_of(op.result)) > CPU_ROWS * columns * batch:
        return False
    return terms >= LEAST_TERMS * columns and rows_fit(loop, [op.result])


CPU_ROWS = 64
"""The most rows of an iteration in a product that moves before a loop, on CPU.

`tanh(x @ w + h @ u)` of 64 units and 32 inputs gained 1.07 with 64 rows, and had 0.85 with 256.
"""

MOST_TERMS = {"cpu": 16, "gpu": inf, "tpu": 16}
"""The most terms that each device sums in a product of one iteration, to move it after the loop.

The numbers are speedups; "peak" is the peak memory in multiples of the original.
CPU: training of recurrent networks gained 1.05 to 1.9 with 1 to 16 sequences. With 32 it had 0.92
(a GRU of equinox) to 1.35, with 64 0.84 to 0.91, with 256 0.6 to 0.9: XLA transposes the rows.
TPU: LSTMs of 128 to 1024 units, also unrolled, gained 1.04 to 1.54 with 2 to 16 sequences, with one
exception of 0.88. With 32 to 256 sequences they had 0.83 to 1.02, and a peak of up to 1.4.
"""

SUM_SHARE = {"cpu": 1.0, "gpu": 1 / 3, "tpu": 1.0}
"""The most bytes of rows written for sums, per byte that the loop holds; see `rows_fit`.

GPU: LSTMs of 256 to 1024 units and 32 to 1024 sequences write 0.3; their peak memory was 1.21 times
larger for an estimated speedup of 1.11 to 1.51. GRUs write 0.5 to 0.6; their peak was 1.38 to 1.45
times larger for a speedup of 1.06 to 1.2.
"""

SUM_BYTES = {"cpu": 1.0, "gpu": 4.0, "tpu": 1.0}
"""The most bytes that are written for a sum in each iteration, for each byte of the sum."""


def worthwhile_sums(cuts: Cuts, context: PassContext) -> list[Sum]:
    """The sums of products that are faster after the loop, largest first.

    On TPU only if there are two products for each written value: LSTMs gained 1.08 to 1.18, while
    GRUs, which write rows for each product, had 0.73 and 0.77.
    """
    chosen: list[Sum] = []
    stored: frozenset[ir.Value] = frozenset()
    for target in sorted(cuts.sums, key=lambda each: -_size(cuts, each)):
        cut = cuts.of_sum(target)
        if cut is None or _terms(target, context) > MOST_TERMS[context.target]:
            continue
        new = sum(bytes_of(value.type) for value in cut.stacks - stored)
        if new <= SUM_BYTES[context.target] * _size(cuts, target):
            chosen.append(target)
            stored |= cut.stacks
    if not chosen or not rows_fit(cuts.loop, stored, SUM_SHARE[context.target]):
        return []
    products = sum(term.is_product for each in chosen for term in each.terms)
    if context.target == "tpu" and products < 2 * len(stored):
        return []
    if context.target == "gpu" and not _saves_on_gpu(cuts, chosen, len(stored), context.device):
        return []
    return chosen


def _size(cuts: Cuts, target: Sum) -> int:
    return bytes_of(cuts.loop.op.results[target.carry].type)


def _terms(target: Sum, context: PassContext) -> int:
    products = (term.core.owner for term in target.terms if term.is_product)
    return max(_summed(each) // _parts(each, context) for each in products)


def _parts(op: hlo.DotGeneralOp, context: PassContext) -> int:
    """The number of parts into which the terms of a product are split over devices."""
    dims = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
    return prod(context.parts(op.lhs, dim) for dim in dims.lhs_contracting_dimensions)


def _saves_on_gpu(cuts: Cuts, chosen: list[Sum], stored: int, device: Device) -> bool:
    """Whether the time of the kernels and of the traffic that the loop loses is not negative.

    XLA adds the outer products of all weights in one kernel, and other products in one kernel each.
    """
    terms = [term.core.owner for each in chosen for term in each.terms if term.is_product]
    outer = [each for each in terms if _summed(each) == 1]
    kernels = len(terms) - len(outer) + bool(outer) - stored
    saved = sum(2 * _size(cuts, each) for each in chosen) / device.bandwidth
    return kernels * device.launch_seconds + saved >= 0


def _summed(op: hlo.DotGeneralOp) -> int:
    """The number of terms of each element of a product."""
    dims = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
    return prod(shape_of(op.lhs)[dim] for dim in dims.lhs_contracting_dimensions)


def worthwhile_outputs(cuts: Cuts) -> list[Output]:
    """The outputs whose products are faster after the loop.

    On GPU this saves a kernel in each iteration: 1.04 to 1.2. CPU had 0.82 to 1.17.
    """
    return [
        each
        for each in cuts.outputs
        if sum(bytes_of(value.type) for value in cuts.of(each.value).stacks)
        <= 4 * bytes_of(each.value.type)
        and rows_fit(cuts.loop, cuts.of(each.value).stacks)
    ]
