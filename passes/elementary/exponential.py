"""Logarithms and exponentials in f64, accurate beyond f32, and softplus."""

from __future__ import annotations

from math import e, log2

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import users
from jxc.rewrite import approximates, rule

from . import tables
from .arithmetic import Tensor, polynomial, where
from .operands import (
    is_eligible,
    materialized,
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
"""The bits of 2^52. Replacing its lowest bits by a small integer adds that integer to it."""


@rule(approximates(ulps=0.501), producer=hlo.ExpOp, priced=True)
def softplus_to_polynomials(op: hlo.Log1pOp) -> ir.Value | None:
    """log1p(exp(-|x|)) -> p(s), s = y / (y + 2) and y = 2^(-|x| log2(e)); as in logaddexp."""
    match op.operand.owner:
        case hlo.ExpOp(operand=power) if len(users(op.operand)) == 1 and _is_negative(power):
            if is_eligible(op):
                y = exponential(widened(single(power)) * log2(e))
                s = y / (y + 2.0)
                return result(narrowed(s * polynomial(s * s, tables.LOGARITHM_OF_SUM)), op)
    return None


def _is_negative(value: ir.Value) -> bool:
    match value.owner:
        case hlo.NegOp(operand=size):
            return isinstance(size.owner, hlo.AbsOp)
    return False


def logarithm(size: Tensor) -> Tensor:
    """log2 of zeros and positive normal f64 numbers, with a relative error below 2^-40."""
    bits = size.bits()
    f64 = ir.F64Type.get()
    exponents = (bits + (_ONE - _ROOT_HALF)) >> 52
    mantissa = (bits + ((1023 - exponents) << 52)).bitcast(f64)
    whole = (exponents | _INTEGERS).bitcast(f64) - (2.0**52 + 1023)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    log = whole + s * polynomial(s * s, tables.LOGARITHM)
    log = where(size.equals(0.0), size.like(-_INFINITY), log)
    return where(size < _INFINITY, log, size)


def exponential(x: Tensor) -> Tensor:
    """2^x; a result beyond the range of f32 is inaccurate, but still beyond that range."""
    x = where(x > 300.0, x.like(300.0), x)
    x = where(x < -300.0, x.like(-300.0), x)
    whole = x.round()
    scale = ((whole + (2.0**52 + 1023)).bits() << 52).bitcast(ir.F64Type.get())
    return scale * polynomial(x - whole, tables.EXPONENTIAL)


@rule(approximates(ulps=0.502), priced=True)
def complex_exponential_to_polynomials(op: hlo.ExpOp) -> ir.Value | None:
    """exp(x + iy) -> 2^(x log2(e)) cos(y) + i 2^(x log2(e)) sin(y).

    The imaginary part is y where y is 0. If y is NaN or infinite, the result is 0 + 0i for an x of
    minus infinity, and infinity + NaN i for an x of infinity.
    """
    if not is_eligible(op, ("complex<f32>",)):
        return None
    x, y = Tensor(hlo.real(op.operand)), Tensor(hlo.imag(op.operand))
    is_undefined = ~(abs(y) < _INFINITY)
    angle = where(x.equals(-_INFINITY) & is_undefined, y.like(0.0), y)
    size = exponential(widened(x) * log2(e))
    real = narrowed(size * cosine(angle))
    real = where(x.equals(_INFINITY) & is_undefined, x, real)
    imaginary = where(angle.equals(0.0), angle, narrowed(size * sine(angle)))
    return materialized(hlo.complex(real.value, imaginary.value), op)
