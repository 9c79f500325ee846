"""The loop of a scan: each row of elements is combined with the result of the row before.

`scanned` splits the axis into blocks, `_loop` is one `stablehlo.while`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.materialize import in_row_major
from jxc.ir.shardings import is_partitioned_here
from jxc.ir.values import element_type, shape_of

from .cost import Plan


@dataclass(frozen=True)
class Fold:
    """How elements are combined.

    Attributes:
        combine: a function of the accumulator and the next element.
        start: a neutral scalar, of the accumulator's type.
        is_reverse: whether the last element comes first.
    """

    combine: Callable[[ir.Value, ir.Value], ir.Value]
    start: ir.Value
    is_reverse: bool


def scanned(x: ir.Value, axis: int, fold: Fold, plan: Plan) -> ir.Value:
    """The scan of `x` along `axis`, in its type.

    Args:
        x: of static shape; its elements have the type of `fold.start`, or are converted to it.
        axis: the dimension along which the elements are combined.
        fold: how they are combined.
        plan: the loops.
    """
    shape = shape_of(x)
    before, after = shape[:axis], shape[axis + 1 :]
    (block, is_transposed, together), *others = plan
    count = -(-shape[axis] // block)
    missing = count * block - shape[axis]
    padded = x
    if missing:  # neutral elements at the end where the loop finishes
        neutral = build.convert(fold.start, element_type(x))
        padded = _padded(x, axis, neutral, *((missing, 0) if fold.is_reverse else (0, missing)))
    # One dimension of each kind: XLA makes vector code for the last one only.
    rows, columns = ([size] if size > 1 else [] for size in (prod(before) * count, prod(after)))
    blocks = build.reshape(padded, [*rows, block, *columns])
    order, along = list(range(len(shape_of(blocks)))), len(rows)
    if is_transposed:
        order[:2], along = [1, 0], 0
    blocks = _turned(blocks, order)
    one = [*shape_of(blocks)]
    one[along] = 1
    start = build.broadcast(fold.start, one)
    previous = None
    if others:
        totals = build.reshape(_total(blocks, along, fold, start), [*before, count, *after])
        totals = scanned(totals, axis, fold, tuple(others))
        shifted = _padded(totals, axis, fold.start, *((-1, 1) if fold.is_reverse else (1, -1)))
        previous = build.reshape(shifted, one)
    whole = _turned(_loop(blocks, along, fold, start, previous, together), order)
    first = missing if fold.is_reverse else 0
    whole = build.reshape(whole, shape_of(padded))
    return build.slice_along(whole, {axis: range(first, first + shape[axis])})


def _turned(x: ir.Value, order: Sequence[int]) -> ir.Value:
    """The transpose, in a kernel of its own: with other ops XLA does not transpose in tiles."""
    if list(order) == sorted(order):
        return x
    if is_partitioned_here():
        return build.transpose(x, order)
    return in_row_major(build.transpose(in_row_major(x), order))


def _total(x: ir.Value, axis: int, fold: Fold, start: ir.Value) -> ir.Value:
    """The total along `axis`."""
    size = shape_of(x)[axis]

    def body(number: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        (row,) = build.elements_along(x, axis, _lowest(fold, size, number, 1), 1)
        return [fold.combine(carried[0], build.convert(row, element_type(start)))]

    return build.fori_loop(size, [start], body)[0]


def _loop(
    x: ir.Value,
    axis: int,
    fold: Fold,
    start: ir.Value,
    previous: ir.Value | None,
    together: int,
) -> ir.Value:
    """The scan along `axis`, combined with `previous`.

    The loop carries totals without it: those are smaller, and their rounding errors as well.
    """
    size = shape_of(x)[axis]
    turn = slice(None, None, -1 if fold.is_reverse else 1)

    def advance(number: ir.Value, count: int, carried: Sequence[ir.Value]) -> list[ir.Value]:
        total, done = carried
        at = _lowest(fold, size, number, count)
        rows = build.elements_along(x, axis, at, count)
        found = []
        for row in rows[turn]:
            total = fold.combine(total, build.convert(row, element_type(total)))
            each = total if previous is None else fold.combine(previous, total)
            found.append(build.convert(each, element_type(x)))
        several = build.concatenate(found[turn], axis)
        starts = build.starts_along(done, {axis: at})
        return [total, hlo.dynamic_update_slice(done, several, starts)]

    values = [start, build.splat(0, x.type)]
    return build.fori_loop_by_groups(size, together, values, advance)[1]


def _lowest(fold: Fold, size: int, number: ir.Value, count: int) -> ir.Value:
    """The lowest index of the `count` elements that are combined after `number` of `size`."""
    if not fold.is_reverse:
        return number
    return hlo.subtract(build.scalar(size - count, element_type(number)), number)


def _padded(x: ir.Value, axis: int, value: ir.Value, low: int, high: int) -> ir.Value:
    none = [0] * len(shape_of(x))
    lows, highs = none.copy(), none.copy()
    lows[axis], highs[axis] = low, high
    return hlo.pad(x, value, lows, highs, none)
