"""The loop of a scan: each row of elements is combined with the result of the row before.

`by_rows` splits the outer rows into groups, `scanned` splits the axis into blocks, `_loop` is one
`stablehlo.while`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, shape_of

from .cost import ScanPlan


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


def by_rows(x: ir.Value, axis: int, fold: Fold, plan: ScanPlan) -> ir.Value:
    """The scan of `x` along `axis`, in its type.

    Args:
        x: of static shape.
        axis: the dimension along which the elements are combined.
        fold: how they are combined.
        plan: how many rows at a time, and in which blocks.
    """
    shape = shape_of(x)
    outer, inner = prod(shape[:axis]), prod(shape[axis + 1 :])
    if plan.rows == outer:
        return scanned(x, axis, fold, plan.blocks)
    rows = build.reshape(x, [outer, shape[axis], *([inner] if inner > 1 else [])])

    def body(number: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        # StableHLO clamps the last start, so that some rows are computed twice.
        first = hlo.multiply(number, build.scalar(plan.rows, element_type(number)))
        starts = build.starts_along(rows, {0: first})
        some = hlo.dynamic_slice(rows, starts, [plan.rows, *shape_of(rows)[1:]])
        done = scanned(some, 1, fold, plan.blocks)
        return [hlo.dynamic_update_slice(*carried, done, starts)]

    [done] = build.fori_loop(-(-outer // plan.rows), [build.splat(0, rows.type)], body)
    return build.reshape(done, shape)


def scanned(x: ir.Value, axis: int, fold: Fold, blocks: Sequence[int]) -> ir.Value:
    """The scan of `x` along `axis`, in blocks."""
    shape = shape_of(x)
    before, after = shape[:axis], shape[axis + 1 :]
    block, *rest = blocks
    if not rest:
        return _loop(x, axis, fold)[1]
    count = -(-shape[axis] // block)
    missing = count * block - shape[axis]
    padded = x
    if missing:  # neutral elements at the end where the loop finishes
        neutral = build.convert(fold.start, element_type(x))
        padded = _padded(x, axis, neutral, *((missing, 0) if fold.is_reverse else (0, missing)))
    split = [*before, count, block, *after]
    totals, within = _loop(build.reshape(padded, split), axis + 1, fold)
    totals = build.reshape(totals, [*before, count, *after])
    # The total of everything before each block: the totals shifted by one.
    totals = scanned(totals, axis, fold, rest)
    previous = _padded(totals, axis, fold.start, *((-1, 1) if fold.is_reverse else (1, -1)))
    others = [dim for dim in range(len(split)) if dim != axis + 1]
    wide = build.convert(within, element_type(fold.start))
    whole = fold.combine(build.broadcast(previous, split, others), wide)
    whole = build.reshape(build.convert(whole, element_type(x)), shape_of(padded))
    first = missing if fold.is_reverse else 0
    return build.slice_along(whole, {axis: range(first, first + shape[axis])})


def _loop(x: ir.Value, axis: int, fold: Fold) -> tuple[ir.Value, ir.Value]:
    """The total along `axis`, in the type of `fold.start`, and the scan."""
    one = [*shape_of(x)]
    length, one[axis] = one[axis], 1

    def body(number: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        total, done = carried
        last = build.scalar(length - 1, element_type(number))
        at = hlo.subtract(last, number) if fold.is_reverse else number
        starts = build.starts_along(x, {axis: at})
        found = build.convert(hlo.dynamic_slice(x, starts, one), element_type(total))
        total = fold.combine(total, found)
        given = build.convert(total, element_type(x))
        return [total, hlo.dynamic_update_slice(done, given, starts)]

    initial = [build.broadcast(fold.start, one, []), build.splat(0, x.type)]
    total, done = build.fori_loop(length, initial, body)
    return total, done


def _padded(x: ir.Value, axis: int, value: ir.Value, low: int, high: int) -> ir.Value:
    none = [0] * len(shape_of(x))
    lows, highs = none.copy(), none.copy()
    lows[axis], highs[axis] = low, high
    return hlo.pad(x, value, lows, highs, none)
