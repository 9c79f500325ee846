"""Sines, cosines and tangents: the argument in turns, exactly; then a polynomial."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import CosineOp, SineOp, TanOp

from jxc.ir.values import element_type
from jxc.passes.elementary import cost as cost
from jxc.rewrite import PassContext, approximates, rule

from . import tables
from .arithmetic import Mask, Real, polynomial, where
from .operands import elements_of, is_spread, meets_reduction, narrowed, result, single, widened

_CHUNK = 28
"""Bits of 1/(2 pi) at a time: with the 24 of an f32 their product is exact in f64."""

_CLOSEST = 64
"""Bits behind the point that a fraction of a turn needs.

An f32 comes as close as 2^-32 turns to a multiple of a quarter turn; what is left must be right to
2^-31 of that or so.
"""


@rule(approximates(ulps=0.501), targets=("cpu",))
def sine_to_polynomial(op: SineOp, context: PassContext) -> ir.Value | None:
    """sin(x) -> +-p(t), t what remains of x / (2 pi) after half turns; x itself where it is 0."""
    if not _pays(op, context):
        return None
    x = single(op.operand)
    return result(where(x.equals(0.0), x, narrowed(sine(x, _exponents(op.operand)))), op)


@rule(approximates(ulps=0.501), targets=("cpu",))
def cosine_to_polynomial(op: CosineOp, context: PassContext) -> ir.Value | None:
    """cos(x) -> +-p(t), t what remains of x / (2 pi) + 1/4 after half turns."""
    if not _pays(op, context):
        return None
    return result(narrowed(cosine(single(op.operand), _exponents(op.operand))), op)


@rule(approximates(ulps=0.501), targets=("cpu",))
def tangent_to_polynomials(op: TanOp, context: PassContext) -> ir.Value | None:
    """tan(x) -> p(t) / q(t) or -q(t) / p(t), t what remains of x / (2 pi) after quarter turns.

    It is x itself where that is 0.
    """
    if not _pays(op, context):
        return None
    x = single(op.operand)
    t, quarters = _remainder(x, _exponents(op.operand), turn_by=0.0, parts=4)
    square, is_odd = t * t, _is_odd(quarters)
    over = t * polynomial(square, tables.SINE_EIGHTH)
    under = polynomial(square, tables.COSINE_EIGHTH)
    tangent = where(is_odd, -under, over) / where(is_odd, over, under)
    return result(where(x.equals(0.0), x, narrowed(tangent)), op)


def _pays(op: SineOp | CosineOp | TanOp, context: PassContext) -> bool:
    elements = elements_of(op.operand)
    if elements < cost.LEAST_ELEMENTS or is_spread(op.result):
        return False
    return cost.sine_pays(context.rates, is_reduced=meets_reduction(op))


def sine(x: Real, exponents: int = 128) -> Real:
    """In f64, of f32 that are less than 2 to the power of `exponents`; 0.0 where x is -0.0."""
    return _polynomial_of(*_remainder(x, exponents, turn_by=0.0, parts=2))


def cosine(x: Real, exponents: int = 128) -> Real:
    """As `sine`."""
    return _polynomial_of(*_remainder(x, exponents, turn_by=0.25, parts=2))


def _polynomial_of(t: Real, half_turns: Real) -> Real:
    t = where(_is_odd(half_turns), -t, t)
    return t * polynomial(t * t, tables.SINE)


def _remainder(x: Real, exponents: int, *, turn_by: float, parts: int) -> tuple[Real, Real]:
    """x / (2 pi) + `turn_by`, less the nearest multiple of 1 / `parts`, and that multiple.

    It is the sum of products whose whole turns are dropped, each exact. The multiple goes first:
    then the sum is exact as long as anything cancels, and what is left is right to 2^-50 of itself
    or to 2^-70 of a turn, whatever the exponent of x.
    """
    first, *rest = _fractions(x, exponents)
    about = first
    for each in rest[: _whole(exponents) - 1]:
        about = about + each
    count = ((about + turn_by) * float(parts) if turn_by else about * float(parts)).round()
    left = first + (turn_by - count * (1.0 / parts))
    for each in rest:
        left = left + each
    return left, count


def _fractions(x: Real, exponents: int) -> Sequence[Real]:
    """Numbers whose sum is x / (2 pi) but for whole turns."""
    wide, found = widened(x), []
    for i in range(-(-(exponents + _CLOSEST - 2) // _CHUNK)):
        shift = -tables.TURN_BITS_SCALE - 2 - _CHUNK * (i + 1)
        chunk = (tables.TURN_BITS >> shift) % 2**_CHUNK
        turns = wide * (chunk * 2.0 ** -(2 + _CHUNK * (i + 1)))
        found.append(turns - turns.round() if i < _whole(exponents) else turns)
    return found


def _whole(exponents: int) -> int:
    """How many of the products may hold whole turns."""
    return 1 + (exponents - 2) // _CHUNK


def _exponents(x: ir.Value) -> int:
    """Finite numbers of the type of `x` are less than 2 to this power."""
    return 16 if isinstance(element_type(x), ir.F16Type) else 128


def _is_odd(whole: Real) -> Mask:
    half = whole * 0.5
    return half.round().differs(half)
