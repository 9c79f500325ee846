"""Exponentials of complex numbers."""

from __future__ import annotations

from math import e, log2

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import ExpOp

from jxc.passes.elementary import cost as cost
from jxc.rewrite import PassContext, approximates, rule

from .arithmetic import Real, where
from .exponential import exponential
from .operands import complex_elements_of, is_spread, narrowed, settled, widened
from .trigonometric import cosine, sine

_INFINITY = float("inf")


@rule(approximates(ulps=0.502), targets=("cpu",))
def complex_exponential_to_polynomials(op: ExpOp, context: PassContext) -> ir.Value | None:
    """exp(x + iy) -> 2^(x log2(e)) cos(y) + i 2^(x log2(e)) sin(y).

    The imaginary part is y where that is 0. Where y is no number or infinite, x still decides: 0
    and 0 for minus infinity, infinity and NaN for infinity.
    """
    if is_spread(op.result) or complex_elements_of(op.result) < cost.LEAST_ELEMENTS:
        return None
    if not cost.sine_pays(context.rates, is_reduced=False):
        return None
    x, y = Real(stablehlo.real(op.operand)), Real(stablehlo.imag(op.operand))
    is_endless = ~(abs(y) < _INFINITY)
    angle = where(x.equals(-_INFINITY) & is_endless, y.like(0.0), y)
    size = exponential(widened(x) * log2(e))
    real = narrowed(size * cosine(angle))
    real = where(x.equals(_INFINITY) & is_endless, x, real)
    imaginary = where(angle.equals(0.0), angle, narrowed(size * sine(angle)))
    return settled(stablehlo.complex(real.value, imaginary.value), op)
