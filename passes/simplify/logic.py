"""AND, OR and NOT of related operands: comparisons of the same values, complements, equal ones."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import bounds_of
from jxc.ir.values import (
    as_result,
    direction_of,
    is_boolean,
    is_float,
    is_integer,
    is_interchangeable,
    is_splat,
    splat_of,
    users,
)
from jxc.rewrite import equation, exact, rule

from .compare import compare

# For which relations a comparison is true: less, equal, greater, unordered (an operand is NaN).
_TRUE_IF = {
    "LT": frozenset("l"),
    "LE": frozenset("le"),
    "GT": frozenset("g"),
    "GE": frozenset("ge"),
    "EQ": frozenset("e"),
    "NE": frozenset("lgu"),
}


_SWAPPED = str.maketrans("lg", "gl")


@rule(exact, producer=hlo.CompareOp)
def and_of_compares(op: hlo.AndOp) -> ir.Value | None:
    """(x < y) & (x != y) -> x < y, (x < y) & (x > y) -> false, and all other pairs."""
    found = _relations(op)
    return None if found is None else _as_one(op, found[0] & found[1])


@rule(exact, producer=hlo.CompareOp)
def or_of_compares(op: hlo.OrOp) -> ir.Value | None:
    """(x < y) | (x == y) -> x <= y, (x < y) | (x != y) -> x != y, and all other pairs."""
    found = _relations(op)
    return None if found is None else _as_one(op, found[0] | found[1])


def _relations(op: hlo.AndOp | hlo.OrOp) -> tuple[frozenset[str], frozenset[str]] | None:
    """The relations for which each operand, both comparisons of the same two values, is true."""
    match op.lhs.owner, op.rhs.owner:
        case hlo.CompareOp(lhs=x, rhs=y) as left, hlo.CompareOp(lhs=z, rhs=w) as right:
            is_alike = str(left.compare_type) == str(right.compare_type)
            if not is_alike or not (is_integer(x) or is_boolean(x) or is_float(x)):
                return None
            mine, theirs = _true_if(left), _true_if(right)
            if is_interchangeable(x, z) and is_interchangeable(y, w):
                return mine, theirs
            if is_interchangeable(x, w) and is_interchangeable(y, z):
                return mine, frozenset("".join(theirs).translate(_SWAPPED))
    return None


def _true_if(op: hlo.CompareOp) -> frozenset[str]:
    return _TRUE_IF[direction_of(op)] & _possible(op)


def _possible(op: hlo.CompareOp) -> frozenset[str]:
    """The possible relations: integers, and floats in the total order, are never unordered."""
    is_total = not is_float(op.lhs) or "TOTALORDER" in str(op.compare_type)
    return frozenset("leg" if is_total else "legu")


def _as_one(op: hlo.AndOp | hlo.OrOp, wanted: frozenset[str]) -> ir.Value | None:
    """A comparison that is true for these relations: one of the two operands, or a new one."""
    first, second = op.lhs.owner, op.rhs.owner
    possible = _possible(first)
    if wanted in (frozenset(), possible):
        return build.splat_result(bool(wanted), op)
    named = [name for name, true_if in _TRUE_IF.items() if true_if & possible == wanted]
    if not named:
        return None
    for inner in (first, second):
        if inner.lhs == first.lhs and direction_of(inner) == named[0]:
            return as_result(inner.result, op)
    return compare(first.lhs, first.rhs, named[0], first, op)


@rule(exact, producer=hlo.CompareOp)
def and_of_sign_and_remainder(op: hlo.AndOp) -> ir.Value | None:
    """(sign(x) != 1) & (x % y != 0) -> x % y < 0, (sign(x) != -1) & (x % y != 0) -> x % y > 0.

    On integers, where a remainder is 0 or has the sign of x, if y is never 0.
    """
    for first, second in ((op.lhs.owner, op.rhs.owner), (op.rhs.owner, op.lhs.owner)):
        match first, second:
            case hlo.CompareOp(lhs=sign, rhs=one), hlo.CompareOp(lhs=remainder, rhs=zero) if (
                is_integer(sign) and direction_of(first) == direction_of(second) == "NE"
            ):
                direction = {1: "LT", -1: "GT"}.get(int(splat_of(one) or 0))
                if direction and is_splat(zero, 0) and _is_sign_of(sign, remainder):
                    return compare(remainder, zero, direction, second, op)
    return None


def _is_sign_of(sign: ir.Value, remainder: ir.Value) -> bool:
    """Whether these are sign(x) and x % y, y not being 0."""
    match sign.owner, remainder.owner:
        case hlo.SignOp(operand=x), hlo.RemOp(lhs=z, rhs=y) if x == z:
            found = bounds_of(y)
            return found is not None and (found.low > 0 or found.high < 0)
    return False


@rule(exact, producer=hlo.NotOp)
def and_or_of_nots(op: hlo.AndOp | hlo.OrOp) -> ir.Value | None:
    """not(p) & not(q) -> not(p | q), not(p) | not(q) -> not(p & q), if both have no other use."""
    match op.lhs.owner, op.rhs.owner:
        case hlo.NotOp(operand=p, result=left), hlo.NotOp(operand=q, result=right):
            if left == right or len(users(left)) > 1 or len(users(right)) > 1:
                return None
            join = hlo.or_ if isinstance(op, hlo.AndOp) else hlo.and_
            return hlo.not_(join(p, q, results=[op.result.type]))
    return None


@equation(exact)
def and_or_of_complement() -> None:
    """p & ~p -> 0, p | ~p -> ones."""


@equation(exact)
def and_or_absorbed() -> None:
    """p & (p | q) -> p, p | (p & q) -> p."""


@rule(exact, producer=(hlo.AndOp, hlo.OrOp))
def and_or_repeated(op: hlo.AndOp | hlo.OrOp) -> ir.Value | None:
    """p & (p & q) -> p & q, p | (p | q) -> p | q."""
    for p, inner in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if isinstance(inner.owner, type(op)) and p in tuple(inner.owner.operands):
            return as_result(inner, op)
    return None


@equation(exact)
def not_of_not() -> None:
    """~(~x) -> x."""
