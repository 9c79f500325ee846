"""Ops with a neutral or absorbing operand or two equal ones; clamps by the extremes of a type."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import is_extreme
from jxc.ir.values import (
    SPLATS,
    is_float,
    is_integer,
    is_same,
    splat_attr,
)
from jxc.rewrite import equation, exact, rule


def _is_discrete(value: ir.Value) -> bool:
    return not is_float(value)


@equation(exact)
def add_zero() -> None:
    """x + -0 -> x: -0 is 0 on integers, and on floats 0.0 is not neutral, as -0.0 + 0.0 is 0.0."""


@equation(exact)
def subtract_zero() -> None:
    """x - 0 -> x: on floats only 0.0 is neutral, as -0.0 - -0.0 is 0.0."""


@equation(exact, on=is_integer)
def subtract_self() -> None:
    """x - x -> 0, on integers: an infinite or NaN float gives NaN."""


@equation(exact)
def multiply_by_one() -> None:
    """x * 1 -> x, not on complex numbers: (a + bi) * (1 + 0i) has NaN where b is infinite."""


@equation(exact, on=_is_discrete)
def multiply_by_zero() -> None:
    """x * 0 -> 0, not on floats, where infinity * 0.0 and NaN * 0.0 are NaN."""


@equation(exact)
def divide_by_one() -> None:
    """x / 1 -> x."""


@equation(exact)
def and_or_self() -> None:
    """x & x -> x, x | x -> x."""


@equation(exact)
def and_all_ones() -> None:
    """x & ones -> x."""


@equation(exact)
def and_zero() -> None:
    """x & 0 -> 0."""


@equation(exact)
def or_zero() -> None:
    """x | 0 -> x."""


@equation(exact)
def or_all_ones() -> None:
    """x | ones -> ones."""


@equation(exact)
def xor_zero() -> None:
    """x ^ 0 -> x."""


@equation(exact)
def xor_self() -> None:
    """x ^ x -> 0."""


@equation(exact)
def shift_by_zero() -> None:
    """x << 0 -> x, shift_right_arithmetic(x, 0) -> x, shift_right_logical(x, 0) -> x."""


@equation(exact)
def max_min_self() -> None:
    """max(x, x) -> x, min(x, x) -> x."""


@equation(exact)
def max_of_least() -> None:
    """max(x, least) -> x: least is -inf on floats; NaN stays NaN."""


@equation(exact)
def min_of_greatest() -> None:
    """min(x, greatest) -> x: greatest is inf on floats; NaN stays NaN."""


@rule(exact, producer=SPLATS)
def clamp_to_minimum(op: hlo.ClampOp) -> ir.Value | None:
    """clamp(c, x, b) -> min(x, b), where c is the least value of the type: -inf on floats."""
    if not is_extreme(op.min, least=True) or (bound := _widened(op.max, op)) is None:
        return None
    return hlo.minimum(op.operand, bound, results=[op.result.type])


@rule(exact, producer=SPLATS)
def clamp_to_maximum(op: hlo.ClampOp) -> ir.Value | None:
    """clamp(a, x, c) -> max(x, a), where c is the greatest value of the type: inf on floats."""
    if not is_extreme(op.max, least=False) or (bound := _widened(op.min, op)) is None:
        return None
    return hlo.maximum(op.operand, bound, results=[op.result.type])


def _widened(bound: ir.Value, op: hlo.ClampOp) -> ir.Value | None:
    """A bound that has the shape of the result, or is a splat that can get it."""
    if bound.type == op.operand.type == op.result.type:
        return bound
    return build.splat_result(splat_attr(bound), op)


@rule(exact, producer=hlo.ClampOp)
def clamp_of_clamp(op: hlo.ClampOp) -> ir.Value | None:
    """clamp(a, clamp(a, x, b), b) -> clamp(a, x, b)."""
    match op.operand.owner:
        case hlo.ClampOp(min=a, max=b, result=inner) if inner.type == op.result.type:
            if is_same(a, op.min) and is_same(b, op.max):
                return inner
    return None
