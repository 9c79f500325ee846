"""Attributes of a variant's ops: adapted to the new operands, and sometimes drawn again.

Each function takes the old op, its new operands and the plan, and returns the attributes that
change. The result need not be valid: a variant that does not verify is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TypeAlias

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ...ir.values import element_type, shape_of
from .plan import DYNAMIC, Variation
from .results import CONVOLUTION_WINDOW

Attributes: TypeAlias = dict[str, ir.Attribute]
Values: TypeAlias = Sequence[ir.Value]

_DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")


def varied(op: ir.OpView, operands: Values, plan: Variation) -> Attributes:
    """All attributes of an op, for its new operands."""
    same = {name: op.attributes[name] for name in op.attributes if op.operation.name != _CONSTANT}
    vary = _VARY.get(op.operation.name)
    return same if vary is None else same | vary(op, operands, plan)


_CONSTANT = "stablehlo.constant"  # the bindings cannot hold some of its attributes


def _integers(numbers: Sequence[int]) -> ir.Attribute:
    return ir.DenseI64ArrayAttr.get(list(numbers))


def _integer(number: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)


def _slice(op: hlo.SliceOp, operands: Values, plan: Variation) -> Attributes:
    old, new = shape_of(op.operand), shape_of(operands[0])
    taken = zip(op.start_indices, op.limit_indices, op.strides, strict=True)
    cuts = [_cut(cut, a, b, plan) for cut, a, b in zip(taken, old, new, strict=True)]
    first, limit, step = zip(*cuts, strict=True) if cuts else ((), (), ())
    return {
        "start_indices": _integers(first),
        "limit_indices": _integers(limit),
        "strides": _integers(step),
    }


def _cut(cut: tuple[int, int, int], old: int, new: int, plan: Variation) -> tuple[int, int, int]:
    """Start, limit and stride along a dimension whose size was `old` and is `new`."""
    first, limit, step = cut
    random = plan.random
    if DYNAMIC in (old, new):
        return cut
    if plan.chance(0.25):
        first = random.randint(0, new)
        return first, random.randint(first, new), random.choice((1, 2, 3))
    if plan.chance(0.1):
        return 0, new, step
    if old == new:
        return cut
    if random.randrange(2) and old:  # the same fraction of it
        first, limit = first * new // old, -(-limit * new // old)
    return min(first, new), max(min(limit, new), min(first, new)), step


def _pad(op: hlo.PadOp, operands: Values, plan: Variation) -> Attributes:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    found: dict[str, list[int]] = {name: list(op.attributes[name]) for name in names}
    for name, numbers in found.items():
        for dim in range(len(numbers)):
            if plan.chance(0.2):
                least = 0 if name.startswith("interior") else -2
                numbers[dim] = plan.random.choice((0, 1, 2, 3, -1, -2)[: 4 - least])
    return {name: _integers(numbers) for name, numbers in found.items()}


def _permutation(op: hlo.TransposeOp, operands: Values, plan: Variation) -> Attributes:
    order = list(op.permutation)
    return {"permutation": _integers(_shuffled(order, plan.random) if plan.chance(0.4) else order)}


def _shuffled(numbers: Sequence[int], random: Random) -> list[int]:
    left, order = list(numbers), []
    while left:
        order.append(left.pop(random.randrange(len(left))))
    return order


def _some_dimensions(op: ir.OpView, operands: Values, plan: Variation) -> Attributes:
    """Of a reverse or a reduction."""
    if not plan.chance(0.3):
        return {}
    dims = [dim for dim in range(len(shape_of(operands[0]))) if plan.random.randrange(2)]
    return {"dimensions": _integers(dims)}


def _broadcast(op: hlo.BroadcastInDimOp, operands: Values, plan: Variation) -> Attributes:
    dims = list(op.broadcast_dimensions)
    if not plan.chance(0.35):
        return {}
    rank = max([len(shape_of(op.result)), *(dim + 1 for dim in dims)])
    drawn = _shuffled(range(rank), plan.random)[: len(dims)]
    return {"broadcast_dimensions": _integers(drawn)}


def _one_dimension(name: str, which: int) -> Callable[[ir.OpView, Values, Variation], Attributes]:
    """Any dimension of operand `which`, under the attribute `name`."""

    def vary(op: ir.OpView, operands: Values, plan: Variation) -> Attributes:
        rank = len(shape_of(operands[which] if operands else op.results[0]))
        if rank < 2 or not plan.chance(0.25):
            return {}
        return {name: _integer(plan.random.randrange(rank))}

    return vary


def _compare(op: hlo.CompareOp, operands: Values, plan: Variation) -> Attributes:
    found: Attributes = {}
    if plan.chance(0.4):
        direction = plan.random.choice(_DIRECTIONS)
        found["comparison_direction"] = hlo.ComparisonDirectionAttr.get(direction)
    element = element_type(operands[0])
    if "compare_type" in op.attributes and element != element_type(op.lhs):
        found["compare_type"] = hlo.ComparisonTypeAttr.get(_comparison(element))
    return found


def _comparison(element: ir.Type) -> str:
    if not isinstance(element, ir.IntegerType):
        return "FLOAT"
    return "UNSIGNED" if element.is_unsigned or element.width == 1 else "SIGNED"


def _sizes(op: hlo.DynamicSliceOp | hlo.GatherOp, operands: Values, plan: Variation) -> Attributes:
    """Slice sizes within the new sizes of the operand."""
    room = shape_of(operands[0])
    olds = zip(op.slice_sizes, shape_of(op.operands[0]), room, strict=True)
    sizes = [_size(size, old, new, plan) for size, old, new in olds]
    return {"slice_sizes": _integers(sizes)}


def _size(size: int, old: int, new: int, plan: Variation) -> int:
    if DYNAMIC in (old, new):
        return size
    if plan.chance(0.2):
        return plan.random.randint(0, new)
    return new if size == old else min(size, new)


_Pairs: TypeAlias = list[tuple[int, int]]


def _dot(op: hlo.DotGeneralOp, operands: Values, plan: Variation) -> Attributes:
    """Other pairs of dimensions of equal size, as contracting or batch dimensions."""
    if not plan.chance(0.3):
        return {}
    lhs, rhs = map(shape_of, operands)
    free, batch, contract = list(range(len(rhs))), _Pairs(), _Pairs()
    for dim in _shuffled(range(len(lhs)), plan.random):
        fitting = [other for other in free if rhs[other] == lhs[dim]]
        if fitting and plan.random.randrange(3):
            pair = dim, plan.random.choice(fitting)
            free.remove(pair[1])
            plan.random.choice((contract, batch)).append(pair)
    pairs = [list(column) for both in (batch, contract) for column in _columns(both)]
    return {"dot_dimension_numbers": hlo.DotDimensionNumbers.get(*pairs)}


def _columns(pairs: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [a for a, _ in pairs], [b for _, b in pairs]


def _window(op: hlo.ReduceWindowOp, operands: Values, plan: Variation) -> Attributes:
    found: Attributes = {}
    for name in ("window_dimensions", "window_strides", "base_dilations", "window_dilations"):
        if plan.chance(0.15):
            rank = len(shape_of(operands[0]))
            found[name] = _integers([plan.random.choice((1, 2, 3)) for _ in range(rank)])
    return found


def _convolution(
    op: hlo.ConvolutionOp, operands: Sequence[ir.Value], plan: Variation
) -> dict[str, ir.Attribute]:
    """Sometimes another window; as many groups as the new sizes require."""
    numbers = hlo.ConvDimensionNumbers(op.dimension_numbers)
    rank = len(numbers.input_spatial_dimensions)
    found: dict[str, ir.Attribute] = {}
    for name in CONVOLUTION_WINDOW:
        if plan.chance(0.2):
            drawn = [plan.random.choice((1, 2, 3)) for _ in range(rank)]
            found[name] = ir.DenseI64ArrayAttr.get(drawn)
    if plan.chance(0.2):
        edges = [[plan.random.choice((0, 1, 2, -1)) for _ in range(2)] for _ in range(rank)]
        found["padding"] = ir.DenseElementsAttr.get(np.array(edges, np.int64))
    if plan.chance(0.2):
        drawn = [bool(plan.random.randrange(2)) for _ in range(rank)]
        found["window_reversal"] = ir.DenseBoolArrayAttr.get(drawn)
    return found | _group_counts(op, operands, numbers, plan)


def _group_counts(
    op: hlo.ConvolutionOp,
    operands: Sequence[ir.Value],
    numbers: ir.Attribute,
    plan: Variation,
) -> dict[str, ir.Attribute]:
    features = shape_of(operands[0])[numbers.input_feature_dimension]
    batch = shape_of(operands[0])[numbers.input_batch_dimension]
    each = shape_of(operands[1])[numbers.kernel_input_feature_dimension]
    outputs = shape_of(operands[1])[numbers.kernel_output_feature_dimension]
    if DYNAMIC in (features, batch, each, outputs):
        return {}
    i64 = ir.IntegerType.get_signless(64)
    if (count := op.batch_group_count.value) > 1:
        fitting = [g for g in range(2, batch + 1) if batch % g == 0 == outputs % g]
        drawn = count if count in fitting else plan.random.choice(fitting or [max(1, batch)])
        return {"batch_group_count": ir.IntegerAttr.get(i64, drawn)}
    return {"feature_group_count": ir.IntegerAttr.get(i64, max(1, features // max(1, each)))}


_VARY: Mapping[str, Callable[..., Attributes]] = {
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
