"""Scatters whose indices are affine: a block that is updated, or updates that are padded.

Each dimension of the operand is indexed by at most one dimension of the updates, with a constant
step. If all steps are 1 or -1, the updates form one block, which is replaced. Otherwise the updates
are padded to the operand's shape, with step - 1 elements in between, and selected by a mask that is
padded in the same way; an operand of equal elements is the padding itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.arithmetic_sequences import ArithmeticSequence
from jxc.ir.values import (
    element_type,
    is_integer,
    shape_of,
    splat_attr,
    static_shape,
    users,
)
from jxc.rewrite import PassContext, exact, once_per_visit, rule

from .._shared.signed_zero import add_to_initial
from ..simplify.gather import component_of

_COMBINE: dict[type, _Combine] = {
    hlo.AddOp: hlo.add,
    hlo.MaxOp: hlo.maximum,
    hlo.MinOp: hlo.minimum,
    hlo.MulOp: hlo.multiply,
    hlo.SubtractOp: hlo.subtract,
}


class _ScatteredAxis(NamedTuple):
    """Where the updates lie along one dimension of the operand.

    Attributes:
        source: the dimension of the updates that runs along it; None if one index is written.
        size: number of indices that are written.
        low: the first of them.
        step: distance between two of them; negative where the updates run backwards.
        extent: extent of the operand.
    """

    source: int | None
    size: int
    low: int
    step: int
    extent: int

    @property
    def written(self) -> range:
        """The indices that are written, in the operand's order."""
        step = abs(self.step)
        return range(self.low, self.low + (self.size - 1) * step + 1, step)

    @property
    def high(self) -> int:
        """Number of elements after the last one that is written."""
        return self.extent - 1 - self.written[-1]


_Combine = Callable[[ir.Value, ir.Value], ir.Value]


@rule(exact)
def block_scatter_to_update(op: hlo.ScatterOp, context: PassContext) -> ir.Value | None:
    """scatter(x, affine indices, u) -> dynamic_update_slice(x, f(slice(x), u)).

    f is one op, or u itself. Each dimension of x is indexed by one dimension of u in steps of 1 or
    -1, or at one index, all in bounds. No dimension of x is split over devices.
    """
    x = op.inputs[0]
    if any(context.parts(x, dim) > 1 for dim in range(len(shape_of(x)))):
        return None
    if (found := _affine(op)) is None or not _is_block(found[1]):
        return None
    combine, axes = found
    return _with_block(x, _arranged(op.updates[0], axes), axes, combine)


@rule(exact, producer=hlo.ScatterOp)
def slice_of_affine_scatter(op: hlo.SliceOp) -> ir.Value | None:
    """slice(scatter(x, affine indices, u)) -> f(slice(x), u), if it takes all that is written."""
    scatter = op.operand.owner
    if not isinstance(scatter, hlo.ScatterOp) or (found := _affine(scatter)) is None:
        return None
    if not _takes_written(op, found[1]):
        return None
    combine, axes = found
    return _updated(scatter.inputs[0], _arranged(scatter.updates[0], axes), axes, combine)


def _takes_written(op: hlo.SliceOp, axes: Sequence[_ScatteredAxis]) -> bool:
    """Whether a slice of a scatter takes the elements that are written, and no others."""
    cuts = map(range, op.start_indices, op.limit_indices, op.strides)
    return all(cut == axis.written for cut, axis in zip(cuts, axes, strict=True))


@rule(exact, priced=True)
def affine_scatter_to_pad(op: hlo.ScatterOp) -> ir.Value | None:
    """scatter(x, affine indices, u) -> select(mask, f(x, pad(u)), x).

    f is one op, or u itself. Each dimension of x is indexed by one dimension of u, or at one index,
    all in bounds; the mask is True where the pad puts u. If all elements of x are equal to c, the
    result is pad(f(c, u), c). Slices of what is written are left to `slice-of-affine-scatter`.
    """
    if (found := _affine(op)) is None or _is_block(found[1]):
        return None
    combine, axes = found
    slices = (user for user in users(op.results[0]) if isinstance(user, hlo.SliceOp))
    if any(_takes_written(each, axes) for each in slices):
        return None
    return _with_pad(op.inputs[0], _arranged(op.updates[0], axes), axes, combine)


@once_per_visit
def _affine(op: hlo.ScatterOp) -> tuple[_Combine, list[_ScatteredAxis]] | None:
    """How a scatter combines, and where its updates lie; None if its indices are not affine."""
    combine = combination(op)
    axes = None if combine is None else _axes_of(op)
    return None if combine is None or axes is None else (combine, axes)


def _is_block(axes: Sequence[_ScatteredAxis]) -> bool:
    return all(abs(axis.step) == 1 for axis in axes)


def _with_block(
    x: ir.Value, u: ir.Value, axes: Sequence[_ScatteredAxis], combine: _Combine
) -> ir.Value:
    starts = [build.scalar(axis.low, ir.IntegerType.get_signless(32)) for axis in axes]
    return hlo.dynamic_update_slice(x, _updated(x, u, axes, combine), starts)


def _updated(
    x: ir.Value, u: ir.Value, axes: Sequence[_ScatteredAxis], combine: _Combine
) -> ir.Value:
    """The elements of x where the updates lie, combined with them."""
    if (equal := splat_attr(x)) is None:
        return combine(build.slice_along(x, {i: axis.written for i, axis in enumerate(axes)}), u)
    if combine is hlo.add:
        return add_to_initial(_scalar(equal, x), u)
    return combine(build.splat(equal, u.type), u)


def _scalar(element: ir.Attribute, x: ir.Value) -> ir.Value:
    return build.splat(element, ir.RankedTensorType.get([], element_type(x)))


def _with_pad(
    x: ir.Value, u: ir.Value, axes: Sequence[_ScatteredAxis], combine: _Combine
) -> ir.Value:
    low, high = [axis.low for axis in axes], [axis.high for axis in axes]
    interior = [abs(axis.step) - 1 for axis in axes]
    if (equal := splat_attr(x)) is not None:
        inner = _updated(x, u, axes, combine)
        return hlo.pad(inner, _scalar(equal, x), low, high, interior)
    boolean = ir.IntegerType.get_signless(1)
    yes = build.splat(1, ir.RankedTensorType.get(shape_of(u), boolean))
    padded, mask = (
        hlo.pad(each, build.scalar(0, element_type(each)), low, high, interior) for each in (u, yes)
    )
    return hlo.select(mask, combine(x, padded), x)


def combination(op: hlo.ScatterOp) -> _Combine | None:
    """How a scatter of one operand combines the operand with the updates."""
    if len(op.inputs) != 1 or op.inputs[0].type != op.results[0].type:
        return None
    body = op.update_computation.blocks[0]
    kinds = {element_type(each) for each in (*op.inputs, *op.updates, *body.arguments)}
    if len(kinds) > 1 or not isinstance(kinds.pop(), ir.FloatType | ir.IntegerType):
        return None
    current, update = body.arguments
    returned = body.operations[-1].operands[0]
    if returned == update:
        return lambda _, written: written
    make = _COMBINE.get(type(returned.owner))
    if make is None or len(list(body.operations)) != 2:
        return None
    operands = list(returned.owner.operands)
    if operands == [current, update]:
        return make
    return (lambda x, u: make(u, x)) if operands == [update, current] else None


def _axes_of(op: hlo.ScatterOp) -> list[_ScatteredAxis] | None:
    """Where the updates lie; None if the indices are not affine, or two updates coincide."""
    indices, updates = op.scatter_indices, op.updates[0]
    shape = static_shape(op.inputs[0], indices, updates)
    if shape is None or 0 in (*shape, *shape_of(updates)) or not is_integer(indices):
        return None
    maps = index_maps_of(op)
    axes = []
    for dim, extent in enumerate(shape):
        axis = _axis(maps, dim, extent, shape_of(updates))
        if axis is None:
            return None
        axes.append(axis)
    walked = [axis.source for axis in axes if axis.source is not None]
    needed = [dim for dim, size in enumerate(shape_of(updates)) if size > 1]
    is_once = len(walked) == len(set(walked)) and set(needed) <= set(walked)
    return axes if is_once else None


class IndexMaps(NamedTuple):
    """The origin of each dimension of a scatter's operand; dimensions by number.

    Attributes:
        starts: by operand dimension, the start of each update window along it.
        batching: by operand dimension, the update dimension that it is batched with.
        window: by operand dimension, the update dimension that lies along it.
        scattered: the update dimensions that come from the indices.
    """

    starts: dict[int, ArithmeticSequence | None]
    batching: dict[int, int]
    window: dict[int, int]
    scattered: list[int]


def _scattered_of(op: hlo.ScatterOp) -> list[int]:
    """The dimensions of the updates that the indices have."""
    numbers = hlo.ScatterDimensionNumbers(op.scatter_dimension_numbers)
    rank = len(shape_of(op.updates[0]))
    return [dim for dim in range(rank) if dim not in numbers.update_window_dims]


def index_maps_of(op: hlo.ScatterOp) -> IndexMaps:
    numbers = hlo.ScatterDimensionNumbers(op.scatter_dimension_numbers)
    vector, indices = numbers.index_vector_dim, op.scatter_indices
    scattered = _scattered_of(op)
    indexed = [dim for dim in range(len(shape_of(indices))) if dim != vector]
    of_index = dict(zip(indexed, scattered, strict=True))
    pairs = zip(numbers.input_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
    gone = {*numbers.inserted_window_dims, *numbers.input_batching_dims}
    kept = [dim for dim in range(len(shape_of(op.inputs[0]))) if dim not in gone]
    return IndexMaps(
        {
            dim: component_of(indices, vector, number)
            for number, dim in enumerate(numbers.scattered_dims_to_operand_dims)
        },
        {dim: of_index[index] for dim, index in pairs},
        dict(zip(kept, numbers.update_window_dims, strict=True)),
        scattered,
    )


def _axis(maps: IndexMaps, dim: int, extent: int, updates: Sequence[int]) -> _ScatteredAxis | None:
    if dim in maps.batching:
        return _ScatteredAxis(maps.batching[dim], extent, 0, 1, extent)
    source = maps.window.get(dim)
    size = 1 if source is None else updates[source]
    start = maps.starts.get(dim, ArithmeticSequence(0, (0,) * len(maps.scattered)))
    if start is None:
        return None
    led = [(at, step) for at, step in zip(maps.scattered, start.steps, strict=True) if step]
    if not led:
        is_inside = 0 <= start.first <= extent - size
        return _ScatteredAxis(source, size, start.first, 1, extent) if is_inside else None
    if len(led) > 1 or size != 1:
        return None
    at, step = led[0]
    last = start.first + step * (updates[at] - 1)
    if min(start.first, last) < 0 or max(start.first, last) >= extent:
        return None
    return _ScatteredAxis(at, updates[at], min(start.first, last), step, extent)


def _arranged(updates: ir.Value, axes: Sequence[_ScatteredAxis]) -> ir.Value:
    """The updates with the operand's dimensions, in its order and direction."""
    order = [axis.source for axis in axes if axis.source is not None]
    order += [dim for dim in range(len(shape_of(updates))) if dim not in order]
    u = build.reshape(build.transpose(updates, order), [axis.size for axis in axes])
    reversed_dims = [dim for dim, axis in enumerate(axes) if axis.step < 0]
    return hlo.reverse(u, reversed_dims) if reversed_dims else u
