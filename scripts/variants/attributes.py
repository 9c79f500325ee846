"""Attributes of a variant's ops: adapted to the new operands, and sometimes redrawn.

Each function takes the old op, its new operands and the change, and returns the attributes that
change. The result need not be valid: a variant that does not verify is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TypeAlias

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.check.rebuild_types import (
    CONVOLUTION_WINDOW,
    DYNAMIC,
    REDUCTION_WINDOW,
    Attributes,
    Values,
    group_counts,
    integer,
    integers,
    slice_size,
)
from jxc.ir.values import element_type, shape_of

from .draws import Draws

_DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")


def _slice(op: hlo.SliceOp, operands: Values, change: Draws) -> Attributes:
    old, new = shape_of(op.operand), shape_of(operands[0])
    taken = zip(op.start_indices, op.limit_indices, op.strides, strict=True)
    cuts = [_cut(cut, a, b, change) for cut, a, b in zip(taken, old, new, strict=True)]
    first, limit, step = zip(*cuts, strict=True) if cuts else ((), (), ())
    return {
        "start_indices": integers(first),
        "limit_indices": integers(limit),
        "strides": integers(step),
    }


def _cut(cut: tuple[int, int, int], old: int, new: int, change: Draws) -> tuple[int, int, int]:
    """Start, limit and stride along a dimension whose size was `old` and is `new`."""
    first, limit, step = cut
    random = change.random
    if DYNAMIC in (old, new):
        return cut
    if change.chance(0.25):
        first = random.randint(0, new)
        return first, random.randint(first, new), random.choice((1, 2, 3))
    if change.chance(0.1):
        return 0, new, step
    if old == new:
        return cut
    if random.randrange(2) and old:  # the same fraction of the dimension
        first, limit = first * new // old, -(-limit * new // old)
    return min(first, new), max(min(limit, new), min(first, new)), step


def _pad(op: hlo.PadOp, operands: Values, change: Draws) -> Attributes:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    found: dict[str, list[int]] = {name: list(op.attributes[name]) for name in names}
    for name, numbers in found.items():
        for dim in range(len(numbers)):
            if change.chance(0.2):
                least = 0 if name.startswith("interior") else -2
                numbers[dim] = change.random.choice((0, 1, 2, 3, -1, -2)[: 4 - least])
    return {name: integers(numbers) for name, numbers in found.items()}


def _permutation(op: hlo.TransposeOp, operands: Values, change: Draws) -> Attributes:
    order = list(op.permutation)
    return {
        "permutation": integers(_shuffled(order, change.random) if change.chance(0.4) else order)
    }


def _shuffled(numbers: Sequence[int], random: Random) -> list[int]:
    left, order = list(numbers), []
    while left:
        order.append(left.pop(random.randrange(len(left))))
    return order


def _some_dimensions(op: ir.OpView, operands: Values, change: Draws) -> Attributes:
    """The dimensions of a reverse or a reduction, sometimes redrawn."""
    if not change.chance(0.3):
        return {}
    dims = [dim for dim in range(len(shape_of(operands[0]))) if change.random.randrange(2)]
    return {"dimensions": integers(dims)}


def _broadcast(op: hlo.BroadcastInDimOp, operands: Values, change: Draws) -> Attributes:
    dims = list(op.broadcast_dimensions)
    if not change.chance(0.35):
        return {}
    rank = max([len(shape_of(op.result)), *(dim + 1 for dim in dims)])
    drawn = _shuffled(range(rank), change.random)[: len(dims)]
    return {"broadcast_dimensions": integers(drawn)}


def _one_dimension(name: str, which: int) -> Callable[[ir.OpView, Values, Draws], Attributes]:
    """Any dimension of operand `which`, under the attribute `name`."""

    def vary(op: ir.OpView, operands: Values, change: Draws) -> Attributes:
        rank = len(shape_of(operands[which] if operands else op.results[0]))
        if rank < 2 or not change.chance(0.25):
            return {}
        return {name: integer(change.random.randrange(rank))}

    return vary


def _compare(op: hlo.CompareOp, operands: Values, change: Draws) -> Attributes:
    found: Attributes = {}
    if change.chance(0.4):
        direction = change.random.choice(_DIRECTIONS)
        found["comparison_direction"] = hlo.ComparisonDirectionAttr.get(direction)
    element = element_type(operands[0])
    if "compare_type" in op.attributes and element != element_type(op.lhs):
        found["compare_type"] = hlo.ComparisonTypeAttr.get(_comparison(element))
    return found


def _comparison(element: ir.Type) -> str:
    if not isinstance(element, ir.IntegerType):
        return "FLOAT"
    return "UNSIGNED" if element.is_unsigned or element.width == 1 else "SIGNED"


def _sizes(op: hlo.DynamicSliceOp | hlo.GatherOp, operands: Values, change: Draws) -> Attributes:
    """Slice sizes within the new sizes of the operand."""
    room = shape_of(operands[0])
    olds = zip(op.slice_sizes, shape_of(op.operands[0]), room, strict=True)
    sizes = [_size(size, old, new, change) for size, old, new in olds]
    return {"slice_sizes": integers(sizes)}


def _size(size: int, old: int, new: int, change: Draws) -> int:
    if DYNAMIC not in (old, new) and change.chance(0.2):
        return change.random.randint(0, new)
    return slice_size(size, old, new)


_Pairs: TypeAlias = list[tuple[int, int]]


def _dot(op: hlo.DotGeneralOp, operands: Values, change: Draws) -> Attributes:
    """Other pairs of dimensions of equal size, as contracting or batch dimensions."""
    if not change.chance(0.3):
        return {}
    lhs, rhs = map(shape_of, operands)
    free, batch, contract = list(range(len(rhs))), _Pairs(), _Pairs()
    for dim in _shuffled(range(len(lhs)), change.random):
        fitting = [other for other in free if rhs[other] == lhs[dim]]
        if fitting and change.random.randrange(3):
            pair = dim, change.random.choice(fitting)
            free.remove(pair[1])
            change.random.choice((contract, batch)).append(pair)
    pairs = [list(column) for both in (batch, contract) for column in _columns(both)]
    return {"dot_dimension_numbers": hlo.DotDimensionNumbers.get(*pairs)}


def _columns(pairs: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [a for a, _ in pairs], [b for _, b in pairs]


def _window(op: hlo.ReduceWindowOp, operands: Values, change: Draws) -> Attributes:
    found: Attributes = {}
    for name in REDUCTION_WINDOW:
        if change.chance(0.15):
            rank = len(shape_of(operands[0]))
            found[name] = integers([change.random.choice((1, 2, 3)) for _ in range(rank)])
    return found


def _convolution(op: hlo.ConvolutionOp, operands: Values, change: Draws) -> Attributes:
    """Sometimes another window; as many groups as the new sizes require."""
    rank = len(hlo.ConvDimensionNumbers(op.dimension_numbers).input_spatial_dimensions)
    found: Attributes = {}
    for name in CONVOLUTION_WINDOW:
        if change.chance(0.2):
            found[name] = integers([change.random.choice((1, 2, 3)) for _ in range(rank)])
    if change.chance(0.2):
        edges = [[change.random.choice((0, 1, 2, -1)) for _ in range(2)] for _ in range(rank)]
        found["padding"] = ir.DenseElementsAttr.get(np.array(edges, np.int64))
    if change.chance(0.2):
        drawn = [bool(change.random.randrange(2)) for _ in range(rank)]
        found["window_reversal"] = ir.DenseBoolArrayAttr.get(drawn)
    return found | group_counts(op, operands, change)


VARIED: Mapping[str, Callable[..., Attributes]] = {
    "stablehlo.slice": _slice,
    "stablehlo.pad": _pad,
    "stablehlo.transpose": _permutation,
    "stablehlo.reverse": _some_dimensions,
    "stablehlo.reduce": _some_dimensions,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.concatenate": _one_dimension("dimension", 0),
    "stablehlo.sort": _one_dimension("dimension", 0),
    "stablehlo.iota": _one_dimension("iota_dimension", 0),
    "stablehlo.compare": _compare,
    "stablehlo.dynamic_slice": _sizes,
    "stablehlo.gather": _sizes,
    "stablehlo.dot_general": _dot,
    "stablehlo.convolution": _convolution,
    "stablehlo.reduce_window": _window,
}
"""The function that returns the changed attributes, by the name of the op."""
