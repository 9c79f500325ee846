"""Triangular systems of many small matrices, solved line by line."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import CustomCallOp

from jxc.ir import build
from jxc.ir.values import shape_of
from jxc.passes.small_matrices import cost as cost
from jxc.rewrite import PassContext, reassociates, rule

from .lapack import Call, call_of, is_in_loop
from .parts import element, joined, repeated, taken

_LETTERS = {"side": "LR", "uplo": "LU", "trans_x": "NTC", "diag": "NU"}


@rule(reassociates, targets=("cpu",), partitioned=False)
def small_triangular_solve_to_substitution(op: CustomCallOp, context: PassContext) -> ir.Value | None:
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
