"""Sorts by a key as plain sorts of 64-bit integers: the key in front, then the position."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import chlo, stablehlo as hlo

from jxc.cost.cpu import FIRST_CACHE, LINE, lines_apart
from jxc.ir import build
from jxc.ir.values import (
    element_type,
    is_float,
    is_integer,
    is_unsigned,
    is_used,
    shape_of,
    static_shape,
)
from jxc.rewrite import PassContext, exact, rule

from . import keys
from .keys import axis_of, sorts_by_first
from .selection import is_selected
from .top_k import take_along_axis, takes_all_of

_LARGEST_AXIS = 1 << 31
_MOST_KEYS = 4  # each is a sort, of 50 ms to compile


@rule(exact, priced=True)
def sort_to_packed_sort(op: hlo.SortOp, context: PassContext) -> Sequence[ir.Value] | None:
    """sort(x, y) -> unpack(sort(x << 32 | position << 1 | x is -0.0)), and y gathered.

    For sorts by x alone, of 32 bits or less. Positions make the sort stable, whether required or
    not.
    """
    shape, dim = shape_of(op.inputs[0]), axis_of(op)
    is_plain_already = len(op.inputs) == 1 and is_integer(op.inputs[0])
    if is_plain_already or 0 in shape:
        return None
    if not any(map(is_used, op.results)):
        return None  # `slice_of_sort_to_top_k` replaces all its slices
    if not sorts_by_first(op) or shape[dim] > _LARGEST_AXIS or takes_all_of(op, context.rates):
        return None
    if is_selected(op, context):
        return None
    done = _PackedSort(op.inputs[0], dim)
    return [
        done.sorted_keys() if each == op.inputs[0] else take_along_axis(each, done.position, dim)
        for each in op.inputs
    ]


@rule(exact, priced=True)
def sort_by_keys_to_packed_sorts(op: hlo.SortOp) -> Sequence[ir.Value] | None:
    """sort(x, y, z) by x, then by y -> packed sorts by y and by x, and x, y, z gathered.

    For 2 to 4 keys of 32 bits or less: a stable sort by one key keeps the order by the next.
    """
    shape, dim = shape_of(op.inputs[0]), axis_of(op)
    found = keys.keys_of(op)
    if not 2 <= len(found) <= _MOST_KEYS or shape[dim] > _LARGEST_AXIS:
        return None
    position = _PackedSort(found.pop(), dim).position
    while found:
        later = _PackedSort(take_along_axis(found.pop(), position, dim), dim).position
        position = take_along_axis(position, later, dim)
    return [take_along_axis(each, position, dim) for each in op.inputs]


@rule(exact, targets=("cpu",), priced=True)
def top_k_to_packed_sort(op: chlo.TopKOp) -> Sequence[ir.Value] | None:
    """top_k(x, k) -> unpack(sort(~order(x) << 32 | position))[:k], for large k, f32 and i32.

    Floats are ordered by their bits, as in XLA's top-k: NaNs by sign and payload, -0.0 before 0.0.
    """
    x, positions = op.operand, op.results[1]
    shape, element = static_shape(x), element_type(x)
    if not shape or 0 in shape or shape[-1] > _LARGEST_AXIS or str(element) not in ("f32", "i32"):
        return None
    dim, wide = len(shape) - 1, ir.RankedTensorType.get(shape, ir.IntegerType.get_signless(64))
    order = keys.mirrored(keys.bits(x)) if is_float(x) else x
    above = hlo.shift_left(hlo.convert(wide, hlo.not_(order)), build.splat(32, wide))
    done = plain_sort(hlo.or_(above, hlo.iota(wide, dim)), dim)
    kept = build.slice_along(done, {dim: range(shape_of(positions)[-1])})
    key = hlo.shift_right_arithmetic(kept, build.splat(32, kept.type))
    order = hlo.not_(build.convert(key, ir.IntegerType.get_signless(32)))
    values = keys.floats(keys.mirrored(order), element) if is_float(x) else order
    below = hlo.and_(kept, build.splat((1 << 32) - 1, kept.type))
    return [values, build.convert(below, element_type(positions))]


class _PackedSort:
    """A packed sort by `key` along `dim`.

    Attributes:
        position: where each of the sorted elements was.
    """

    def __init__(self, key: ir.Value, dim: int) -> None:
        self.key, self.dim = key, dim
        get = ir.IntegerType.get_unsigned if is_unsigned(self.key) else ir.IntegerType.get_signless
        self.type = ir.RankedTensorType.get(shape_of(self.key), get(64))
        self.packed = self._sorted(self._pack())
        self.position = self._position()

    def _sorted(self, packed: ir.Value) -> ir.Value:
        """`packed` sorted, in the transpose if it competes for places in the cache otherwise."""
        shape = shape_of(packed)
        inner = prod(shape[self.dim + 1 :])
        lines = shape[self.dim] * lines_apart(inner * 8)
        if inner == 1 or lines * LINE <= FIRST_CACHE:
            return plain_sort(packed, self.dim)
        order = [dim for dim in range(len(shape)) if dim != self.dim] + [self.dim]
        done = plain_sort(build.transpose(packed, order), len(shape) - 1)
        return build.transpose(done, [order.index(dim) for dim in range(len(shape))])

    def _constant(self, number: int) -> ir.Value:
        return build.splat(number, self.type)

    def _pack(self) -> ir.Value:
        wide = hlo.convert(self.type, keys.key(self.key))
        above = hlo.shift_left(wide, self._constant(32))
        position = hlo.shift_left(hlo.iota(self.type, self.dim), self._constant(1))
        packed = hlo.or_(above, position)
        if not is_float(self.key):
            return packed
        return hlo.or_(packed, hlo.convert(self.type, keys.is_minus_zero(self.key)))

    def _position(self) -> ir.Value:
        below = hlo.and_(self.packed, self._constant((1 << 32) - 1))
        position = hlo.shift_right_logical(below, self._constant(1))
        return build.convert(position, ir.IntegerType.get_signless(32))

    def sorted_keys(self) -> ir.Value:
        """The sorted keys."""
        element = element_type(self.key)
        is_signed = not is_unsigned(self.key)
        shift = hlo.shift_right_arithmetic if is_signed else hlo.shift_right_logical
        above = shift(self.packed, self._constant(32))
        if not is_float(self.key):
            return build.convert(above, element)
        bit = hlo.and_(self.packed, self._constant(1))
        is_minus_zero = build.compare("NE", bit, self._constant(0))
        return keys.unkey(build.convert(above, keys.integer_like(self.key)), element, is_minus_zero)


def plain_sort(value: ir.Value, dim: int) -> ir.Value:
    """`value` sorted ascending, in the form for which XLA:CPU has a fast sort."""
    op = hlo.SortOp([value.type], [value], dimension=dim, is_stable=False)
    scalar = ir.RankedTensorType.get((), element_type(value))
    build.append_combiner(op.comparator, scalar, partial(build.compare, "LT"))
    return op.results[0]
