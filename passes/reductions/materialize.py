"""Operands of sums that are materialized first, so that XLA does not fuse their computation."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.elementwise import is_elementwise
from jxc.ir.materialize import materialize
from jxc.ir.values import element_type, shape_of, splat_attr, static_shape
from jxc.rewrite import exact, rule

from .._shared.reduce_body import combiner_of, with_body_of
from . import cost

_MOST_VISITED = 8  # ops before the sum


@rule(exact, targets=("cpu",))
def sum_of_narrow_to_materialized(op: hlo.ReduceOp) -> ir.OpView | None:
    """reduce(f(x), 0) -> reduce(materialize(f(x)), 0), over all of an [n, 2] to [n, 8] tensor.

    If f includes a constant: XLA's kernel of both loads it for each row.
    """
    if len(op.inputs) != 1 or combiner_of(op) != "add":
        return None
    x = op.inputs[0]
    if len(op.dimensions) < 2 or shape_of(op.results[0]) or not _materializing_pays(x):
        return None
    return with_body_of(op, [materialize(x)], op.init_values, list(op.dimensions))


@rule(exact, targets=("cpu",), producer=hlo.ReshapeOp)
def dot_of_narrow_to_materialized(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(x, x) -> dot_general(materialize(x), materialize(x)), for x = reshape(f(y)).

    f(y) is [n, 2] to [n, 8], reshaped into one row. XLA turns the dot into a sum and fuses f with
    it. `jnp.vdot` is written so.
    """
    x = op.lhs
    if x != op.rhs or shape_of(op.result) or not isinstance(x.owner, hlo.ReshapeOp):
        return None
    points = x.owner.operand
    if not _materializing_pays(points):
        return None
    row = build.reshape(materialize(points), shape_of(x))
    return build.dot_like(op, row, row)


def _materializing_pays(value: ir.Value) -> bool:
    """Whether `value` has few columns and is computed with a constant."""
    shape = static_shape(value)
    if shape is None or not cost.materializing_pays(shape):
        return False
    return isinstance(element_type(value), ir.F32Type) and _takes_scalar(value)


def _takes_scalar(value: ir.Value) -> bool:
    """Whether one of the elementwise ops that compute `value` has a splat constant."""
    pending = [value]
    for _ in range(_MOST_VISITED):
        if not pending:
            return False
        owner = pending.pop().owner
        if isinstance(owner, ir.Block) or not is_elementwise(owner):
            continue
        if any(splat_attr(each) is not None for each in owner.operands):
            return True
        pending += owner.operands
    return False


@rule(exact, targets=("cpu",))
def dot_over_rows_to_materialized(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(f(x), y) -> dot_general(materialize(f(x)), y), over several leading dimensions.

    Weight gradients are written so. XLA transposes such operands and computes f in the order of the
    transpose, one element at a time.
    """
    numbers = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
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
    if not cost.transposing_pays(shape, over):
        return False
    pending, found = [x], 0
    while pending and found < cost.LEAST_WORK:  # count the elementwise ops that compute x
        owner = pending.pop().owner
        if not isinstance(owner, ir.Block) and is_elementwise(owner):
            found += 1
            pending += owner.operands
    return found >= cost.LEAST_WORK
