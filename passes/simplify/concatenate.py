"""Concatenations: flat, without empty operands and adjacent slices of one value, or as pads.

They move in front of elementwise ops, transposes and broadcasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.elementwise import ELEMENTWISE, is_elementwise
from jxc.ir.values import (
    SPLATS,
    as_result,
    element_type,
    is_float,
    is_same_splat,
    shape_of,
    splat_attr,
)
from jxc.rewrite import exact, rule

from .._shared.elementwise import is_used_once, numeric_shape, rebuilt, with_shape
from .pad import NO_EDGE, Edge, pad
from .slice import cuts_of, is_contiguous, take


@rule(exact)
def concatenate_of_one(op: hlo.ConcatenateOp) -> ir.Value | None:
    """concatenate(x) -> x."""
    return as_result(op.inputs[0], op) if len(op.inputs) == 1 else None


@rule(exact)
def concatenate_of_empty(op: hlo.ConcatenateOp) -> ir.Value | None:
    """concatenate(x, empty, y) -> concatenate(x, y)."""
    dim = op.dimension.value
    kept = [value for value in op.inputs if shape_of(value)[dim] != 0]
    if len(kept) in (0, len(op.inputs)):
        return None
    return hlo.concatenate(kept, dim, results=[op.result.type])


@rule(exact, producer=hlo.ConcatenateOp)
def concatenate_of_concatenate(op: hlo.ConcatenateOp) -> ir.Value | None:
    """concatenate(concatenate(x, y), z) -> concatenate(x, y, z), along one dimension."""
    flat: list[ir.Value] = []
    for value in op.inputs:
        match value.owner:
            case hlo.ConcatenateOp(inputs=inner, dimension=dim) if dim == op.dimension:
                flat += inner
            case _:
                flat.append(value)
    if len(flat) == len(op.inputs):
        return None
    return hlo.concatenate(flat, op.dimension.value, results=[op.result.type])


@rule(exact, producer=hlo.SliceOp)
def concatenate_of_slices(op: hlo.ConcatenateOp) -> ir.Value | None:
    """concatenate(x[a:b], x[b:c]) -> x[a:c], without strides, if other dimensions are cut alike."""
    dim = op.dimension.value
    pairs = zip(op.inputs[:-1], op.inputs[1:], strict=True)
    for index, (left, right) in enumerate(pairs):
        match left.owner, right.owner:
            case hlo.SliceOp(operand=x) as first, hlo.SliceOp(operand=y) as second if x == y:
                if cuts := _joined(cuts_of(first), cuts_of(second), dim):
                    rest = [*op.inputs[:index], take(x, cuts), *op.inputs[index + 2 :]]
                    return rest[0] if len(rest) == 1 else hlo.concatenate(rest, dim)
    return None


def _joined(
    left: Sequence[range] | None, right: Sequence[range] | None, dim: int
) -> list[range] | None:
    """The cuts of both slices as one, if the second starts along `dim` where the first ends."""
    if left is None or right is None:
        return None
    before, after = left[dim], right[dim]
    is_next = is_contiguous(before) and is_contiguous(after) and before[-1] + 1 == after[0]
    joined = [*left[:dim], range(before[0], after[-1] + 1), *left[dim + 1 :]]
    return joined if is_next and [*joined[:dim], after, *joined[dim + 1 :]] == list(right) else None


@rule(exact)
def concatenate_of_same(op: hlo.ConcatenateOp) -> ir.Value | None:
    """concatenate(x, x, x) -> broadcast_in_dim(x), if x has extent 1 along the dimension."""
    x, dim = op.inputs[0], op.dimension.value
    if len(op.inputs) < 2 or any(value != x for value in op.inputs):
        return None
    shape = numeric_shape(x, op.result)
    if shape is None or shape[dim] != 1:
        return None
    return build.broadcast(x, shape_of(op.result), range(len(shape)))


@rule(exact, producer=hlo.BroadcastInDimOp)
def concatenate_of_broadcasts(op: hlo.ConcatenateOp) -> ir.Value | None:
    """concatenate(broadcast_in_dim(x), broadcast_in_dim(y)) -> broadcast_in_dim(concatenate(x, y)).

    If x and y have the dimension in full. Or -> broadcast_in_dim(x), for broadcasts of one x that
    lacks the dimension or has extent 1 along it.
    """
    owners = _owners_of(op, hlo.BroadcastInDimOp)
    if owners is None:
        return None
    operands, dims = [each.operand for each in owners], list(owners[0].broadcast_dimensions)
    if any(list(each.broadcast_dimensions) != dims for each in owners):
        return None
    if numeric_shape(op.result, *op.inputs, *operands) is None:
        return None
    dim, x = op.dimension.value, operands[0]
    if dim not in dims or all(shape_of(each)[dims.index(dim)] == 1 for each in operands):
        same = all(each == x for each in operands)
        return hlo.broadcast_in_dim(op.result.type, x, dims) if same else None
    own_dim = dims.index(dim)
    shapes = [list(shape_of(each)) for each in operands]
    sizes = [shape.pop(own_dim) for shape in shapes]
    if any(shape != shapes[0] for shape in shapes) or not all(map(is_used_once, op.inputs)):
        return None
    if sizes != [shape_of(value)[dim] for value in op.inputs]:
        return None
    return hlo.broadcast_in_dim(op.result.type, hlo.concatenate(operands, own_dim), dims)


def _owners_of(op: hlo.ConcatenateOp, kind: type[ir.OpView]) -> list[Any] | None:
    """The ops that produce the operands, if there are several, and all are of one kind."""
    owners = [value.owner for value in op.inputs]
    return owners if len(owners) > 1 and all(type(each) is kind for each in owners) else None


@rule(exact, producer=SPLATS)
def concatenate_of_adjacent_splats(op: hlo.ConcatenateOp) -> ir.Value | None:
    """concatenate(dense<c>, dense<c>, x) -> concatenate(dense<c>, x), with a longer constant."""
    if len(op.inputs) < 3 or numeric_shape(*op.inputs, op.result) is None:
        return None
    runs: list[list[ir.Value]] = []
    for value in op.inputs:
        if runs and is_same_splat(runs[-1][0], value):
            runs[-1].append(value)
        else:
            runs.append([value])
    if len(runs) in (1, len(op.inputs)):
        return None
    dim, joined = op.dimension.value, []
    for first, *others in runs:
        if others and (element := splat_attr(first)) is not None:
            shape = list(shape_of(first))
            shape[dim] += sum(shape_of(value)[dim] for value in others)
            joined.append(build.splat(element, with_shape(first, shape)))
        else:
            joined.append(first)
    return hlo.concatenate(joined, dim)


@rule(exact, producer=SPLATS)
def concatenate_to_pad(op: hlo.ConcatenateOp) -> ir.Value | None:
    """concatenate(dense<c>, x, dense<c>) -> pad(x, c), on floats, for constants of equal bits.

    Not on integers: rules for gathers and scatters recognise indices as a concatenation.
    """
    if not 2 <= len(op.inputs) <= 3 or not is_float(op.result):
        return None
    splats = [found for value in op.inputs if (found := splat_attr(value)) is not None]
    others = [i for i, value in enumerate(op.inputs) if splat_attr(value) is None]
    if len(others) != 1 or numeric_shape(*op.inputs, op.result) is None:
        return None
    if any(element != splats[0] for element in splats):
        return None
    dim, (index,) = op.dimension.value, others
    x, sizes = op.inputs[index], [shape_of(value)[dim] for value in op.inputs]
    edges = [NO_EDGE] * len(shape_of(x))
    edges[dim] = Edge(sum(sizes[:index]), sum(sizes[index + 1 :]), 0)
    return pad(x, build.splat(splats[0], with_shape(x, ())), edges)


@rule(exact, producer=ELEMENTWISE)
def concatenate_of_elementwise(op: hlo.ConcatenateOp) -> ir.Value | None:
    """concatenate(f(x), f(y)) -> f(concatenate(x, y)), for an f of one operand.

    If f(x) and f(y) have no other use.
    """
    first = op.inputs[0].owner
    owners = _owners_of(op, type(first)) if is_elementwise(first) else None
    if owners is None or len(first.operands) != 1:
        return None
    if not all(_is_alike(each, first) for each in owners):
        return None
    if not all(map(is_used_once, op.inputs)) or numeric_shape(op.result, *op.inputs) is None:
        return None
    joined = hlo.concatenate([each.operands[0] for each in owners], op.dimension.value)
    return rebuilt(first, [joined], shape_of(op.result))


def _is_alike(op: ir.OpView, other: ir.OpView) -> bool:
    """Whether two ops of one kind have equal attributes and operands of one element type."""
    mine, theirs = (
        {name: each.attributes[name] for name in each.attributes} for each in (op, other)
    )
    return mine == theirs and element_type(op.operands[0]) == element_type(other.operands[0])


@rule(exact, producer=hlo.TransposeOp)
def concatenate_of_transposes(op: hlo.ConcatenateOp) -> ir.Value | None:
    """concatenate(transpose(x), transpose(y)) -> transpose(concatenate(x, y))."""
    owners = _owners_of(op, hlo.TransposeOp)
    if owners is None:
        return None
    order = list(owners[0].permutation)
    if any(list(each.permutation) != order for each in owners):
        return None
    operands = [each.operand for each in owners]
    if not all(map(is_used_once, op.inputs)):
        return None
    if numeric_shape(op.result, *op.inputs, *operands) is None:
        return None
    return hlo.transpose(hlo.concatenate(operands, order[op.dimension.value]), order)
