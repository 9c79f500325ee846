"""Integer values that are arithmetic sequences along each of their dimensions.

Indices of gathers, scatters and slices often are: an iota, scaled, shifted, reshaped, transposed.
The analysis walks up the producers of a value, as `bounds` does, and gives up where an element may
wrap around.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from .bounds import PRODUCERS_SEEN, Bounds, few_elements, type_bounds
from .values import element_type, shape_of, splat_of, static_shape


class ArithmeticSequence(NamedTuple):
    """An integer value whose element at (i, j, ..) is `first + i * steps[0] + j * steps[1] + ..`.

    The step along an extent of 1 is 0.
    """

    first: int
    steps: tuple[int, ...]

    def bounds(self, shape: Sequence[int]) -> Bounds:
        """The least and the greatest element, in a value of that shape, which is not empty."""
        ends = [step * (size - 1) for step, size in zip(self.steps, shape, strict=True)]
        low, high = (sum(pick(end, 0) for end in ends) for pick in (min, max))
        return Bounds(self.first + low, self.first + high)

    def scaled(self, factor: int) -> ArithmeticSequence:
        """Each element times `factor`."""
        return ArithmeticSequence(self.first * factor, tuple(step * factor for step in self.steps))


def sequence_of(value: ir.Value, depth: int = PRODUCERS_SEEN) -> ArithmeticSequence | None:
    """The arithmetic sequence that `value` is, or None.

    None too where an element may wrap around, and for values that are empty, have dynamic extents
    or are not integers.
    """
    kind, shape = type_bounds(element_type(value)), static_shape(value)
    if kind is None or kind.high == 1 or shape is None or 0 in shape or depth <= 0:
        return None
    found = _of_op(value.owner, depth - 1)
    if found is None or not kind.contains(found.bounds(shape)):
        return None
    return found


def sequence_in(elements: np.ndarray) -> ArithmeticSequence | None:
    """The arithmetic sequence that a non-empty array of integers is, or None."""
    first = int(elements.flat[0])
    origin = [0] * elements.ndim
    steps = [
        int(elements[(*origin[:dim], 1, *origin[dim + 1 :])]) - first if size > 1 else 0
        for dim, size in enumerate(elements.shape)
    ]
    expected = np.full(elements.shape, first, object)
    for step, index in zip(steps, np.indices(elements.shape, dtype=object), strict=True):
        expected = expected + step * index
    return ArithmeticSequence(first, tuple(steps)) if (expected == elements).all() else None


def _of_op(op: ir.OpView | ir.Block, depth: int) -> ArithmeticSequence | None:
    match op:
        case hlo.ConstantOp() if (number := splat_of(op.result)) is not None:
            return ArithmeticSequence(int(number), (0,) * len(shape_of(op.result)))
        case hlo.ConstantOp():
            elements = few_elements(op.result)
            return None if elements is None else sequence_in(elements)
        case hlo.IotaOp(iota_dimension=dim):
            shape = shape_of(op.result)
            steps = [int(i == dim.value and size > 1) for i, size in enumerate(shape)]
            return ArithmeticSequence(0, tuple(steps))
        case hlo.ConvertOp(operand=x):
            return sequence_of(x, depth)
        case hlo.NegOp(operand=x):
            found = sequence_of(x, depth)
            return None if found is None else found.scaled(-1)
        case hlo.AddOp() | hlo.SubtractOp() | hlo.MulOp():
            return _of_arithmetic(op, depth)
        case (
            hlo.ReshapeOp()
            | hlo.BroadcastInDimOp()
            | hlo.SliceOp()
            | hlo.TransposeOp()
            | hlo.ReverseOp()
        ):
            found = sequence_of(op.operand, depth)
            return None if found is None else _rearranged(op, found, shape_of(op.operand))
    return None


def _of_arithmetic(
    op: hlo.AddOp | hlo.SubtractOp | hlo.MulOp, depth: int
) -> ArithmeticSequence | None:
    x = sequence_of(op.lhs, depth)
    y = sequence_of(op.rhs, depth) if x is not None else None
    if x is None or y is None:
        return None
    if isinstance(op, hlo.MulOp):
        if any(x.steps) and any(y.steps):
            return None
        return x.scaled(y.first) if any(x.steps) else y.scaled(x.first)
    y = y.scaled(-1) if isinstance(op, hlo.SubtractOp) else y
    steps = [a + b for a, b in zip(x.steps, y.steps, strict=True)]
    return ArithmeticSequence(x.first + y.first, tuple(steps))


def _rearranged(
    op: ir.OpView, found: ArithmeticSequence, shape: Sequence[int]
) -> ArithmeticSequence | None:
    """The result of an op that only moves elements of an operand of that shape."""
    first, steps = found
    after = shape_of(op.results[0])
    match op:
        case hlo.TransposeOp(permutation=permutation):
            return ArithmeticSequence(first, tuple(steps[dim] for dim in permutation))
        case hlo.ReverseOp(dimensions=dims):
            first += sum(steps[dim] * (shape[dim] - 1) for dim in dims)
            reversed_ = [-step if dim in dims else step for dim, step in enumerate(steps)]
            return ArithmeticSequence(first, tuple(reversed_))
        case hlo.SliceOp(start_indices=starts, strides=strides):
            first += sum(step * start for step, start in zip(steps, starts, strict=True))
            strided = zip(steps, strides, after, strict=True)
            kept = [step * stride if size > 1 else 0 for step, stride, size in strided]
            return ArithmeticSequence(first, tuple(kept))
        case hlo.BroadcastInDimOp(broadcast_dimensions=dims):
            step_of = dict(zip(dims, steps, strict=True))
            return ArithmeticSequence(first, tuple(step_of.get(i, 0) for i in range(len(after))))
    return _reshaped(first, steps, shape, after)


def _reshaped(
    first: int, steps: Sequence[int], before: Sequence[int], after: Sequence[int]
) -> ArithmeticSequence | None:
    """The result of a reshape that only adds or drops extents of 1, or of a splat."""
    kept = [step for step, size in zip(steps, before, strict=True) if size != 1]
    if not any(kept):
        return ArithmeticSequence(first, (0,) * len(after))
    sizes = [size for size in after if size != 1]
    if sizes != [size for size in before if size != 1] or math.prod(before) != math.prod(after):
        return None
    left = iter(kept)
    return ArithmeticSequence(first, tuple(next(left) if size != 1 else 0 for size in after))
