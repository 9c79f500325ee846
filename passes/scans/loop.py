"""The loop: rows of elements, each combined with what the row before it gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from jxc.ir import build
from jxc.ir.values import element_type, shape_of


@dataclass(frozen=True)
class Fold:
    """How elements are combined.

    Attributes:
        combine: takes what was combined so far, and an element.
        start: a neutral scalar, of the type in which is combined.
        is_reverse: whether the last element comes first.
    """

    combine: Callable[[ir.Value, ir.Value], ir.Value]
    start: ir.Value
    is_reverse: bool


def scanned(rows: ir.Value, fold: Fold, blocks: Sequence[int]) -> ir.Value:
    """All elements up to each, combined along the middle dimension of `rows`, in its type.

    Args:
        rows: of shape [outer, length, inner].
        fold: how they are combined.
        blocks: how many are combined by one loop, how many totals of those by the next; the last
            loop takes all that is left.
    """
    outer, length, inner = shape_of(rows)
    block, *rest = blocks
    if not rest:
        return _loop(rows, fold)[1]
    count = -(-length // block)
    padded = _extended(rows, fold, count * block)
    totals, within = _loop(build.reshape(padded, [outer * count, block, inner]), fold)
    before = _moved(scanned(build.reshape(totals, [outer, count, inner]), fold, rest), fold)
    spread = build.broadcast(
        build.reshape(before, [outer * count, inner]), shape_of(within), [0, 2]
    )
    wide = build.convert(within, element_type(fold.start))
    whole = build.convert(fold.combine(spread, wide), element_type(rows))
    return _cut(build.reshape(whole, [outer, count * block, inner]), fold, length)


def _loop(rows: ir.Value, fold: Fold) -> tuple[ir.Value, ir.Value]:
    """All elements of each row combined, in the type of `fold.start`, and all up to each."""
    outer, length, inner = shape_of(rows)
    i32 = ir.IntegerType.get_signless(32)
    row = build.broadcast(fold.start, [outer, 1, inner], [])
    empty = build.splat(0, rows.type)
    initial = [build.scalar(0, i32), row, empty]
    loop = stablehlo.WhileOp([value.type for value in initial], initial)
    locations = [rows.location] * len(initial)
    test, body = (
        region.blocks.append(*(value.type for value in initial), arg_locs=locations)
        for region in loop.regions
    )
    less = stablehlo.ComparisonDirectionAttr.get("LT")
    with ir.InsertionPoint(test):
        stablehlo.return_([stablehlo.compare(test.arguments[0], build.scalar(length, i32), less)])
    with ir.InsertionPoint(body):
        turn, total, done = body.arguments
        last = build.scalar(length - 1, i32)
        place = stablehlo.subtract(last, turn) if fold.is_reverse else turn
        starts = [build.scalar(0, i32), place, build.scalar(0, i32)]
        found = stablehlo.dynamic_slice(rows, starts, [outer, 1, inner])
        total = fold.combine(total, build.convert(found, element_type(total)))
        given = build.convert(total, element_type(rows))
        done = stablehlo.dynamic_update_slice(done, given, starts)
        stablehlo.return_([stablehlo.add(turn, build.scalar(1, i32)), total, done])
    return loop.results[1], loop.results[2]


def _extended(rows: ir.Value, fold: Fold, length: int) -> ir.Value:
    """`rows` with neutral elements where the loop comes last."""
    missing = length - shape_of(rows)[1]
    if not missing:
        return rows
    start = build.convert(fold.start, element_type(rows))
    low, high = ([0, missing, 0], [0, 0, 0])
    if not fold.is_reverse:
        low, high = high, low
    return stablehlo.pad(rows, start, low, high, [0, 0, 0])


def _moved(totals: ir.Value, fold: Fold) -> ir.Value:
    """What was combined before each block: the totals moved by one, a neutral element first."""
    low, high = ([0, -1, 0], [0, 1, 0]) if fold.is_reverse else ([0, 1, 0], [0, -1, 0])
    return stablehlo.pad(totals, fold.start, low, high, [0, 0, 0])


def _cut(rows: ir.Value, fold: Fold, length: int) -> ir.Value:
    """`rows` without what `_extended` put there."""
    outer, whole, inner = shape_of(rows)
    if whole == length:
        return rows
    first = whole - length if fold.is_reverse else 0
    return stablehlo.slice(rows, [0, first, 0], [outer, first + length, inner], [1, 1, 1])
