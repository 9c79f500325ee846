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

from .lapack import Call, call_of, is_in_loop


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


# Triangular systems of many small matrices, solved line by line.


_LETTERS = {"side": "LR", "uplo": "LU", "trans_x": "NTC", "diag": "NU"}


@rule(reassociates, targets=("cpu",), partitioned=False)
def small_triangular_solve_to_substitution(
    op: CustomCallOp, context: PassContext
) -> ir.Value | None:
    """trsm(a, b) -> x, of lines x[i] = (b[i] - sum over k of a[i, k] * x[k]) / a[i, i].

    For many small a, or one in a loop. The rows of x are solved one after the other, from the row
    with a single unknown on; with side = "R" they are columns. `uplo` names the triangle of a that
    is read.

    A singular a gives infinities or NaNs in the rows from its first zero pivot on. Which of the two
    is unspecified, as it is in BLAS, whose kernels differ between processors.
    """
    call = call_of(op, "trsm")
    if call is None or not _is_known(call):
        return None
    side = -2 if call.options["side"] == "L" else -1
    extents = shape_of(op.operands[1])
    lines = extents[-3 - side]
    if extents[side] != call.size or extents[:-2] != call.batch:
        return None
    size = {"batch": call.matrices, "size": call.size, "lines": lines}
    if not cost.solve_pays(context.rates, **size, is_repeated=is_in_loop(op)):
        return None
    return joined(_solved(op.operands[0], op.operands[1], call, side), side)


def _is_known(call: Call) -> bool:
    if call.options.keys() != _LETTERS.keys():
        return False
    return all(call.options[name] in letters for name, letters in _LETTERS.items())


def _solved(a: ir.Value, b: ir.Value, call: Call, side: int) -> list[ir.Value]:
    """The lines of the solution: rows, or columns where `a` is multiplied from the right."""
    options = call.options
    is_turned = (options["trans_x"] != "N") != (options["side"] == "R")
    is_lower = (options["uplo"] == "L") != is_turned
    order = range(call.size) if is_lower else reversed(range(call.size))
    solved: dict[int, ir.Value] = {}
    for i in order:
        line = taken(b, {side: i})
        for k, known in solved.items():
            row, column = (k, i) if is_turned else (i, k)
            factor = element(a, row, column, line)
            line = stablehlo.subtract(line, stablehlo.multiply(factor, known))
        if options["diag"] == "N":
            line = stablehlo.multiply(line, repeated(_inverse(taken(a, {-2: i, -1: i})), line))
        solved[i] = line
    return [solved[i] for i in range(call.size)]


def _inverse(pivot: ir.Value) -> ir.Value:
    """1 / pivot: one division for a whole row, which is then multiplied by it, as in BLAS."""
    return stablehlo.divide(build.splat(1, pivot.type), pivot)


# Elements, rows and columns of a batch of matrices, and back.


def taken(value: ir.Value, places: dict[int, int]) -> ir.Value:
    """`value` where dimension d is at `places[d]`; those dimensions are left out.

    Dimensions are counted from the end where they are negative.
    """
    extents = shape_of(value)
    start, limit = [0] * len(extents), list(extents)
    for dim, at in places.items():
        start[dim], limit[dim] = at, at + 1
    gone = {dim % len(extents) for dim in places}
    part = stablehlo.slice(value, start, limit, [1] * len(extents))
    return build.reshape(part, [size for dim, size in enumerate(extents) if dim not in gone])


def element(value: ir.Value, row: int, column: int, like: ir.Value) -> ir.Value:
    """An element of each matrix, repeated along the last dimension of `like`."""
    return repeated(taken(value, {-2: row, -1: column}), like)


def repeated(value: ir.Value, like: ir.Value) -> ir.Value:
    """`value`, repeated along a new last dimension to the shape of `like`."""
    return build.broadcast(value, shape_of(like), range(len(shape_of(value))))


def joined(lines: Sequence[ir.Value], dimension: int) -> ir.Value:
    """The lines one after the other along a new `dimension`, counted from the end: -1 or -2."""
    shape = list(shape_of(lines[0]))
    place = len(shape) + 1 + dimension
    shape.insert(place, 1)
    parts = [build.reshape(line, shape) for line in lines]
    return parts[0] if len(parts) == 1 else stablehlo.concatenate(parts, place)
