"""Arrays that are the same along a dimension except at one index, as one-hot vectors are.

The gradient of a loss by class labels has such arrays: one-hot vectors, or zeros into which each
row scatters one update, and elementwise functions of them. A `Hit` describes such an array by its
index, its value there, and its value elsewhere. These lack the dimension, so they are small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import type_bounds
from jxc.ir.dtypes import numpy_dtype
from jxc.ir.elementwise import Elementwise, is_elementwise
from jxc.ir.values import direction_of, element_type, shape_of, splat_attr, static_shape

from .._shared.elementwise import rebuilt, with_shape
from .._shared.signed_zero import plus_zero
from ..simplify.fold import literal
from ..simplify.fold_arithmetic import converted, evaluate
from .affine_scatter import IndexMaps, combination, index_maps_of
from .one_hot import compared

_DEPTH = 8  # elementwise ops between a sum and a one-hot vector


class Position(NamedTuple):
    """One index along a dimension for each position along the other dimensions.

    Attributes:
        key: equal for two positions that are known to be equal.
        dimension: the one that is indexed.
        build: builds the indices, of the shape of the other dimensions; signless integers.
    """

    key: object
    dimension: int
    build: Callable[[], ir.Value]


class Slice(NamedTuple):
    """A value for each position along the other dimensions.

    Attributes:
        build: builds it.
        known: the element, if all are equal and known.
    """

    build: Callable[[], ir.Value]
    known: np.ndarray | None = None


class Hit(NamedTuple):
    """An array that is `there` at one index along a dimension and `elsewhere` at the others.

    Attributes:
        position: the index; None if the array is `elsewhere` everywhere.
        there: its value at that index; it does not occur if the index is out of bounds.
        elsewhere: its value at all other indices.
    """

    position: Position | None
    there: Slice
    elsewhere: Slice


def hit_of(value: ir.Value, dim: int, depth: int = _DEPTH) -> Hit | None:
    """How `value`, of static shape, differs along `dim`; None if at more than one index."""
    shape = shape_of(value)
    rest = (*shape[:dim], *shape[dim + 1 :])
    if splat_attr(value) is not None:
        known = literal(value)
        if known is None or known.ndim:
            return None
        same = Slice(partial(build.dense, known, with_shape(value, rest)), known)
        return Hit(None, same, same)
    owner = value.owner
    match owner:
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims):
            everywhere = _slice_of_broadcast(x, list(dims), dim, rest)
            return None if everywhere is None else Hit(None, everywhere, everywhere)
        case hlo.CompareOp() if direction_of(owner) == "EQ" and (found := _mask(owner, dim)):
            return found
        case hlo.ScatterOp():
            return _scattered(owner, dim)
        case hlo.PadOp() if depth:
            return _padded(owner, dim, depth)
    return _function_of_hits(owner, dim, depth) if depth and is_elementwise(owner) else None


def _slice_of_broadcast(
    x: ir.Value, dims: list[int], dim: int, rest: tuple[int, ...]
) -> Slice | None:
    extents = static_shape(x)
    if extents is None or (dim in dims and extents[dims.index(dim)] != 1):
        return None
    own = [size for each, size in zip(dims, extents, strict=True) if each != dim]
    kept = [each - (each > dim) for each in dims if each != dim]
    return Slice(lambda: build.broadcast(build.reshape(x, own), rest, kept))


def _mask(op: hlo.CompareOp, dim: int) -> Hit | None:
    hot = compared(op.lhs, op.rhs) or compared(op.rhs, op.lhs)
    if hot is None or hot.dimension != dim:
        return None
    kind = ir.RankedTensorType.get(hot.shape, element_type(op.result))
    yes, no = (Slice(partial(build.splat, bit, kind), np.asarray(bit)) for bit in (True, False))
    return Hit(Position(hot.given, dim, hot.indices), yes, no)


def _padded(op: hlo.PadOp, dim: int, depth: int) -> Hit | None:
    """The hit of a pad along other dimensions by the value elsewhere, as in gradients of slices."""
    if op.edge_padding_low[dim] or op.edge_padding_high[dim] or op.interior_padding[dim]:
        return None
    inner = hit_of(op.operand, dim, depth - 1) if static_shape(op.operand) is not None else None
    known, filled = inner.elsewhere.known if inner else None, literal(op.padding_value)
    if inner is None or inner.position is None or known is None or filled is None:
        return None
    if known.tobytes() != filled.tobytes():
        return None
    sizes = (op.edge_padding_low, op.edge_padding_high, op.interior_padding)
    low, high, interior = ([*each[:dim], *each[dim + 1 :]] for each in map(list, sizes))

    def padded(build_slice: Callable[[], ir.Value], element: ir.Value | None) -> ir.Value:
        x = build_slice()
        fill = build.scalar(0, element_type(x)) if element is None else element
        return hlo.pad(x, fill, low, high, interior)

    rest = [size for each, size in enumerate(shape_of(op.result)) if each != dim]
    position = Position(
        (inner.position.key, *low, "high", *high, "interior", *interior),
        dim,
        partial(padded, inner.position.build, None),
    )
    elsewhere = Slice(partial(build.dense, known, with_shape(op.result, rest)), known)
    return Hit(position, Slice(partial(padded, inner.there.build, op.padding_value)), elsewhere)


def _function_of_hits(op: Elementwise, dim: int, depth: int) -> Hit | None:
    shape, hits = shape_of(op.results[0]), []
    if len(op.results) != 1:
        return None
    for value in op.operands:
        if static_shape(value) is None:
            return None
        same = Slice(partial(build.reshape, value, shape_of(value)))
        found = hit_of(value, dim, depth - 1) if shape_of(value) == shape else Hit(None, same, same)
        if found is None:
            return None
        hits.append(found)
    positions = {hit.position.key: hit.position for hit in hits if hit.position}
    if len(positions) > 1:
        return None
    rest = (*shape[:dim], *shape[dim + 1 :])
    there = _function_of(op, [hit.there for hit in hits], rest)
    elsewhere = _function_of(op, [hit.elsewhere for hit in hits], rest)
    return Hit(next(iter(positions.values()), None), there, elsewhere)


def _function_of(op: Elementwise, slices: Sequence[Slice], shape: Sequence[int]) -> Slice:
    if isinstance(op, hlo.SelectOp) and (chosen := slices[0].known) is not None:
        return slices[1] if chosen else slices[2]
    known = _evaluated(op, [each.known for each in slices if each.known is not None])
    if known is not None and len(known.shape) == 0:
        return Slice(partial(build.dense, known, with_shape(op.results[0], shape)), known)
    return Slice(lambda: rebuilt(op, [each.build() for each in slices], shape))


def _evaluated(op: Elementwise, known: Sequence[np.ndarray]) -> np.ndarray | None:
    if len(known) != len(op.operands):
        return None
    if isinstance(op, hlo.ConvertOp):
        dtype = numpy_dtype(element_type(op.result))
        return None if dtype is None else converted(known[0], dtype)
    name = op.operation.name.removeprefix("stablehlo.")
    return evaluate(name, known, element_type(op.operands[0]))


# Scatters of one update into each row of a splat


def _scattered(op: hlo.ScatterOp, dim: int) -> Hit | None:
    """The hit of a scatter into a splat: one update for each position along the other dims."""
    combine = combination(op)
    if combine is None or splat_attr(op.inputs[0]) is None:
        return None
    layout = _layout(op, dim)
    if layout is None:
        return None
    shape = shape_of(op.inputs[0])
    rest = (*shape[:dim], *shape[dim + 1 :])
    kind = with_shape(op.inputs[0], rest)
    known = literal(op.inputs[0])
    if known is None or known.ndim:
        return None
    elsewhere = Slice(partial(build.dense, known, kind), known)

    def there() -> ir.Value:
        updates = build.reshape(build.transpose(op.updates[0], layout.order), rest)
        is_sum = isinstance(_returned(op), hlo.AddOp)
        return plus_zero(updates) if is_sum and known == 0 else combine(elsewhere.build(), updates)

    position = Position(
        (op.scatter_indices, str(op.scatter_dimension_numbers)),
        dim,
        partial(_indices, op, dim, layout, rest),
    )
    written = _written(op, known)
    if written is None:
        return Hit(position, Slice(there), elsewhere)
    return Hit(position, Slice(partial(build.dense, written, kind), written), elsewhere)


def _written(op: hlo.ScatterOp, known: np.ndarray) -> np.ndarray | None:
    """The written value, if the updates of a scatter into a splat of `known` are a splat too."""
    update = literal(op.updates[0]) if splat_attr(op.updates[0]) is not None else None
    if update is None or update.ndim:
        return None
    returned = _returned(op)
    if isinstance(returned, hlo.AddOp):
        return evaluate("add", [known, update], element_type(op.inputs[0]))
    return update if isinstance(returned, ir.Block) else None


def _returned(op: hlo.ScatterOp) -> ir.OpView | ir.Block:
    """The op that computes the result of the scatter's body; the block itself for an argument."""
    return op.update_computation.blocks[0].operations[-1].operands[0].owner


class _Layout(NamedTuple):
    """The dimensions of the updates: all in the order of the operand's, and those of the indices.

    Attributes:
        order: the permutation that gives the updates the order of the operand's dimensions.
        component: the number of the component of the indices that runs along the one dimension.
        scattered: for each dimension of the indices but that of the components, its dimension of
            the operand; None if its extent is 1.
    """

    order: list[int]
    component: int
    scattered: list[int | None]


def _layout(op: hlo.ScatterOp, dim: int) -> _Layout | None:
    """The layout of a scatter of one update for each position along the dims other than `dim`."""
    indices, updates = op.scatter_indices, op.updates[0]
    shape = static_shape(op.inputs[0], indices, updates)
    kind = type_bounds(element_type(indices))
    if shape is None or kind is None or 0 in (*shape, *shape_of(updates)):
        return None
    if not ir.IntegerType(element_type(indices)).is_signless or shape[dim] - 1 > kind.high:
        return None
    maps, extents = index_maps_of(op), shape_of(updates)
    numbers = hlo.ScatterDimensionNumbers(op.scatter_dimension_numbers)
    components = list(numbers.scattered_dims_to_operand_dims)
    others = [each for each in range(len(shape)) if each != dim]
    if dim not in components or not all(_starts_at_zero(maps, each) for each in others):
        return None
    found = {each: _source(maps, each) for each in others if shape[each] > 1}
    sources = {each: at for each, at in found.items() if at is not None}
    walked = list(sources.values())
    rest = [at for at in range(len(extents)) if at not in walked]
    if len(sources) < len(found) or len(set(walked)) < len(walked):
        return None
    if any(extents[at] != shape[each] for each, at in sources.items()):
        return None
    if any(extents[at] > 1 for at in rest):
        return None
    along = {at: each for each, at in sources.items()}
    scattered = [along.get(at) for at in maps.scattered]
    return _Layout([*walked, *rest], components.index(dim), scattered)


def _starts_at_zero(maps: IndexMaps, dim: int) -> bool:
    """Whether the indices along `dim` of the operand are 0, 1, 2, ... or all 0."""
    if dim not in maps.starts:
        return True
    start = maps.starts[dim]
    if start is None or start.first:
        return False
    return all(step in (0, 1) for step in start.steps) and sum(start.steps) <= 1


def _source(maps: IndexMaps, dim: int) -> int | None:
    """The dimension of the updates that runs along the operand's dimension `dim`."""
    start = maps.starts.get(dim)
    if start is not None and any(start.steps):
        return maps.scattered[start.steps.index(1)]
    return maps.batching.get(dim, maps.window.get(dim))


def _indices(op: hlo.ScatterOp, dim: int, layout: _Layout, rest: Sequence[int]) -> ir.Value:
    """The indices along `dim`, of shape `rest`."""
    vector = hlo.ScatterDimensionNumbers(op.scatter_dimension_numbers).index_vector_dim
    indices = _component(op.scatter_indices, vector, layout.component)
    large = [(at, each) for at, each in enumerate(layout.scattered) if each is not None]
    extents = shape_of(indices)
    narrow = build.reshape(indices, [extents[at] for at, _ in large])
    order = sorted(range(len(large)), key=lambda number: large[number][1])
    dims = [large[number][1] - (large[number][1] > dim) for number in order]
    return build.broadcast(build.transpose(narrow, order), rest, dims)


def _component(indices: ir.Value, vector: int, number: int) -> ir.Value:
    """One component of the indices, without the dimension of the components."""
    shape = shape_of(indices)
    if vector == len(shape):
        return indices
    match indices.owner:
        case hlo.ConcatenateOp(inputs=inputs, dimension=axis) if (
            axis.value == vector and len(inputs) == shape[vector]
        ):
            part = inputs[number]
        case _:
            part = build.slice_along(indices, {vector: range(number, number + 1)})
    return build.reshape(part, [*shape[:vector], *shape[vector + 1 :]])
