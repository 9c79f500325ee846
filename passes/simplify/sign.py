"""Negations and absolute values: cancelled, or merged into constants and into other ops."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import chlo, stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import (
    as_result,
    element_type,
    is_complex,
    is_float,
    is_integer,
    splat_of,
    static_shape,
)
from jxc.rewrite import equation, exact, rule

from .._shared.elementwise import is_used_once
from .algebra import wrapped_splat

_SIGNED = frozenset({"bf16", "f16", "f32", "f64"})  # small floats may lack -0.0, or any sign


def _is_signed(value: ir.Value) -> bool:
    """Whether the elements are integers, which wrap around, or floats of a type with -0.0."""
    return is_integer(value) or str(element_type(value)) in _SIGNED


def _is_real(value: ir.Value) -> bool:
    return not is_complex(value)


def _is_signed_float(value: ir.Value) -> bool:
    return is_float(value) and _is_signed(value)


@equation(exact)
def negate_of_negate() -> None:
    """-(-x) -> x; integers wrap back."""


@equation(exact, on=is_integer)
def negate_of_subtract() -> None:
    """-(x - y) -> y - x, on integers: for equal floats -(x - y) is -0.0, and y - x is 0.0."""


@equation(exact)
def add_of_negate() -> None:
    """x + -y -> x - y, as IEEE 754 defines x - y."""


@equation(exact)
def subtract_of_negate() -> None:
    """x - -y -> x + y."""


@equation(exact, on=_is_real)
def multiply_of_negates() -> None:
    """-x * -y -> x * y, on real numbers."""


@equation(exact, on=is_float)
def divide_of_negates() -> None:
    """-x / -y -> x / y, on floats: integers overflow if x is the least and y is 1."""


@rule(exact, producer=hlo.NegOp)
def abs_of_negate(op: hlo.AbsOp) -> ir.Value | None:
    """|-x| -> |x|, on real numbers; the least integer is its own negative."""
    match op.operand.owner:
        case hlo.NegOp(operand=x) if not is_complex(x):
            return hlo.abs(x, results=[op.result.type])
    return None


@rule(exact, producer=hlo.AbsOp)
def abs_of_abs(op: hlo.AbsOp) -> ir.Value | None:
    """||x|| -> |x|."""
    match op.operand.owner:
        case hlo.AbsOp(result=inner):
            return as_result(inner, op)
    return None


@equation(exact)
def subtract_from_zero() -> None:
    """-0 - x -> -x: 0 - x on integers, and on floats not 0.0 - x, as 0.0 - 0.0 is 0.0."""


@equation(exact, on=_is_signed)
def multiply_by_minus_one() -> None:
    """x * -1 -> -x, on signed numbers; the least integer is its own negative."""


@equation(exact, on=_is_signed_float)
def divide_by_minus_one() -> None:
    """x / -1 -> -x, on floats: integers overflow for the least of them."""


def _negative(value: ir.Value) -> ir.Value | None:
    """The negative of a splat of integers, or of floats of a type with -0.0."""
    number = splat_of(value)
    if number is None or static_shape(value) is None or number != number:
        return None
    if is_integer(value):
        return wrapped_splat(-int(number), value)
    return build.splat(-number, value.type) if _is_signed(value) else None


@rule(exact, producer=hlo.MulOp)
def negate_of_multiply(op: hlo.NegOp) -> ir.Value | None:
    """-(x * c) -> x * -c, if the product has no other use."""
    match op.operand.owner:
        case hlo.MulOp(lhs=x, rhs=y) if is_used_once(op.operand):
            for value, constant in ((x, y), (y, x)):
                if (negative := _negative(constant)) is not None:
                    return hlo.multiply(value, negative, results=[op.result.type])
    return None


@rule(exact, producer=hlo.NegOp)
def divide_of_negate(op: hlo.DivOp) -> ir.Value | None:
    """(-x) / c -> x / -c, c / (-x) -> -c / x, on floats: on integers -x may overflow."""
    if not is_float(op.result):
        return None
    match op.lhs.owner:
        case hlo.NegOp(operand=x) if (negative := _negative(op.rhs)) is not None:
            return hlo.divide(x, negative, results=[op.result.type])
    match op.rhs.owner:
        case hlo.NegOp(operand=x) if (negative := _negative(op.lhs)) is not None:
            return hlo.divide(negative, x, results=[op.result.type])
    return None


@rule(exact, producer=hlo.DivOp)
def negate_of_divide(op: hlo.NegOp) -> ir.Value | None:
    """-(x / c) -> x / -c, -(c / x) -> -c / x, on floats, if the quotient has no other use."""
    match op.operand.owner:
        case hlo.DivOp(lhs=x, rhs=y) if is_float(op.result) and is_used_once(op.operand):
            if (negative := _negative(y)) is not None:
                return hlo.divide(x, negative, results=[op.result.type])
            if (negative := _negative(x)) is not None:
                return hlo.divide(negative, y, results=[op.result.type])
    return None


@rule(exact, producer=hlo.AbsOp)
def square_of_abs(op: hlo.MulOp) -> ir.Value | None:
    """|x| * |x| -> x * x, on real numbers."""
    if op.lhs != op.rhs:
        return None
    match op.lhs.owner:
        case hlo.AbsOp(operand=x) if x.type == op.result.type:
            return hlo.multiply(x, x)
    return None


@rule(exact, producer=(hlo.MulOp, chlo.SquareOp))
def abs_of_square(op: hlo.AbsOp) -> ir.Value | None:
    """|x * x| -> x * x, on floats: integers wrap around."""
    match op.operand.owner:
        case hlo.MulOp(lhs=x, rhs=y) if x == y and is_float(x):
            return as_result(op.operand, op)
        case chlo.SquareOp(operand=x) if is_float(x):
            return as_result(op.operand, op)
    return None


@rule(exact, producer=(hlo.ExpOp, hlo.LogisticOp))
def abs_of_positive(op: hlo.AbsOp) -> ir.Value | None:
    """|exp(x)| -> exp(x), and of the logistic function, on real numbers."""
    match op.operand.owner:
        case (hlo.ExpOp() | hlo.LogisticOp()) as producer if is_float(producer.result):
            return as_result(op.operand, op)
    return None
