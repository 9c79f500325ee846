"""Elementwise ops: shapes, users, and how to rebuild one on other operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import element_type, is_boolean, shape_of


def numeric_shape(*values: ir.Value) -> tuple[int, ...] | None:
    """The extents of the first of `values`, if all are static tensors of numbers, else None.

    None too for quantised types and for types with an encoding: both may refer to dimensions, which
    rules that move dimensions would have to rewrite.
    """
    for value in values:
        kind = value.type
        if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
            return None
        element = kind.element_type
        if not isinstance(element, ir.IntegerType | ir.FloatType | ir.ComplexType):
            return None
        if kind.encoding is not None:
            return None
    return shape_of(values[0])


def is_used_once(value: ir.Value) -> bool:
    """Whether `value` has exactly one use."""
    uses = iter(value.uses)
    return next(uses, None) is not None and next(uses, None) is None


def is_used_only_by(value: ir.Value, op: ir.OpView) -> bool:
    """Whether `op` is the only user of `value`."""
    return all(use.owner == op for use in value.uses)


def with_shape(value: ir.Value, shape: Sequence[int]) -> ir.RankedTensorType:
    """The tensor type of that shape and the element type of `value`."""
    return ir.RankedTensorType.get(shape, element_type(value))


def rebuilt(op: ir.OpView, operands: Sequence[ir.Value], shape: Sequence[int]) -> ir.Value:
    """A copy of `op` on other operands, with the same attributes and a result of that shape."""
    copy = op.operation.clone()
    for index, operand in enumerate(operands):
        copy.operands[index] = operand
    copy.results[0].set_type(with_shape(copy.results[0], shape))
    return copy.results[0]


def size_of(value: ir.Value) -> int:
    """The number of elements of a static tensor."""
    return math.prod(shape_of(value))


def is_converted_boolean(value: ir.Value) -> bool:
    """Whether `value` is a mask of numbers, converted from booleans.

    XLA computes a product with one as a `select`: where the mask is 0, the product with an infinity
    or NaN is 0.0. Rules that move data must not separate the conversion from the product (`moved`).
    """
    return isinstance(value.owner, hlo.ConvertOp) and is_boolean(value.owner.operand)


def moved(value: ir.Value, move: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """`move(value)`; converted booleans are moved first and then converted."""
    if not is_converted_boolean(value):
        return move(value)
    inner = move(value.owner.operand)
    return rebuilt(value.owner, [inner], shape_of(inner))
