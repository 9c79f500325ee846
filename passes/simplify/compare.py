"""Comparisons: known results, results that are a boolean operand, constants on the right."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import Bounds, bounds_of, type_bounds
from jxc.ir.values import (
    SPLATS,
    direction_of,
    element_type,
    is_boolean,
    is_integer,
    shape_of,
    splat_of,
    static_shape,
)
from jxc.rewrite import exact, rule

from .algebra import offset_of

INVERSE = {"EQ": "NE", "NE": "EQ", "LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT"}
_FLIPPED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "GE": "LE", "GT": "LT", "LE": "GE"}
OUTCOME: dict[str, Callable[..., Any]] = {
    name: getattr(operator, name.lower()) for name in _FLIPPED
}
"""The function of each direction on numbers and on arrays."""


def compare(
    x: ir.Value, y: ir.Value, direction: str, like: hlo.CompareOp, op: ir.OpView | None = None
) -> ir.Value:
    """The comparison of x and y in `direction`, with the comparison type of `like`.

    It has the type of the result of `op`, or of `like` if None.
    """
    attribute = hlo.ComparisonDirectionAttr.get(direction)
    kind, results = like.compare_type, [(op or like).results[0].type]
    return hlo.compare(x, y, attribute, compare_type=kind, results=results)


@rule(exact)
def compare_self(op: hlo.CompareOp) -> ir.Value | None:
    """x == x, x <= x, x >= x -> true, the others -> false; not on floats, as NaN != NaN."""
    if op.lhs != op.rhs or not (is_integer(op.lhs) or is_boolean(op.lhs)):
        return None
    return build.splat_result(direction_of(op) in ("EQ", "LE", "GE"), op)


@rule(exact, producer=SPLATS)
def compare_of_splats(op: hlo.CompareOp) -> ir.Value | None:
    """dense<c> < dense<d> -> dense<c < d>; not in the total order, where -0.0 < 0.0."""
    x, y = splat_of(op.lhs), splat_of(op.rhs)
    if x is None or y is None or "TOTALORDER" in str(op.compare_type):
        return None
    return build.splat_result(OUTCOME[direction_of(op)](x, y), op)


@rule(exact, producer=SPLATS)
def compare_to_boolean(op: hlo.CompareOp) -> ir.Value | None:
    """p == true -> p, p != false -> p, p == false -> not(p), p != true -> not(p)."""
    if not is_boolean(op.lhs) or (direction := direction_of(op)) not in ("EQ", "NE"):
        return None
    for p, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if (found := splat_of(other)) is not None and p.type == op.result.type:
            return p if found == (direction == "EQ") else hlo.not_(p)
    return None


@rule(exact, producer=hlo.CompareOp)
def not_of_compare(op: hlo.NotOp) -> ir.Value | None:
    """not(x < y) -> x >= y, not on floats, which may be NaN; not(x == y) -> x != y on all."""
    match op.operand.owner:
        case hlo.CompareOp(lhs=x, rhs=y) as inner:
            direction = direction_of(inner)
            if direction not in ("EQ", "NE") and not (is_integer(x) or is_boolean(x)):
                return None
            return compare(x, y, INVERSE[direction], inner, op)
    return None


@rule(exact, producer=hlo.ConstantOp)
def compare_constant_to_rhs(op: hlo.CompareOp) -> ir.Value | None:
    """c < x -> x > c, for all types and comparison types: with NaN both are false."""
    if not isinstance(op.lhs.owner, hlo.ConstantOp) or isinstance(op.rhs.owner, hlo.ConstantOp):
        return None
    return compare(op.rhs, op.lhs, _FLIPPED[direction_of(op)], op)


@rule(exact, producer=(hlo.AddOp, hlo.SubtractOp))
def compare_of_add(op: hlo.CompareOp) -> ir.Value | None:
    """x + c == d -> x == d - c, on integers, and x - c == d; c - x == d -> x == c - d.

    == and != always, as both sides wrap around. The other directions only if no side can wrap.
    """
    limit = splat_of(op.rhs) if is_integer(op.rhs) else None
    if limit is None or static_shape(op.rhs) is None or (offset := offset_of(op.lhs)) is None:
        return None
    x, sign, shift = offset.x, -1 if offset.is_negated else 1, offset.constant
    kind, found, direction = type_bounds(element_type(x)), bounds_of(x), direction_of(op)
    if kind is None or found is None or splat_of(x) is not None:
        return None
    number = (int(limit) - shift) * sign
    if direction in ("EQ", "NE"):
        number = (number - kind.low) % (kind.high - kind.low + 1) + kind.low
    elif not kind.low <= number <= kind.high or not kind.contains(
        Bounds(*sorted(sign * each + shift for each in found))
    ):
        return None
    direction = direction if sign == 1 else _FLIPPED[direction]
    return compare(x, build.splat(number, op.rhs.type), direction, op)


@rule(exact, producer=hlo.ConvertOp)
def compare_of_convert(op: hlo.CompareOp) -> ir.Value | None:
    """convert(x) < convert(y) -> x < y, and convert(x) < c -> x < c, on integers.

    If the wider type has every value of the type of x, and the type of x has c.
    """
    match op.lhs.owner:
        case hlo.ConvertOp(operand=x) if is_integer(op.lhs) and is_integer(x):
            narrow, wide = type_bounds(element_type(x)), type_bounds(element_type(op.lhs))
            if narrow is None or wide is None or not wide.contains(narrow):
                return None
            match op.rhs.owner:
                case hlo.ConvertOp(operand=y) if y.type == x.type:
                    return _compare_narrow(op, x, y, narrow)
            number = splat_of(op.rhs)
            if number is None or not narrow.low <= number <= narrow.high:
                return None
            if static_shape(x) is not None:
                return _compare_narrow(op, x, build.splat(number, x.type), narrow)
    return None


@rule(exact, producer=(hlo.ConvertOp, hlo.ReshapeOp))
def compare_of_converted_boolean(op: hlo.CompareOp) -> ir.Value | None:
    """convert(p) != 0 -> p, and the like, for a boolean p: by the results for 0 and 1.

    Also if p is reshaped after the conversion. On integers and on floats of at least 16 bits; not
    in the total order.
    """
    given = op.lhs.owner
    inner = given.operand.owner if isinstance(given, hlo.ReshapeOp) else given
    if not isinstance(inner, hlo.ConvertOp) or not is_boolean(p := inner.operand):
        return None
    limit = splat_of(op.rhs)
    if limit is None or not _has_zero_and_one(op.lhs) or static_shape(op.lhs) is None:
        return None
    if element_type(p) != element_type(op.result) or "TOTALORDER" in str(op.compare_type):
        return None
    holds = OUTCOME[direction_of(op)]
    of_false, of_true = bool(holds(0, limit)), bool(holds(1, limit))
    if of_false == of_true:
        return build.splat_result(of_true, op)
    p = build.reshape(p, shape_of(op.lhs))
    return p if of_true else hlo.not_(p)


def _has_zero_and_one(x: ir.Value) -> bool:
    """Whether the element type has 0 and 1; some types of 8 bits and less do not."""
    return is_integer(x) or isinstance(
        element_type(x), ir.F16Type | ir.BF16Type | ir.F32Type | ir.F64Type
    )


def _compare_narrow(op: hlo.CompareOp, x: ir.Value, y: ir.Value, narrow: Bounds) -> ir.Value:
    """The comparison of `op` for operands x and y, whose type has the bounds `narrow`."""
    kind = op.compare_type
    if kind is not None:
        kind = hlo.ComparisonTypeAttr.get("SIGNED" if narrow.low < 0 else "UNSIGNED")
    direction = hlo.ComparisonDirectionAttr.get(direction_of(op))
    return hlo.compare(x, y, direction, compare_type=kind, results=[op.result.type])


@rule(exact, producer=hlo.SelectOp)
def compare_of_select(op: hlo.CompareOp) -> ir.Value | None:
    """select(p, a, b) < c -> p, not(p), true or false, for splats; not in the total order."""
    match op.lhs.owner:
        case hlo.SelectOp(pred=p, on_true=x, on_false=y):
            a, b, c = splat_of(x), splat_of(y), splat_of(op.rhs)
            if a is None or b is None or c is None or "TOTALORDER" in str(op.compare_type):
                return None
            holds = OUTCOME[direction_of(op)]
            if holds(a, c) == holds(b, c):
                return build.splat_result(holds(a, c), op)
            if p.type == op.result.type:
                return p if holds(a, c) else hlo.not_(p)
    return None
