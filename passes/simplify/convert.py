"""Converts and bitcasts that change nothing, and chains of them without loss."""

from __future__ import annotations

import math

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import type_bounds
from jxc.ir.values import SPLATS, as_result, element_type, splat_of, static_shape
from jxc.rewrite import exact, rule

from .._shared.elementwise import is_used_once

# The stored bits of the exponent and of the mantissa, in IEEE 754's formats and bfloat16.
_FORMATS = {"bf16": (8, 7), "f16": (5, 10), "f32": (8, 23), "f64": (11, 52)}

# The float types of which a type represents every value.
_SMALL = frozenset({"f8E4M3", "f8E4M3FN", "f8E4M3B11FNUZ", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ"})


_HOLDS = {"f32": _SMALL | {"bf16", "f16"}, "f64": _SMALL | {"bf16", "f16", "f32"}}


@rule(exact)
def identity_convert(op: hlo.ConvertOp) -> ir.Value | None:
    """convert(x) -> x, to the type of x."""
    return as_result(op.operand, op)


@rule(exact, producer=hlo.ConvertOp)
def convert_of_convert(op: hlo.ConvertOp) -> ir.Value | None:
    """convert(convert(x)) -> convert(x), if the intermediate type has every value of x."""
    match op.operand.owner:
        case hlo.ConvertOp(operand=x):
            first, middle, last = map(element_type, (x, op.operand, op.result))
            if x.type == op.result.type:
                return x if _holds(middle, first) else None
            if _is_same_directly(first, middle, last):
                return hlo.convert(op.result.type, x)
    return None


def _is_same_directly(first: ir.Type, middle: ir.Type, last: ir.Type) -> bool:
    """Whether the conversion to `middle` changes no result.

    Integers wrap around, floats saturate: a negative integer that is converted to a float and then
    to an unsigned integer becomes 0; converted directly it becomes a large number.
    """
    kinds = [isinstance(each, ir.IntegerType) for each in (first, middle, last)]
    if all(kinds) and 1 < last.width <= middle.width:
        return True  # the low bits are kept; a conversion to a boolean tests all of them
    if not _holds(middle, first):
        return False
    return kinds != [True, False, True] or _holds(last, first)


def _holds(wide: ir.Type, narrow: ir.Type) -> bool:
    """Whether every value of `narrow`, NaN and -0.0 included, is a value of `wide`."""
    if (own := type_bounds(narrow)) is None:
        return str(narrow) in _HOLDS.get(str(wide), ())
    if (others := type_bounds(wide)) is not None:
        return others.contains(own)
    return own.high < 2**16 and max(-own.low, own.high) <= exact_to(wide)


def exact_to(element: ir.Type) -> int:
    """The last integer up to which a type represents all; -1 for types without integers."""
    if (kind := type_bounds(element)) is not None:
        return kind.high
    found = _FORMATS.get(str(element))
    return -1 if found is None else 2 << found[1]


@rule(exact, producer=SPLATS)
def convert_of_splat(op: hlo.ConvertOp) -> ir.Value | None:
    """convert(dense<c>) -> dense<c>, if the type can represent c."""
    number = splat_of(op.operand)
    is_exact = number is not None and _has(element_type(op.result), number)
    return build.splat_result(number, op) if is_exact else None


def _has(element: ir.Type, number: float) -> bool:
    """Whether a type has this number, which is not NaN or infinite."""
    if not math.isfinite(number):
        return False
    if (kind := type_bounds(element)) is not None:
        if number == 0:
            return math.copysign(1, number) > 0
        return number == int(number) and kind.low <= number <= kind.high
    if not isinstance(element, ir.FloatType):
        return False
    try:
        found = ir.FloatAttr.get(element, number).value
    except OverflowError:
        return False
    return found == number and math.copysign(1, found) == math.copysign(1, number)


@rule(exact, producer=hlo.SelectOp)
def convert_of_select(op: hlo.ConvertOp) -> ir.Value | None:
    """convert(select(p, dense<c>, dense<d>)) -> select(p, dense<c>, dense<d>).

    If the type can represent c and d, and the select has no other use.
    """
    match op.operand.owner:
        case hlo.SelectOp(pred=p, on_true=x, on_false=y) if is_used_once(op.operand):
            c, d, element = splat_of(x), splat_of(y), element_type(op.result)
            if c is None or d is None or static_shape(op.result) is None:
                return None
            if not _has(element, c) or not _has(element, d):
                return None
            either = [build.splat(number, op.result.type) for number in (c, d)]
            return hlo.select(p, *either, results=[op.result.type])
    return None


@rule(exact)
def identity_reduce_precision(op: hlo.ReducePrecisionOp) -> ir.Value | None:
    """reduce_precision(x) -> x, for x of f32 or f64, to at least the bits of its type.

    Not if x was converted from a wider float, and not for narrower types, where the op does round:
    XLA computes such values in a wider type and may omit the conversion to their own
    (`xla_allow_excess_precision`). `jax.remat` inserts the op so that both halves of a gradient
    see the same bits.
    """
    bits = op.exponent_bits.value, op.mantissa_bits.value
    own = _FORMATS.get(str(element_type(op.operand)), (math.inf, math.inf))
    if any(kept < needed for kept, needed in zip(bits, own, strict=True)):
        return None
    return None if _may_have_more_digits(op.operand) else as_result(op.operand, op)


def _may_have_more_digits(x: ir.Value) -> bool:
    """Whether XLA may hold a float in a wider type than its own."""
    if str(element_type(x)) not in ("f32", "f64"):
        return True
    while isinstance(x.owner, _MOVING):
        x = x.owner.operands[0]
    match x.owner:
        case hlo.ConvertOp(operand=source):
            return _holds(element_type(source), element_type(x))
    return False


_MOVING = (hlo.BroadcastInDimOp, hlo.ReshapeOp, hlo.ReverseOp, hlo.SliceOp, hlo.TransposeOp)


@rule(exact)
def identity_bitcast(op: hlo.BitcastConvertOp) -> ir.Value | None:
    """bitcast_convert(x) -> x, to the type of x."""
    return as_result(op.operand, op)


@rule(exact, producer=hlo.BitcastConvertOp)
def bitcast_of_bitcast(op: hlo.BitcastConvertOp) -> ir.Value | None:
    """bitcast_convert(bitcast_convert(x)) -> bitcast_convert(x), if all types have one width.

    And -> x, for all widths, if x has the type of the result.
    """
    match op.operand.owner:
        case hlo.BitcastConvertOp(operand=x):
            if x.type == op.result.type:
                return x
            kinds = [element_type(each) for each in (x, op.operand, op.result)]
            if not all(isinstance(kind, ir.IntegerType | ir.FloatType) for kind in kinds):
                return None
            if len({kind.width for kind in kinds}) == 1:
                return hlo.bitcast_convert(op.result.type, x)
    return None
