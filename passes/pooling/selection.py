"""Gradients of max pooling: `select_and_scatter` as comparisons.

The position within each window that is selected is computed first. If windows do not overlap, one
comparison of it with an iota puts each gradient into its block. Otherwise there is a select over
the whole result for each position within the window, and their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, shape_of, splat_of
from jxc.rewrite import exact, reassociates, rule

from .._shared.signed_zero import add_to_initial
from .._shared.window import WindowAxis, pad, tapped
from . import geometry

MOST_SELECTED = 64
"""The most elements of a window for which comparisons are built: code grows with their number."""


@rule(exact, priced=True)
def disjoint_select_and_scatter_to_compare(op: hlo.SelectAndScatterOp) -> ir.Value | None:
    """select_and_scatter(x, y) -> select(tile(selected(x)) == position, tile(y), 0) + init.

    For windows that cover the operand without overlap. `selected` is the row-major position within
    the window to which the comparisons lead, in StableHLO's order, also for NaN.
    """
    found = _read(op)
    if found is None:
        return None
    if any(a.window != a.stride or a.out * a.stride != a.size for a in found.axes):
        return None
    return _apart(op, _chosen(op.operand, found), found.axes)


@rule(reassociates, priced=True)
def select_and_scatter_to_compare(op: hlo.SelectAndScatterOp) -> ir.Value | None:
    """select_and_scatter(x, y) -> sum over positions p of select(selected(x) == p, y, 0).

    `selected` is the row-major position within the window to which the comparisons lead, in
    StableHLO's order, also for NaN. Both it and y are dilated to the shape of x and shifted.
    """
    found = _read(op)
    return None if found is None else _summed(op, _chosen(op.operand, found), found.axes)


@dataclass(frozen=True)
class _Selection:
    """A `select_and_scatter` in which `compare(selected, other)` keeps the former."""

    axes: tuple[WindowAxis, ...]
    compare: hlo.CompareOp
    is_swapped: bool  # whether the comparison takes `other` first


def _read(op: hlo.SelectAndScatterOp) -> _Selection | None:
    """The selection; None if neither of the rules applies to `op`."""
    if not isinstance(element_type(op.operand), geometry.TYPES) or splat_of(op.init_value) != 0:
        return None
    axes = geometry.read(op, op.operand, op.source)
    if axes is None or any(axis.is_padded for axis in axes):
        return None
    if prod(axis.window for axis in axes) > MOST_SELECTED:
        return None
    if not _is_sum(op):
        return None
    (select,) = op.select.blocks
    compare, *rest = select.operations
    if not isinstance(compare, hlo.CompareOp) or len(rest) != 1:
        return None
    arguments, operands = list(select.arguments), list(compare.operands)
    if list(rest[0].operands) != [compare.result] or operands not in (arguments, arguments[::-1]):
        return None
    return _Selection(axes, compare, is_swapped=operands != arguments)


def _is_sum(op: hlo.SelectAndScatterOp) -> bool:
    (scatter,) = op.scatter.blocks
    add, *rest = scatter.operations
    return (
        isinstance(add, hlo.AddOp)
        and len(rest) == 1
        and list(rest[0].operands) == [add.result]
        and set(add.operands) == set(scatter.arguments)
        and element_type(op.source) == element_type(op.operand) == element_type(add.result)
    )


def _chosen(x: ir.Value, selection: _Selection) -> ir.Value:
    """The position that each window selects: i8, numbered row-major within the window."""
    parts = [tapped(x, selection.axes, tap) for tap in geometry.taps(selection.axes)]
    shape = shape_of(parts[0])
    best, chosen = parts[0], _numbers(0, shape)
    for number, part in enumerate(parts[1:], start=1):
        pair = (part, best) if selection.is_swapped else (best, part)
        keeps = hlo.compare(
            *pair,
            selection.compare.comparison_direction,
            compare_type=selection.compare.compare_type,
        )
        chosen = hlo.select(keeps, chosen, _numbers(number, shape))
        best = hlo.select(keeps, best, part)
    return chosen


def _numbers(number: int, shape: Sequence[int]) -> ir.Value:
    return build.splat(number, ir.RankedTensorType.get(shape, ir.IntegerType.get_signless(8)))


def _apart(op: hlo.SelectAndScatterOp, chosen: ir.Value, axes: Sequence[WindowAxis]) -> ir.Value:
    """The result in blocks: for each dimension the windows, then the positions within one."""
    wide: list[int] = []
    outer, inner = [], []
    for axis in axes:
        outer.append(len(wide))
        wide += [axis.out, axis.window] if axis.window > 1 else [axis.out]
        inner.append(len(wide) - 1)
    is_selected = build.compare(
        "EQ", build.broadcast(chosen, wide, outer), _positions(axes, wide, inner)
    )
    start = build.broadcast(op.init_value, wide, [])
    values = hlo.select(is_selected, build.broadcast(op.source, wide, outer), start)
    return build.reshape(add_to_initial(op.init_value, values), shape_of(op.operand))


def _positions(axes: Sequence[WindowAxis], wide: Sequence[int], inner: Sequence[int]) -> ir.Value:
    """The number of each element within its window, given the dimensions of the blocks."""
    kind = ir.RankedTensorType.get(wide, ir.IntegerType.get_signless(8))
    place = _numbers(0, wide)
    for dim, axis in enumerate(axes):
        if axis.window > 1:
            step = prod(each.window for each in axes[dim + 1 :])
            along = hlo.iota(kind, inner[dim])
            place = hlo.add(place, hlo.multiply(along, _numbers(step, wide)))
    return place


def _summed(op: hlo.SelectAndScatterOp, chosen: ir.Value, axes: Sequence[WindowAxis]) -> ir.Value:
    """A select over the whole result for each position within the window, and their sum."""
    shape = shape_of(op.operand)
    outside = build.scalar(-1, element_type(chosen))
    dilated = _dilated(axes)
    dims = range(len(dilated))
    chosen = pad(chosen, dilated, dims, outside)
    source = pad(op.source, dilated, dims, op.init_value)
    start = build.broadcast(op.init_value, shape, [])
    terms = []
    for number, tap in enumerate(geometry.taps(axes)):
        # The window whose position `tap` is here begins `tap` elements before.
        first = [axis.window - 1 - at for axis, at in zip(axes, tap, strict=True)]
        kept = {dim: range(start, start + shape[dim]) for dim, start in enumerate(first)}
        here, values = (build.slice_along(each, kept) for each in (chosen, source))
        is_selected = build.compare("EQ", here, _numbers(number, shape))
        terms.append(hlo.select(is_selected, values, start))
    return reduce(hlo.add, [add_to_initial(op.init_value, terms[0]), *terms[1:]])


def _dilated(axes: Sequence[WindowAxis]) -> list[WindowAxis]:
    """Padding that puts an element for each window at the window's start."""
    return [
        WindowAxis(
            size=axis.out,
            window=1,
            out=axis.size,
            low=axis.window - 1,
            high=axis.size - (axis.out - 1) * axis.stride - 1,
            base_dilation=axis.stride,
        )
        for axis in axes
    ]
