"""Ops with a neutral or absorbing operand or two equal ones; clamps by the extremes of a type."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import type_bounds
from jxc.ir.values import (
    SPLATS,
    as_result,
    element_type,
    is_all_ones,
    is_float,
    is_integer,
    is_same,
    is_splat,
    splat_attr,
    splat_of,
)
from jxc.rewrite import exact, rule

_Binary: TypeAlias = (
    hlo.AddOp | hlo.AndOp | hlo.MaxOp | hlo.MinOp | hlo.MulOp | hlo.OrOp | hlo.XorOp
)


def other_than(op: _Binary, is_neutral: Callable[[ir.Value], bool]) -> ir.Value | None:
    """The other operand, if one is neutral."""
    if is_neutral(op.rhs):
        return as_result(op.lhs, op)
    return as_result(op.rhs, op) if is_neutral(op.lhs) else None


def _operand_that(op: _Binary, is_absorbing: Callable[[ir.Value], bool]) -> ir.Value | None:
    """The absorbing operand, if there is one."""
    found = next(filter(is_absorbing, (op.rhs, op.lhs)), None)
    return None if found is None else as_result(found, op)


_is_zero = partial(is_splat, number=0)


def is_neutral_to_add(value: ir.Value) -> bool:
    """Whether `value` is a splat of 0, or of -0.0 on floats."""
    number = splat_of(value)
    return number == 0 and (not isinstance(number, float) or math.copysign(1, number) < 0)


@rule(exact, producer=SPLATS)
def add_zero(op: hlo.AddOp) -> ir.Value | None:
    """x + 0 -> x, and on floats x + -0.0 -> x: 0.0 is not neutral, as -0.0 + 0.0 is 0.0."""
    return other_than(op, is_neutral_to_add)


@rule(exact, producer=SPLATS)
def subtract_zero(op: hlo.SubtractOp) -> ir.Value | None:
    """x - 0 -> x; on floats only 0.0 is neutral: -0.0 - -0.0 is 0.0."""
    return as_result(op.lhs, op) if _is_zero(op.rhs) else None


@rule(exact)
def subtract_self(op: hlo.SubtractOp) -> ir.Value | None:
    """x - x -> 0, on integers: an infinite or NaN float gives NaN."""
    is_zero = op.lhs == op.rhs and is_integer(op.result)
    return build.splat_result(0, op) if is_zero else None


@rule(exact, producer=SPLATS)
def multiply_by_one(op: hlo.MulOp) -> ir.Value | None:
    """x * 1 -> x, not on complex numbers: (a + bi) * (1 + 0i) has NaN where b is infinite."""
    return other_than(op, partial(is_splat, number=1))


@rule(exact, producer=SPLATS)
def multiply_by_zero(op: hlo.MulOp) -> ir.Value | None:
    """x * 0 -> 0, not on floats, where infinity * 0.0 and NaN * 0.0 are NaN."""
    return None if is_float(op.result) else _operand_that(op, _is_zero)


@rule(exact, producer=SPLATS)
def divide_by_one(op: hlo.DivOp) -> ir.Value | None:
    """x / 1 -> x."""
    return as_result(op.lhs, op) if is_splat(op.rhs, 1) else None


@rule(exact)
def and_or_self(op: hlo.AndOp | hlo.OrOp) -> ir.Value | None:
    """x & x -> x and x | x -> x."""
    return as_result(op.lhs, op) if op.lhs == op.rhs else None


@rule(exact, producer=SPLATS)
def and_all_ones(op: hlo.AndOp) -> ir.Value | None:
    """x & -1 -> x: every bit of the constant is set."""
    return other_than(op, is_all_ones)


@rule(exact, producer=SPLATS)
def and_zero(op: hlo.AndOp) -> ir.Value | None:
    """x & 0 -> 0."""
    return _operand_that(op, _is_zero)


@rule(exact, producer=SPLATS)
def or_zero(op: hlo.OrOp) -> ir.Value | None:
    """x | 0 -> x."""
    return other_than(op, _is_zero)


@rule(exact, producer=SPLATS)
def or_all_ones(op: hlo.OrOp) -> ir.Value | None:
    """x | -1 -> -1: every bit of the constant is set."""
    return _operand_that(op, is_all_ones)


@rule(exact, producer=SPLATS)
def xor_zero(op: hlo.XorOp) -> ir.Value | None:
    """x ^ 0 -> x."""
    return other_than(op, _is_zero)


@rule(exact)
def xor_self(op: hlo.XorOp) -> ir.Value | None:
    """x ^ x -> 0."""
    return build.splat_result(0, op) if op.lhs == op.rhs else None


@rule(exact, producer=SPLATS)
def shift_by_zero(
    op: hlo.ShiftLeftOp | hlo.ShiftRightArithmeticOp | hlo.ShiftRightLogicalOp,
) -> ir.Value | None:
    """x << 0 -> x, x >> 0 -> x."""
    return as_result(op.lhs, op) if _is_zero(op.rhs) else None


@rule(exact)
def max_min_self(op: hlo.MaxOp | hlo.MinOp) -> ir.Value | None:
    """max(x, x) -> x and min(x, x) -> x."""
    return as_result(op.lhs, op) if op.lhs == op.rhs else None


@rule(exact, producer=SPLATS)
def max_of_least(op: hlo.MaxOp) -> ir.Value | None:
    """max(x, c) -> x, where c is the least value of the type: -inf on floats; NaN stays NaN."""
    return other_than(op, partial(is_extreme, least=True))


@rule(exact, producer=SPLATS)
def min_of_greatest(op: hlo.MinOp) -> ir.Value | None:
    """min(x, c) -> x, where c is the greatest value of the type: inf on floats; NaN stays NaN."""
    return other_than(op, partial(is_extreme, least=False))


def is_extreme(value: ir.Value, *, least: bool) -> bool:
    """Whether `value` is a splat of the least, or greatest, value of its type."""
    found, kind = splat_of(value), type_bounds(element_type(value))
    low, high = (-math.inf, math.inf) if kind is None else kind
    return found is not None and found == (low if least else high)


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
