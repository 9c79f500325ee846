"""Powers: products and roots for simple exponents, logarithm and exponential for others."""

from __future__ import annotations

from math import log2

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import splat_of
from jxc.rewrite import approximates, rule

from . import cost
from .arithmetic import Tensor, polynomial, where
from .exponential import exponential, logarithm
from .operands import has_enough_elements, is_eligible, narrowed, result, single, widened

_INFINITY = float("inf")


@rule(approximates(ulps=0.501), priced=True)
def power_to_products(op: hlo.PowOp) -> ir.Value | None:
    """x^(n/2) -> products of x and sqrt(x), or 1 over them; XLA does so for 1/2, 1, 2, 3 and -1."""
    exponent = splat_of(op.rhs)
    if exponent is None or not cost.is_short_product(exponent):
        return None
    if not has_enough_elements(op):
        return None
    x = widened(single(op.lhs))
    power = _product(x, int(abs(exponent)))
    if exponent % 1:
        root = x.sqrt()
        power = abs(root if power is None else power * root)
    assert power is not None
    power = 1.0 / power if exponent < 0 else power
    if exponent % 1:
        power = where(x.equals(-_INFINITY), x.like(0.0 if exponent < 0 else _INFINITY), power)
    return result(narrowed(power), op)


def _product(x: Tensor, times: int) -> Tensor | None:
    """x to the power of `times`, by repeated squaring; None for 0."""
    found: Tensor | None = None
    while times:
        if times % 2:
            found = x if found is None else found * x
        times //= 2
        x = x * x if times else x
    return found


@rule(approximates(ulps=0.501), priced=True)
def power_to_polynomials(op: hlo.PowOp) -> ir.Value | None:
    """x^y -> 2^(y log2(|x|)), negative for x < 0 and odd y, NaN for x < 0 and y no integer."""
    base, exponent = splat_of(op.lhs), splat_of(op.rhs)
    if cost.is_left_to_xla(base, exponent) or not is_eligible(op):
        return None
    if exponent is not None:
        return result(narrowed(_power_by(widened(single(op.lhs)), exponent)), op)
    y = widened(single(op.rhs))
    if base is not None:
        return result(narrowed(exponential(y * log2(base))), op)
    return result(narrowed(_power(widened(single(op.lhs)), y)), op)


def _power(x: Tensor, y: Tensor) -> Tensor:
    """x^y; 1 where x is 1 or y is 0, also where the other is NaN."""
    log = logarithm(abs(x))
    power = exponential(where(log.equals(0.0) | y.equals(0.0), y.like(0.0), y * log))
    half, is_whole = y * 0.5, y.round().equals(y)
    is_odd = half.round().differs(half) & is_whole
    is_undefined = (x < 0.0) & (x > -_INFINITY) & ~is_whole
    power = where(is_odd & x.is_negative(), -power, power)
    return where(is_undefined, x.like(float("nan")), power)


def _power_by(x: Tensor, exponent: float) -> Tensor:
    """`_power` for a constant exponent, finite and not 0."""
    power = exponential(logarithm(abs(x)) * exponent)
    if exponent % 2 == 1:
        return where(x.is_negative(), -power, power)
    if exponent % 1 == 0:
        return power
    return where((x < 0.0) & (x > -_INFINITY), x.like(float("nan")), power)


_GUESS = 0x553EF0FF
"""Minus a third of the upper 32 bits of an f64, about the upper bits of 1 over its cube root."""


@rule(approximates(ulps=0.501), priced=True)
def cube_root_to_iteration(op: hlo.CbrtOp) -> ir.Value | None:
    """cbrt(x) -> x y y, y two steps of an iteration towards 1 / cbrt(|x|); x itself if infinite."""
    if not is_eligible(op):
        return None
    x = single(op.operand)
    wide = widened(x)
    size = abs(wide)
    i32, i64 = (ir.IntegerType.get_signless(width) for width in (32, 64))
    y = ((_GUESS - (size.bits() >> 32).to(i32) / 3).to(i64) << 32).bitcast(ir.F64Type.get())
    y = y * polynomial(1.0 - size * y * y * y, (1.0, 1 / 3, 2 / 9, 14 / 81))
    y = y * polynomial(1.0 - size * y * y * y, (1.0, 1 / 3, 2 / 9))
    return result(where(abs(x).equals(float("inf")), x, narrowed(wide * y * y)), op)
