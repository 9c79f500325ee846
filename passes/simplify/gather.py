"""Gathers whose indices are arithmetic sequences, of one slice, and of broadcasts and iotas.

An index is read in its signedness and clamped, so that its slice lies within the operand.
"""

from __future__ import annotations

import operator
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.arithmetic_sequences import ArithmeticSequence, sequence_in, sequence_of
from jxc.ir.bounds import bounds_of, few_elements, type_bounds
from jxc.ir.elementwise import is_elementwise
from jxc.ir.values import SPLATS, element_type, is_integer, shape_of, splat_attr, static_shape
from jxc.rewrite import exact, rule

from .._shared.elementwise import is_used_once
from .dynamic import unclamped
from .slice import take

_VIEWS = (hlo.BroadcastInDimOp, hlo.ReshapeOp, hlo.ReverseOp, hlo.SliceOp, hlo.TransposeOp)
_FUSED = (hlo.ConcatenateOp, hlo.DynamicSliceOp, hlo.GatherOp, hlo.PadOp, hlo.ReduceOp)


class GatherDims(NamedTuple):
    """The dimension numbers of a gather, by operand dimension.

    Attributes:
        sizes: the extents of a slice.
        component: for an operand dimension, the component of the index that gives its start.
        batching: for an operand batching dimension, the result dimension that corresponds to it.
        offset: for an operand dimension that the slices keep, its dimension in the result.
        batch: for each dimension of the indices, without that of their components, its dimension in
            the result.
        vector: the dimension of the indices along which their components lie.
    """

    sizes: tuple[int, ...]
    component: dict[int, int]
    batching: dict[int, int]
    offset: dict[int, int]
    batch: tuple[int, ...]
    vector: int


def gather_dims(op: hlo.GatherOp) -> GatherDims | None:
    """The dimensions of `op`; None if extents are dynamic or the result is empty."""
    shape = static_shape(op.result, op.operand, op.start_indices)
    if shape is None or 0 in (*shape, *shape_of(op.operand), *op.slice_sizes):
        return None
    if not is_integer(op.start_indices):
        return None
    numbers = hlo.GatherDimensionNumbers(op.dimension_numbers)
    vector, sizes = numbers.index_vector_dim, tuple(op.slice_sizes)
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    kept = [dim for dim in range(len(sizes)) if dim not in gone]
    batch = [dim for dim in range(len(shape)) if dim not in numbers.offset_dims]
    indexed = [dim for dim in range(len(shape_of(op.start_indices))) if dim != vector]
    target = dict(zip(indexed, batch, strict=True))
    pairs = zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    return GatherDims(
        sizes,
        {dim: component for component, dim in enumerate(numbers.start_index_map)},
        {dim: target[index] for dim, index in pairs},
        dict(zip(kept, numbers.offset_dims, strict=True)),
        tuple(batch),
        vector,
    )


@rule(exact, producer=SPLATS)
def gather_of_splat(op: hlo.GatherOp) -> ir.Value | None:
    """gather(dense<c>) -> dense<c>."""
    return build.splat_result(splat_attr(op.operand), op)


@rule(exact, targets=("cpu",))
def gather_of_affine_indices(op: hlo.GatherOp) -> ir.Value | None:
    """gather(x, indices) -> broadcast_in_dim(reverse(slice(x))), for arithmetic sequences.

    Each operand dimension may vary along one dimension of the indices, each of those for one
    operand dimension; an index that is clamped must be constant. The operand is in memory, or
    computed for this gather only: a slice would be fused, and compute it again.

    Not for TPU, where a slice of a table of weights changes what is kept on the chip: training BERT
    took 1.4% longer on v5e by the compiler's estimate, training GPT-2 1%. Not for GPU, where slices
    in the simulation of a humanoid became 13 more kernels of 235, together with `fold-gather`, and
    no model gained.
    """
    layout = gather_dims(op)
    if layout is None or not _slicing_pays(op):
        return None
    if (found := _walk(op, layout)) is None:
        return None
    follows, cuts, backwards = found
    x = take(op.operand, cuts)
    x = hlo.reverse(x, backwards) if backwards else x
    result_dims = {**layout.offset, **follows}
    kept = [dim for dim in range(len(cuts)) if dim in result_dims]
    x = build.reshape(x, [shape_of(x)[dim] for dim in kept])
    return hlo.broadcast_in_dim(op.result.type, x, [result_dims[dim] for dim in kept])


def _slicing_pays(op: hlo.GatherOp) -> bool:
    """Whether a gather that can be a slice is faster as one.

    That is so if its operand is in memory, or is computed for this gather only, which has one use.
    XLA:CPU stores the operand of a gather. It fuses slices with what computes their operand, and
    then computes it again for each slice and each of their users. In a chain of slices, such as
    from the parents to the children of a kinematic tree, this grows exponentially. One step of the
    humanoid of mujoco_mjx, in a batch of 16: 0.3 to 0.45 if all gathers become slices, 1.0 to 1.1
    with this condition.
    """
    if not _is_fused(op.operand):
        return True
    return is_used_once(op.result) and _is_computed_for_one_use(op.operand)


def _is_fused(value: ir.Value) -> bool:
    """Whether XLA:CPU can fuse the ops that compute `value` with its users."""
    while isinstance(value.owner, _VIEWS):
        value = value.owner.operand
    return is_elementwise(value.owner) or isinstance(value.owner, _FUSED)


def _is_computed_for_one_use(value: ir.Value) -> bool:
    while is_used_once(value):
        if not isinstance(value.owner, _VIEWS):
            return True
        value = value.owner.operand
    return False


def _walk(
    op: hlo.GatherOp, layout: GatherDims
) -> tuple[dict[int, int], list[range], list[int]] | None:
    """The result dimension along which each operand dimension varies, the cuts, the reversals."""
    follows: dict[int, int] = {}
    cuts, backwards = [], []
    extents = [shape_of(op.result)[target] for target in layout.batch]
    for dim, (extent, size) in enumerate(zip(shape_of(op.operand), layout.sizes, strict=True)):
        start = start_along(op, layout, dim)
        if start is None:
            return None
        led = [target for step, target in zip(start.steps, layout.batch, strict=True) if step]
        if not led:
            first = max(0, min(start.first, extent - size))
            cuts.append(range(first, first + size))
            continue
        low, high = start.bounds(extents)
        if len(led) > 1 or led[0] in follows.values() or size != 1 or low < 0 or high >= extent:
            return None
        (step,) = filter(None, start.steps)
        follows[dim] = led[0]
        cuts.append(range(low, high + 1, abs(step)))
        if step < 0:
            backwards.append(dim)
    return follows, cuts, backwards


def start_along(op: hlo.GatherOp, layout: GatherDims, dim: int) -> ArithmeticSequence | None:
    """The starts of the slices along an operand dimension, by the dimensions of the indices."""
    if dim in layout.component:
        return component_of(op.start_indices, layout.vector, layout.component[dim])
    target, extents = layout.batching.get(dim), shape_of(op.result)
    steps = (int(each == target and extents[each] > 1) for each in layout.batch)
    return ArithmeticSequence(0, tuple(steps))


def component_of(indices: ir.Value, vector: int, number: int) -> ArithmeticSequence | None:
    """One component of the indices, without the dimension of the components."""
    shape = shape_of(indices)
    if vector == len(shape):
        return sequence_of(indices)
    match indices.owner:
        case hlo.ConstantOp() if (elements := few_elements(indices)) is not None:
            return sequence_in(elements.take(number, vector))
        case hlo.ConcatenateOp(inputs=inputs, dimension=dim) if dim.value == vector:
            if len(inputs) != shape[vector]:
                return None
            found, number = sequence_of(inputs[number], 3), 0
        case _:
            found = sequence_of(indices)
    if found is None:
        return None
    rest = (*found.steps[:vector], *found.steps[vector + 1 :])
    return ArithmeticSequence(found.first + number * found.steps[vector], rest)


@rule(exact)
def gather_to_dynamic_slice(op: hlo.GatherOp) -> ir.Value | None:
    """gather(x, index) -> dynamic_slice(x, index), for a single index: both clamp it."""
    layout = gather_dims(op)
    if layout is None or any(shape_of(op.result)[target] != 1 for target in layout.batch):
        return None
    starts = components_of(op.start_indices, layout.vector)
    if starts is None:
        return None
    first = [
        build.reshape(starts[layout.component[dim]], ())
        if dim in layout.component
        else build.scalar(0, element_type(op.start_indices))
        for dim in range(len(layout.sizes))
    ]
    x = hlo.dynamic_slice(op.operand, first, layout.sizes)
    return build.reshape(x, shape_of(op.result))


def components_of(indices: ir.Value, vector: int) -> list[ir.Value] | None:
    """The components of a single index, as values of one element; None if that takes slices."""
    shape = shape_of(indices)
    if vector == len(shape) or shape[vector] == 1:
        return [indices]
    match indices.owner:
        case hlo.ConcatenateOp(inputs=inputs, dimension=dim) if dim.value == vector:
            return list(inputs) if len(inputs) == shape[vector] else None
    return None


@rule(exact, producer=hlo.BroadcastInDimOp)
def gather_of_broadcast(op: hlo.GatherOp) -> ir.Value | None:
    """gather(broadcast_in_dim(x)) -> broadcast_in_dim(x), if the slices take all elements of x."""
    match op.operand.owner:
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims):
            layout, shape = gather_dims(op), static_shape(x)
            if layout is None or shape is None:
                return None
            own = [(size, dim) for size, dim in zip(shape, dims, strict=True) if size != 1]
            if any(layout.sizes[dim] != size or dim not in layout.offset for size, dim in own):
                return None
            narrow = build.reshape(x, [size for size, _ in own])
            targets = [layout.offset[dim] for _, dim in own]
            return hlo.broadcast_in_dim(op.result.type, narrow, targets)
    return None


@rule(exact, producer=hlo.IotaOp)
def gather_of_iota(op: hlo.GatherOp) -> ir.Value | None:
    """gather(iota, indices) -> clamp(0, indices, extent - 1), for an iota of one dimension.

    Without the clamp if the indices are known to be in range.
    """
    x, indices = op.operand, op.start_indices
    layout = gather_dims(op) if isinstance(x.owner, hlo.IotaOp) else None
    if layout is None or layout.sizes != (1,) or len(layout.component) != 1:
        return None
    element, most = element_type(indices), shape_of(x)[0] - 1
    found, kind = bounds_of(indices), type_bounds(element)
    if element_type(x) != element or found is None or kind is None or most > kind.high:
        return None
    if found.low < 0 or found.high > most:
        indices = hlo.clamp(build.scalar(0, element), indices, build.scalar(most, element))
    return build.reshape(indices, shape_of(op.result))


@rule(exact, producer=(hlo.ClampOp, hlo.MaxOp, hlo.MinOp, hlo.ReshapeOp))
def gather_of_clamp(op: hlo.GatherOp) -> ir.Value | None:
    """gather(x, clamp(0, indices, most)) -> gather(x, indices), if that clamps them as far."""
    indices, shape = op.start_indices, static_shape(op.operand)
    if shape is None:
        return None
    numbers = hlo.GatherDimensionNumbers(op.dimension_numbers)
    room = list(map(operator.sub, shape, op.slice_sizes))
    most = max((room[dim] for dim in numbers.start_index_map), default=0)
    clamped = indices.owner.operand if isinstance(indices.owner, hlo.ReshapeOp) else indices
    x = unclamped(clamped, most)
    if x == clamped or x.type != clamped.type or static_shape(indices) is None:
        return None
    return hlo.gather(
        op.operand,
        build.reshape(x, shape_of(indices)),
        op.dimension_numbers,
        op.slice_sizes,
        indices_are_sorted=op.indices_are_sorted,
        results=[op.result.type],
    )
