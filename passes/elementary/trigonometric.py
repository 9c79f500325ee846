"""Trigonometric functions and their inverses: a range reduction, then a polynomial.

Sines: x / (2 pi), the number of turns of the circle, is computed as a sum of exact products with 28
bits of 1 / (2 pi) each, without the whole turns. Arc functions: symmetries map the argument to a
small range.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo
from jaxlib.mlir.dialects.chlo import AcosOp, AsinOp, AtanOp

from jxc.ir.values import element_type
from jxc.rewrite import approximates, rule

from . import tables
from .arithmetic import Tensor, polynomial, where, with_sign_of
from .operands import is_eligible, narrowed, result, single, widened

_CHUNK = 28
"""Bits of 1/(2 pi) in one factor: its product with an f32 of 24 bits is exact in f64."""

_CLOSEST = 64
"""Bits after the binary point of a fraction of a turn.

An f32 is at least 2^-32 turns away from any multiple of a quarter turn, and the difference needs a
relative error of about 2^-31.
"""


@rule(approximates(ulps=0.501), priced=True)
def sine_to_polynomial(op: hlo.SineOp) -> ir.Value | None:
    """sin(x) -> +-p(t), t = x / (2 pi) modulo 1/2; x itself where it is 0."""
    if not is_eligible(op):
        return None
    x = single(op.operand)
    return result(where(x.equals(0.0), x, narrowed(sine(x, _exponents(op.operand)))), op)


@rule(approximates(ulps=0.501), priced=True)
def cosine_to_polynomial(op: hlo.CosineOp) -> ir.Value | None:
    """cos(x) -> +-p(t), t = x / (2 pi) + 1/4 modulo 1/2."""
    if not is_eligible(op):
        return None
    return result(narrowed(cosine(single(op.operand), _exponents(op.operand))), op)


@rule(approximates(ulps=0.501), priced=True)
def tangent_to_polynomials(op: hlo.TanOp) -> ir.Value | None:
    """tan(x) -> p(t) / q(t) or -q(t) / p(t), t = x / (2 pi) modulo 1/4.

    It is x itself where x is 0.
    """
    if not is_eligible(op):
        return None
    x = single(op.operand)
    t, quarters = _remainder(x, _exponents(op.operand), offset=0.0, parts=4)
    square, is_odd = t * t, _is_odd(quarters)
    over = t * polynomial(square, tables.SINE_EIGHTH)
    under = polynomial(square, tables.COSINE_EIGHTH)
    tangent = where(is_odd, -under, over) / where(is_odd, over, under)
    return result(where(x.equals(0.0), x, narrowed(tangent)), op)


def sine(x: Tensor, exponents: int = 128) -> Tensor:
    """sin(x) in f64 for f32 below 2 to the power of `exponents`; 0.0 where x is -0.0."""
    return _polynomial_of(*_remainder(x, exponents, offset=0.0, parts=2))


def cosine(x: Tensor, exponents: int = 128) -> Tensor:
    """cos(x) in f64, as `sine`."""
    return _polynomial_of(*_remainder(x, exponents, offset=0.25, parts=2))


def _polynomial_of(t: Tensor, half_turns: Tensor) -> Tensor:
    t = where(_is_odd(half_turns), -t, t)
    return t * polynomial(t * t, tables.SINE)


def _remainder(x: Tensor, exponents: int, *, offset: float, parts: int) -> tuple[Tensor, Tensor]:
    """x / (2 pi) + `offset` minus the nearest multiple of 1 / `parts`, and that multiple's number.

    It is a sum of exact products without their whole turns. The multiple is subtracted first, so
    that terms that cancel are summed exactly. The relative error is below 2^-50, or the absolute
    error below 2^-70 turns, for every exponent of x.
    """
    first, *rest = _fractions(x, exponents)
    about = first
    for each in rest[: _whole(exponents) - 1]:
        about = about + each
    count = ((about + offset) * float(parts) if offset else about * float(parts)).round()
    left = first + (offset - count * (1.0 / parts))
    for each in rest:
        left = left + each
    return left, count


def _fractions(x: Tensor, exponents: int) -> Sequence[Tensor]:
    """Numbers whose sum is x / (2 pi) plus a whole number of turns."""
    wide, found = widened(x), []
    for i in range(-(-(exponents + _CLOSEST - 2) // _CHUNK)):
        shift = -tables.TURN_BITS_SCALE - 2 - _CHUNK * (i + 1)
        chunk = (tables.TURN_BITS >> shift) % 2**_CHUNK
        turns = wide * (chunk * 2.0 ** -(2 + _CHUNK * (i + 1)))
        found.append(turns - turns.round() if i < _whole(exponents) else turns)
    return found


def _whole(exponents: int) -> int:
    """The number of products that may be larger than a turn."""
    return 1 + (exponents - 2) // _CHUNK


def _exponents(x: ir.Value) -> int:
    """The exponent of a power of two above all finite numbers of the type of `x`."""
    return 16 if isinstance(element_type(x), ir.F16Type) else 128


def _is_odd(whole: Tensor) -> Tensor:
    half = whole * 0.5
    return half.round().differs(half)


@rule(approximates(ulps=0.501), priced=True)
def arctangent_to_polynomial(op: hlo.Atan2Op | AtanOp) -> ir.Value | None:
    """atan2(y, x) -> p(t) or pi/2 - p(t), or pi minus that, t = min(|x|, |y|) / max(|x|, |y|).

    atan(y) is the same with x = 1, where XLA has no fast one.
    """
    if not is_eligible(op):
        return None
    y = single(op.operands[0])
    if isinstance(op, AtanOp):
        return result(where(y.equals(0.0), y, _angle(y, widened(y).like(1.0), None)), op)
    x = single(op.rhs)
    return result(_angle(y, widened(abs(x)), x.is_negative()), op)


@rule(approximates(ulps=0.501), priced=True)
def arcsine_to_polynomial(op: AsinOp) -> ir.Value | None:
    """asin(x) -> p(|x|) or pi/2 - 2 p(sqrt((1 - |x|) / 2)), with the sign of x."""
    if not is_eligible(op):
        return None
    x = single(op.operand)
    part, is_large = _arcsine(x)
    size = narrowed(where(is_large, pi / 2 - part, part))
    return result(where(x.equals(0.0), x, with_sign_of(size, x)), op)


@rule(approximates(ulps=0.501), priced=True)
def arccosine_to_polynomial(op: AcosOp) -> ir.Value | None:
    """acos(x) -> pi/2 - p(x), or 2 p(sqrt((1 - |x|) / 2)), or pi minus that."""
    if not is_eligible(op):
        return None
    x = single(op.operand)
    part, is_large = _arcsine(x)
    signed = where(x < 0.0, -part, part)
    large = where(x < 0.0, signed + pi, signed)
    return result(narrowed(where(is_large, large, pi / 2 - signed)), op)


def _angle(y: Tensor, run: Tensor, is_backwards: Tensor | None) -> Tensor:
    """The angle of (run, y), or of (-run, y) if `is_backwards`; `run` is f64 and not negative.

    0 / 0 counts as 0, infinity / infinity as 1.
    """
    rise = widened(abs(y))
    least, most = rise.minimum(run), rise.maximum(run)
    t = where(most.equals(0.0), most, least / most)
    t = where(least.equals(float("inf")), t.like(1.0), t)
    angle = t * polynomial(t * t, tables.ARCTANGENT)
    angle = where(rise > run, pi / 2 - angle, angle)
    if is_backwards is not None:
        angle = where(is_backwards, pi - angle, angle)
    return with_sign_of(narrowed(angle), y)


def _arcsine(x: Tensor) -> tuple[Tensor, Tensor]:
    """asin(|x|) up to 1/2, else pi/2 - asin(|x|), in f64; and where it is the latter."""
    size = widened(abs(x))
    is_large = size > 0.5
    square = where(is_large, (1.0 - size) * 0.5, size * size)
    root = where(is_large, square.sqrt() * 2.0, size)
    return root * polynomial(square, tables.ARCSINE), is_large
