"""Sorts by keys in JAX's order, and the conversion of their keys to integers of that order.

The integers are computed from the bits of floats, so that denormals are not flushed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import (
    direction_of,
    element_type,
    is_float,
    is_splat,
    shape_of,
    splat_of,
    static_shape,
)

_INFINITY = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000}
_QUIET = {"f16": 0x0200, "bf16": 0x0040, "f32": 0x00400000}


def bits(value: ir.Value) -> ir.Value:
    """The bits of floats, as signed integers."""
    integers = ir.RankedTensorType.get(shape_of(value), integer_like(value))
    return hlo.bitcast_convert(integers, value)


def integer_like(value: ir.Value) -> ir.Type:
    """The signed integer type of the same width as an element."""
    width = key_width(value)
    assert width is not None
    return ir.IntegerType.get_signless(width)


def floats(value: ir.Value, element: ir.Type) -> ir.Value:
    """The floats with these bits."""
    return hlo.bitcast_convert(ir.RankedTensorType.get(shape_of(value), element), value)


def folded_bits(value: ir.Value) -> ir.Value:
    """The bits of floats, with one positive NaN for all NaNs and 0.0 for -0.0."""
    name, raw = str(element_type(value)), bits(value)
    infinity, lowest = _INFINITY[name], _lowest(raw)
    magnitude = hlo.and_(raw, _like(raw, ~lowest))
    is_nan = build.compare("GT", magnitude, _like(raw, infinity))
    is_minus_zero = build.compare("EQ", raw, _like(raw, lowest))
    plain = hlo.select(is_minus_zero, _like(raw, 0), raw)
    return hlo.select(is_nan, _like(raw, infinity | _QUIET[name]), plain)


def key(value: ir.Value) -> ir.Value:
    """Integers of the same width in the same order; equal where JAX's order has ties."""
    return mirrored(folded_bits(value)) if is_float(value) else value


def unkey(keys: ir.Value, element: ir.Type, is_minus_zero: ir.Value) -> ir.Value:
    """The floats of these keys, with -0.0 where `is_minus_zero`."""
    plain = mirrored(keys)
    signed = hlo.select(is_minus_zero, _like(plain, _lowest(plain)), plain)
    return floats(signed, element)


def is_minus_zero(value: ir.Value) -> ir.Value:
    """Where floats are -0.0."""
    raw = bits(value)
    return build.compare("EQ", raw, _like(raw, _lowest(raw)))


def negated(raw: ir.Value) -> ir.Value:
    """The bits of the negated floats, of NaNs too."""
    return hlo.xor(raw, _like(raw, _lowest(raw)))


def mirrored(raw: ir.Value) -> ir.Value:
    """All but the sign flipped where it is set: from bits of floats to their order, and back."""
    width = key_width(raw)
    assert width is not None
    sign = hlo.shift_right_arithmetic(raw, _like(raw, width - 1))
    return hlo.xor(raw, hlo.and_(sign, _like(raw, ~_lowest(raw))))


def _like(value: ir.Value, number: int) -> ir.Value:
    return build.splat(number, value.type)


def _lowest(value: ir.Value) -> int:
    width = key_width(value)
    assert width is not None
    return -(1 << width - 1)


_FLOATS = {"f16": 16, "bf16": 16, "f32": 32}


def key_width(value: ir.Value) -> int | None:
    """The bits of an element that can be a key; None for types that cannot."""
    element = element_type(value)
    if isinstance(element, ir.IntegerType):
        return element.width if element.width in (8, 16, 32) else None
    return _FLOATS.get(str(element))


def axis_of(op: hlo.SortOp) -> int:
    """The axis that `op` sorts along; the last one if it does not say."""
    rank = len(shape_of(op.inputs[0]))
    return rank - 1 if op.dimension is None else op.dimension.value % rank


def sorts_by_first(op: hlo.SortOp) -> bool:
    """Whether `op` sorts by its first operand alone, ascending, in JAX's order of numbers."""
    return len(keys_of(op)) == 1


def keys_of(op: hlo.SortOp) -> list[ir.Value]:
    """The first operands of `op` if it sorts by them in turn, ascending, in JAX's order of numbers.

    NaNs are last and equal to each other, and zeros are equal. Shapes must be static, with an axis
    of two elements or more. None for any other order.
    """
    shape = static_shape(*op.operands)
    if not shape or 0 in shape or shape[axis_of(op)] < 2:
        return []
    block = op.comparator.blocks[0]
    compared = block.operations[len(block.operations) - 1].operands[0]
    return _keys_of(compared, list(op.inputs), list(block.arguments))


def _keys_of(
    compared: ir.Value, inputs: Sequence[ir.Value], arguments: Sequence[ir.Value]
) -> list[ir.Value]:
    """x1 < y1 or (x1 == y1 and (x2 < y2 or ...)): the operands of these elements."""
    if not inputs or key_width(inputs[0]) is None:
        return []
    key, x, y = inputs[0], *arguments[:2]
    match compared.owner:
        case hlo.CompareOp() if _orders(compared, "LT", x, y):
            return [key]
        case hlo.OrOp(lhs=less, rhs=either) if _orders(less, "LT", x, y):
            match either.owner:
                case hlo.AndOp(lhs=equal, rhs=rest) if _orders(equal, "EQ", x, y):
                    others = _keys_of(rest, inputs[1:], arguments[2:])
                    return [key, *others] if others else []
    return []


def _orders(value: ir.Value, direction: str, x: ir.Value, y: ir.Value) -> bool:
    """Whether `value` compares two elements in JAX's order of numbers."""
    match value.owner:
        case hlo.CompareOp(lhs=lhs, rhs=rhs) as op if direction_of(op) == direction:
            if isinstance(x.type.element_type, ir.IntegerType):
                return (lhs, rhs) == (x, y)
            return (
                "TOTALORDER" in str(op.compare_type) and _is_folded(lhs, x) and _is_folded(rhs, y)
            )
    return False


def _is_folded(value: ir.Value, x: ir.Value) -> bool:
    """Whether `value` is select(x != x, nan, select(x == 0, 0, x)), the NaN being positive."""
    match value.owner:
        case hlo.SelectOp(pred=is_nan, on_true=nan, on_false=rest) if _compares(is_nan, "NE", x, x):
            found = splat_of(nan)
            if found is None or not math.isnan(found) or math.copysign(1, found) < 0:
                return False
            match rest.owner:
                case hlo.SelectOp(pred=is_zero, on_true=zero, on_false=other):
                    return other == x and is_splat(zero, 0.0) and _compares(is_zero, "EQ", x, zero)
    return False


def _compares(value: ir.Value, direction: str, x: ir.Value, y: ir.Value) -> bool:
    match value.owner:
        case hlo.CompareOp(lhs=lhs, rhs=rhs) as op:
            is_total = "TOTALORDER" in str(op.compare_type)
            return direction_of(op) == direction and (lhs, rhs) == (x, y) and not is_total
    return False
