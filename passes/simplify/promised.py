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
    SPLATS,
    as_result,
    direction_of,
    element_type,
    is_float,
    is_same,
    splat_of,
)
from jxc.rewrite import exact, rule

from .compare import INVERSE, compare
from .identities import other_than
from .pad import joined_pads

_WITHOUT_NAN = ("f4E2M1FN", "f6E2M3FN", "f6E3M2FN")  # types without NaN, where 0 / 0 is a number


def _is_of_same_float(op: hlo.SubtractOp | hlo.DivOp | hlo.CompareOp) -> bool:
    """Whether both operands are one value, of a float type with NaN."""
    x = op.lhs
    return x == op.rhs and is_float(x) and str(element_type(x)) not in _WITHOUT_NAN


@rule(exact, assumes="no-nans")
def subtract_same_float(op: hlo.SubtractOp) -> ir.Value | None:
    """x - x -> 0.0, on floats: of infinities it is NaN."""
    return build.splat_result(0.0, op) if _is_of_same_float(op) else None


@rule(exact, assumes="no-nans")
def divide_same_float(op: hlo.DivOp) -> ir.Value | None:
    """x / x -> 1.0, on floats: of zeros and infinities it is NaN."""
    return build.splat_result(1.0, op) if _is_of_same_float(op) else None


@rule(exact, assumes="no-nans")
def compare_same_float(op: hlo.CompareOp) -> ir.Value | None:
    """x == x, x <= x, x >= x -> true, the others -> false, on floats."""
    is_true = direction_of(op) in ("EQ", "LE", "GE")
    return build.splat_result(is_true, op) if _is_of_same_float(op) else None


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


@rule(exact, assumes="no-signed-zeros", producer=SPLATS)
def add_float_zero(op: hlo.AddOp) -> ir.Value | None:
    """x + 0.0 -> x, on floats: -0.0 + 0.0 is 0.0."""
    return other_than(op, _is_zero)


@rule(exact, assumes="no-signed-zeros", producer=SPLATS)
def subtract_float_zero(op: hlo.SubtractOp) -> ir.Value | None:
    """x - 0.0 -> x, and 0.0 - x -> -x, on floats: 0.0 - 0.0 is 0.0."""
    if _is_zero(op.rhs):
        return as_result(op.lhs, op)
    return hlo.negate(op.rhs, results=[op.result.type]) if _is_zero(op.lhs) else None


@rule(exact, assumes="no-signed-zeros", producer=hlo.PadOp)
def add_of_float_pads(op: hlo.AddOp) -> ir.Value | None:
    """pad(x, 0.0) + pad(y, 0.0) -> pad(concatenate(x, y), 0.0), if y starts where x ends.

    JAX writes gradients of concatenations so. The sum turns -0.0 into 0.0.
    """
    return joined_pads(op, _is_zero)
