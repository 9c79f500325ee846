"""Selects whose choice is known, or is a boolean itself."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import BroadcastInDimOp, NotOp, SelectOp

from jxc.ir.values import as_result, is_boolean, is_splat, shape_of, splat_of
from jxc.rewrite import exact, rule


@rule(exact)
def select_same(op: SelectOp) -> ir.Value | None:
    """select(p, x, x) -> x."""
    return as_result(op.on_true, op) if op.on_true == op.on_false else None


@rule(exact)
def select_of_constant(op: SelectOp) -> ir.Value | None:
    """select(true, x, y) -> x and select(false, x, y) -> y."""
    chosen = splat_of(op.pred)
    if chosen is None:
        return None
    return as_result(op.on_true if chosen else op.on_false, op)


@rule(exact)
def select_of_not(op: SelectOp) -> ir.Value | None:
    """select(not(p), x, y) -> select(p, y, x)."""
    match op.pred.owner:
        case NotOp(operand=p):
            return stablehlo.select(p, op.on_false, op.on_true, results=[op.result.type])
    return None


@rule(exact)
def select_of_broadcast(op: SelectOp) -> ir.Value | None:
    """select(broadcast_in_dim(p), x, y) -> select(p, x, y), for a scalar p."""
    match op.pred.owner:
        case BroadcastInDimOp(operand=p) if not shape_of(p) and shape_of(op.pred):
            return stablehlo.select(p, op.on_true, op.on_false, results=[op.result.type])
    return None


@rule(exact)
def select_of_booleans(op: SelectOp) -> ir.Value | None:
    """select(p, true, false) -> p, select(p, false, true) -> not(p)."""
    if not is_boolean(op.result) or op.pred.type != op.result.type:
        return None
    match splat_of(op.on_true), splat_of(op.on_false):
        case True, False:
            return op.pred
        case False, True:
            return stablehlo.not_(op.pred)
    return None


@rule(exact)
def select_to_or(op: SelectOp) -> ir.Value | None:
    """select(p, true, q) -> p | q."""
    if not is_boolean(op.result) or not op.pred.type == op.on_false.type == op.result.type:
        return None
    return stablehlo.or_(op.pred, op.on_false) if is_splat(op.on_true, True) else None


@rule(exact)
def select_to_and(op: SelectOp) -> ir.Value | None:
    """select(p, q, false) -> p & q."""
    if not is_boolean(op.result) or not op.pred.type == op.on_true.type == op.result.type:
        return None
    return stablehlo.and_(op.pred, op.on_true) if is_splat(op.on_false, False) else None


@rule(exact)
def select_of_select(op: SelectOp) -> ir.Value | None:
    """select(p, select(p, x, _), y) -> select(p, x, y), and the same on the other side."""
    x, y = op.on_true, op.on_false
    match x.owner:
        case SelectOp(pred=p, on_true=inner) if p == op.pred:
            x = inner
    match y.owner:
        case SelectOp(pred=p, on_false=inner) if p == op.pred:
            y = inner
    if x == op.on_true and y == op.on_false:
        return None
    return stablehlo.select(op.pred, x, y, results=[op.result.type])
