"""Short sorts of many rows as a network of minima and maxima.

The sorted axis becomes the outermost one, with all rows beside each other. Each iteration of a loop
compares the elements at one distance: a min or a max of two such lines, which is vectorized. Its
length is a power of two; the greatest key fills the rest. XLA's own sort compares two elements at
a time, with branches that are predicted wrongly half of the time.

Keys are integers, in which zeros of either sign are equal. If there is a -0.0, a plain sort of the
positions of the zeros finds those in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, is_float, is_unsigned, is_used, shape_of
from jxc.rewrite import PassContext, exact, rule

from . import keys
from .keys import axis_of, sorts_by_first
from .packed import plain_sort
from .selection import is_selected
from .top_k import takes_all_of

_LONGEST = 1 << 12
"""The longest axis that was measured. The number of iterations grows with the square of its log."""


@rule(exact, priced=True, targets=("cpu",))
def sort_to_network(op: hlo.SortOp, context: PassContext) -> ir.Value | None:
    """sort(x) -> min and max of elements at one distance after another, for short axes.

    For sorts of one array of 32 bits or less.
    """
    if len(op.inputs) != 1 or not is_used(op.results[0]) or not sorts_by_first(op):
        return None
    (x,), dim = op.inputs, axis_of(op)
    shape = shape_of(x)
    if shape[dim] > _LONGEST or takes_all_of(op, context.rates) or is_selected(op, context):
        return None
    key = keys.key(x)
    order = [dim, *(each for each in range(len(shape)) if each != dim)]
    lines = build.transpose(key, order)
    table = build.reshape(lines, [shape[dim], prod(shape) // shape[dim]])
    found = build.reshape(_sorted(table), shape_of(lines))
    done = build.transpose(found, [order.index(each) for each in range(len(shape))])
    return (
        keys.unkey(done, element_type(x), _is_minus_zero(x, key, done, dim))
        if is_float(x)
        else done
    )


def _sorted(table: ir.Value) -> ir.Value:
    """The columns of `table` sorted."""
    size, columns = shape_of(table)
    levels = (size - 1).bit_length()
    full, element = 1 << levels, ir.IntegerType(element_type(table))
    greatest = build.scalar((1 << element.width - (not is_unsigned(table))) - 1, element)
    padded = hlo.pad(table, greatest, [0, 0], [full - size, 0], [0, 0]) if full > size else table
    # Each level merges two sorted halves: one is compared with the other reversed, and the two
    # results, of which all elements of one are less, are split in the same way at each distance.
    masks = [
        (2 << level) - 1 if bit == level else 1 << bit
        for level in range(levels)
        for bit in reversed(range(level + 1))
    ]
    i32 = ir.IntegerType.get_signless(32)
    steps = build.dense(np.array(masks, np.int32), ir.RankedTensorType.get([len(masks)], i32))
    position = hlo.iota(ir.RankedTensorType.get([full], i32), 0)
    numbers = hlo.GatherDimensionNumbers.get([1], [0], [], [], [0], 1)

    def body(number: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        (x,) = carried
        mask = build.reshape(hlo.dynamic_slice(steps, [number], [1]), [])
        other = hlo.xor(position, build.broadcast(mask, [full]))
        y = hlo.gather(x, build.reshape(other, [full, 1]), numbers, [1, columns])
        is_upper = build.broadcast(build.compare("LT", other, position), [full, columns], [0])
        return [hlo.select(is_upper, hlo.maximum(x, y), hlo.minimum(x, y))]

    (done,) = build.fori_loop(len(masks), [padded], body)
    return build.slice_along(done, {0: range(size)})


def _is_minus_zero(x: ir.Value, key: ir.Value, done: ir.Value, dim: int) -> ir.Value:
    """Where the elements with the sorted keys `done` are -0.0."""
    is_minus, f32 = keys.is_minus_zero(x), ir.F32Type.get()
    kind = ir.RankedTensorType.get(shape_of(x), f32)
    # Prices count the branch of finite numbers.
    found = hlo.select(is_minus, build.splat(float("inf"), kind), build.splat(0, kind))
    largest = build.reduce(found, build.scalar(0, f32), range(len(shape_of(x))), hlo.maximum)
    branches = hlo.IfOp([is_minus.type], hlo.is_finite(largest))
    with ir.InsertionPoint(branches.true_branch.blocks.append()):
        hlo.return_([build.splat(0, is_minus.type)])
    with ir.InsertionPoint(branches.false_branch.blocks.append()):
        hlo.return_([_signs(is_minus, key, done, dim)])
    return branches.results[0]


def _signs(is_minus: ir.Value, key: ir.Value, done: ir.Value, dim: int) -> ir.Value:
    """The same, by a sort of the positions of zeros, with the signs below."""
    # Of 64 bits, so that this sort is not replaced by a network: it rarely runs.
    kind = ir.RankedTensorType.get(shape_of(key), ir.IntegerType.get_signless(64))
    position = hlo.shift_left(hlo.iota(kind, dim), build.splat(1, kind))
    place = hlo.or_(position, build.convert(is_minus, kind.element_type))
    zero, none = build.splat(0, key.type), build.splat(0, kind)
    least, greatest = build.splat(-1, kind), build.splat((1 << 31) - 1, kind)
    elsewhere = hlo.select(build.compare("LT", key, zero), least, greatest)
    is_zero = build.compare("EQ", key, zero)
    places = plain_sort(hlo.select(is_zero, place, elsewhere), dim)
    is_odd = build.compare("NE", hlo.and_(places, build.splat(1, kind)), none)
    return hlo.and_(is_odd, build.compare("EQ", done, zero))
