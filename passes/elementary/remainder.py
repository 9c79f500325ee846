"""Remainders of floats, exactly: a long division, 28 bits of the quotient at a time."""

from __future__ import annotations

from math import frexp

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import element_type, splat_of
from jxc.passes.elementary import cost as cost
from jxc.rewrite import exact, rule

from .arithmetic import Real, where, with_sign_of
from .operands import elements_of, is_broadcast, narrowed, result, single, widened

_DIGIT = 28
"""Bits of the quotient at a time: times the 24 of an f32 they are exact in f64."""


@rule(exact, targets=("cpu",))
def remainder_to_long_division(op: hlo.RemOp) -> ir.Value | None:
    """rem(x, y) -> |x| - q |y| with the sign of x, q the whole quotient in digits of 28 bits."""
    divisor = splat_of(op.rhs)
    if elements_of(op.lhs) < cost.LEAST_ELEMENTS or is_broadcast(op.result):
        return None
    if divisor is not None and not cost.is_long_division(divisor):
        return None
    x, size = single(op.lhs), widened(abs(single(op.lhs)))
    if divisor is None:
        by = abs(single(op.rhs))
        rest, is_less = _rest(size, widened(by), _digits(op.lhs, 0.0)), abs(x) < by
    else:
        rest = _rest(size, abs(divisor), _digits(op.lhs, abs(divisor)))
        is_less = abs(x) < abs(divisor)
    return result(where(is_less, x, with_sign_of(narrowed(rest), x)), op)


def _digits(dividend: ir.Value, divisor: float) -> int:
    """How many digits the quotient may have; 0.0 stands for any divisor of that type."""
    greatest, least = (16, -24) if isinstance(element_type(dividend), ir.F16Type) else (128, -149)
    least = frexp(divisor)[1] - 1 if divisor else least
    return -(-max(greatest - least, 1) // _DIGIT)


def _rest(size: Real, by: Real | float, digits: int) -> Real:
    """The remainder of f64s, which is exact in each step.

    A digit comes from a product with the inverse, and so may be one too large or too small; the
    next one makes up for it.
    """
    inverse = 1.0 / by
    for digit in reversed(range(digits)):
        scale = 2.0 ** (digit * _DIGIT)
        quotient = Real(hlo.floor((size * (inverse * (1 / scale))).value))
        size = size - quotient * (by * scale)
    size = where(size < 0.0, size + by, size)
    return where(size >= by, size - by, size)
