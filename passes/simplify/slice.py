"""Slices: merged, and moved in front of the op that produces the operand: less is computed.

A cut is a `range`: the indices that a slice takes along one dimension. Python slices ranges, and
compares them by the indices in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.elementwise import ELEMENTWISE, is_elementwise
from jxc.ir.values import SPLATS, as_result, shape_of, splat_attr, splat_of, static_shape, users
from jxc.rewrite import exact, rule

from .._shared.elementwise import is_used_once, moved, numeric_shape, rebuilt, with_shape
from .pad import NO_EDGE, edges_of, pad
from .rearrange import groups_of


def cuts_of(op: hlo.SliceOp) -> list[range] | None:
    """The cut of each dimension; None if extents are dynamic or the result is empty."""
    shape = static_shape(op.result, op.operand)
    if shape is None or 0 in shape:
        return None
    return list(map(range, op.start_indices, op.limit_indices, op.strides))


def take(value: ir.Value, cuts: Sequence[range]) -> ir.Value:
    """The slice of `value` by these cuts; `value` itself if they take all of it."""
    if list(cuts) == list(map(range, shape_of(value))):
        return value
    limits = [cut.start + (len(cut) - 1) * cut.step + 1 for cut in cuts]
    steps = [cut.step if len(cut) > 1 else 1 for cut in cuts]
    return hlo.slice(value, [cut.start for cut in cuts], limits, steps)


def is_contiguous(cut: range) -> bool:
    """Whether a cut takes every index from its first to its last."""
    return cut == range(cut[0], cut[-1] + 1)


def shifted(cut: range, offset: int) -> range:
    """The indices of `cut`, each increased by `offset`."""
    return range(cut.start + offset, cut.stop + offset, cut.step)


@rule(exact)
def identity_slice(op: hlo.SliceOp) -> ir.Value | None:
    """slice(x) -> x, if it takes all of x."""
    return as_result(op.operand, op) if static_shape(op.operand) is not None else None


@rule(exact, producer=hlo.SliceOp)
def slice_of_slice(op: hlo.SliceOp) -> ir.Value | None:
    """slice(slice(x)) -> slice(x)."""
    match op.operand.owner:
        case hlo.SliceOp(operand=x) as producer:
            outer, inner = cuts_of(op), cuts_of(producer)
            if outer is not None and inner is not None:
                pairs = zip(outer, inner, strict=True)
                return take(x, [of[cut.start : cut.stop : cut.step] for cut, of in pairs])
    return None


@rule(exact, producer=hlo.BroadcastInDimOp)
def slice_of_broadcast(op: hlo.SliceOp) -> ir.Value | None:
    """slice(broadcast_in_dim(x)) -> broadcast_in_dim(slice(x)), or -> broadcast_in_dim(x)."""
    match op.operand.owner:
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims):
            cuts, sizes = cuts_of(op), static_shape(x)
            if cuts is None or sizes is None:
                return None
            pairs = zip(dims, sizes, strict=True)
            own = [cuts[dim] if size != 1 else range(1) for dim, size in pairs]
            return hlo.broadcast_in_dim(op.result.type, take(x, own), dims)
    return None


@rule(exact, producer=hlo.ConcatenateOp)
def slice_of_concatenate(op: hlo.SliceOp) -> ir.Value | None:
    """slice(concatenate(.., x, ..)) -> slice(x), if it takes elements of x only."""
    match op.operand.owner:
        case hlo.ConcatenateOp() as producer if (found := _reached(op, producer)) is not None:
            kept, cuts = found
            return take(kept[0], cuts) if len(kept) == 1 else None
    return None


@rule(exact, producer=hlo.ConcatenateOp)
def slice_of_some_concatenated(op: hlo.SliceOp) -> ir.Value | None:
    """slice(concatenate(x, y, z)) -> slice(concatenate(x, y)), if it takes no element of z.

    And is the only user of the concatenation.
    """
    match op.operand.owner:
        case hlo.ConcatenateOp(inputs=inputs, dimension=dim) as producer:
            if len(users(op.operand)) > 1 or (found := _reached(op, producer)) is None:
                return None
            kept, cuts = found
            if 1 < len(kept) < len(inputs):
                return take(hlo.concatenate(kept, dim.value), cuts)
    return None


def _reached(
    op: hlo.SliceOp, producer: hlo.ConcatenateOp
) -> tuple[list[ir.Value], list[range]] | None:
    """The operands of a concatenation between the first and the last that `op` takes elements of.

    And the cuts of `op` in the concatenation of these operands.
    """
    cuts, dim = cuts_of(op), producer.dimension.value
    if cuts is None or static_shape(*producer.inputs) is None:
        return None
    start, end, kept = 0, 0, []
    for value in producer.inputs:
        begin, end = end, end + shape_of(value)[dim]
        if end <= cuts[dim][0]:
            start = end
        elif begin <= cuts[dim][-1]:
            kept.append(value)
    cuts[dim] = shifted(cuts[dim], -start)
    return kept, cuts


@rule(exact, producer=hlo.PadOp)
def slice_of_pad(op: hlo.SliceOp) -> ir.Value | None:
    """slice(pad(x)) -> pad(slice(x)), if each dimension that is cut is cut within x.

    And if the slice is the only user of the pad: else both x and the padded value stay in memory.
    """
    match op.operand.owner:
        case hlo.PadOp(operand=x, padding_value=value, result=padded) as producer:
            cuts = cuts_of(op)
            sizes = static_shape(x)
            if cuts is None or sizes is None or len(users(padded)) > 1:
                return None
            own, left = list(map(range, sizes)), edges_of(producer)
            for dim, (cut, extent) in enumerate(zip(cuts, shape_of(padded), strict=True)):
                if cut == range(extent):
                    continue
                own[dim] = shifted(cut, -left[dim].low)
                if left[dim].interior or own[dim][0] < 0 or own[dim][-1] >= sizes[dim]:
                    return None
                left[dim] = NO_EDGE
            return pad(take(x, own), value, left)
    return None


@rule(exact, producer=hlo.PadOp)
def slice_of_padding(op: hlo.SliceOp) -> ir.Value | None:
    """slice(pad(x, c)) -> broadcast_in_dim(c), if it takes only padding."""
    match op.operand.owner:
        case hlo.PadOp(operand=x, padding_value=value) as producer if static_shape(x) is not None:
            cuts = cuts_of(op)
            if cuts is None:
                return None
            for cut, edge, size in zip(cuts, edges_of(producer), shape_of(x), strict=True):
                dilated = size + max(size - 1, 0) * edge.interior
                if cut[-1] < edge.low or cut[0] >= edge.low + dilated:
                    return hlo.broadcast_in_dim(op.result.type, value, [])
    return None


@rule(exact)
def full_dynamic_slice(op: hlo.DynamicSliceOp) -> ir.Value | None:
    """dynamic_slice(x, i, sizes) -> x, if sizes is the shape of x: i is clamped to 0."""
    return as_result(op.operand, op) if static_shape(op.operand) is not None else None


@rule(exact)
def full_dynamic_update_slice(op: hlo.DynamicUpdateSliceOp) -> ir.Value | None:
    """dynamic_update_slice(x, u, i) -> u, if u has the shape of x."""
    return as_result(op.update, op) if static_shape(op.update) is not None else None


@rule(exact, producer=SPLATS)
def dynamic_slice_to_slice(op: hlo.DynamicSliceOp) -> ir.Value | None:
    """dynamic_slice(x, constants) -> slice(x): starts are clamped, read in their signedness."""
    shape = static_shape(op.operand, op.result)
    starts = [splat_of(index) for index in op.start_indices]
    if shape is None or None in starts:
        return None
    sizes = zip(starts, op.slice_sizes, shape, strict=True)
    first = [max(0, min(int(start or 0), extent - size)) for start, size, extent in sizes]
    last = [start + size for start, size in zip(first, op.slice_sizes, strict=True)]
    return hlo.slice(op.operand, first, last, [1] * len(shape))


@rule(exact, producer=ELEMENTWISE)
def slice_of_elementwise(op: hlo.SliceOp) -> ir.Value | None:
    """slice(f(x, y)) -> f(slice(x), slice(y)), for elementwise f, if f(x, y) has no other use."""
    producer = op.operand.owner
    if not is_elementwise(producer) or not is_used_once(op.operand):
        return None
    shape = numeric_shape(op.result, *producer.operands)
    cuts = cuts_of(op)
    if shape is None or cuts is None or shape == shape_of(op.operand):
        return None
    taken: dict[ir.Value, ir.Value] = {}
    for value in producer.operands:
        if value in taken:
            continue
        if not shape_of(value):
            taken[value] = value
        elif (element := splat_attr(value)) is not None:
            taken[value] = build.splat(element, with_shape(value, shape))
        else:
            taken[value] = moved(value, lambda x: take(x, cuts))
    return rebuilt(producer, [taken[value] for value in producer.operands], shape)


@rule(exact, producer=hlo.TransposeOp)
def slice_of_transpose(op: hlo.SliceOp) -> ir.Value | None:
    """slice(transpose(x)) -> transpose(slice(x)), if the transpose has no other use."""
    match op.operand.owner:
        case hlo.TransposeOp(operand=x, permutation=permutation) if is_used_once(op.operand):
            cuts = cuts_of(op)
            if cuts is None or numeric_shape(x) is None:
                return None
            order = list(permutation)
            own = [cuts[order.index(dim)] for dim in range(len(order))]
            return build.transpose(take(x, own), order)
    return None


@rule(exact, producer=hlo.ReverseOp)
def slice_of_reverse(op: hlo.SliceOp) -> ir.Value | None:
    """slice(reverse(x)) -> reverse(slice(x)), with indices counted from the other end."""
    match op.operand.owner:
        case hlo.ReverseOp(operand=x, dimensions=dims) if is_used_once(op.operand):
            cuts = cuts_of(op)
            if cuts is None or numeric_shape(x) is None:
                return None
            for dim in dims:
                cut, last = cuts[dim], shape_of(x)[dim] - 1
                cuts[dim] = shifted(cut, (last - cut[-1]) - cut[0])  # starts at last - cut[-1]
            return hlo.reverse(take(x, cuts), dims)
    return None


@rule(exact, producer=hlo.ReshapeOp)
def slice_of_reshape(op: hlo.SliceOp) -> ir.Value | None:
    """slice(reshape(x)) -> reshape(slice(x)), if the elements that it takes are a slice of x."""
    match op.operand.owner:
        case hlo.ReshapeOp(operand=x, result=wide) if is_used_once(op.operand):
            cuts = cuts_of(op)
            if cuts is None or numeric_shape(x, op.result) is None:
                return None
            own: list[range] = []
            for inner, outer in groups_of(shape_of(x), shape_of(wide)):
                found = _regrouped(cuts[outer], shape_of(wide)[outer], shape_of(x)[inner])
                if found is None:
                    return None
                own += found
            return build.reshape(take(x, own), shape_of(op.result))
    return None


def _regrouped(
    cuts: Sequence[range], sizes: Sequence[int], wanted: Sequence[int]
) -> list[range] | None:
    """The cuts of a group of extents `wanted` that take the same elements as `cuts` of `sizes`."""
    large = [i for i, size in enumerate(wanted) if size != 1]
    own = list(map(range, wanted))
    pairs = [(cut, size) for cut, size in zip(cuts, sizes, strict=True) if size != 1]
    if all(cut == range(size) for cut, size in pairs):
        return own
    (cut, _), rest = pairs[0], pairs[1:]
    if not rest and len(large) == 1:
        own[large[0]] = cut
        return own
    if not is_contiguous(cut) or any(each != range(size) for each, size in rest):
        return None
    inner = math.prod(size for _, size in rest)
    start, end = cut[0] * inner, (cut[-1] + 1) * inner
    step = math.prod(wanted[i] for i in large[1:])
    if start % step or end % step:
        return None
    own[large[0]] = range(start // step, end // step)
    return own
