"""LAPACK calls as JAX writes them for CPU, as plain numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import direction_of, element_type, is_splat, shape_of, static_shape, users

_TARGET = re.compile(r"lapack_([sd])(potrf|trsm|getrf)_ffi")
_CONFIG = "mhlo.backend_config"
_PRECISION = {"s": ir.F32Type, "d": ir.F64Type}


class LapackCall(NamedTuple):
    """A LAPACK call for a batch of square real matrices in column-major layout.

    Attributes:
        options: LAPACK's option letters by name: {"uplo": "L"}.
        batch: the extents before those of the matrices.
        size: rows and columns of each matrix, at least 1.
    """

    options: Mapping[str, str]
    batch: tuple[int, ...]
    size: int


_LETTERS = {"side": "LR", "uplo": "LU", "trans_x": "NTC", "diag": "NU"}


def is_lapack_call(op: object) -> bool:
    """Whether `op` calls a routine of LAPACK or BLAS."""
    return isinstance(op, hlo.CustomCallOp) and op.call_target_name.value.startswith("lapack_")


def cholesky_of(op: hlo.CustomCallOp) -> LapackCall | None:
    """The call of potrf in `op` for the lower triangle, if its factor is used only on success."""
    call = _call_of(op, "potrf")
    if call is None or call.options != {"uplo": "L"} or not _is_masked(op):
        return None
    return call


def triangular_solve_of(op: hlo.CustomCallOp) -> LapackCall | None:
    """The call of trsm in `op`, if it has all of its options."""
    call = _call_of(op, "trsm")
    if call is None or call.options.keys() != _LETTERS.keys():
        return None
    is_known = all(call.options[name] in letters for name, letters in _LETTERS.items())
    return call if is_known else None


def read_by_rows(
    op: hlo.CustomCallOp, call: LapackCall, x: ir.Value, **options: str
) -> list[ir.Value]:
    """The results of the same call with its first matrix replaced by `x` in row-major layout.

    LAPACK takes x for its transpose. A result that overwrites it has the same layout.

    Args:
        op: a call whose first operand is square.
        call: what `op` calls.
        x: of the type of that operand.
        options: the letters that change, by name.
    """
    rank = len(call.batch) + 2
    rows = ir.Attribute.parse(f"dense<{[*reversed(range(rank))]}> : tensor<{rank}xindex>")
    copy = op.operation.clone()
    copy.operands[0] = x
    is_overwritten = len(op.operands) == 1
    for name in ("operand_layouts", "result_layouts")[: 1 + is_overwritten]:
        copy.attributes[name] = ir.ArrayAttr.get([rows, *list(op.attributes[name])[1:]])
    letters = {**call.options, **options}
    kind = ir.IntegerType.get_unsigned(8)
    values = {name: ir.IntegerAttr.get(kind, ord(letter)) for name, letter in letters.items()}
    copy.attributes[_CONFIG] = ir.DictAttr.get(values)
    return list(copy.results)


def _call_of(op: hlo.CustomCallOp, routine: str) -> LapackCall | None:
    """The call of `routine` in `op`, or None where it is another op or not in JAX's form."""
    found = _TARGET.fullmatch(op.call_target_name.value)
    if found is None or found[2] != routine:
        return None
    shape = static_shape(*op.operands, *op.results)
    if shape is None or len(shape) < 2 or shape[-1] != shape[-2]:
        return None
    if not _has_types(op, found[1]) or not _lies_by_columns(op):
        return None
    given = op.attributes.get(_CONFIG, ())
    options = {each.name: chr(each.attr.value) for each in given}
    return LapackCall(options, shape[:-2], shape[-1])


def _is_masked(op: hlo.CustomCallOp) -> bool:
    """Whether every user of the factor selects it only where the factorization succeeded."""
    for user in users(op.results[0]):
        match user:
            case hlo.SelectOp(pred=pred, on_true=x, on_false=y) if x == op.results[0] != y:
                if not _tests_success(pred, op.results[1]):
                    return False
            case _:
                return False
    return True


def _tests_success(pred: ir.Value, info: ir.Value) -> bool:
    """Whether `pred` is info == 0, broadcast."""
    while isinstance(pred.owner, hlo.BroadcastInDimOp | hlo.ReshapeOp):
        pred = pred.owner.operand
    match pred.owner:
        case hlo.CompareOp(lhs=x, rhs=y) as compare:
            return x == info and is_splat(y, 0) and direction_of(compare) == "EQ"
    return False


def _has_types(op: hlo.CustomCallOp, precision: str) -> bool:
    """Whether the matrices are of the routine's precision, and all the rest is i32."""
    matrices, rank = _PRECISION[precision], len(shape_of(op.operands[0]))
    for value in (*op.operands, *op.results):
        if 0 in shape_of(value):
            return False
        kind = element_type(value)
        is_matrix = len(shape_of(value)) == rank
        if not isinstance(kind, matrices) if is_matrix else str(kind) != "i32":
            return False
    return True


def _lies_by_columns(op: hlo.CustomCallOp) -> bool:
    """Whether the layouts are LAPACK's: column-major, batches outermost."""
    for values, name in ((op.operands, "operand_layouts"), (op.results, "result_layouts")):
        if name not in op.attributes:
            return False
        layouts = [[int(dim) for dim in layout] for layout in op.attributes[name]]
        if layouts != [_by_columns(value, op) for value in values]:
            return False
    return True


def _by_columns(value: ir.Value, op: hlo.CustomCallOp) -> list[int]:
    """Dimensions from the innermost outwards."""
    rank = len(shape_of(value))
    outwards = list(reversed(range(rank)))
    is_matrix = rank == len(shape_of(op.operands[0]))
    return [rank - 2, rank - 1, *outwards[2:]] if is_matrix else outwards
