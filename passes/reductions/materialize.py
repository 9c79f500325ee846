"""Sums over all coordinates of many points: what is summed up is stored first."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import DotGeneralOp, ReduceOp, ReshapeOp

from jxc.ir import build
from jxc.ir.materialize import materialize
from jxc.ir.values import element_type, shape_of, splat_attr, static_shape
from jxc.passes._shared.elementwise import is_elementwise
from jxc.passes._shared.reduce_body import combiner_of, with_body_of
from jxc.passes.reductions import cost as cost
from jxc.rewrite import exact, rule

_LOOKED_AT = 8  # ops before the sum


@rule(exact, targets=("cpu",))
def sum_of_narrow_to_materialized(op: ReduceOp) -> ir.OpView | None:
    """reduce(f(x), 0) -> reduce(stored(f(x)), 0), over all dimensions of [n, 3], for f of scalars.

    XLA makes one kernel of both, which takes up the scalars for each point.
    """
    if len(op.inputs) != 1 or combiner_of(op) != "add":
        return None
    x = op.inputs[0]
    if len(op.dimensions) < 2 or shape_of(op.results[0]) or not _materializing_pays(x):
        return None
    return with_body_of(op, [materialize(x)], op.init_values, list(op.dimensions))


@rule(exact, targets=("cpu",), producer=ReshapeOp)
def dot_of_narrow_to_materialized(op: DotGeneralOp) -> ir.Value | None:
    """dot_general(x, x) -> dot_general(stored(x), stored(x)), x being f(y: [n, 3]) as one row.

    XLA makes a sum of it, and one kernel of the sum and f. `jnp.vdot` is written so.
    """
    x = op.lhs
    if x != op.rhs or shape_of(op.result) or not isinstance(x.owner, ReshapeOp):
        return None
    points = x.owner.operand
    if not _materializing_pays(points):
        return None
    row = build.reshape(materialize(points), shape_of(x))
    return build.dot_like(op, row, row)


def _materializing_pays(value: ir.Value) -> bool:
    """Whether floats of few columns are computed, from a number among others."""
    shape = static_shape(value)
    if shape is None or not cost.storing_pays(shape):
        return False
    return isinstance(element_type(value), ir.F32Type) and _takes_scalar(value)


def _takes_scalar(value: ir.Value) -> bool:
    """Whether one of the elementwise ops that `value` comes from repeats one number."""
    pending = [value]
    for _ in range(_LOOKED_AT):
        if not pending:
            return False
        owner = pending.pop().owner
        if isinstance(owner, ir.Block) or not is_elementwise(owner):
            continue
        if any(splat_attr(each) is not None for each in owner.operands):
            return True
        pending += owner.operands
    return False


# Gradients of weights: what is computed element by element is stored before it is transposed.


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
    better = [_transposing_pays(x, list(over)) for x, over in zip(values, dims, strict=True)]
    if not any(better):
        return None
    lhs, rhs = (
        materialize(x) if is_better else x for x, is_better in zip(values, better, strict=True)
    )
    return build.dot_like(op, lhs, rhs)


def _transposing_pays(x: ir.Value, over: Sequence[int]) -> bool:
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
