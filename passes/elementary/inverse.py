"""Arc sines, arc cosines and arc tangents."""

from __future__ import annotations

from math import pi

from jaxlib.mlir import ir
from jaxlib.mlir.dialects.chlo import AcosOp, AsinOp, AtanOp
from jaxlib.mlir.dialects.stablehlo import Atan2Op

from jxc.passes.elementary import cost as cost
from jxc.rewrite import PassContext, approximates, rule

from . import tables
from .arithmetic import Mask, Real, polynomial, where, with_sign_of
from .operands import elements_of, is_spread, narrowed, result, single, widened


@rule(approximates(ulps=0.501), targets=("cpu",))
def arctangent_to_polynomial(op: Atan2Op | AtanOp, context: PassContext) -> ir.Value | None:
    """atan2(y, x) -> p(t) or pi/2 - p(t), or pi less that, t = min(|x|, |y|) / max(|x|, |y|).

    atan(y) is the same with 1 for x, where XLA has no fast one.
    """
    if not _pays(op) or (isinstance(op, AtanOp) and not cost.arctangent_pays(context.rates)):
        return None
    y = single(op.operands[0])
    if isinstance(op, AtanOp):
        return result(where(y.equals(0.0), y, _angle(y, widened(y).like(1.0), None)), op)
    x = single(op.rhs)
    return result(_angle(y, widened(abs(x)), x.is_negative()), op)


@rule(approximates(ulps=0.501), targets=("cpu",))
def arcsine_to_polynomial(op: AsinOp) -> ir.Value | None:
    """asin(x) -> p(|x|) or pi/2 - 2 p(sqrt((1 - |x|) / 2)), with the sign of x."""
    if not _pays(op):
        return None
    x = single(op.operand)
    part, is_large = _arcsine(x)
    size = narrowed(where(is_large, pi / 2 - part, part))
    return result(where(x.equals(0.0), x, with_sign_of(size, x)), op)


@rule(approximates(ulps=0.501), targets=("cpu",))
def arccosine_to_polynomial(op: AcosOp) -> ir.Value | None:
    """acos(x) -> pi/2 - p(x), or 2 p(sqrt((1 - |x|) / 2)) or pi less that."""
    if not _pays(op):
        return None
    x = single(op.operand)
    part, is_large = _arcsine(x)
    signed = where(x < 0.0, -part, part)
    large = where(x < 0.0, signed + pi, signed)
    return result(narrowed(where(is_large, large, pi / 2 - signed)), op)


def _pays(op: Atan2Op | AtanOp | AsinOp | AcosOp) -> bool:
    return elements_of(op.result) >= cost.LEAST_ELEMENTS and not is_spread(op.result)


def _angle(y: Real, run: Real, is_backwards: Mask | None) -> Real:
    """The angle of (run, y), or of (-run, y) where it is backwards; `run` is f64 and not negative.

    Zero over zero counts as 0, infinity over infinity as 1.
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


def _arcsine(x: Real) -> tuple[Real, Mask]:
    """asin(|x|) up to 1/2, and pi/2 - asin(|x|) above, in f64; where it is above. Beyond 1, NaN."""
    size = widened(abs(x))
    is_large = size > 0.5
    square = where(is_large, (1.0 - size) * 0.5, size * size)
    root = where(is_large, square.sqrt() * 2.0, size)
    return root * polynomial(square, tables.ARCSINE), is_large
