"""Exact remainders of floats: a long division with 28 bits of the quotient at a time."""

from __future__ import annotations

from math import frexp

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import element_type, splat_of
from jxc.rewrite import exact, rule

from . import cost
from .arithmetic import Tensor, where, with_sign_of
from .operands import is_eligible, narrowed, result, single, widened

_DIGIT = 28
"""Bits of a digit of the quotient: its product with an f32 of 24 bits is exact in f64."""


@rule(exact, priced=True)
def remainder_to_long_division(op: hlo.RemOp) -> ir.Value | None:
    """rem(x, y) -> |x| - q |y| with the sign of x, q the whole quotient in digits of 28 bits."""
    divisor = splat_of(op.rhs)
    if not is_eligible(op):
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
    """The most digits that the quotient can have; a divisor of 0.0 stands for any of the type."""
    greatest, least = (16, -24) if isinstance(element_type(dividend), ir.F16Type) else (128, -149)
    least = frexp(divisor)[1] - 1 if divisor else least
    return -(-max(greatest - least, 1) // _DIGIT)


def _rest(size: Tensor, by: Tensor | float, digits: int) -> Tensor:
    """The remainder of `size` by `by` in f64; every step is exact.

    A digit is computed from a product with the inverse, and so may be one too large or too small;
    the next digit corrects it.
    """
    inverse = 1.0 / by
    for digit in reversed(range(digits)):
        scale = 2.0 ** (digit * _DIGIT)
        quotient = Tensor(hlo.floor((size * (inverse * (1 / scale))).value))
        size = size - quotient * (by * scale)
    size = where(size < 0.0, size + by, size)
    return where(size >= by, size - by, size)
