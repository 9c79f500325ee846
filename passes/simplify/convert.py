"""Converts and bitcasts that change nothing, or go a long way round without loss."""

from __future__ import annotations

import math

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import (
    BitcastConvertOp,
    ConvertOp,
    ReducePrecisionOp,
)

from jxc.ir import build
from jxc.ir.values import (
    SPLATS,
    as_result,
    element_type,
    splat_of,
    static_shape,
)
from jxc.rewrite import exact, rule

# Bits that a float type holds exactly, and the types whose every value it holds.
_PRECISION = {"bf16": 8, "f16": 11, "f32": 24, "f64": 53}


_SMALL = frozenset({"f8E4M3", "f8E4M3FN", "f8E4M3B11FNUZ", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ"})


_HOLDS = {"f32": _SMALL | {"bf16", "f16"}, "f64": _SMALL | {"bf16", "f16", "f32"}}


@rule(exact)
def identity_convert(op: ConvertOp) -> ir.Value | None:
    """convert(x) -> x, to the type that x has."""
    return as_result(op.operand, op)


@rule(exact, producer=ConvertOp)
def convert_of_convert(op: ConvertOp) -> ir.Value | None:
    """convert(convert(x)) -> convert(x), where the first holds every value of x."""
    match op.operand.owner:
        case ConvertOp(operand=x):
            if x.type == op.result.type:
                return x if _holds(element_type(op.operand), element_type(x)) else None
            if _is_same_directly(
                element_type(x), element_type(op.operand), element_type(op.result)
            ):
                return stablehlo.convert(op.result.type, x)
    return None


def _is_same_directly(first: ir.Type, middle: ir.Type, last: ir.Type) -> bool:
    """Whether converting to `middle` on the way changes nothing.

    Integers wrap, floats saturate: a negative integer that passes through a float on its way to an
    unsigned one becomes 0, else a large number.
    """
    kinds = [isinstance(each, ir.IntegerType) for each in (first, middle, last)]
    if all(kinds) and 1 < last.width <= middle.width:
        return True  # the low bits are kept; a boolean would ask about all of them
    if not _holds(middle, first):
        return False
    return kinds != [True, False, True] or _holds(last, first)


def _holds(wide: ir.Type, narrow: ir.Type) -> bool:
    """Whether every value of `narrow`, NaN and -0.0 included, is a value of `wide`."""
    if isinstance(narrow, ir.IntegerType):
        low, high = _range(narrow)
        if isinstance(wide, ir.IntegerType):
            least, most = _range(wide)
            return least <= low and high <= most
        return max(-low, high).bit_length() <= _PRECISION.get(str(wide), 0) and high < 2**16
    return str(narrow) in _HOLDS.get(str(wide), ())


def _range(element: ir.IntegerType) -> tuple[int, int]:
    if element.is_unsigned or element.width == 1:
        return 0, (1 << element.width) - 1
    return -(1 << element.width - 1), (1 << element.width - 1) - 1


@rule(exact, producer=SPLATS)
def convert_of_splat(op: ConvertOp) -> ir.Value | None:
    """convert(dense<c>) -> dense<c>, where the type has the number c."""
    number = splat_of(op.operand)
    if number is None or static_shape(op.result) is None or not math.isfinite(number):
        return None
    return build.splat(number, op.result.type) if _has(element_type(op.result), number) else None


def _has(element: ir.Type, number: float) -> bool:
    if isinstance(element, ir.IntegerType):
        low, high = _range(element)
        is_zero = number == 0 and math.copysign(1, number) > 0
        return is_zero if number == 0 else number == int(number) and low <= number <= high
    if not isinstance(element, ir.FloatType):
        return False
    try:
        found = ir.FloatAttr.get(element, number).value
    except OverflowError:
        return False
    return found == number and math.copysign(1, found) == math.copysign(1, number)


# The bits of the exponent and of the mantissa that IEEE 754's formats and bfloat16 write down.
_FORMATS = {"bf16": (8, 7), "f16": (5, 10), "f32": (8, 23), "f64": (11, 52)}


@rule(exact)
def identity_reduce_precision(op: ReducePrecisionOp) -> ir.Value | None:
    """reduce_precision(x) -> x, with all exponents that x has, and the digits that it had once.

    With fewer exponents, small numbers become zero, though the format might have them.
    """
    own = element_type(op.operand)
    exponent, mantissa = _FORMATS.get(str(own), (math.inf, math.inf))
    match op.operand.owner:
        case ConvertOp(operand=x) if _holds(own, element_type(x)):
            mantissa = min(mantissa, _FORMATS.get(str(element_type(x)), (0, math.inf))[1])
    if exponent > op.exponent_bits.value or mantissa > op.mantissa_bits.value:
        return None
    return as_result(op.operand, op)


@rule(exact)
def identity_bitcast(op: BitcastConvertOp) -> ir.Value | None:
    """bitcast_convert(x) -> x, to the type that x has."""
    return as_result(op.operand, op)


@rule(exact, producer=BitcastConvertOp)
def bitcast_by_way(op: BitcastConvertOp) -> ir.Value | None:
    """bitcast_convert(bitcast_convert(x)) -> bitcast_convert(x), all elements of one width."""
    match op.operand.owner:
        case BitcastConvertOp(operand=x) if x.type != op.result.type:
            widths = {_width(element_type(each)) for each in (x, op.operand, op.result)}
            if len(widths) == 1 and None not in widths:
                return stablehlo.bitcast_convert(op.result.type, x)
    return None


def _width(element: ir.Type) -> int | None:
    if isinstance(element, ir.IntegerType | ir.FloatType):
        return element.width
    return None


@rule(exact, producer=BitcastConvertOp)
def bitcast_of_bitcast(op: BitcastConvertOp) -> ir.Value | None:
    """bitcast_convert(bitcast_convert(x)) -> x, back to the type of x."""
    match op.operand.owner:
        case BitcastConvertOp(operand=x):
            return as_result(x, op)
    return None
