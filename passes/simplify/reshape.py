"""Reshapes: none where it does nothing, one where there were several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import BroadcastInDimOp, ReshapeOp, TransposeOp

from jxc.ir.values import as_result, shape_of, static_shape
from jxc.rewrite import exact, rule


def without_ones(shape: Sequence[int]) -> list[int]:
    """The extents above 1 (and 0), which a reshape between such shapes leaves as they are."""
    return [extent for extent in shape if extent != 1]


def groups_of(left: Sequence[int], right: Sequence[int]) -> Iterator[tuple[slice, slice]]:
    """The shortest runs of dimensions of two shapes that hold equally many elements, in order.

    A reshape from one shape to the other keeps the elements of each run together. No extent is 0.
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
def identity_reshape(op: ReshapeOp) -> ir.Value | None:
    """reshape(x) -> x, to the shape that x has."""
    return as_result(op.operand, op)


@rule(exact, producer=ReshapeOp)
def reshape_of_reshape(op: ReshapeOp) -> ir.Value | None:
    """reshape(reshape(x)) -> reshape(x)."""
    match op.operand.owner:
        case ReshapeOp(operand=x):
            return stablehlo.reshape(op.result.type, x)
    return None


@rule(exact)
def broadcast_to_reshape(op: BroadcastInDimOp) -> ir.Value | None:
    """broadcast_in_dim(x) -> reshape(x), where it repeats nothing and keeps all in order."""
    if without_ones(shape_of(op.operand)) != without_ones(shape_of(op.result)):
        return None
    dims = list(op.broadcast_dimensions)
    if dims != sorted(dims) or static_shape(op.operand, op.result) is None:
        return None
    return stablehlo.reshape(op.result.type, op.operand)


@rule(exact)
def transpose_to_reshape(op: TransposeOp) -> ir.Value | None:
    """transpose(x) -> reshape(x), where only extents of 1 change places."""
    shape = static_shape(op.operand, op.result)
    if shape is None:
        return None
    moved = [dim for dim in op.permutation if shape[dim] != 1]
    if moved != sorted(moved):
        return None
    return stablehlo.reshape(op.result.type, op.operand)
