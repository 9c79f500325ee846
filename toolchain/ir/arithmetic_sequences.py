"""Integer values that count evenly along each of their dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import (
    AddOp,
    BroadcastInDimOp,
    ConstantOp,
    ConvertOp,
    IotaOp,
    MulOp,
    NegOp,
    ReshapeOp,
    ReverseOp,
    SliceOp,
    SubtractOp,
    TransposeOp,
)

from .bounds import PRODUCERS_SEEN, Bounds, few_elements, type_bounds
from .values import element_type, shape_of, splat_of, static_shape


class Progression(NamedTuple):
    """Values whose element at (i, j, ..) is `first + i * steps[0] + j * steps[1] + ..`.

    The step along an extent of 1 is 0.
    """

    first: int
    steps: tuple[int, ...]

    def bounds(self, shape: Sequence[int]) -> Bounds:
        """The least and the greatest of the elements, of which there are some."""
        ends = [step * (size - 1) for step, size in zip(self.steps, shape, strict=True)]
        low, high = (sum(pick(end, 0) for end in ends) for pick in (min, max))
        return Bounds(self.first + low, self.first + high)


def progression_of(value: ir.Value, depth: int = PRODUCERS_SEEN) -> Progression | None:
    """How `value` counts, nothing wrapping around on the way; None if it does not.

    None too for what is empty, has dynamic extents or is no integer.
    """
    kind, shape = type_bounds(element_type(value)), static_shape(value)
    if kind is None or kind.high == 1 or shape is None or 0 in shape or depth <= 0:
        return None
    found = _of_op(value.owner, depth - 1)
    if found is None or not kind.holds(found.bounds(shape)):
        return None
    return found


def progression_in(elements: np.ndarray) -> Progression | None:
    """How an array of integers, not empty, counts."""
    first = int(elements.flat[0])
    origin = [0] * elements.ndim
    steps = [
        int(elements[(*origin[:dim], 1, *origin[dim + 1 :])]) - first if size > 1 else 0
        for dim, size in enumerate(elements.shape)
    ]
    expected = np.full(elements.shape, first, object)
    for step, index in zip(steps, np.indices(elements.shape, dtype=object), strict=True):
        expected = expected + step * index
    return Progression(first, tuple(steps)) if (expected == elements).all() else None


def _of_op(op: ir.OpView | ir.Block, depth: int) -> Progression | None:
    match op:
        case ConstantOp():
            return _of_constant(op)
        case IotaOp(iota_dimension=dim):
            shape = shape_of(op.result)
            steps = [int(i == dim.value and size > 1) for i, size in enumerate(shape)]
            return Progression(0, tuple(steps))
        case ConvertOp(operand=x):
            return progression_of(x, depth)
        case NegOp(operand=x):
            found = progression_of(x, depth)
            return None if found is None else _scaled(found, -1)
        case AddOp(lhs=x, rhs=y):
            return _joined(x, y, depth, _sum)
        case SubtractOp(lhs=x, rhs=y):
            return _joined(x, y, depth, lambda a, b: _sum(a, _scaled(b, -1)))
        case MulOp(lhs=x, rhs=y):
            return _joined(x, y, depth, _product)
    return _of_moved(op, depth)


def _of_constant(op: ConstantOp) -> Progression | None:
    number = splat_of(op.result)
    if number is not None:
        return Progression(int(number), (0,) * len(shape_of(op.result)))
    elements = few_elements(op.result)
    return None if elements is None else progression_in(elements)


def _joined(
    x: ir.Value,
    y: ir.Value,
    depth: int,
    join: Callable[[Progression, Progression], Progression | None],
) -> Progression | None:
    left = progression_of(x, depth)
    right = progression_of(y, depth) if left is not None else None
    return None if left is None or right is None else join(left, right)


def _sum(x: Progression, y: Progression) -> Progression:
    steps = [a + b for a, b in zip(x.steps, y.steps, strict=True)]
    return Progression(x.first + y.first, tuple(steps))


def _scaled(x: Progression, factor: int) -> Progression:
    return Progression(x.first * factor, tuple(step * factor for step in x.steps))


def _product(x: Progression, y: Progression) -> Progression | None:
    if any(x.steps) and any(y.steps):
        return None
    return _scaled(x, y.first) if any(x.steps) else _scaled(y, x.first)


def _of_moved(op: ir.OpView | ir.Block, depth: int) -> Progression | None:
    """What only takes elements from elsewhere."""
    match op:
        case ReshapeOp(operand=x) | BroadcastInDimOp(operand=x) | SliceOp(operand=x):
            pass
        case TransposeOp(operand=x) | ReverseOp(operand=x):
            pass
        case _:
            return None
    found = progression_of(x, depth)
    return None if found is None else _moved(op, found, shape_of(x))


def _moved(op: ir.OpView, found: Progression, shape: Sequence[int]) -> Progression | None:
    first, steps = found
    match op:
        case TransposeOp(permutation=permutation):
            return Progression(first, tuple(steps[dim] for dim in permutation))
        case ReverseOp(dimensions=dims):
            first += sum(steps[dim] * (shape[dim] - 1) for dim in dims)
            turned = [-step if dim in dims else step for dim, step in enumerate(steps)]
            return Progression(first, tuple(turned))
        case SliceOp(start_indices=starts, strides=strides):
            first += sum(step * start for step, start in zip(steps, starts, strict=True))
            spread = [step * stride for step, stride in zip(steps, strides, strict=True)]
            return _without_ones(first, spread, shape_of(op.result))
        case BroadcastInDimOp(broadcast_dimensions=dims):
            placed = dict(zip(dims, steps, strict=True))
            return Progression(first, tuple(placed.get(i, 0) for i in _dims_of(op)))
    return _reshaped(first, steps, shape, shape_of(op.results[0]))


def _dims_of(op: ir.OpView) -> range:
    return range(len(shape_of(op.results[0])))


def _without_ones(first: int, steps: Sequence[int], shape: Sequence[int]) -> Progression:
    kept = [step if size > 1 else 0 for step, size in zip(steps, shape, strict=True)]
    return Progression(first, tuple(kept))


def _reshaped(
    first: int, steps: Sequence[int], before: Sequence[int], after: Sequence[int]
) -> Progression | None:
    """Where only extents of 1 come or go, or nothing is counted."""
    kept = [step for step, size in zip(steps, before, strict=True) if size != 1]
    if not any(kept):
        return Progression(first, (0,) * len(after))
    sizes = [size for size in after if size != 1]
    if sizes != [size for size in before if size != 1] or math.prod(before) != math.prod(after):
        return None
    left = iter(kept)
    return Progression(first, tuple(next(left) if size != 1 else 0 for size in after))
