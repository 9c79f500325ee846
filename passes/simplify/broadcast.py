"""Broadcasts: one instead of a chain, after the other ops that rearrange a value."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import shape_of, static_shape
from jxc.rewrite import exact, rule

from .rearrange import without_ones


@rule(exact)
def identity_broadcast(op: hlo.BroadcastInDimOp) -> ir.Value | None:
    """broadcast_in_dim(x, [0, 1, ..]) -> x, to the shape of x."""
    if op.operand.type != op.result.type or static_shape(op.operand) is None:
        return None
    dims = list(op.broadcast_dimensions)
    return op.operand if dims == sorted(dims) else None


@rule(exact, producer=hlo.BroadcastInDimOp)
def broadcast_of_broadcast(op: hlo.BroadcastInDimOp) -> ir.Value | None:
    """broadcast_in_dim(broadcast_in_dim(x)) -> broadcast_in_dim(x)."""
    match op.operand.owner:
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=inner):
            outer = list(op.broadcast_dimensions)
            return hlo.broadcast_in_dim(op.result.type, x, [outer[dim] for dim in inner])
    return None


@rule(exact, producer=hlo.ReshapeOp)
def broadcast_of_reshape(op: hlo.BroadcastInDimOp) -> ir.Value | None:
    """broadcast_in_dim(reshape(x)) -> broadcast_in_dim(x), if reshape only adds extents of 1."""
    match op.operand.owner:
        case hlo.ReshapeOp(operand=x, result=wide) if static_shape(x) is not None:
            kept = _kept_dimensions(shape_of(x), shape_of(wide))
            if kept is not None:
                outer = list(op.broadcast_dimensions)
                return hlo.broadcast_in_dim(op.result.type, x, [outer[d] for d in kept])
    return None


def _kept_dimensions(narrow: Sequence[int], wide: Sequence[int]) -> list[int] | None:
    """For each dimension of `narrow` the one of `wide` that it becomes, if the others are 1."""
    dims: list[int] = []
    for dim, extent in enumerate(wide):
        if len(dims) < len(narrow) and extent == narrow[len(dims)]:
            dims.append(dim)
        elif extent != 1:
            return None
    return dims if len(dims) == len(narrow) else None


@rule(exact)
def broadcast_to_transpose(op: hlo.BroadcastInDimOp) -> ir.Value | None:
    """broadcast_in_dim(x, dims) -> transpose(x), if dims is a permutation and no extent grows."""
    dims = list(op.broadcast_dimensions)
    if dims == sorted(dims):
        return None
    shape = static_shape(op.operand, op.result)
    if shape is None or len(dims) < len(shape_of(op.result)):
        return None
    if shape != tuple(shape_of(op.result)[dim] for dim in dims):
        return None
    return hlo.transpose(op.operand, [dims.index(i) for i in range(len(dims))])


@rule(exact, producer=hlo.IotaOp)
def broadcast_of_iota(op: hlo.BroadcastInDimOp) -> ir.Value | None:
    """broadcast_in_dim(iota(d), dims) -> iota(dims[d]), if the extent of d stays the same."""
    match op.operand.owner:
        case hlo.IotaOp(iota_dimension=dim, result=inner) if static_shape(inner, op.result):
            outer = op.broadcast_dimensions[dim.value]
            if shape_of(inner)[dim.value] == shape_of(op.result)[outer]:
                return hlo.iota(op.result.type, outer)
    return None


@rule(exact, producer=hlo.BroadcastInDimOp)
def reshape_of_broadcast(op: hlo.ReshapeOp) -> ir.Value | None:
    """reshape(broadcast_in_dim(x)) -> broadcast_in_dim(x), if only extents of 1 come or go."""
    match op.operand.owner:
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims, result=inner):
            sizes = static_shape(inner, x)
            if sizes is None or without_ones(sizes) != without_ones(shape_of(op.result)):
                return None
            return broadcast_as(op.result.type, x, list(dims), sizes)
    return None


def broadcast_as(
    kind: ir.RankedTensorType, x: ir.Value, dims: list[int], sizes: Sequence[int]
) -> ir.Value:
    """`x` broadcast to the type `kind`, given its broadcast dimensions `dims` in another shape.

    The shapes `sizes` and that of `kind` differ by extents of 1 only.
    """
    result = [i for i, extent in enumerate(kind.shape) if extent != 1]
    new_dim = dict(zip((i for i, extent in enumerate(sizes) if extent != 1), result, strict=True))
    kept = [i for i, dim in enumerate(dims) if dim in new_dim]
    operand = build.reshape(x, [shape_of(x)[i] for i in kept])
    return hlo.broadcast_in_dim(kind, operand, [new_dim[dims[i]] for i in kept])


@rule(exact, producer=hlo.IotaOp)
def reshape_of_iota(op: hlo.ReshapeOp) -> ir.Value | None:
    """reshape(iota) -> iota, if only extents of 1 come or go, and the iota dimension stays."""
    match op.operand.owner:
        case hlo.IotaOp(iota_dimension=dim, result=inner) if static_shape(inner):
            before, after = shape_of(inner), shape_of(op.result)
            if without_ones(before) != without_ones(after) or before[dim.value] == 1:
                return None
            index = len(without_ones(before[: dim.value]))
            large = [i for i, extent in enumerate(after) if extent != 1]
            return hlo.iota(op.result.type, large[index])
    return None


@rule(exact)
def iota_of_one(op: hlo.IotaOp) -> ir.Value | None:
    """iota -> 0, if the iota dimension has extent 1."""
    shape = static_shape(op.result)
    if shape is None or shape[op.iota_dimension.value] != 1:
        return None
    if isinstance(ir.RankedTensorType(op.result.type).element_type, ir.ComplexType):
        return None
    return build.splat(0, op.result.type)
