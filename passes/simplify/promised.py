"""Rules that are exact under an assumption: tried only if the user promised it by name.

An assumption is about the operands and the results of an op, as in LLVM: with no-nans, inf - inf
does not happen either.
"""

from __future__ import annotations

import math

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import (
    direction_of,
    element_type,
    is_float,
    is_same,
    splat_of,
)
from jxc.rewrite import equation, exact, rule

from .compare import INVERSE, compare
from .pad import joined_pads

_WITHOUT_NAN = ("f4E2M1FN", "f6E2M3FN", "f6E3M2FN")  # types without NaN, where 0 / 0 is a number


def _has_nan(value: ir.Value) -> bool:
    """Whether the elements are floats of a type with NaN."""
    return is_float(value) and str(element_type(value)) not in _WITHOUT_NAN


@equation(exact, on=_has_nan, assumes="no-nans")
def subtract_same_float() -> None:
    """x - x -> 0, on floats: of infinities it is NaN."""


@equation(exact, on=_has_nan, assumes="no-nans")
def divide_same_float() -> None:
    """x / x -> 1, on floats: of zeros and infinities it is NaN."""


@rule(exact, assumes="no-nans")
def compare_same_float(op: hlo.CompareOp) -> ir.Value | None:
    """x == x, x <= x, x >= x -> true, the others -> false, on floats."""
    is_true = direction_of(op) in ("EQ", "LE", "GE")
    is_same_float = op.lhs == op.rhs and _has_nan(op.lhs)
    return build.splat_result(is_true, op) if is_same_float else None


@rule(exact, assumes="no-nans", producer=hlo.CompareOp)
def not_of_float_compare(op: hlo.NotOp) -> ir.Value | None:
    """not(x < y) -> x >= y, on floats."""
    match op.operand.owner:
        case hlo.CompareOp(lhs=x, rhs=y) as inner if is_float(x):
            return compare(x, y, INVERSE[direction_of(inner)], inner, op)
    return None


@rule(exact, assumes="no-nans", producer=hlo.CompareOp)
def select_to_maximum(op: hlo.SelectOp) -> ir.Value | None:
    """select(x > c, x, c) -> max(x, c), also for min, if both choose the same of two zeros.

    max(-0.0, 0.0) is 0.0, and so is select(-0.0 > 0.0, -0.0, 0.0); with >= it would be -0.0.
    """
    match op.pred.owner:
        case hlo.CompareOp(lhs=x, rhs=y) as inner if is_float(x) and x.type == op.result.type:
            direction = direction_of(inner)
            is_left = is_same(op.on_true, x) and is_same(op.on_false, y)
            is_right = is_same(op.on_true, y) and is_same(op.on_false, x)
            if direction in ("EQ", "NE") or not (is_left or is_right):
                return None
            takes_larger = (direction in ("GT", "GE")) == is_left
            takes_left_zero = (direction in ("GE", "LE")) == is_left
            if "TOTALORDER" in str(inner.compare_type):
                return None
            if not _zeros_agree(x, y, takes_larger, takes_left_zero):
                return None
            extreme = hlo.maximum if takes_larger else hlo.minimum
            return extreme(x, y, results=[op.result.type])
    return None


def _zeros_agree(x: ir.Value, y: ir.Value, takes_larger: bool, takes_x: bool) -> bool:
    """Whether the select chooses the same zero as the maximum or minimum, if x and y are zeros.

    Of two zeros the maximum is the positive one, and the minimum the negative one. One of x and y
    must be a splat; a splat other than zero settles it.
    """
    for constant, takes_constant in ((x, takes_x), (y, not takes_x)):
        number = splat_of(constant)
        if number is not None:
            is_larger = math.copysign(1, number) > 0
            return number != 0 or takes_constant == (is_larger == takes_larger)
    return False


def _is_zero(value: ir.Value) -> bool:
    return splat_of(value) == 0 and is_float(value)


@equation(exact, on=is_float, assumes="no-signed-zeros")
def add_float_zero() -> None:
    """x + 0 -> x, x + -0 -> x, on floats: -0.0 + 0.0 is 0.0."""


@equation(exact, on=is_float, assumes="no-signed-zeros")
def subtract_float_zero() -> None:
    """x - 0 -> x, x - -0 -> x, 0 - x -> -x, -0 - x -> -x, on floats: 0.0 - 0.0 is 0.0."""


@rule(exact, assumes="no-signed-zeros", producer=hlo.PadOp)
def add_of_float_pads(op: hlo.AddOp) -> ir.Value | None:
    """pad(x, 0.0) + pad(y, 0.0) -> pad(concatenate(x, y), 0.0), if y starts where x ends.

    JAX writes gradients of concatenations so. The sum turns -0.0 into 0.0.
    """
    return joined_pads(op, _is_zero)
