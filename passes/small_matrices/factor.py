"""Cholesky factors of many small matrices, column by column."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import (
    BroadcastInDimOp,
    CompareOp,
    CustomCallOp,
    ReshapeOp,
    SelectOp,
)

from jxc.ir import build
from jxc.ir.values import direction_of, is_splat, shape_of, users
from jxc.passes.small_matrices import cost as cost
from jxc.rewrite import PassContext, reassociates, rule

from .lapack import call_of, is_in_loop
from .parts import joined, repeated, taken


@rule(reassociates, targets=("cpu",))
def small_cholesky_to_columns(op: CustomCallOp, context: PassContext) -> list[ir.Value] | None:
    """potrf(x) -> l, with columns d / sqrt(d[j]), d being x[:, j] - sum of l[:, k] * l[j, k].

    For many small x, or one in a loop; the lower triangle is read, what lies above it stays. The
    second result is the number of the first d[j] that is 0 or less, or 0 if none is: where one is,
    LAPACK leaves what it had by then, so l must be used where there is none alone.
    """
    call = call_of(op, "potrf")
    if call is None or call.options != {"uplo": "L"} or not _is_masked(op):
        return None
    if not cost.cholesky_pays(
        context.rates, batch=call.matrices, size=call.size, is_repeated=is_in_loop(op)
    ):
        return None
    columns, roots = _factored(op.operands[0], call.size)
    factor = _assembled(joined(columns, -1), joined(roots, -1), op.operands[0])
    return [factor, _first_failing(roots, op.results[1].type)]


def _is_masked(op: CustomCallOp) -> bool:
    """Whether all that uses the factor takes it where the factorisation did not fail alone."""
    for user in users(op.results[0]):
        match user:
            case SelectOp(pred=pred, on_true=x, on_false=y) if x == op.results[0] != y:
                if not _says_done(pred, op.results[1]):
                    return False
            case _:
                return False
    return True


def _says_done(pred: ir.Value, info: ir.Value) -> bool:
    while isinstance(pred.owner, BroadcastInDimOp | ReshapeOp):
        pred = pred.owner.operand
    match pred.owner:
        case CompareOp(lhs=x, rhs=y) as compare:
            return x == info and is_splat(y, 0) and direction_of(compare) == "EQ"
    return False


def _factored(x: ir.Value, size: int) -> tuple[list[ir.Value], list[ir.Value]]:
    """The columns of the factor, wrong from the diagonal upwards, and what is on the diagonal."""
    columns: list[ir.Value] = []
    roots = []
    for j in range(size):
        column = taken(x, {-1: j})
        for before in columns:
            factor = repeated(taken(before, {-1: j}), before)
            column = stablehlo.subtract(column, stablehlo.multiply(before, factor))
        roots.append(_root(taken(column, {-1: j})))
        columns.append(stablehlo.divide(column, repeated(roots[-1], column)))
    return columns, roots


def _root(pivot: ir.Value) -> ir.Value:
    """The root of a pivot above 0; 0 where it is not, NaN where it is NaN.

    One root tells all, or XLA would compute each pivot again wherever the verdict is asked for.
    """
    return stablehlo.sqrt(stablehlo.maximum(pivot, build.splat(0, pivot.type)))


def _assembled(below: ir.Value, diagonal: ir.Value, above: ir.Value) -> ir.Value:
    """One matrix of three parts; the root of an infinite pivot is infinite, its quotient NaN."""
    shape = shape_of(below)
    kind = ir.RankedTensorType.get(shape, ir.IntegerType.get_signless(32))
    row, column = (stablehlo.iota(kind, len(shape) - 2 + i) for i in range(2))
    is_below, is_diagonal = (
        stablehlo.compare(row, column, stablehlo.ComparisonDirectionAttr.get(direction))
        for direction in ("GT", "EQ")
    )
    rest = stablehlo.select(is_below, below, above)
    return stablehlo.select(is_diagonal, repeated(diagonal, below), rest)


def _first_failing(roots: Sequence[ir.Value], kind: ir.Type) -> ir.Value:
    """LAPACK's verdict: a NaN goes on into what follows, and is no failure."""
    found = build.splat(0, kind)
    at_most = stablehlo.ComparisonDirectionAttr.get("LE")
    for number, root in reversed(list(enumerate(roots, start=1))):
        fails = stablehlo.compare(root, build.splat(0, root.type), at_most)
        found = stablehlo.select(fails, build.splat(number, kind), found)
    return found
