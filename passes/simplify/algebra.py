"""Algebra: chains of ops with constants, sums and differences that cancel, boolean arithmetic."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import (
    SPLATS,
    as_result,
    element_type,
    is_boolean,
    is_complex,
    is_integer,
    splat_of,
    static_shape,
)
from jxc.rewrite import equation, exact, rule

_Shift: TypeAlias = hlo.ShiftLeftOp | hlo.ShiftRightArithmeticOp | hlo.ShiftRightLogicalOp


class Offset(NamedTuple):
    """An integer value x + constant, or -x + constant if `is_negated`."""

    x: ir.Value
    is_negated: bool
    constant: int


def offset_of(value: ir.Value) -> Offset | None:
    """The form of `value` if it is x + c, c + x, x - c or c - x."""
    match value.owner:
        case hlo.AddOp(lhs=x, rhs=c) if (number := splat_of(c)) is not None:
            return Offset(x, False, int(number))
        case hlo.AddOp(lhs=c, rhs=x) if (number := splat_of(c)) is not None:
            return Offset(x, False, int(number))
        case hlo.SubtractOp(lhs=x, rhs=c) if (number := splat_of(c)) is not None:
            return Offset(x, False, -int(number))
        case hlo.SubtractOp(lhs=c, rhs=x) if (number := splat_of(c)) is not None:
            return Offset(x, True, int(number))
    return None


@rule(exact, producer=(hlo.AddOp, hlo.SubtractOp))
def offset_of_offset(op: hlo.AddOp | hlo.SubtractOp) -> ir.Value | None:
    """(x + c) + d -> x + (c + d), on integers, which wrap around; also for subtractions."""
    if not is_integer(op.result) or static_shape(op.result) is None:
        return None
    if (outer := offset_of(op.result)) is None or (inner := offset_of(outer.x)) is None:
        return None
    total = outer.constant + (-inner.constant if outer.is_negated else inner.constant)
    constant = wrapped_splat(total, op.result)
    if outer.is_negated != inner.is_negated:
        return hlo.subtract(constant, inner.x, results=[op.result.type])
    return hlo.add(inner.x, constant, results=[op.result.type])


def wrapped_splat(number: int, like: ir.Value) -> ir.Value:
    """The integer splat of the type of `like`, wrapped around."""
    element = ir.IntegerType(element_type(like))
    number %= 1 << element.width
    if not element.is_unsigned and number >= 1 << element.width - 1:
        number -= 1 << element.width
    return build.splat(number, like.type)


_COMBINED: dict[type[ir.OpView], Callable[[int, int], int]] = {
    hlo.MulOp: operator.mul,
    hlo.AndOp: operator.and_,
    hlo.OrOp: operator.or_,
    hlo.XorOp: operator.xor,
    hlo.MaxOp: max,
    hlo.MinOp: min,
}


@rule(exact, producer=tuple(_COMBINED))
def constants_of_chain(
    op: hlo.MulOp | hlo.AndOp | hlo.OrOp | hlo.XorOp | hlo.MaxOp | hlo.MinOp,
) -> ir.Value | None:
    """(x * c) * d -> x * (c * d), on integers, which wrap around; also for &, |, ^, max, min."""
    if not is_integer(op.result) or static_shape(op.result) is None:
        return None
    outer = _with_constant(op)
    if outer is None or type(outer[0].owner) is not type(op):
        return None
    if (inner := _with_constant(outer[0].owner)) is None:
        return None
    constant = wrapped_splat(_COMBINED[type(op)](inner[1], outer[1]), op.result)
    return type(op)(inner[0], constant, results=[op.result.type]).result


def _with_constant(op: ir.OpView) -> tuple[ir.Value, int] | None:
    """The operands of a commutative op, if one is a splat: the other one, and its number."""
    x, y = op.operands
    for value, other in ((x, y), (y, x)):
        if (number := splat_of(other)) is not None:
            return value, int(number)
    return None


@equation(exact, on=is_integer)
def subtract_of_sum() -> None:
    """(x + y) - y -> x, x - (x + y) -> -y, on integers: floats round."""


@equation(exact, on=is_integer)
def subtract_of_difference() -> None:
    """x - (x - y) -> y, (x - y) - x -> -y, on integers."""


@equation(exact, on=is_integer)
def add_of_difference() -> None:
    """(x - y) + y -> x, on integers."""


@rule(exact, producer=(hlo.MaxOp, hlo.MinOp))
def max_min_absorbed(op: hlo.MaxOp | hlo.MinOp) -> ir.Value | None:
    """max(x, max(x, y)) -> max(x, y); max(x, min(x, y)) -> x on integers: a float y may be NaN.

    Not on complex numbers: if a part is NaN, the maximum depends on the order of the operands.
    """
    if is_complex(op.result):
        return None
    for x, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        match other.owner:
            case hlo.MaxOp(lhs=y, rhs=z) | hlo.MinOp(lhs=y, rhs=z) if x in (y, z):
                if type(other.owner) is type(op):
                    return as_result(other, op)
                return as_result(x, op) if is_integer(x) else None
    return None


@equation(exact)
def xor_of_xor() -> None:
    """(x ^ y) ^ y -> x."""


@equation(exact)
def xor_of_nots() -> None:
    """~x ^ ~y -> x ^ y."""


@equation(exact)
def xor_all_ones() -> None:
    """x ^ ones -> ~x."""


@rule(exact)
def boolean_arithmetic(op: hlo.AddOp | hlo.MaxOp | hlo.MulOp | hlo.MinOp) -> ir.Value | None:
    """p + q -> p | q, max(p, q) -> p | q, p * q -> p & q, min(p, q) -> p & q, on booleans."""
    if not is_boolean(op.result):
        return None
    either = isinstance(op, hlo.AddOp | hlo.MaxOp)
    return (hlo.or_ if either else hlo.and_)(op.lhs, op.rhs, results=[op.result.type])


@rule(exact, producer=(hlo.ShiftLeftOp, hlo.ShiftRightArithmeticOp, hlo.ShiftRightLogicalOp))
def shift_of_shift(op: _Shift) -> ir.Value | None:
    """(x << c) << d -> x << (c + d), also to the right, if c + d is less than the width."""
    inner = op.lhs.owner
    if type(inner) is not type(op) or static_shape(op.result) is None:
        return None
    first, second = splat_of(inner.rhs), splat_of(op.rhs)
    if first is None or second is None or first < 0 or second < 0:
        return None
    if first + second >= ir.IntegerType(element_type(op.result)).width:
        return None
    amount = build.splat(first + second, op.rhs.type)
    return type(op)(inner.lhs, amount, results=[op.result.type]).result


@equation(exact, on=is_integer)
def remainder_by_one() -> None:
    """x % 1 -> 0, on integers: floats have fractions."""


@equation(exact)
def power_of_one() -> None:
    """x ** 1 -> x, on real numbers."""


@rule(exact, producer=SPLATS)
def power_of_zero(op: hlo.PowOp) -> ir.Value | None:
    """x ** 0 -> 1, on real numbers; NaN ** 0 is 1 as well."""
    return build.splat_result(1, op) if splat_of(op.rhs) == 0 else None
