"""Numbers as integers that sort alike, and back: on their bits, so that denormals count."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from jxc.ir import build
from jxc.ir.values import element_type, is_float, shape_of

from .order import key_width

_INFINITY = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000}
_QUIET = {"f16": 0x0200, "bf16": 0x0040, "f32": 0x00400000}


def bits(value: ir.Value) -> ir.Value:
    """The bits of floats, as signed integers."""
    integers = ir.RankedTensorType.get(shape_of(value), integer_like(value))
    return stablehlo.bitcast_convert(integers, value)


def integer_like(value: ir.Value) -> ir.Type:
    """The signed integer type that is as wide as an element."""
    width = key_width(value)
    assert width is not None
    return ir.IntegerType.get_signless(width)


def floats(value: ir.Value, element: ir.Type) -> ir.Value:
    """The floats of these bits."""
    return stablehlo.bitcast_convert(ir.RankedTensorType.get(shape_of(value), element), value)


def folded_bits(value: ir.Value) -> ir.Value:
    """The bits of floats, every NaN as the same positive one and every zero as 0.0."""
    name, raw = str(element_type(value)), bits(value)
    infinity, lowest = _INFINITY[name], _lowest(raw)
    magnitude = stablehlo.and_(raw, _like(raw, ~lowest))
    is_nan = compare("GT", magnitude, _like(raw, infinity))
    is_minus_zero = compare("EQ", raw, _like(raw, lowest))
    plain = stablehlo.select(is_minus_zero, _like(raw, 0), raw)
    return stablehlo.select(is_nan, _like(raw, infinity | _QUIET[name]), plain)


def key(value: ir.Value) -> ir.Value:
    """Integers of the same width, in the same order; equal where JAX's order has them equal."""
    return _mirrored(folded_bits(value)) if is_float(value) else value


def unkey(keys: ir.Value, element: ir.Type, is_minus_zero: ir.Value) -> ir.Value:
    """The floats of these keys; -0.0 where `is_minus_zero`."""
    plain = _mirrored(keys)
    signed = stablehlo.select(is_minus_zero, _like(plain, _lowest(plain)), plain)
    return floats(signed, element)


def is_minus_zero(value: ir.Value) -> ir.Value:
    """Where floats are -0.0."""
    raw = bits(value)
    return compare("EQ", raw, _like(raw, _lowest(raw)))


def negated(raw: ir.Value) -> ir.Value:
    """The bits of floats with the other sign, of NaNs too."""
    return stablehlo.xor(raw, _like(raw, _lowest(raw)))


def compare(direction: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """Which elements compare so."""
    return stablehlo.compare(lhs, rhs, stablehlo.ComparisonDirectionAttr.get(direction))


def _mirrored(raw: ir.Value) -> ir.Value:
    """All but the sign flipped where it is set: from bits of floats to their order, and back."""
    width = key_width(raw)
    assert width is not None
    sign = stablehlo.shift_right_arithmetic(raw, _like(raw, width - 1))
    return stablehlo.xor(raw, stablehlo.and_(sign, _like(raw, ~_lowest(raw))))


def _like(value: ir.Value, number: int) -> ir.Value:
    return build.splat(number, value.type)


def _lowest(value: ir.Value) -> int:
    width = key_width(value)
    assert width is not None
    return -(1 << width - 1)
