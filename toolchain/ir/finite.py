"""Whether a value is free of NaN and infinities for every input, by the ops that produce it."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from .bounds import bounds_of
from .constants import array_of
from .dtypes import numpy_dtype
from .values import element_type, is_boolean, is_complex, is_integer, shape_of, splat_of

PRODUCERS_SEEN = 4
"""How many producers in a row are inspected."""

_MOST_ELEMENTS = 4096  # a larger constant is not read, unless it is a splat

# Their results are elements of their operands, or lie between zero and a finite operand.
_KEEP = (
    *(hlo.AbsOp, hlo.NegOp, hlo.SignOp, hlo.CeilOp, hlo.FloorOp, hlo.RoundOp),
    *(hlo.RoundNearestEvenOp, hlo.MaxOp, hlo.MinOp, hlo.ClampOp, hlo.ReshapeOp, hlo.TransposeOp),
    *(hlo.BroadcastInDimOp, hlo.SliceOp, hlo.ReverseOp, hlo.ConcatenateOp, hlo.PadOp),
)
# Their results are bounded for every finite operand.
_BOUNDED = (hlo.SineOp, hlo.CosineOp, hlo.TanhOp, hlo.LogisticOp)

_FLOATS = ("f16", "bf16", "f32", "f64")  # smaller floats differ in what they lack


def is_finite(value: ir.Value, depth: int = PRODUCERS_SEEN) -> bool:
    """Whether no element can be NaN or infinite, whatever the arguments of the program are.

    True for integers and booleans, for constants of finite numbers, and for ops that keep finite
    numbers finite. False where it is not known.

        >>> is_finite(x), is_finite(n), is_finite(constant(1, x))
        (False, True, True)
        >>> is_finite(stablehlo.sine(constant(1, x))), is_finite(constant(np.inf, x))
        (True, False)

    Args:
        value: of any element type.
        depth: how many producers in a row are inspected.
    """
    if is_integer(value) or is_boolean(value):
        return True
    op = value.owner
    if isinstance(op, hlo.ConstantOp):
        is_small = splat_of(value) is not None or math.prod(shape_of(value)) <= _MOST_ELEMENTS
        return is_small and is_finite_constant(value)
    if depth == 0 or str(element_type(value)) not in _FLOATS:
        return False
    if isinstance(op, hlo.IotaOp):
        return max(shape_of(value)) <= _largest(value)
    if isinstance(op, hlo.ConvertOp):
        return _is_in_range(op) and is_finite(op.operand, depth - 1)
    if not isinstance(op, (*_KEEP, *_BOUNDED, hlo.SelectOp)):
        return False
    if any(map(is_complex, op.operands)):  # the absolute value of a large number may be infinite
        return False
    return all(is_finite(each, depth - 1) for each in op.operands)


def is_finite_constant(value: ir.Value) -> bool:
    """Whether a value is a constant without NaN and infinities; reads all elements."""
    array = array_of(value)
    if array is None:
        return False
    if array.size and not any(array.strides):  # a splat
        array = array[(slice(1),) * array.ndim]
    return bool(np.isfinite(array).all())


def _largest(value: ir.Value) -> float:
    """The largest finite number of the element type of a value, a float."""
    limits = ml_dtypes.finfo(numpy_dtype(element_type(value)))  # type: ignore[no-untyped-call]
    return float(limits.max)


def _is_in_range(op: hlo.ConvertOp) -> bool:
    """Whether each finite number of the operand's element type is one of the result's range."""
    if found := bounds_of(op.operand):
        return max(-found.low, found.high) <= _largest(op.result)
    known = str(element_type(op.operand)) in _FLOATS
    return known and _largest(op.operand) <= _largest(op.result)
