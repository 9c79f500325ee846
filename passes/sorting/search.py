"""Membership in a list as a binary search in the sorted list."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import direction_of, is_float, is_splat, shape_of, static_shape
from jxc.rewrite import exact, rule

from .._shared.reduce_body import combiner_of
from . import keys
from .packed import plain_sort
from .top_k import take_along_axis

_NONE_IS = {("or", "EQ"): False, ("and", "NE"): True}
"""The result if no element is equal, by combiner and comparison; the reduction starts from it."""


@rule(exact, targets=("cpu",), priced=True)
def membership_to_search(op: hlo.ReduceOp) -> ir.Value | None:
    """any(x[:, None] == y[None, :], 1) -> x is found in sort(y), and is no NaN.

    Also all(x != y), the negation. For x and y of 32 bits or less.
    """
    shape = static_shape(op.inputs[0])
    if shape is None or len(shape) != 2 or len(op.dimensions) != 1 or 0 in shape:
        return None
    (dim,) = op.dimensions
    match compared := op.inputs[0].owner:
        case hlo.CompareOp(lhs=lhs, rhs=rhs) if shape[dim] > 1:
            none_is = _NONE_IS.get((combiner_of(op) or "", direction_of(compared)))
            if none_is is None or not is_splat(op.init_values[0], none_is):
                return None
            if keys.key_width(lhs) is None or "TOTALORDER" in str(compared.compare_type):
                return None
            for wanted, listed in ((lhs, rhs), (rhs, lhs)):
                x, y = _along(wanted, 1 - dim), _along(listed, dim)
                if x is not None and y is not None:
                    found = _is_found(_flat(x), _flat(y))
                    return hlo.not_(found) if none_is else found
    return None


def _along(value: ir.Value, dim: int) -> ir.Value | None:
    """The operand of a broadcast that has its elements along `dim` and repeats them elsewhere."""
    match value.owner:
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims):
            size = shape_of(value)[dim]
            if dim in dims and prod(shape_of(x)) == size == shape_of(x)[list(dims).index(dim)]:
                return x
    return None


def _flat(value: ir.Value) -> ir.Value:
    return build.reshape(value, [prod(shape_of(value))])


def _is_found(x: ir.Value, y: ir.Value) -> ir.Value:
    """Which elements of `x` are elements of `y`; both have one dimension."""
    wanted, listed = keys.key(x), plain_sort(keys.key(y), 0)
    (size,) = shape_of(y)
    i32 = ir.IntegerType.get_signless(32)
    kind = ir.RankedTensorType.get(shape_of(x), i32)
    bits = (size - 1).bit_length()
    largest = build.scalar(1 << bits - 1, i32)

    def body(number: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        # The last position that is known to hold no greater key, and one that may.
        (position,) = carried
        step = build.broadcast(hlo.shift_right_logical(largest, number), shape_of(x))
        next_one = hlo.add(position, step)
        is_inside = build.compare("LT", next_one, build.splat(size, kind))
        is_before = build.compare("LE", take_along_axis(listed, next_one, 0), wanted)
        return [hlo.select(hlo.and_(is_inside, is_before), next_one, position)]

    [position] = build.fori_loop(bits, [build.splat(0, kind)], body)
    found = build.compare("EQ", take_along_axis(listed, position, 0), wanted)
    return hlo.and_(found, build.compare("EQ", x, x)) if is_float(x) else found
