"""Integer arithmetic whose result follows from the bounds of its operands."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import Bounds, bounds_of
from jxc.ir.values import as_result, direction_of, is_integer, shape_of, splat_attr, static_shape
from jxc.rewrite import exact, rule

from .compare import OUTCOME


def _both(x: ir.Value, y: ir.Value) -> tuple[Bounds, Bounds] | None:
    """The bounds of two integer values; None for other types."""
    if not is_integer(x):
        return None
    left, right = bounds_of(x), bounds_of(y)
    return None if left is None or right is None else (left, right)


@rule(exact)
def compare_of_bounds(op: hlo.CompareOp) -> ir.Value | None:
    """x < y -> true if x is always less than y, false if it never is; also the other directions.

    On integers with bounds: an iota, a loop counter, a clamped value, an unsigned number.
    """
    found = _both(op.lhs, op.rhs)
    return build.splat_result(_outcome(direction_of(op), *found), op) if found else None


def _outcome(direction: str, x: Bounds, y: Bounds) -> bool | None:
    """True if the comparison holds for all numbers in bounds, False if for none, else None."""
    if direction in ("EQ", "NE"):
        if x.high < y.low or y.high < x.low:
            return direction == "NE"
        return direction == "EQ" if x == y and x.low == x.high else None
    # The outcome is the same for all numbers if it is at both extremes of x - y.
    least, most = OUTCOME[direction](x.low, y.high), OUTCOME[direction](x.high, y.low)
    return bool(least) if least == most else None


@rule(exact)
def max_of_bounds(op: hlo.MaxOp) -> ir.Value | None:
    """max(x, y) -> x, on integers, if x is never less than y."""
    return _never_less(op, op.lhs, op.rhs)


@rule(exact)
def min_of_bounds(op: hlo.MinOp) -> ir.Value | None:
    """min(x, y) -> y, on integers, if x is never less than y."""
    return _never_less(op, op.rhs, op.lhs)


def _never_less(op: hlo.MaxOp | hlo.MinOp, x: ir.Value, y: ir.Value) -> ir.Value | None:
    """`x` if the left operand is never less than the right one, `y` if it is never greater."""
    if (found := _both(op.lhs, op.rhs)) is None:
        return None
    left, right = found
    if left.low >= right.high:
        return as_result(x, op)
    return as_result(y, op) if right.low >= left.high else None


@rule(exact)
def clamp_of_bounds(op: hlo.ClampOp) -> ir.Value | None:
    """clamp(a, x, b) -> x, on integers, if x is always between a and b; -> a or b if it never is.

    A clamp is min(max(x, a), b): b if a > b.
    """
    if not is_integer(op.operand):
        return None
    least, x, most = (bounds_of(each) for each in (op.min, op.operand, op.max))
    if least is None or x is None or most is None:
        return None
    if x.low >= least.high and x.high <= most.low:
        return as_result(op.operand, op)
    if max(x.low, least.low) >= most.high:
        return _broadcast(op.max, op)
    if x.high <= least.low and least.high <= most.low:
        return _broadcast(op.min, op)
    return None


def _broadcast(bound: ir.Value, op: hlo.ClampOp) -> ir.Value | None:
    """A bound of a clamp, which may be a scalar, broadcast to the type of the result."""
    if bound.type == op.result.type:
        return bound
    if static_shape(op.result) is None or shape_of(bound):
        return None
    splat = build.splat_result(splat_attr(bound), op)
    return splat or hlo.broadcast_in_dim(op.result.type, bound, [])


@rule(exact)
def remainder_of_bounds(op: hlo.RemOp) -> ir.Value | None:
    """x % y -> x, on integers, if y > 0 and -y < x < y always."""
    return as_result(op.lhs, op) if _is_less_in_magnitude(op.lhs, op.rhs) else None


@rule(exact)
def divide_of_bounds(op: hlo.DivOp) -> ir.Value | None:
    """x / y -> 0, on integers, if y > 0 and -y < x < y always."""
    return build.splat_result(0, op) if _is_less_in_magnitude(op.lhs, op.rhs) else None


def _is_less_in_magnitude(x: ir.Value, y: ir.Value) -> bool:
    """Whether y > 0 and -y < x < y always, for integers."""
    if (found := _both(x, y)) is None:
        return False
    left, right = found
    return right.low > 0 and -right.low < left.low and left.high < right.low


@rule(exact)
def abs_of_bounds(op: hlo.AbsOp) -> ir.Value | None:
    """|x| -> x, on integers, if x is never negative."""
    found = bounds_of(op.operand) if is_integer(op.operand) else None
    return as_result(op.operand, op) if found is not None and found.low >= 0 else None
