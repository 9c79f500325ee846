"""Queries on values: types, shapes, splat constants, uses."""

from __future__ import annotations

import math
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo


def shape_of(value: ir.Value) -> tuple[int, ...]:
    """The extents of a ranked tensor; dynamic ones are `ir.ShapedType.get_dynamic_size()`.

    >>> shape_of(x), shape_of(scalar)
    ((2, 3), ())
    """
    return tuple(ir.RankedTensorType(value.type).shape)


def static_shape(*values: ir.Value) -> tuple[int, ...] | None:
    """The extents of the first of `values`, or None if any of them has a dynamic extent."""
    types = [ir.RankedTensorType(value.type) for value in values]
    return tuple(types[0].shape) if all(each.has_static_shape for each in types) else None


def element_type(value: ir.Value) -> ir.Type:
    """The element type of a ranked tensor.

    >>> print(element_type(x), element_type(n))
    f32 i32
    """
    return ir.RankedTensorType(value.type).element_type


def is_integer(value: ir.Value) -> bool:
    """Whether the elements are integers of any width and signedness, not booleans.

    >>> is_integer(n), is_integer(x)
    (True, False)
    """
    element = element_type(value)
    return isinstance(element, ir.IntegerType) and element.width > 1


def is_boolean(value: ir.Value) -> bool:
    """Whether the elements are `i1`: StableHLO adds them with OR and multiplies with AND."""
    element = element_type(value)
    return isinstance(element, ir.IntegerType) and element.width == 1


def is_unsigned(value: ir.Value) -> bool:
    """Whether the elements are unsigned integers."""
    element = element_type(value)
    return isinstance(element, ir.IntegerType) and element.is_unsigned


def is_float(value: ir.Value) -> bool:
    """Whether the elements are real floating-point numbers of any width.

    >>> is_float(x), is_float(n)
    (True, False)
    """
    return isinstance(element_type(value), ir.FloatType)


def is_complex(value: ir.Value) -> bool:
    """Whether the elements are complex numbers."""
    return isinstance(element_type(value), ir.ComplexType)


def is_used(value: ir.Value) -> bool:
    """Whether `value` is an operand of any op.

    >>> is_used(stablehlo.abs(x)), is_used(x)
    (False, True)
    """
    return next(iter(value.uses), None) is not None


def users(value: ir.Value) -> list[ir.OpView]:
    """The ops that use `value`, one entry for each use.

    >>> y = stablehlo.abs(x)
    >>> square = stablehlo.multiply(y, y)
    >>> [type(op).__name__ for op in users(y)]
    ['MulOp', 'MulOp']
    """
    return [use.owner for use in value.uses]


SPLATS = (hlo.BroadcastInDimOp, hlo.ConstantOp)
"""The ops that produce the splats that `splat_attr` recognises: for the `producer` of a rule."""


def splat_attr(value: ir.Value) -> ir.Attribute | None:
    """The element of a splat constant, or of a scalar constant that is broadcast.

    None for other values, for empty constants, and for complex ones, whose attribute the bindings
    cannot hold.
    """
    op = value.owner
    while isinstance(op, hlo.BroadcastInDimOp):
        op = op.operand.owner
    if not isinstance(op, hlo.ConstantOp) or is_complex(op.result):
        return None
    attr = op.value
    if not isinstance(attr, ir.DenseElementsAttr) or not attr.is_splat:
        return None
    return attr.get_splat_value()


def splat_of(value: ir.Value) -> float | int | bool | None:
    """The number of a splat constant, as Python's; None where `splat_attr` is None.

    Integers are read in their own signedness; floats of any width are exact.

        >>> splat_of(constant(2, x)), splat_of(broadcast(constant(2, scalar), [5])), splat_of(x)
        (2.0, 2.0, None)
    """
    attr: Any = splat_attr(value)
    return None if attr is None else attr.value


def is_splat(value: ir.Value, number: float) -> bool:
    """Whether `value` is a splat of `number`; -0.0 and 0.0 are different floats.

    >>> is_splat(constant(1, x), 1), is_splat(constant(-0.0, x), 0.0), is_splat(x, 1)
    (True, False, False)
    """
    found = splat_of(value)
    if found is None or found != number:
        return False
    return not isinstance(found, float) or math.copysign(1, found) == math.copysign(1, number)


def is_same_splat(value: ir.Value, other: ir.Value) -> bool:
    """Whether both are splats of the same element type and bits, of any shapes."""
    mine, theirs = splat_attr(value), splat_attr(other)
    return mine is not None and theirs is not None and mine == theirs


def is_same(value: ir.Value, other: ir.Value) -> bool:
    """Whether both are one value, or splats of the same bits, of any shapes.

    >>> is_same(x, x), is_same(constant(1, x), constant(1, scalar)), is_same(x, stablehlo.abs(x))
    (True, True, False)
    """
    return value == other or is_same_splat(value, other)


def broadcast_dims(value: ir.Value) -> tuple[int, ...]:
    """The dimensions along which a `broadcast_in_dim` repeats its operand; () for another value.

    These are the dimensions that it adds, and those that it expands from size 1. All elements
    along them are equal.

        >>> broadcast_dims(broadcast(n, [7, 4], [1])), broadcast_dims(x)
        ((0,), ())
    """
    op = value.owner
    if not isinstance(op, hlo.BroadcastInDimOp):
        return ()
    sizes = dict(zip(op.broadcast_dimensions, shape_of(op.operand), strict=True))
    own = enumerate(shape_of(value))
    return tuple(dim for dim, size in own if dim not in sizes or sizes[dim] != size)


def is_interchangeable(value: ir.Value, other: ir.Value) -> bool:
    """Whether one can replace the other: `is_same`, and of the same type."""
    return value.type == other.type and is_same(value, other)


def is_all_ones(value: ir.Value) -> bool:
    """Whether `value` is an integer or boolean splat with every bit set."""
    found = splat_of(value)
    if found is None or not isinstance(element := element_type(value), ir.IntegerType):
        return False
    return found in ((1 << element.width) - 1, -1)


def direction_of(op: hlo.CompareOp) -> str:
    """The direction of a comparison: "EQ", "NE", "LT", "LE", "GT" or "GE"."""
    return str(hlo.ComparisonDirectionAttr(op.comparison_direction).value)


def as_result(value: ir.Value, op: ir.OpView) -> ir.Value | None:
    """`value` if it has the type of the result of `op`, and so can replace it, else None.

    StableHLO's types need only be compatible: an operand may have the extent `?` where the result
    has 4.
    """
    return value if value.type == op.result.type else None


def is_before(op: ir.OpView, other: ir.OpView) -> bool:
    """Whether both are in one block, in this order."""
    is_in_block = op.operation.block == other.operation.block
    return is_in_block and bool(op.operation.is_before_in_block(other.operation))


def swaps_matrices(op: hlo.TransposeOp) -> bool:
    """Whether a transpose swaps the last two dimensions only."""
    *batch, row, column = range(len(shape_of(op.operand)))
    return list(op.permutation) == [*batch, column, row]
