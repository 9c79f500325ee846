"""Concatenations: flat, without empty operands and adjacent slices of one value, or as pads.

They move in front of elementwise ops, transposes and broadcasts.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
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

from .._shared.elementwise import (
    ELEMENTWISE,
    is_elementwise,
    is_used_once,
    numeric_shape,
    rebuilt,
    with_shape,
)
from .pad import NO_EDGE, Edge, pad
from .slice import Cut, cuts_of, take


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


def _joined(left: Sequence[Cut] | None, right: Sequence[Cut] | None, dim: int) -> list[Cut] | None:
    """The cuts of both slices as one, if the second starts along `dim` where the first ends."""
    if left is None or right is None:
        return None
    before, after = left[dim], right[dim]
    if (before.step, after.step, before.last + 1) != (1, 1, after.first):
        return None
    joined = [*left[:dim], Cut(before.first, after.last, 1), *left[dim + 1 :]]
    return joined if [*joined[:dim], after, *joined[dim + 1 :]] == list(right) else None


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
    owners = [value.owner for value in op.inputs]
    if len(owners) < 2 or not all(isinstance(each, hlo.BroadcastInDimOp) for each in owners):
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
    return _joined_before(op, operands, dims)


def _joined_before(
    op: hlo.ConcatenateOp, operands: Sequence[ir.Value], dims: list[int]
) -> ir.Value | None:
    """The broadcast of the concatenation of `operands`, if the other extents are equal."""
    dim = op.dimension.value
    own_dim = dims.index(dim)
    shapes = [list(shape_of(each)) for each in operands]
    others = [shape[:own_dim] + shape[own_dim + 1 :] for shape in shapes]
    if any(each != others[0] for each in others) or not all(map(is_used_once, op.inputs)):
        return None
    pairs = zip(shapes, op.inputs, strict=True)
    if any(shape[own_dim] != shape_of(value)[dim] for shape, value in pairs):
        return None
    joined = hlo.concatenate(operands, own_dim)
    return hlo.broadcast_in_dim(op.result.type, joined, dims)


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
    dim = op.dimension.value
    return hlo.concatenate([_as_one(run, dim) for run in runs], dim)


def _as_one(run: Sequence[ir.Value], dim: int) -> ir.Value:
    if len(run) == 1:
        return run[0]
    element = splat_attr(run[0])
    assert element is not None
    shape = list(shape_of(run[0]))
    shape[dim] = sum(shape_of(value)[dim] for value in run)
    return build.splat(element, with_shape(run[0], shape))


@rule(exact, producer=SPLATS)
def concatenate_to_pad(op: hlo.ConcatenateOp) -> ir.Value | None:
    """concatenate(dense<c>, x, dense<c>) -> pad(x, c), on floats, for constants of equal bits.

    Not on integers: rules for gathers and scatters recognise indices as a concatenation.
    """
    if not 2 <= len(op.inputs) <= 3 or not is_float(op.result):
        return None
    splats = [value for value in op.inputs if splat_attr(value) is not None]
    others = [i for i, value in enumerate(op.inputs) if splat_attr(value) is None]
    if len(others) != 1 or numeric_shape(*op.inputs, op.result) is None:
        return None
    if not all(is_same_splat(splats[0], each) for each in splats):
        return None
    return _padded(op, others[0], splats[0])


def _padded(op: hlo.ConcatenateOp, index: int, splat: ir.Value) -> ir.Value:
    """Operand `index` of a concatenation, padded instead of the others, which equal `splat`."""
    dim, x, element = op.dimension.value, op.inputs[index], splat_attr(splat)
    assert element is not None
    low, high = (
        sum(shape_of(value)[dim] for value in part)
        for part in (op.inputs[:index], op.inputs[index + 1 :])
    )
    edges = [NO_EDGE] * len(shape_of(x))
    edges[dim] = Edge(low, high, 0)
    return pad(x, build.splat(element, with_shape(x, ())), edges)


@rule(exact, producer=ELEMENTWISE)
def concatenate_of_elementwise(op: hlo.ConcatenateOp) -> ir.Value | None:
    """concatenate(f(x), f(y)) -> f(concatenate(x, y)), for an f of one operand.

    If f(x) and f(y) have no other use.
    """
    owners = [value.owner for value in op.inputs]
    first = owners[0]
    if len(owners) < 2 or not is_elementwise(first) or len(first.operands) != 1:
        return None
    if not all(type(each) is type(first) and _is_alike(each, first) for each in owners):
        return None
    if not all(map(is_used_once, op.inputs)) or numeric_shape(op.result, *op.inputs) is None:
        return None
    joined = hlo.concatenate([each.operands[0] for each in owners], op.dimension.value)
    return rebuilt(first, [joined], shape_of(op.result))


def _is_alike(op: ir.OpView, other: ir.OpView) -> bool:
    """Whether two ops of one kind have equal attributes and operands of one element type."""
    if element_type(op.operands[0]) != element_type(other.operands[0]):
        return False
    if set(op.attributes) != set(other.attributes):
        return False
    return all(op.attributes[name] == other.attributes[name] for name in op.attributes)


@rule(exact, producer=hlo.TransposeOp)
def concatenate_of_transposes(op: hlo.ConcatenateOp) -> ir.Value | None:
    """concatenate(transpose(x), transpose(y)) -> transpose(concatenate(x, y))."""
    owners = [value.owner for value in op.inputs]
    if len(owners) < 2 or not all(isinstance(each, hlo.TransposeOp) for each in owners):
        return None
    order = list(owners[0].permutation)
    if any(list(each.permutation) != order for each in owners):
        return None
    if not all(map(is_used_once, op.inputs)) or numeric_shape(op.result, *op.inputs) is None:
        return None
    joined = hlo.concatenate([each.operand for each in owners], order[op.dimension.value])
    return hlo.transpose(joined, order)
