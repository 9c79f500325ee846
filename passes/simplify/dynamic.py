"""`dynamic_slice` and `dynamic_update_slice`, whose start indices are values.

Start indices are read in their signedness and clamped, so that the slice lies within its operand.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import bounds_of, type_bounds
from jxc.ir.values import (
    SPLATS,
    as_result,
    element_type,
    is_interchangeable,
    shape_of,
    splat_attr,
    splat_of,
    static_shape,
)
from jxc.rewrite import exact, has_annotation, rule

from .._shared.elementwise import with_shape
from .slice import cuts_of, is_contiguous, shifted, take


def _are_equal(starts: Sequence[ir.Value], others: Sequence[ir.Value]) -> bool:
    """Whether two lists of start indices are known to be equal."""
    return all(map(is_interchangeable, starts, others))


def _taken(op: ir.OpView, x: ir.Value, starts: Sequence[ir.Value]) -> ir.Value:
    """A dynamic slice of `x` with the type of the result of `op`."""
    result = op.results[0]
    return hlo.dynamic_slice(x, starts, shape_of(result), results=[result.type])


def _updated(op: hlo.DynamicUpdateSliceOp, x: ir.Value, starts: Sequence[ir.Value]) -> ir.Value:
    """A dynamic update of `x` with the update of `op`."""
    return hlo.dynamic_update_slice(x, op.update, starts, results=[op.result.type])


def _at(start: ir.Value, most: int) -> int | None:
    """A constant start index, clamped to `most`; None if it is not constant."""
    number = splat_of(start) if most else 0
    return None if number is None else max(0, min(int(number), most))


@rule(exact)
def update_with_nothing(op: hlo.DynamicUpdateSliceOp) -> ir.Value | None:
    """dynamic_update_slice(x, u, i) -> x, if u is empty."""
    return as_result(op.operand, op) if 0 in shape_of(op.update) else None


@rule(exact, producer=hlo.DynamicSliceOp)
def update_with_own_slice(op: hlo.DynamicUpdateSliceOp) -> ir.Value | None:
    """dynamic_update_slice(x, dynamic_slice(x, i), i) -> x: both clamp i in the same way."""
    match op.update.owner:
        case hlo.DynamicSliceOp(operand=x, start_indices=starts) if x == op.operand:
            return as_result(x, op) if _are_equal(starts, op.start_indices) else None
    return None


@rule(exact, producer=hlo.DynamicUpdateSliceOp)
def update_of_update(op: hlo.DynamicUpdateSliceOp) -> ir.Value | None:
    """update(update(x, u, i), v, i) -> update(x, v, i), for u and v of one shape."""
    match op.operand.owner:
        case hlo.DynamicUpdateSliceOp(operand=x, update=u, start_indices=starts):
            sizes = static_shape(u, op.update)
            if sizes is None or sizes != shape_of(op.update):
                return None
            if _are_equal(starts, op.start_indices) and x.type == op.result.type:
                return _updated(op, x, op.start_indices)
    return None


@rule(exact, producer=SPLATS)
def update_of_splat(op: hlo.DynamicUpdateSliceOp) -> ir.Value | None:
    """dynamic_update_slice(dense<c>, u, constants) -> pad(u, c), with clamped start indices."""
    element, shape = splat_attr(op.operand), static_shape(op.operand, op.update, op.result)
    if element is None or shape is None or 0 in shape_of(op.update):
        return None
    room = list(map(operator.sub, shape, shape_of(op.update)))
    low = [start for start in map(_at, op.start_indices, room) if start is not None]
    if len(low) < len(room) or not any(room):
        return None
    high = list(map(operator.sub, room, low))
    value = build.splat(element, with_shape(op.operand, ()))
    return hlo.pad(op.update, value, low, high, [0] * len(low))


@rule(exact, producer=hlo.DynamicUpdateSliceOp)
def dynamic_slice_of_update(op: hlo.DynamicSliceOp) -> ir.Value | None:
    """dynamic_slice(dynamic_update_slice(x, u, i), i) -> u, if the slice has the shape of u."""
    match op.operand.owner:
        case hlo.DynamicUpdateSliceOp(update=u, start_indices=starts):
            return as_result(u, op) if _are_equal(starts, op.start_indices) else None
    return None


@rule(exact, producer=hlo.DynamicUpdateSliceOp)
def slice_of_update(op: hlo.SliceOp) -> ir.Value | None:
    """slice(dynamic_update_slice(x, u, constants)) -> slice(u), or -> slice(x).

    If it takes only elements of u, or none of them.
    """
    cuts, x = cuts_of(op), op.operand
    # All updates at once: a program that writes n elements one by one has n * n such pairs.
    while cuts is not None:
        match x.owner:
            case hlo.DynamicUpdateSliceOp(operand=before, update=u) as update:
                inner = None if has_annotation(update) else _cuts_of_update(update, cuts)
                if inner:
                    return take(u, inner)
                if inner is None:
                    break
                x = before
            case _:
                break
    return None if cuts is None or x == op.operand else take(x, cuts)


def _cuts_of_update(op: hlo.DynamicUpdateSliceOp, cuts: Sequence[range]) -> list[range] | None:
    """What `cuts` of the result take of the update, counted from its start; [] for no elements.

    None if they take other elements too, or if it is not known.
    """
    shape, sizes = static_shape(op.operand, op.update), shape_of(op.update)
    if shape is None or 0 in sizes:
        return None
    inner = []
    for start, whole, cut, size in zip(op.start_indices, shape, cuts, sizes, strict=True):
        first = _at(start, whole - size)
        if first is not None and (cut[-1] < first or cut[0] >= first + size):
            return []
        if first is not None and first <= cut[0] and cut[-1] < first + size:
            inner.append(shifted(cut, -first))
    return inner if len(inner) == len(cuts) else None


@rule(exact, producer=SPLATS)
def dynamic_slice_of_splat(op: hlo.DynamicSliceOp) -> ir.Value | None:
    """dynamic_slice(dense<c>) -> dense<c>."""
    return build.splat_result(splat_attr(op.operand), op)


@rule(exact, producer=hlo.BroadcastInDimOp)
def dynamic_slice_of_broadcast(op: hlo.DynamicSliceOp) -> ir.Value | None:
    """dynamic_slice(broadcast_in_dim(x)) -> broadcast_in_dim(dynamic_slice(x)), or of x alone."""
    match op.operand.owner:
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims):
            shape, result = static_shape(x, op.operand), shape_of(op.result)
            if shape is None or 0 in result:
                return None
            sizes = [result[d] if size != 1 else 1 for d, size in zip(dims, shape, strict=True)]
            if sizes != list(shape):
                x = hlo.dynamic_slice(x, [op.start_indices[dim] for dim in dims], sizes)
            return hlo.broadcast_in_dim(op.result.type, x, dims)
    return None


@rule(exact, producer=hlo.IotaOp)
def dynamic_slice_of_iota(op: hlo.DynamicSliceOp) -> ir.Value | None:
    """dynamic_slice(iota, i) -> iota, if it takes all numbers; -> i, if it takes one in range."""
    match op.operand.owner:
        case hlo.IotaOp(iota_dimension=dim):
            shape, taken = static_shape(op.operand), shape_of(op.result)
            if shape is None or 0 in taken:
                return None
            count, start = shape[dim.value], op.start_indices[dim.value]
            if taken[dim.value] == count:
                return hlo.iota(op.result.type, dim)
            found = bounds_of(start)
            is_alike = element_type(start) == element_type(op.result)
            if found is None or not is_alike or found.low < 0 or found.high >= count:
                return None
            if taken[dim.value] == 1:
                return hlo.broadcast_in_dim(op.result.type, start, [])
    return None


@rule(exact, producer=hlo.DynamicSliceOp)
def dynamic_slice_of_dynamic_slice(op: hlo.DynamicSliceOp) -> ir.Value | None:
    """dynamic_slice(dynamic_slice(x)) -> dynamic_slice(x), if no dimension is cut by both."""
    match op.operand.owner:
        case hlo.DynamicSliceOp(operand=x, start_indices=inner):
            shape = static_shape(x, op.operand)
            if not shape or element_type(inner[0]) != element_type(op.start_indices[0]):
                return None
            middle, sizes = shape_of(op.operand), shape_of(op.result)
            starts = []
            for dim, size in enumerate(middle):
                if size not in (shape[dim], sizes[dim]):
                    return None
                starts.append(op.start_indices[dim] if size == shape[dim] else inner[dim])
            return _taken(op, x, starts)
    return None


@rule(exact, producer=hlo.SliceOp)
def dynamic_slice_of_slice(op: hlo.DynamicSliceOp) -> ir.Value | None:
    """dynamic_slice(slice(x)) -> dynamic_slice(x), if no dimension is cut twice or has a stride."""
    match op.operand.owner:
        case hlo.SliceOp(operand=x) as producer:
            return _merged_slices(op, x, op.start_indices, cuts_of(producer), op.operand)
    return None


@rule(exact, producer=hlo.DynamicSliceOp)
def slice_of_dynamic_slice(op: hlo.SliceOp) -> ir.Value | None:
    """slice(dynamic_slice(x)) -> dynamic_slice(x), if no dimension is cut twice or has a stride."""
    match op.operand.owner:
        case hlo.DynamicSliceOp(operand=x, start_indices=starts):
            return _merged_slices(op, x, starts, cuts_of(op), op.result)
    return None


def _merged_slices(
    op: hlo.DynamicSliceOp | hlo.SliceOp,
    x: ir.Value,
    starts: Sequence[ir.Value],
    cuts: Sequence[range] | None,
    sliced: ir.Value,
) -> ir.Value | None:
    """A dynamic slice of x instead of a static and a dynamic one, in either order.

    Args:
        op: the second slice.
        x: the operand of the first.
        starts: the start indices of the dynamic slice.
        cuts: the cuts of the static slice.
        sliced: the result of the static slice.
    """
    shape = static_shape(x, op.operand, op.result)
    if cuts is None or not shape or not all(map(is_contiguous, cuts)):
        return None
    fixed: list[int | None] = []  # the start of each dimension that the static slice cuts
    middle, last = shape_of(op.operand), shape_of(op.result)
    for cut, size, *sizes in zip(cuts, shape_of(sliced), shape, middle, last, strict=True):
        if sizes[1] not in (sizes[0], sizes[2]):
            return None
        is_cut = size != (sizes[1] if sliced == op.result else sizes[0])
        fixed.append(cut[0] if is_cut else None)
    kind, element = type_bounds(element_type(starts[0])), element_type(starts[0])
    if kind is None or any(first is not None and first > kind.high for first in fixed):
        return None
    pairs = zip(fixed, starts, strict=True)
    return _taken(op, x, [start if n is None else build.scalar(n, element) for n, start in pairs])


@rule(exact, producer=hlo.ConcatenateOp)
def dynamic_slice_of_concatenate(op: hlo.DynamicSliceOp) -> ir.Value | None:
    """dynamic_slice(concatenate(x, y), i) -> dynamic_slice(x, i), if it takes no element of y."""
    match op.operand.owner:
        case hlo.ConcatenateOp(inputs=inputs, dimension=dimension) if len(inputs) > 1:
            x, dim = inputs[0], dimension.value
            shape, sizes = static_shape(x, op.operand), shape_of(op.result)
            found = bounds_of(op.start_indices[dim])
            if shape is None or found is None or max(found.high, 0) + sizes[dim] > shape[dim]:
                return None
            return _taken(op, x, op.start_indices)
    return None


@rule(exact, producer=(hlo.ClampOp, hlo.MaxOp, hlo.MinOp))
def start_of_clamp(op: hlo.DynamicSliceOp | hlo.DynamicUpdateSliceOp) -> ir.Value | None:
    """dynamic_slice(x, clamp(0, i, most)) -> dynamic_slice(x, i), if that clamps i as far.

    Also for max(i, 0) and min(i, most), and for dynamic_update_slice.
    """
    is_update = isinstance(op, hlo.DynamicUpdateSliceOp)
    sizes, shape = shape_of(op.update if is_update else op.result), static_shape(op.operand)
    if shape is None or any(size < 0 for size in sizes):
        return None
    starts = list(map(unclamped, op.start_indices, map(operator.sub, shape, sizes)))
    if starts == list(op.start_indices):
        return None
    if isinstance(op, hlo.DynamicSliceOp):
        return _taken(op, op.operand, starts)
    return _updated(op, op.operand, starts)


def unclamped(start: ir.Value, most: int) -> ir.Value:
    """The operand of a clamp, max or min that leaves 0 to `most` as they are, or `start` itself."""
    match start.owner:
        case hlo.ClampOp(min=low, operand=x, max=high):
            least, greatest = splat_of(low), splat_of(high)
            if least is not None and greatest is not None and least <= 0 and greatest >= most:
                return x
        case hlo.MaxOp(lhs=x, rhs=y) | hlo.MinOp(lhs=x, rhs=y) as op:
            for value, other in ((x, y), (y, x)):
                number = splat_of(other)
                if number is None or splat_of(value) is not None:
                    continue
                if number <= 0 if isinstance(op, hlo.MaxOp) else number >= most:
                    return value
    return start
