"""StableHLO's ops with operands and result of one type, for one element, as z3 terms."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import z3

from .elements import FiniteFloat, Float, Integer, Real, Term

EVEN = z3.RNE()
"""The rounding mode of StableHLO: to nearest, ties to even."""


def _add(x: Term, y: Term, of: Real) -> Term:
    if isinstance(of, Float):
        return _rounded_twice(z3.fpAdd, x, y, of)
    return x | y if of.width == 1 else x + y


def _subtract(x: Term, y: Term, of: Real) -> Term:
    """x - y; for floats x + (-y), the definition of IEEE 754."""
    return _rounded_twice(z3.fpAdd, x, z3.fpNeg(y), of) if isinstance(of, Float) else x - y


def _rounded_twice(
    compute: Callable[[Term, Term, Term], Term], x: Term, y: Term, of: Float
) -> Term:
    """Round to 2p + 2 bits and then to p, with the same result as rounding to p once."""
    wide = _wide(of).sort
    exact = compute(EVEN, *(z3.fpFPToFP(EVEN, each, wide) for each in (x, y)))
    return of.rounded(exact)


def _signed(compute: Callable[[Term, Term, Term], Term], x: Term, y: Term, of: Float) -> Term:
    """Compute magnitude and sign separately: z3 proves equality of two products faster."""
    magnitude = _rounded_twice(compute, z3.fpAbs(x), z3.fpAbs(y), of)
    differ = z3.Xor(z3.fpIsNegative(x), z3.fpIsNegative(y))
    return z3.If(differ, z3.fpNeg(magnitude), magnitude)


def _wide(of: Float) -> Float:
    """The type for arithmetic: z3 needs at least as many significand bits as exponent bits."""
    if of.significand >= of.exponent and not isinstance(of, FiniteFloat):
        return of
    return Float(of.exponent + 3, 2 * of.significand + 2)


def _multiply(x: Term, y: Term, of: Real) -> Term:
    if isinstance(of, Float):
        return _signed(z3.fpMul, x, y, of)
    return x & y if of.width == 1 else x * y


def _divide(x: Term, y: Term, of: Real) -> Term:
    match of:
        case Float():
            return _signed(z3.fpDiv, x, y, of)
        case Integer(is_signed=True):
            return z3.If(y == 0, of.value(-1), x / y)
    return z3.UDiv(x, y)  # all ones if y is zero


def _remainder(x: Term, y: Term, of: Integer) -> Term:
    """The remainder of integers; z3's remainder of a division by zero is the dividend."""
    return z3.SRem(x, y) if of.is_signed else z3.URem(x, y)


def less(x: Term, y: Term, of: Real) -> Term:
    match of:
        case Float():
            return z3.fpLT(x, y)
        case Integer(is_signed=True):
            return x < y
    return z3.ULT(x, y)


def maximum(x: Term, y: Term, of: Real) -> Term:
    """NaN if either is NaN; 0.0 is greater than -0.0."""
    return _unless_nan(x, y, of, z3.If(_is_below(x, y, of), y, x))


def minimum(x: Term, y: Term, of: Real) -> Term:
    """NaN if either is NaN; -0.0 is less than 0.0."""
    return _unless_nan(x, y, of, z3.If(_is_below(y, x, of), y, x))


def _is_below(x: Term, y: Term, of: Real) -> Term:
    """Whether x is less than y, or is -0.0 while y is a zero."""
    if isinstance(of, Integer):
        return less(x, y, of)
    zeros = z3.And(z3.fpIsZero(x), z3.fpIsZero(y))
    return z3.If(zeros, z3.fpIsNegative(x), less(x, y, of))


def _unless_nan(x: Term, y: Term, of: Real, chosen: Term) -> Term:
    """`chosen`, but NaN if x or y is NaN."""
    if isinstance(of, Integer):
        return chosen
    return z3.If(z3.Or(z3.fpIsNaN(x), z3.fpIsNaN(y)), z3.fpNaN(of.sort), chosen)


def _negate(x: Term, of: Real) -> Term:
    return z3.fpNeg(x) if isinstance(of, Float) else -x


def _abs(x: Term, of: Real) -> Term:
    """The absolute value; that of the least integer is itself."""
    if isinstance(of, Float):
        return z3.fpAbs(x)
    return z3.If(x < 0, -x, x)


def _sign(x: Term, of: Real) -> Term:
    """-1, 0 or 1; zeros and NaN stay the same."""
    if isinstance(of, Integer):
        return z3.If(x == 0, x, z3.If(x < 0, of.value(-1), of.value(1)))
    one = z3.If(z3.fpIsNegative(x), of.value(-1.0), of.value(1.0))
    return z3.If(z3.Or(z3.fpIsZero(x), z3.fpIsNaN(x)), x, one)


def _popcnt(x: Term, of: Integer) -> Term:
    bits = [z3.ZeroExt(of.width - 1, z3.Extract(i, i, x)) for i in range(of.width)]
    return reduce(lambda total, bit: total + bit, bits)


def _count_leading_zeros(x: Term, of: Integer) -> Term:
    count = of.value(of.width)
    for i in range(of.width):
        count = z3.If(z3.Extract(i, i, x) == 1, of.value(of.width - 1 - i), count)
    return count


def _rounded(mode: Term) -> Callable[[Term, Float], Term]:
    """Round to an integer, which every type that contains x contains too."""

    def rounded(x: Term, of: Float) -> Term:
        wide = z3.fpFPToFP(EVEN, x, _wide(of).sort)
        return z3.fpFPToFP(EVEN, z3.fpRoundToIntegral(mode, wide), of.sort)

    return rounded


ARITHMETIC: dict[str, Callable[..., Term]] = {
    "abs": _abs,
    "add": _add,
    "and": lambda x, y, of: x & y,
    "ceil": _rounded(z3.RTP()),
    "count_leading_zeros": _count_leading_zeros,
    "divide": _divide,
    "floor": _rounded(z3.RTN()),
    "maximum": maximum,
    "minimum": minimum,
    "multiply": _multiply,
    "negate": _negate,
    "not": lambda x, of: ~x,
    "or": lambda x, y, of: x | y,
    "popcnt": _popcnt,
    "remainder": _remainder,
    "round_nearest_afz": _rounded(z3.RNA()),
    "round_nearest_even": _rounded(z3.RNE()),
    "shift_left": lambda x, y, of: x << y,
    "shift_right_arithmetic": lambda x, y, of: x >> y,
    "shift_right_logical": lambda x, y, of: z3.LShR(x, y),
    "sign": _sign,
    "subtract": _subtract,
    "xor": lambda x, y, of: x ^ y,
}
"""The z3 term of each op by name, as a function of its operands and their type."""
