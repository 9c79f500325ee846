"""Cholesky factors and triangular systems of small matrices, as elementwise ops.

A batch of matrices is handled at once: `elements_at` takes the same element, row or column of each
of them, `stack` puts columns or rows together again.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import shape_of
from jxc.rewrite import reassociates, rule

from .._shared.lapack import LapackCall, cholesky_of, triangular_solve_of

LARGEST = 8
"""The most rows of matrices whose factors are written out to be priced."""

MOST_TERMS = 256
"""The most multiply-adds of a triangular system that is written out to be priced."""


@rule(reassociates, priced=True)
def small_cholesky_to_columns(op: hlo.CustomCallOp) -> list[ir.Value] | None:
    """potrf(x) -> l with columns d / sqrt(d[j]), for d = x[:, j] - sum of l[:, k] * l[j, k].

    For many small x, or one in a loop. The lower triangle is read, and the upper one is returned as
    it is. The second result is the number of the first d[j] <= 0, or 0 if there is none. LAPACK
    leaves l unfinished there, so the rule requires that l is used only where the factorization
    succeeded.
    """
    call = cholesky_of(op)
    if call is None or call.size > LARGEST:
        return None
    columns, roots = _factored(op.operands[0], call.size)
    factor = _assembled(stack(columns, -1), stack(roots, -1), op.operands[0])
    return [factor, _first_failing(roots, op.results[1].type)]


def _factored(x: ir.Value, size: int) -> tuple[list[ir.Value], list[ir.Value]]:
    """The columns of the factor, valid below the diagonal only, and its diagonal."""
    columns: list[ir.Value] = []
    roots = []
    for j in range(size):
        column = elements_at(x, {-1: j})
        for before in columns:
            factor = repeat_along(elements_at(before, {-1: j}), before)
            column = hlo.subtract(column, hlo.multiply(before, factor))
        # The root of a pivot above 0; 0 for another pivot, NaN for NaN. Users test the root, not
        # the pivot, which XLA would compute again for each test.
        pivot = elements_at(column, {-1: j})
        roots.append(hlo.sqrt(hlo.maximum(pivot, build.splat(0, pivot.type))))
        columns.append(hlo.divide(column, repeat_along(roots[-1], column)))
    return columns, roots


def _assembled(below: ir.Value, diagonal: ir.Value, above: ir.Value) -> ir.Value:
    """One matrix of three parts. The diagonal is separate, because inf / inf would be NaN."""
    shape = shape_of(below)
    kind = ir.RankedTensorType.get(shape, ir.IntegerType.get_signless(32))
    row, column = (hlo.iota(kind, len(shape) - 2 + i) for i in range(2))
    is_below, is_diagonal = (build.compare(direction, row, column) for direction in ("GT", "EQ"))
    rest = hlo.select(is_below, below, above)
    return hlo.select(is_diagonal, repeat_along(diagonal, below), rest)


def _first_failing(roots: Sequence[ir.Value], kind: ir.Type) -> ir.Value:
    """LAPACK's info: the first pivot that is not positive. A NaN is no failure."""
    found = build.splat(0, kind)
    for number, root in reversed(list(enumerate(roots, start=1))):
        fails = build.compare("LE", root, build.splat(0, root.type))
        found = hlo.select(fails, build.splat(number, kind), found)
    return found


@rule(reassociates, priced=True)
def small_triangular_solve_to_substitution(op: hlo.CustomCallOp) -> ir.Value | None:
    """trsm(a, b) -> x, row by row: x[i] = (b[i] - sum over k of a[i, k] * x[k]) / a[i, i].

    For many small a, or one in a loop. The rows of x are solved one after the other, from the row
    with a single unknown on; with side = "R" they are columns. `uplo` names the triangle of a that
    is read.

    A singular a gives infinities or NaNs in the rows from its first zero pivot on. Which of the two
    is unspecified, as it is in BLAS, whose kernels differ between processors.
    """
    call = triangular_solve_of(op)
    if call is None:
        return None
    side = -2 if call.options["side"] == "L" else -1
    extents = shape_of(op.operands[1])
    lines = extents[-3 - side]
    if extents[side] != call.size or extents[:-2] != call.batch:
        return None
    if call.size**2 * lines > MOST_TERMS:
        return None
    return stack(_solved(op.operands[0], op.operands[1], call, side), side)


def _solved(a: ir.Value, b: ir.Value, call: LapackCall, side: int) -> list[ir.Value]:
    """The rows of the solution, or the columns where `a` is on the right."""
    options = call.options
    is_transposed = (options["trans_x"] != "N") != (options["side"] == "R")
    is_lower = (options["uplo"] == "L") != is_transposed
    order = range(call.size) if is_lower else reversed(range(call.size))
    solved: dict[int, ir.Value] = {}
    for i in order:
        line = elements_at(b, {side: i})
        for k, known in solved.items():
            row, column = (k, i) if is_transposed else (i, k)
            factor = repeat_along(elements_at(a, {-2: row, -1: column}), line)
            line = hlo.subtract(line, hlo.multiply(factor, known))
        if options["diag"] == "N":
            # One division for a whole row, which is then multiplied by it, as in BLAS.
            pivot = elements_at(a, {-2: i, -1: i})
            inverse = hlo.divide(build.splat(1, pivot.type), pivot)
            line = hlo.multiply(line, repeat_along(inverse, line))
        solved[i] = line
    return [solved[i] for i in range(call.size)]


def elements_at(value: ir.Value, positions: dict[int, int]) -> ir.Value:
    """`value` at index `positions[d]` of each dimension d in `positions`, which are dropped.

    Negative dimensions count from the end.
    """
    extents = shape_of(value)
    gone = {dim % len(extents) for dim in positions}
    part = build.slice_along(value, {dim: range(at, at + 1) for dim, at in positions.items()})
    return build.reshape(part, [size for dim, size in enumerate(extents) if dim not in gone])


def repeat_along(value: ir.Value, like: ir.Value) -> ir.Value:
    """`value` broadcast along a new last dimension to the shape of `like`."""
    return build.broadcast(value, shape_of(like), range(len(shape_of(value))))


def stack(lines: Sequence[ir.Value], dimension: int) -> ir.Value:
    """The rows or columns stacked along a new `dimension`, -1 or -2."""
    shape = list(shape_of(lines[0]))
    place = len(shape) + 1 + dimension
    shape.insert(place, 1)
    parts = [build.reshape(line, shape) for line in lines]
    return parts[0] if len(parts) == 1 else hlo.concatenate(parts, place)
