"""Gradients of weights: what is computed element by element is stored before it is transposed."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import DotGeneralOp

from jxc.ir import build
from jxc.ir.materialize import materialize
from jxc.ir.values import element_type, static_shape
from jxc.passes._shared.elementwise import is_elementwise
from jxc.passes.reductions import cost as cost
from jxc.rewrite import exact, rule


@rule(exact, targets=("cpu",))
def dot_over_rows_to_materialized(op: DotGeneralOp) -> ir.Value | None:
    """dot_general(f(x), y) -> dot_general(stored(f(x)), y), summed over several leading dimensions.

    As gradients of weights are. XLA transposes such operands and computes f on the way, in the
    order of the transpose, one element at a time.
    """
    numbers = stablehlo.DotDimensionNumbers(op.dot_dimension_numbers)
    if numbers.lhs_batching_dimensions:
        return None
    dims = (numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions)
    values = (op.lhs, op.rhs)
    better = [_is_better_stored(x, list(over)) for x, over in zip(values, dims, strict=True)]
    if not any(better):
        return None
    lhs, rhs = (
        materialize(x) if is_better else x for x, is_better in zip(values, better, strict=True)
    )
    return build.dot_like(op, lhs, rhs)


def _is_better_stored(x: ir.Value, over: Sequence[int]) -> bool:
    """Whether `x` is computed element by element, and XLA would transpose it to sum over `over`."""
    shape = static_shape(x)
    if shape is None or not is_elementwise(x.owner) or not isinstance(element_type(x), ir.F32Type):
        return False
    return cost.transposing_stored_pays(shape, over) and _is_long(x)


def _is_long(x: ir.Value) -> bool:
    """Whether at least a few elementwise ops, all of them in one kernel, compute `x`."""
    pending, found = [x], 0
    while pending and found < cost.LEAST_WORK:
        owner = pending.pop().owner
        if not isinstance(owner, ir.Block) and is_elementwise(owner):
            found += 1
            pending += owner.operands
    return found >= cost.LEAST_WORK
