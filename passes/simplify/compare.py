"""Comparisons whose outcome is known, or is a boolean that was there before."""

from __future__ import annotations

import operator
from collections.abc import Callable

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import CompareOp, NotOp

from jxc.ir import build
from jxc.ir.values import direction_of, is_boolean, is_integer, splat_of, static_shape
from jxc.rewrite import exact, rule

_INVERSE = {"EQ": "NE", "NE": "EQ", "LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT"}
_OUTCOME: dict[str, Callable[[float, float], bool]] = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}


@rule(exact)
def compare_self(op: CompareOp) -> ir.Value | None:
    """x == x, x <= x, x >= x -> true, the others -> false: not on floats, for NaN."""
    if op.lhs != op.rhs or not (is_integer(op.lhs) or is_boolean(op.lhs)):
        return None
    if static_shape(op.result) is None:
        return None
    return build.splat(direction_of(op) in ("EQ", "LE", "GE"), op.result.type)


@rule(exact)
def compare_of_splats(op: CompareOp) -> ir.Value | None:
    """dense<c> < dense<d> -> dense<c < d>, not in the total order, where -0.0 is before 0.0."""
    x, y = splat_of(op.lhs), splat_of(op.rhs)
    if x is None or y is None or static_shape(op.result) is None:
        return None
    if "TOTALORDER" in str(op.compare_type):
        return None
    return build.splat(_OUTCOME[direction_of(op)](x, y), op.result.type)


@rule(exact)
def compare_to_boolean(op: CompareOp) -> ir.Value | None:
    """p == true -> p, p != false -> p, p == false -> not(p), p != true -> not(p)."""
    if not is_boolean(op.lhs) or (direction := direction_of(op)) not in ("EQ", "NE"):
        return None
    for p, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if (found := splat_of(other)) is not None and p.type == op.result.type:
            return p if found == (direction == "EQ") else stablehlo.not_(p)
    return None


@rule(exact)
def not_of_compare(op: NotOp) -> ir.Value | None:
    """not(x < y) -> x >= y, not on floats, for NaN; not(x == y) -> x != y on floats too."""
    match op.operand.owner:
        case CompareOp(lhs=x, rhs=y) as inner:
            direction = direction_of(inner)
            if direction not in ("EQ", "NE") and not (is_integer(x) or is_boolean(x)):
                return None
            kind, result = inner.compare_type, [op.result.type]
            inverse = stablehlo.ComparisonDirectionAttr.get(_INVERSE[direction])
            return stablehlo.compare(x, y, inverse, compare_type=kind, results=result)
    return None
