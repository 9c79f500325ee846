"""Transposes and copies that XLA:CPU computes in slow loops: stored apart, or left out.

XLA:CPU transposes small tiles, but only in kernels of transposes and elementwise ops. A constant, a
broadcast, a slice or a reversal among them makes it read the operand one element at a time, from
another cache line each: 2048x2048 f32 take 25 ms instead of 2. `x + x.T` is as slow in jaxlib 0.10.

LAPACK takes matrices in column-major layout, into which XLA:CPU copies them in such a loop: 15 ms
for 2048x2048 f32. It takes the rows for columns instead, by other options of the call. Triangular
systems of 256 and more equations and few right-hand sides run 2 to 20 times faster, Cholesky
factors of as many rows 1.1 to 3 times.

Only for CPU, and for programs on one device.
"""

from __future__ import annotations

from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.cpu import MAPPED
from jxc.cost.flops import bytes_of
from jxc.cost.fusion import is_fusible
from jxc.ir.elementwise import is_elementwise
from jxc.ir.materialize import in_row_major, is_layout_call
from jxc.ir.shardings import is_partitioned_here
from jxc.ir.values import element_type, shape_of, swaps_matrices, users
from jxc.rewrite import exact, reassociates, rule

from ._shared.dot import OperandDims, dot, sides_of
from ._shared.elementwise import numeric_shape
from ._shared.lapack import cholesky_of, is_lapack_call, read_by_rows, triangular_solve_of

_MOST_VISITED = 16  # ops before or after a transpose


@rule(exact, priced=True, targets=("cpu",))
def store_transpose(op: hlo.TransposeOp) -> ir.Value | None:
    """transpose(x) -> in_row_major(transpose(x)), and in_row_major(x) if x is not elementwise.

    Unless a later op undoes the transpose, it undoes an earlier one, or x is computed from smaller
    arrays alone. LAPACK takes the columns of a transpose without a copy.
    """
    readers = users(op.result)
    if not _is_of_bytes(op.result) or all(map(is_layout_call, readers)):
        return None
    if any(map(is_lapack_call, readers)):
        return None
    if _is_undone(op.result) or _is_of_any_order(op.operand) or not _may_be_stored(op.result):
        return None
    x = op.operand if _is_tiled(op.operand) else in_row_major(op.operand)
    return in_row_major(hlo.transpose(x, op.permutation))


@rule(exact, priced=True, targets=("cpu",))
def store_transposed_factor(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(x, y) -> dot_general(in_row_major(transpose(x)), y), if it sums the columns of x.

    For matrices of f32 and f64. The gradient by the weights of a dense layer is such a product.
    """
    x, sides = op.lhs, sides_of(op)
    if sides[0] != OperandDims((), (0,)) or numeric_shape(x, op.rhs, op.result) is None:
        return None
    shape = shape_of(op.result)
    if len(shape) != 2 or 1 in shape or not isinstance(element_type(x), ir.F32Type | ir.F64Type):
        return None
    if len(shape_of(x)) != 2:
        return None
    if isinstance(x.owner, hlo.ConstantOp) or not _may_be_stored(x):
        return None
    rows = in_row_major(hlo.transpose(x if _is_tiled(x) else in_row_major(x), [1, 0]))
    return dot(op, [rows, op.rhs], [OperandDims((), (1,)), sides[1]])


@rule(reassociates, priced=True, targets=("cpu",))
def cholesky_by_rows(op: hlo.CustomCallOp) -> list[ir.Value] | None:
    """potrf(x) for the lower triangle -> potrf(x in row-major layout) for the upper one.

    LAPACK takes the rows of x for columns, and computes the transposed factor. A NaN or an infinity
    in x reaches the elements that depend on it; in the lower triangle, LAPACK's kernels reach a few
    more.
    """
    call = cholesky_of(op)
    if call is None or is_partitioned_here():
        return None
    return read_by_rows(op, call, op.operands[0], uplo="U")


@rule(reassociates, priced=True, targets=("cpu",))
def triangular_solve_by_rows(op: hlo.CustomCallOp) -> list[ir.Value] | None:
    """trsm(a, b) -> trsm(a in row-major layout, b), with the other triangle and transpose.

    With the same ones if a is a transpose, whose operand then takes its place.
    """
    call = triangular_solve_of(op)
    if call is None or is_partitioned_here():
        return None
    match op.operands[0].owner:
        case hlo.TransposeOp(operand=x) as transpose if swaps_matrices(transpose):
            return read_by_rows(op, call, x)
    triangle = "L" if call.options["uplo"] == "U" else "U"
    transposed = "T" if call.options["trans_x"] == "N" else "N"
    return read_by_rows(op, call, op.operands[0], uplo=triangle, trans_x=transposed)


def _may_be_stored(value: ir.Value) -> bool:
    """Whether `value` is a nonempty array on one device that needs no fresh pages at each call."""
    shape = numeric_shape(value)
    if not shape or 0 in shape or bytes_of(value.type) > MAPPED:
        return False
    return not is_partitioned_here()


def _is_of_bytes(value: ir.Value) -> bool:
    kind = element_type(value)
    if isinstance(kind, ir.IntegerType):
        return kind.width in (1, 8, 16, 32, 64)
    return isinstance(kind, ir.F16Type | ir.BF16Type | ir.F32Type | ir.F64Type)


def _keeps_order(op: ir.OpView) -> bool:
    """Whether XLA computes `op` in any order of elements, that of its operands or of its users."""
    return is_elementwise(op) or isinstance(op, hlo.ReverseOp | hlo.SliceOp | hlo.PadOp)


def _is_undone(value: ir.Value) -> bool:
    """Whether ops that keep the order of `value` lead to a transpose, or to one for any order.

    XLA then computes them in the order of the operand.
    """
    pending = [value]
    for _ in range(_MOST_VISITED):
        if not pending:
            return False
        for user in users(pending.pop()):
            if isinstance(user, hlo.TransposeOp) or _reads_any_order(user):
                return True
            if _keeps_order(user):
                pending += user.results
    return False


def _is_of_any_order(value: ir.Value) -> bool:
    """Whether ops that keep the order compute `value` from a transpose, or from smaller arrays."""
    pending, seen, size = [value], {value}, prod(shape_of(value))
    is_stored = False
    while pending and len(seen) <= _MOST_VISITED:
        found = pending.pop()
        owner = found.owner
        if isinstance(owner, hlo.TransposeOp):
            return True
        if prod(shape_of(found)) < size or isinstance(owner, hlo.ConstantOp | hlo.BroadcastInDimOp):
            continue
        if isinstance(owner, ir.Block) or not _keeps_order(owner):
            is_stored = True
            continue
        pending += [each for each in owner.operands if each not in seen]
        seen |= set(owner.operands)
    return bool(pending) or not is_stored


def _reads_any_order(op: ir.OpView) -> bool:
    """Whether `op` is an argmax, or a product of operands that do not lie as two matrices."""
    if isinstance(op, hlo.ReduceOp):
        return len(op.results) > 1
    if not isinstance(op, hlo.DotGeneralOp):
        return False
    left, right = sides_of(op)
    last = ir.RankedTensorType(op.lhs.type).rank - 1
    return last not in left.summed or len(right.batch) not in right.summed


def _is_tiled(value: ir.Value) -> bool:
    """Whether `value` is in memory, or computed from such values by elementwise ops alone."""
    pending = [value]
    for _ in range(_MOST_VISITED):
        if not pending:
            return True
        owner = pending.pop().owner
        if isinstance(owner, ir.Block) or not is_fusible(owner):
            continue
        if not is_elementwise(owner):
            return False
        pending += owner.operands
    return False
