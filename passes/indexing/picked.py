"""Gathers of computed arrays: only the elements that are read are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import type_bounds
from jxc.ir.elementwise import ELEMENTWISE, Elementwise, is_elementwise
from jxc.ir.values import element_type, shape_of, splat_attr, static_shape, users
from jxc.rewrite import exact, rule

from .._shared.elementwise import moved, numeric_shape, rebuilt, with_shape
from ..simplify.gather import GatherDims, gather_dims, start_along

_DEPTH = 8  # elementwise ops that are moved after one gather

_Build: TypeAlias = Callable[[], ir.Value]


@rule(exact, producer=ELEMENTWISE, priced=True)
def gather_of_elementwise(op: hlo.GatherOp) -> ir.Value | None:
    """gather(f(x, broadcast_in_dim(y)), i) -> f(gather(x, i), broadcast_in_dim(y)).

    If f's result has no use for which it must be in memory, such as a product.
    """
    x = op.operand
    if not is_elementwise(x.owner) or numeric_shape(op.result, x) is None:
        return None
    layout = gather_dims(op) if _is_fused(x, op) else None
    if layout is None:
        return None
    found = _function(x.owner, op, layout, _DEPTH)
    return found[0]() if found is not None and found[1] == 1 else None


def _picked(
    value: ir.Value, op: hlo.GatherOp, layout: GatherDims, depth: int
) -> tuple[_Build, int] | None:
    """A builder of the elements of `value` that `op` reads, and the number of gathers it needs."""
    shape = shape_of(op.result)
    if (element := splat_attr(value)) is not None:
        return partial(build.splat, element, with_shape(value, shape)), 0
    owner = value.owner
    if isinstance(owner, hlo.BroadcastInDimOp):
        read = _read_of_broadcast(owner, op, layout)
        if read is not None:
            return partial(_broadcast, owner.operand, read, shape), 0
    if depth and is_elementwise(owner) and _is_fused(value, op):
        return _function(owner, op, layout, depth - 1)
    return partial(moved, value, partial(_gathered, op=op, shape=shape)), 1


def _function(
    owner: Elementwise, op: hlo.GatherOp, layout: GatherDims, depth: int
) -> tuple[_Build, int] | None:
    shape, gathers = shape_of(owner.results[0]), 0
    builds: list[_Build] = []
    if numeric_shape(*owner.operands) is None:
        return None
    for value in owner.operands:
        if shape_of(value) != shape:  # the predicate of select, the bounds of clamp
            builds.append(partial(build.reshape, value, shape_of(value)))
            continue
        found = _picked(value, op, layout, depth)
        if found is None or gathers + found[1] > 1:
            return None
        builds.append(found[0])
        gathers += found[1]
    return lambda: rebuilt(owner, [each() for each in builds], shape_of(op.result)), gathers


def _is_fused(value: ir.Value, op: hlo.GatherOp) -> bool:
    """Whether `value` need not be in memory once `op` does not read it."""
    return all(
        user == op or is_elementwise(user) or isinstance(user, hlo.GatherOp | hlo.ReduceOp)
        for user in users(value)
    )


def _gathered(value: ir.Value, op: hlo.GatherOp, shape: Sequence[int]) -> ir.Value:
    return hlo.gather(
        value,
        op.start_indices,
        op.dimension_numbers,
        op.slice_sizes,
        indices_are_sorted=op.indices_are_sorted,
        results=[with_shape(value, shape)],
    )


class _Read(NamedTuple):
    """What is read of one dimension of an array: positions, along one dimension of the result."""

    dim: int
    positions: range
    result_dim: int


def _broadcast(x: ir.Value, read: list[_Read], shape: tuple[int, ...]) -> ir.Value:
    """What is read of `x`, in the shape of the result; extents of 1 are not read."""
    part = build.slice_along(x, {each.dim: each.positions for each in read})
    narrow = build.reshape(part, [len(each.positions) for each in read])
    return build.broadcast(narrow, shape, [each.result_dim for each in read])


def _read_of_broadcast(
    owner: hlo.BroadcastInDimOp, op: hlo.GatherOp, layout: GatherDims
) -> list[_Read] | None:
    """What `op` reads of each dimension of the operand of `owner` that is larger than 1.

    None if `op` reads one of them in another order, or not along a dimension of the result.
    """
    extents = static_shape(owner.operand)
    if extents is None:
        return None
    read = []
    for number, dim in enumerate(owner.broadcast_dimensions):
        if extents[number] == 1:
            continue
        found = _followed(dim, op, layout)
        if found is None:
            return None
        read.append(_Read(number, *found))
    dims = [each.result_dim for each in read]
    return read if dims == sorted(set(dims)) else None


def _followed(dim: int, op: hlo.GatherOp, layout: GatherDims) -> tuple[range, int] | None:
    """The positions along the operand's dimension `dim` that `op` reads in order, and where to."""
    extent, shape = shape_of(op.operand)[dim], shape_of(op.result)
    if dim in layout.offset:
        return (range(extent), layout.offset[dim]) if layout.sizes[dim] == extent else None
    start = start_along(op, layout, dim)
    if start is None or start.first < 0 or sum(map(abs, start.steps)) != 1:
        return None
    target = layout.batch[start.steps.index(1)] if 1 in start.steps else None
    if target is None or start.first + shape[target] > extent:
        return None
    return range(start.first, start.first + shape[target]), target


@rule(exact, producer=hlo.SliceOp, priced=True)
def gather_of_slice(op: hlo.GatherOp) -> ir.Value | None:
    """gather(slice(x), i) -> gather(x, j), for a slice along batching dimensions: no copy of x."""
    match op.operand.owner:
        case hlo.SliceOp(operand=x, start_indices=starts, limit_indices=limits, strides=strides):
            pass
        case _:
            return None
    if numeric_shape(op.result, x) is None or set(strides) != {1} or not _is_fused(op.operand, op):
        return None
    layout, shape = gather_dims(op), shape_of(x)
    if layout is None or set(layout.batching) & set(layout.component):
        return None
    pairs = enumerate(zip(starts, limits, shape, strict=True))
    cut = [dim for dim, (low, high, size) in pairs if (low, high) != (0, size)]
    kind = type_bounds(element_type(op.start_indices))
    if not cut or not set(cut) <= set(layout.batching) or kind is None:
        return None
    if any(shape[dim] - 1 > kind.high for dim in layout.batching):
        return None
    return _unbatched(op, x, layout, {dim: starts[dim] for dim in layout.batching})


def _unbatched(
    op: hlo.GatherOp, x: ir.Value, layout: GatherDims, starts: Mapping[int, int]
) -> ir.Value:
    """A gather from `x` whose batching dimensions are indexed, from these starts on."""
    numbers = hlo.GatherDimensionNumbers(op.dimension_numbers)
    indices, vector = op.start_indices, layout.vector
    shape = list(shape_of(indices))
    if vector == len(shape):
        shape.append(1)
        indices = build.reshape(indices, shape)
    one = ir.RankedTensorType.get([*shape[:vector], 1, *shape[vector + 1 :]], element_type(indices))
    own = dict(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True))
    rows = []
    for dim, start in starts.items():
        row = hlo.iota(one, own[dim])
        rows.append(hlo.add(row, build.splat(start, one)) if start else row)
    gone = sorted([*numbers.collapsed_slice_dims, *starts])
    made = hlo.GatherDimensionNumbers.get(
        offset_dims=list(numbers.offset_dims),
        collapsed_slice_dims=gone,
        operand_batching_dims=[],
        start_indices_batching_dims=[],
        start_index_map=[*starts, *numbers.start_index_map],
        index_vector_dim=vector,
    )
    joined = hlo.concatenate([*rows, indices], vector)
    return hlo.gather(x, joined, made, op.slice_sizes, results=[op.result.type])
