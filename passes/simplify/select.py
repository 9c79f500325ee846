"""Selects with a known predicate, of booleans, nested ones, and those that are another op."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import (
    SPLATS,
    as_result,
    direction_of,
    is_boolean,
    is_integer,
    is_interchangeable,
    is_splat,
    shape_of,
    splat_of,
    users,
)
from jxc.rewrite import exact, rule


@rule(exact)
def select_same(op: hlo.SelectOp) -> ir.Value | None:
    """select(p, x, x) -> x."""
    return as_result(op.on_true, op) if op.on_true == op.on_false else None


@rule(exact, producer=SPLATS)
def select_of_constant(op: hlo.SelectOp) -> ir.Value | None:
    """select(true, x, y) -> x and select(false, x, y) -> y."""
    chosen = splat_of(op.pred)
    if chosen is None:
        return None
    return as_result(op.on_true if chosen else op.on_false, op)


@rule(exact, producer=hlo.NotOp)
def select_of_not(op: hlo.SelectOp) -> ir.Value | None:
    """select(not(p), x, y) -> select(p, y, x)."""
    match op.pred.owner:
        case hlo.NotOp(operand=p):
            return hlo.select(p, op.on_false, op.on_true, results=[op.result.type])
    return None


@rule(exact, producer=hlo.BroadcastInDimOp)
def select_of_broadcast(op: hlo.SelectOp) -> ir.Value | None:
    """select(broadcast_in_dim(p), x, y) -> select(p, x, y), for a scalar p."""
    match op.pred.owner:
        case hlo.BroadcastInDimOp(operand=p) if not shape_of(p) and shape_of(op.pred):
            return hlo.select(p, op.on_true, op.on_false, results=[op.result.type])
    return None


@rule(exact, producer=SPLATS)
def select_of_booleans(op: hlo.SelectOp) -> ir.Value | None:
    """select(p, true, false) -> p, select(p, false, true) -> not(p)."""
    if not is_boolean(op.result) or op.pred.type != op.result.type:
        return None
    match splat_of(op.on_true), splat_of(op.on_false):
        case True, False:
            return op.pred
        case False, True:
            return hlo.not_(op.pred)
    return None


@rule(exact, producer=SPLATS)
def select_to_or(op: hlo.SelectOp) -> ir.Value | None:
    """select(p, true, q) -> p | q."""
    if not is_boolean(op.result) or not op.pred.type == op.on_false.type == op.result.type:
        return None
    return hlo.or_(op.pred, op.on_false) if is_splat(op.on_true, True) else None


@rule(exact, producer=SPLATS)
def select_to_and(op: hlo.SelectOp) -> ir.Value | None:
    """select(p, q, false) -> p & q."""
    if not is_boolean(op.result) or not op.pred.type == op.on_true.type == op.result.type:
        return None
    return hlo.and_(op.pred, op.on_true) if is_splat(op.on_false, False) else None


@rule(exact, producer=hlo.SelectOp)
def select_of_select(op: hlo.SelectOp) -> ir.Value | None:
    """select(p, select(p, x, _), y) -> select(p, x, y), and the same on the other side."""
    x, y = op.on_true, op.on_false
    match x.owner:
        case hlo.SelectOp(pred=p, on_true=inner) if p == op.pred:
            x = inner
    match y.owner:
        case hlo.SelectOp(pred=p, on_false=inner) if p == op.pred:
            y = inner
    if x == op.on_true and y == op.on_false:
        return None
    return hlo.select(op.pred, x, y, results=[op.result.type])


@rule(exact, producer=hlo.SelectOp)
def select_of_nested(op: hlo.SelectOp) -> ir.Value | None:
    """select(p, select(q, x, y), y) -> select(p & q, x, y), if the inner one has no other use.

    And select(p, x, select(q, x, y)) -> select(p | q, x, y).
    """
    p, x, y = op.pred, op.on_true, op.on_false
    results = [op.result.type]
    match x.owner:
        case hlo.SelectOp(pred=q, on_true=inner, on_false=other, result=nested):
            if is_interchangeable(other, y) and q.type == p.type and len(users(nested)) == 1:
                return hlo.select(hlo.and_(p, q), inner, y, results=results)
    match y.owner:
        case hlo.SelectOp(pred=q, on_true=other, on_false=inner, result=nested):
            if is_interchangeable(other, x) and q.type == p.type and len(users(nested)) == 1:
                return hlo.select(hlo.or_(p, q), x, inner, results=results)
    return None


@rule(exact)
def select_of_its_predicate(op: hlo.SelectOp) -> ir.Value | None:
    """select(p, p, q) -> p | q, select(p, q, p) -> p & q."""
    if not op.pred.type == op.result.type == op.on_true.type == op.on_false.type:
        return None
    if op.on_true == op.pred:
        return hlo.or_(op.pred, op.on_false)
    return hlo.and_(op.pred, op.on_true) if op.on_false == op.pred else None


@rule(exact, producer=SPLATS)
def select_to_convert(op: hlo.SelectOp) -> ir.Value | None:
    """select(p, 1, 0) -> convert(p), to numbers; on floats 0.0, not -0.0."""
    if is_boolean(op.result) or shape_of(op.pred) != shape_of(op.result):
        return None
    if not is_splat(op.on_true, 1) or not is_splat(op.on_false, 0):
        return None
    return hlo.convert(op.result.type, op.pred)


@rule(exact, producer=hlo.CompareOp)
def select_of_equal(op: hlo.SelectOp) -> ir.Value | None:
    """select(x == y, x, y) -> y, select(x != y, x, y) -> x, on integers: -0.0 is not 0.0."""
    if (found := _compared(op)) is None:
        return None
    direction, _ = found
    if direction not in ("EQ", "NE"):
        return None
    return as_result(op.on_false if direction == "EQ" else op.on_true, op)


@rule(exact, producer=hlo.CompareOp)
def select_to_max_min(op: hlo.SelectOp) -> ir.Value | None:
    """select(x < y, y, x) -> max(x, y), select(x < y, x, y) -> min(x, y), on integers."""
    if (found := _compared(op)) is None:
        return None
    direction, is_in_order = found
    if direction in ("EQ", "NE"):
        return None
    is_least = (direction in ("LT", "LE")) == is_in_order
    build = hlo.minimum if is_least else hlo.maximum
    return build(op.on_true, op.on_false, results=[op.result.type])


def _compared(op: hlo.SelectOp) -> tuple[str, bool] | None:
    """The direction in which `op` compares its two integer operands, and whether in their order."""
    if not is_integer(op.result):
        return None
    match op.pred.owner:
        case hlo.CompareOp(lhs=x, rhs=y) as inner:
            if is_interchangeable(x, op.on_true) and is_interchangeable(y, op.on_false):
                return direction_of(inner), True
            if is_interchangeable(y, op.on_true) and is_interchangeable(x, op.on_false):
                return direction_of(inner), False
    return None
