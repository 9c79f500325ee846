"""Parts of whole values: how a part of a value is computed from parts of its operands.

A dropout mask is a function of `iota`: an iteration computes its part, with the same bits, from its
part of the `iota`.
"""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.elementwise import is_elementwise
from jxc.ir.values import shape_of

from .split import moved_dim
from .states import SAME, OpPlan, Parted


def plan_part(value: ir.Value, dim: int, parts: int) -> OpPlan | None:
    """The plan that gives parts of a whole value along a dimension, or None."""
    op, result = value.owner, (Parted(dim),)
    if is_elementwise(op):
        forms = tuple(Parted(dim) if shape_of(each) else SAME for each in op.operands)
        return OpPlan(forms, result)
    match op:
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims):
            at = list(dims).index(dim) if dim in dims else None
            is_copied = at is None or shape_of(x)[at] != shape_of(value)[dim]
            return OpPlan((SAME if is_copied else Parted(at),), result)  # type: ignore[arg-type]
        case hlo.ReshapeOp(operand=x):
            at = moved_dim(shape_of(value), shape_of(x), dim, parts)
            return None if at is None else OpPlan((Parted(at),), result)
        case hlo.TransposeOp(permutation=permutation):
            return OpPlan((Parted(permutation[dim]),), result)
        case hlo.ConcatenateOp(dimension=along) if along.value != dim:
            return OpPlan((Parted(dim),) * len(op.operands), result)
        case hlo.ReverseOp(dimensions=dims) if dim not in dims:
            return OpPlan((Parted(dim),), result)
        case hlo.SliceOp(operand=x) if shape_of(x)[dim] == shape_of(value)[dim]:
            return OpPlan((Parted(dim),), result)
        case hlo.BitcastConvertOp(operand=x) if shape_of(x) == shape_of(value):
            return OpPlan((Parted(dim),), result)
        case hlo.PadOp(operand=x) if shape_of(x)[dim] == shape_of(value)[dim]:
            low, high = op.edge_padding_low[dim], op.edge_padding_high[dim]
            return OpPlan((Parted(dim), SAME), result) if low == high == 0 else None
    return None
