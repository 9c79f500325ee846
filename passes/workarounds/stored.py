"""Products to materialize before a reduction, because XLA:CPU must not fuse the two.

A library (YNNPACK) computes a reduction together with the elementwise ops and matrix products
before it. In jaxlib 0.10.2, and according to reports in 0.11.0, it crashes on some sums of products
of rank 7 and 8. In jaxlib 0.10.2, reductions of matrix products with a few columns are wrong from
128 KiB of results on.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.elementwise import is_elementwise
from jxc.ir.materialize import materialize
from jxc.ir.values import element_type, is_float, shape_of, static_shape
from jxc.rewrite import exact, rule

from .._shared.reduce_body import with_body_of

FAULTY_RANK = 7
"""The least rank of a product whose sum crashed; rank 6 did not."""

SMALL_EXTENT = 7
"""The most elements that are multiplied or reduced for one faulty result.

3, 5, 6 and 7 gave wrong results; 2, 4, 8 and more were right.
"""

RIGHT_BYTES = 128 << 10
"""Results of up to this many bytes were right, of f32 and of f64."""

_MOST_VISITED = 16  # ops before the reduction
_MOVES = hlo.BroadcastInDimOp | hlo.ReshapeOp | hlo.TransposeOp


@rule(exact, targets=("cpu",))
def store_product_of_sum(op: hlo.ReduceOp) -> ir.OpView | None:
    """reduce(x * y) -> reduce(materialize(x * y)), for a product of rank 7 or more."""
    if not _is_single(op):
        return None
    before = list(_before(op.inputs[0]))
    if not any(isinstance(value.owner, hlo.MulOp) for value in before):
        return None
    # At any rank on the way: XLA moves reshapes.
    return _of_stored(op) if any(len(shape_of(value)) >= FAULTY_RANK for value in before) else None


@rule(exact, targets=("cpu",))
def store_small_dot(op: hlo.ReduceOp) -> ir.OpView | None:
    """reduce(f(dot_general(x, y))) -> reduce(materialize(f(dot_general(x, y)))).

    For many results that need a few multiply-adds each.
    """
    if not _is_single(op):
        return None
    shape, result = static_shape(op.inputs[0]), op.results[0]
    if shape is None or prod(shape[dim] for dim in op.dimensions) > SMALL_EXTENT:
        return None
    width = ir.FloatType(element_type(result)).width // 8
    if prod(shape_of(result)) * width <= RIGHT_BYTES:
        return None
    return _of_stored(op) if any(map(_is_small_dot, _before(op.inputs[0]))) else None


def _is_small_dot(value: ir.Value) -> bool:
    match value.owner:
        case hlo.DotGeneralOp(lhs=x, dot_dimension_numbers=numbers) if static_shape(x) is not None:
            dims = hlo.DotDimensionNumbers(numbers).lhs_contracting_dimensions
            extents: list[int] = [shape_of(x)[dim] for dim in dims]
            return prod(extents) <= SMALL_EXTENT
    return False


def _is_single(op: hlo.ReduceOp) -> bool:
    return len(op.inputs) == 1 and is_float(op.inputs[0]) and is_float(op.results[0])


def _of_stored(op: hlo.ReduceOp) -> ir.OpView:
    return with_body_of(op, [materialize(op.inputs[0])], op.init_values, list(op.dimensions))


def _before(value: ir.Value) -> Iterator[ir.Value]:
    """`value`, and the values that it is computed from by ops that XLA fuses into a reduction."""
    pending, visited = [value], 0
    while pending and visited < _MOST_VISITED:
        found, visited = pending.pop(0), visited + 1
        yield found
        op = found.owner
        if isinstance(op, _MOVES) or (isinstance(op, ir.OpView) and is_elementwise(op)):
            pending += op.operands
