"""Concatenations: flat, of what is not empty, and not of what a slice has just cut up."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import ConcatenateOp, SliceOp

from jxc.ir.values import as_result, shape_of
from jxc.rewrite import exact, rule

from .slice import Cut, cuts_of, take


@rule(exact)
def concatenate_of_one(op: ConcatenateOp) -> ir.Value | None:
    """concatenate(x) -> x."""
    return as_result(op.inputs[0], op) if len(op.inputs) == 1 else None


@rule(exact)
def concatenate_of_empty(op: ConcatenateOp) -> ir.Value | None:
    """concatenate(x, empty, y) -> concatenate(x, y)."""
    dim = op.dimension.value
    kept = [value for value in op.inputs if shape_of(value)[dim] != 0]
    if len(kept) in (0, len(op.inputs)):
        return None
    return stablehlo.concatenate(kept, dim, results=[op.result.type])


@rule(exact)
def concatenate_of_concatenate(op: ConcatenateOp) -> ir.Value | None:
    """concatenate(concatenate(x, y), z) -> concatenate(x, y, z), along one dimension."""
    flat: list[ir.Value] = []
    for value in op.inputs:
        match value.owner:
            case ConcatenateOp(inputs=inner, dimension=dim) if dim == op.dimension:
                flat += inner
            case _:
                flat.append(value)
    if len(flat) == len(op.inputs):
        return None
    return stablehlo.concatenate(flat, op.dimension.value, results=[op.result.type])


@rule(exact)
def concatenate_of_slices(op: ConcatenateOp) -> ir.Value | None:
    """concatenate(x[a:b], x[b:c]) -> x[a:c], alike in the other dimensions, without strides."""
    dim = op.dimension.value
    pairs = zip(op.inputs[:-1], op.inputs[1:], strict=True)
    for index, (left, right) in enumerate(pairs):
        match left.owner, right.owner:
            case SliceOp(operand=x) as first, SliceOp(operand=y) as second if x == y:
                if cuts := _joined(cuts_of(first), cuts_of(second), dim):
                    rest = [*op.inputs[:index], take(x, cuts), *op.inputs[index + 2 :]]
                    return rest[0] if len(rest) == 1 else stablehlo.concatenate(rest, dim)
    return None


def _joined(left: Sequence[Cut] | None, right: Sequence[Cut] | None, dim: int) -> list[Cut] | None:
    """The cuts that take both, if the second goes on along `dim` where the first ends."""
    if left is None or right is None:
        return None
    before, after = left[dim], right[dim]
    if (before.step, after.step, before.last + 1) != (1, 1, after.first):
        return None
    joined = [*left[:dim], Cut(before.first, after.last, 1), *left[dim + 1 :]]
    return joined if [*joined[:dim], after, *joined[dim + 1 :]] == list(right) else None
