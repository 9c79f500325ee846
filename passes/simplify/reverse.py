"""Reverses that vanish, or vanish into their operand."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import BroadcastInDimOp, ReverseOp

from jxc.ir.values import as_result, shape_of, static_shape
from jxc.rewrite import exact, rule


@rule(exact)
def identity_reverse(op: ReverseOp) -> ir.Value | None:
    """reverse(x, dims) -> x, where every extent in dims is 1."""
    shape = shape_of(op.operand)
    if any(shape[dim] != 1 for dim in op.dimensions):
        return None
    return as_result(op.operand, op)


@rule(exact, producer=ReverseOp)
def reverse_of_reverse(op: ReverseOp) -> ir.Value | None:
    """reverse(reverse(x, d), e) -> reverse(x, those in one of d and e), or x if there are none."""
    match op.operand.owner:
        case ReverseOp(operand=x, dimensions=inner):
            dims = sorted(set(inner) ^ set(op.dimensions))
            if not dims:
                return as_result(x, op)
            return stablehlo.reverse(x, dims, results=[op.result.type])
    return None


@rule(exact, producer=BroadcastInDimOp)
def reverse_of_broadcast(op: ReverseOp) -> ir.Value | None:
    """reverse(broadcast_in_dim(x)) -> broadcast_in_dim(reverse(x)), or of x where it repeats."""
    match op.operand.owner:
        case BroadcastInDimOp(operand=x, broadcast_dimensions=dims) if static_shape(op.result):
            sizes = zip(dims, shape_of(x), strict=True)
            own = [i for i, (dim, size) in enumerate(sizes) if size != 1 and dim in op.dimensions]
            operand = stablehlo.reverse(x, own) if own else x
            return stablehlo.broadcast_in_dim(op.result.type, operand, dims)
    return None
