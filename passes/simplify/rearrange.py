"""Reshapes, reverses and transposes: removed, merged, or turned into a simpler op; splats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import SPLATS, as_result, is_same_splat, shape_of, splat_attr, static_shape
from jxc.rewrite import exact, rule


def without_ones(shape: Sequence[int]) -> list[int]:
    """The extents other than 1: equal for shapes that differ by extents of 1 only."""
    return [extent for extent in shape if extent != 1]


def groups_of(left: Sequence[int], right: Sequence[int]) -> Iterator[tuple[slice, slice]]:
    """The shortest groups of adjacent dimensions of two shapes that have equally many elements.

    A reshape from one shape to the other maps the elements of each group to each other. No extent
    may be 0.
    """
    i = j = 0
    while i < len(left) or j < len(right):
        first, second, mine, theirs = i, j, 1, 1
        while (first, second) == (i, j) or mine != theirs:
            if i < len(left) and (mine <= theirs or j == len(right)):
                mine, i = mine * left[i], i + 1
            else:
                theirs, j = theirs * right[j], j + 1
        yield slice(first, i), slice(second, j)


@rule(exact)
def identity_reshape(op: hlo.ReshapeOp) -> ir.Value | None:
    """reshape(x) -> x, to the shape of x."""
    return as_result(op.operand, op)


@rule(exact, producer=hlo.ReshapeOp)
def reshape_of_reshape(op: hlo.ReshapeOp) -> ir.Value | None:
    """reshape(reshape(x)) -> reshape(x)."""
    match op.operand.owner:
        case hlo.ReshapeOp(operand=x):
            return hlo.reshape(op.result.type, x)
    return None


@rule(exact)
def broadcast_to_reshape(op: hlo.BroadcastInDimOp) -> ir.Value | None:
    """broadcast_in_dim(x) -> reshape(x), if it only adds extents of 1."""
    if without_ones(shape_of(op.operand)) != without_ones(shape_of(op.result)):
        return None
    dims = list(op.broadcast_dimensions)
    if dims != sorted(dims) or static_shape(op.operand, op.result) is None:
        return None
    return hlo.reshape(op.result.type, op.operand)


@rule(exact)
def transpose_to_reshape(op: hlo.TransposeOp) -> ir.Value | None:
    """transpose(x) -> reshape(x), if only dimensions of extent 1 move."""
    shape = static_shape(op.operand, op.result)
    if shape is None:
        return None
    moved = [dim for dim in op.permutation if shape[dim] != 1]
    if moved != sorted(moved):
        return None
    return hlo.reshape(op.result.type, op.operand)


@rule(exact)
def identity_reverse(op: hlo.ReverseOp) -> ir.Value | None:
    """reverse(x, dims) -> x, if every dimension in dims has extent 1."""
    shape = shape_of(op.operand)
    if any(shape[dim] != 1 for dim in op.dimensions):
        return None
    return as_result(op.operand, op)


@rule(exact, producer=hlo.ReverseOp)
def reverse_of_reverse(op: hlo.ReverseOp) -> ir.Value | None:
    """reverse(reverse(x, d), e) -> reverse(x, dimensions in one of d and e), or x if none is."""
    match op.operand.owner:
        case hlo.ReverseOp(operand=x, dimensions=inner):
            dims = sorted(set(inner) ^ set(op.dimensions))
            if not dims:
                return as_result(x, op)
            return hlo.reverse(x, dims, results=[op.result.type])
    return None


@rule(exact, producer=hlo.BroadcastInDimOp)
def reverse_of_broadcast(op: hlo.ReverseOp) -> ir.Value | None:
    """reverse(broadcast_in_dim(x)) -> broadcast_in_dim(reverse(x)), or -> broadcast_in_dim(x)."""
    match op.operand.owner:
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims) if static_shape(op.result):
            sizes = zip(dims, shape_of(x), strict=True)
            own = [i for i, (dim, size) in enumerate(sizes) if size != 1 and dim in op.dimensions]
            operand = hlo.reverse(x, own) if own else x
            return hlo.broadcast_in_dim(op.result.type, operand, dims)
    return None


@rule(exact)
def identity_transpose(op: hlo.TransposeOp) -> ir.Value | None:
    """transpose(x, [0, 1, ..]) -> x."""
    permutation = list(op.permutation)
    return as_result(op.operand, op) if permutation == sorted(permutation) else None


@rule(exact, producer=hlo.TransposeOp)
def transpose_of_transpose(op: hlo.TransposeOp) -> ir.Value | None:
    """transpose(transpose(x, p), q) -> transpose(x, p after q)."""
    match op.operand.owner:
        case hlo.TransposeOp(operand=x, permutation=inner):
            composed = [inner[dim] for dim in op.permutation]
            return hlo.transpose(x, composed, results=[op.result.type])
    return None


@rule(exact, producer=hlo.BroadcastInDimOp)
def transpose_of_broadcast(op: hlo.TransposeOp) -> ir.Value | None:
    """transpose(broadcast_in_dim(x, dims), p) -> broadcast_in_dim(x, dims permuted by p)."""
    match op.operand.owner:
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims) if static_shape(op.result):
            new_dim = {dim: i for i, dim in enumerate(op.permutation)}
            return hlo.broadcast_in_dim(op.result.type, x, [new_dim[dim] for dim in dims])
    return None


@rule(exact, producer=hlo.IotaOp)
def transpose_of_iota(op: hlo.TransposeOp) -> ir.Value | None:
    """transpose(iota(d), p) -> iota(d permuted by p)."""
    match op.operand.owner:
        case hlo.IotaOp(iota_dimension=dim) if static_shape(op.result):
            return hlo.iota(op.result.type, list(op.permutation).index(dim.value))
    return None


@rule(exact, producer=SPLATS)
def rearranged_splat(
    op: hlo.BroadcastInDimOp | hlo.ReshapeOp | hlo.ReverseOp | hlo.SliceOp | hlo.TransposeOp,
) -> ir.Value | None:
    """broadcast_in_dim, reshape, reverse, slice, transpose of dense<c> -> dense<c>."""
    return build.splat_result(splat_attr(op.operand), op)


@rule(exact, producer=SPLATS)
def pad_of_splat(op: hlo.PadOp) -> ir.Value | None:
    """pad(dense<c>, c) -> dense<c>, if the padding value has the same bits."""
    is_same = is_same_splat(op.operand, op.padding_value)
    return build.splat_result(splat_attr(op.operand), op) if is_same else None


@rule(exact, producer=SPLATS)
def concatenate_of_splats(op: hlo.ConcatenateOp) -> ir.Value | None:
    """concatenate(dense<c>, dense<c>, ..) -> dense<c>, if all have the same bits."""
    first = op.inputs[0]
    is_same = all(is_same_splat(first, value) for value in op.inputs)
    return build.splat_result(splat_attr(first), op) if is_same else None
