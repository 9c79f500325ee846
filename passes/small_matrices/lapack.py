"""LAPACK calls as JAX writes them for CPU, as plain numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import element_type, shape_of, static_shape

_TARGET = re.compile(r"lapack_([sd])(potrf|trsm|getrf)_ffi")
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


def call_of(op: hlo.CustomCallOp, routine: str) -> LapackCall | None:
    """The call of `routine` in `op`, or None where it is another op or not in JAX's form."""
    found = _TARGET.fullmatch(op.call_target_name.value)
    if found is None or found[2] != routine:
        return None
    shape = static_shape(*op.operands, *op.results)
    if shape is None or len(shape) < 2 or shape[-1] != shape[-2]:
        return None
    if not _has_types(op, found[1]) or not _lies_by_columns(op):
        return None
    config = "mhlo.backend_config"
    given = op.attributes.get(config, ())
    options = {each.name: chr(each.attr.value) for each in given}
    return LapackCall(options, shape[:-2], shape[-1])


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
