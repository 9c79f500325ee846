"""Transposes that vanish, or vanish into their operand."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import BroadcastInDimOp, IotaOp, TransposeOp

from jxc.ir.values import as_result, static_shape
from jxc.rewrite import exact, rule


@rule(exact)
def identity_transpose(op: TransposeOp) -> ir.Value | None:
    """transpose(x, [0, 1, ..]) -> x."""
    permutation = list(op.permutation)
    return as_result(op.operand, op) if permutation == sorted(permutation) else None


@rule(exact, producer=TransposeOp)
def transpose_of_transpose(op: TransposeOp) -> ir.Value | None:
    """transpose(transpose(x, p), q) -> transpose(x, p after q)."""
    match op.operand.owner:
        case TransposeOp(operand=x, permutation=inner):
            composed = [inner[dim] for dim in op.permutation]
            return stablehlo.transpose(x, composed, results=[op.result.type])
    return None


@rule(exact, producer=BroadcastInDimOp)
def transpose_of_broadcast(op: TransposeOp) -> ir.Value | None:
    """transpose(broadcast_in_dim(x, dims), p) -> broadcast_in_dim(x, where p takes dims)."""
    match op.operand.owner:
        case BroadcastInDimOp(operand=x, broadcast_dimensions=dims) if static_shape(op.result):
            place = {dim: i for i, dim in enumerate(op.permutation)}
            return stablehlo.broadcast_in_dim(op.result.type, x, [place[dim] for dim in dims])
    return None


@rule(exact, producer=IotaOp)
def transpose_of_iota(op: TransposeOp) -> ir.Value | None:
    """transpose(iota(d), p) -> iota(where p takes d)."""
    match op.operand.owner:
        case IotaOp(iota_dimension=dim) if static_shape(op.result):
            return stablehlo.iota(op.result.type, list(op.permutation).index(dim.value))
    return None
