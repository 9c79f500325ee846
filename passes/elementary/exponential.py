"""Logarithms and exponentials of f64, right to more than an f32 holds; and what is made of them."""

from __future__ import annotations

from math import e, log2

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import users
from jxc.passes.elementary import cost as cost
from jxc.rewrite import PassContext, approximates, rule

from . import tables
from .arithmetic import Bits, Real, polynomial, where
from .operands import (
    complex_elements_of,
    elements_of,
    is_broadcast,
    materialized,
    meets_reduction,
    narrowed,
    result,
    single,
    widened,
)
from .trigonometric import cosine, sine

_INFINITY = float("inf")
_ONE = 0x3FF << 52
_ROOT_HALF = 0x3FE6A09E667F3BCD
_INTEGERS = 0x433 << 52
"""The bits of 2^52: with a small integer in place of its own, of 2^52 plus that integer."""


@rule(approximates(ulps=0.501), targets=("cpu",), producer=hlo.ExpOp)
def softplus_to_polynomials(op: hlo.Log1pOp, context: PassContext) -> ir.Value | None:
    """log1p(exp(-|x|)) -> p(s), s = y / (y + 2) and y = 2^(-|x| log2(e)); as in logaddexp."""
    match op.operand.owner:
        case hlo.ExpOp(operand=power) if len(users(op.operand)) == 1 and _is_negative(power):
            if _pays(op, context):
                y = exponential(widened(single(power)) * log2(e))
                s = y / (y + 2.0)
                return result(narrowed(s * polynomial(s * s, tables.LOGARITHM_OF_SUM)), op)
    return None


def _is_negative(value: ir.Value) -> bool:
    match value.owner:
        case hlo.NegOp(operand=size):
            return isinstance(size.owner, hlo.AbsOp)
    return False


def _pays(op: hlo.Log1pOp, context: PassContext) -> bool:
    elements = elements_of(op.operand)
    if elements < cost.LEAST_ELEMENTS or is_broadcast(op.result):
        return False
    return cost.softplus_pays(context.rates, elements=elements, is_reduced=meets_reduction(op))


def logarithm(size: Real) -> Real:
    """log2 of positive numbers that are no f64 denormals, right to 2^-40 of itself."""
    bits = Bits.of(size)
    exponents = (bits + (_ONE - _ROOT_HALF)) >> 52
    mantissa = (bits + ((1023 - exponents) << 52)).as_f64()
    whole = (exponents | _INTEGERS).as_f64() - (2.0**52 + 1023)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    log = whole + s * polynomial(s * s, tables.LOGARITHM)
    log = where(size.equals(0.0), size.like(-_INFINITY), log)
    return where(size < _INFINITY, log, size)


def exponential(x: Real) -> Real:
    """2^x; beyond the range of f32, something that is also beyond it."""
    x = where(x > 300.0, x.like(300.0), x)
    x = where(x < -300.0, x.like(-300.0), x)
    whole = x.round()
    scale = (Bits.of(whole + (2.0**52 + 1023)) << 52).as_f64()
    return scale * polynomial(x - whole, tables.EXPONENTIAL)


@rule(approximates(ulps=0.502), targets=("cpu",))
def complex_exponential_to_polynomials(op: hlo.ExpOp, context: PassContext) -> ir.Value | None:
    """exp(x + iy) -> 2^(x log2(e)) cos(y) + i 2^(x log2(e)) sin(y).

    The imaginary part is y where that is 0. Where y is no number or infinite, x still decides: 0
    and 0 for minus infinity, infinity and NaN for infinity.
    """
    if is_broadcast(op.result) or complex_elements_of(op.result) < cost.LEAST_ELEMENTS:
        return None
    if not cost.sine_pays(context.rates, is_reduced=False):
        return None
    x, y = Real(hlo.real(op.operand)), Real(hlo.imag(op.operand))
    is_endless = ~(abs(y) < _INFINITY)
    angle = where(x.equals(-_INFINITY) & is_endless, y.like(0.0), y)
    size = exponential(widened(x) * log2(e))
    real = narrowed(size * cosine(angle))
    real = where(x.equals(_INFINITY) & is_endless, x, real)
    imaginary = where(angle.equals(0.0), angle, narrowed(size * sine(angle)))
    return materialized(hlo.complex(real.value, imaginary.value), op)
