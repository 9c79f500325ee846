"""Products with one-hot vectors, which read rows of a table or add to them.

A product with 0 is 0 unless the other factor is infinite or NaN. The assumption no-nans rules that
out; without it, the rewritten program tests the factor and computes the product if it must.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import bounds_of, type_bounds
from jxc.ir.values import direction_of, element_type, is_float, shape_of, static_shape
from jxc.rewrite import reassociates, rule

from .._shared.finite import if_finite, is_in_test
from .._shared.signed_zero import plus_zero


class _OneHot(NamedTuple):
    """An array that is 1 where its position along `dimension` is the index, and 0 elsewhere.

    Attributes:
        given: the indices, one for each position along the other dimensions.
        shape: the extents of these; `given` may have extra extents of 1.
        dimension: the one that the indices number.
        extent: its extent.
    """

    given: ir.Value
    shape: tuple[int, ...]
    dimension: int
    extent: int

    def indices(self) -> ir.Value:
        """The indices, built in that shape."""
        return build.reshape(self.given, self.shape)

    def array(self, element: ir.Type) -> ir.Value:
        """The array itself, built with elements of type `element`."""
        shape = list(self.shape)
        shape.insert(self.dimension, self.extent)
        rest = [dim for dim in range(len(shape)) if dim != self.dimension]
        wide = build.broadcast(self.indices(), shape, rest)
        return build.convert(
            build.compare("EQ", wide, hlo.iota(wide.type, self.dimension)), element
        )


class _Product(NamedTuple):
    """A product of a one-hot array with a table.

    Attributes:
        hot: the one-hot array.
        hot_dims: its dimensions that are summed.
        table: the other factor.
        table_dims: its dimensions that are summed, in the same order.
        kind: the type of the product with `hot` on the left.
        order: the permutation from that product to the given one.
    """

    hot: _OneHot
    hot_dims: tuple[int, ...]
    table: ir.Value
    table_dims: tuple[int, ...]
    kind: ir.RankedTensorType
    order: list[int]


@rule(reassociates, assumes="no-nans", producer=hlo.ConvertOp, priced=True)
def one_hot_product_to_gather(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(one_hot(i), e) -> select(0 <= i < rows, gather(e, i), 0).

    A row of e that is not read must hold no infinity: times 0 that is NaN.
    """
    found = _reading(op)
    return None if found is None else _gathered(found)


@rule(reassociates, assumes="no-nans", producer=hlo.ConvertOp, priced=True)
def one_hot_product_to_scatter(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(one_hot(i), x), summed over all i -> scatter(0, i, x) with add.

    Elements that are not added must be finite: an infinity times 0 is NaN.
    """
    found = _adding(op)
    return None if found is None else _scattered(found)


@rule(reassociates, producer=hlo.ConvertOp, priced=True)
def finite_one_hot_product_to_gather(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(one_hot(i), e) -> if finite(sum(0 * e)) then gather(e, i) else dot_general(...).

    The sum is finite if and only if all elements of e are.
    """
    found = None if _is_alternative(op) else _reading(op)
    return None if found is None else _if_finite(op, found, _gathered)


@rule(reassociates, producer=hlo.ConvertOp, priced=True)
def finite_one_hot_product_to_scatter(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(one_hot(i), x) -> if finite(sum(0 * x)) then scatter(0, i, x) else dot_general().

    For products summed over all i. The sum is finite if and only if all elements of x are.
    """
    found = None if _is_alternative(op) else _adding(op)
    return None if found is None else _if_finite(op, found, _scattered)


def _reading(op: hlo.DotGeneralOp) -> _Product | None:
    """The product, if it reads rows of the table."""
    found = _product(op)
    return found if found is not None and found.hot_dims == (found.hot.dimension,) else None


def _gathered(product: _Product) -> ir.Value:
    hot = product.hot
    indices = hot.indices()
    taken = plus_zero(_rows(product.table, product.table_dims[0], indices, product.kind))
    in_bounds = is_row(indices, hot.extent)
    if in_bounds is not None:
        mask = build.broadcast(in_bounds, product.kind.shape, range(len(hot.shape)))
        taken = hlo.select(mask, taken, build.splat(0, product.kind))
    return build.transpose(taken, product.order)


def _adding(op: hlo.DotGeneralOp) -> _Product | None:
    """The product, if it adds rows to the table."""
    found = _product(op)
    if found is None or found.hot.dimension in found.hot_dims:
        return None
    if len(found.hot_dims) != len(found.hot.shape) or not found.hot_dims:
        return None
    is_summed_alike = isinstance(element_type(op.result), ir.F32Type | ir.F64Type)  # others in f32
    return found if is_summed_alike else None


def _scattered(product: _Product) -> ir.Value:
    rank = len(shape_of(product.table))
    own = [dim for dim in range(rank) if dim not in product.table_dims]
    paired = zip(product.hot_dims, product.table_dims, strict=True)
    updates = build.transpose(product.table, [*(dim for _, dim in sorted(paired)), *own])
    added = _added(build.splat(0, product.kind), product.hot.indices(), updates)
    return build.transpose(added, product.order)


def _is_alternative(op: hlo.DotGeneralOp) -> bool:
    """Whether the product is what runs if a test fails, or its elements are too short for one."""
    return is_in_test(op) or not isinstance(element_type(op.result), ir.F32Type | ir.F64Type)


def _if_finite(
    op: hlo.DotGeneralOp, product: _Product, make: Callable[[_Product], ir.Value]
) -> ir.Value:
    """What `make` builds if all elements of the table are finite, else the product."""
    table = product.table

    def original() -> ir.Value:
        hot = product.hot.array(element_type(table))
        return build.dot_like(op, *((hot, table) if table == op.rhs else (table, hot)))

    return if_finite(table, lambda: make(product), original, op.result.type)


def _product(op: hlo.DotGeneralOp) -> _Product | None:
    """The product of a one-hot array, on either side, with a table; None in a batch."""
    if static_shape(op.result, op.lhs, op.rhs) is None or op.algorithm is not None:
        return None
    if 0 in (*shape_of(op.lhs), *shape_of(op.rhs)) or not is_float(op.rhs):
        return None
    if not element_type(op.lhs) == element_type(op.rhs) == element_type(op.result):
        return None
    dims = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
    if dims.lhs_batching_dimensions:
        return None
    left = op.lhs, tuple(dims.lhs_contracting_dimensions)
    right = op.rhs, tuple(dims.rhs_contracting_dimensions)
    kind, rank = ir.RankedTensorType(op.result.type), len(shape_of(op.result))
    if (hot := _one_hot(op.lhs)) is not None:
        return _Product(hot, left[1], *right, kind, list(range(rank)))
    if (hot := _one_hot(op.rhs)) is None:
        return None
    own = len(shape_of(op.lhs)) - len(left[1])  # dimensions of the result that the table has
    shape = [*kind.shape[own:], *kind.shape[:own]]
    order = [*range(rank - own, rank), *range(rank - own)]
    swapped = ir.RankedTensorType.get(shape, kind.element_type)
    return _Product(hot, right[1], *left, swapped, order)


def _one_hot(value: ir.Value) -> _OneHot | None:
    match value.owner:
        case hlo.ConvertOp(operand=hits):
            match hits.owner:
                case hlo.CompareOp(lhs=x, rhs=y) as compare if direction_of(compare) == "EQ":
                    return compared(x, y) or compared(y, x)
    return None


def compared(indices: ir.Value, positions: ir.Value) -> _OneHot | None:
    """The one-hot array that is 1 where the two are equal."""
    along, broadcast = _counted_along(positions), indices.owner
    if along is None or not isinstance(broadcast, hlo.BroadcastInDimOp):
        return None
    i, dims = broadcast.operand, list(broadcast.broadcast_dimensions)
    shape, element = shape_of(positions), element_type(i)
    rest = [each for each in range(len(shape)) if each != along]
    if not isinstance(element, ir.IntegerType) or not element.is_signless:
        return None
    kind, extent = type_bounds(element), shape[along]
    if kind is None or extent - 1 > kind.high or element.width < 8:
        return None
    extents = tuple(shape[each] for each in rest)
    kept = [each for each in dims if each != along]
    own = [size for each, size in zip(dims, shape_of(i), strict=True) if each != along]
    if kept != rest or own != list(extents) or prod(shape_of(i)) != prod(extents):
        return None
    return _OneHot(i, extents, along, extent)


def _counted_along(value: ir.Value) -> int | None:
    """The dimension along which `value` is 0, 1, 2, ...; None if it is not an iota."""
    match value.owner:
        case hlo.IotaOp(iota_dimension=dim):
            return int(dim.value)
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims):
            match x.owner:
                case hlo.IotaOp(iota_dimension=dim):
                    along = int(dims[dim.value])
                    return along if shape_of(x)[dim.value] == shape_of(value)[along] else None
    return None


def is_row(indices: ir.Value, rows: int) -> ir.Value | None:
    """Where the index is in bounds; None where all are known to be."""
    found = bounds_of(indices)
    if found is not None and found.low >= 0 and found.high < rows:
        return None
    low, high = (build.splat(number, indices.type) for number in (0, rows - 1))
    return hlo.and_(build.compare("GE", indices, low), build.compare("LE", indices, high))


def _rows(table: ir.Value, row: int, indices: ir.Value, kind: ir.Type) -> ir.Value:
    """The rows of `table` at each index along dimension `row`; dimensions of the indices first."""
    rank, given = len(shape_of(table)), len(shape_of(indices))
    sizes = [1 if dim == row else size for dim, size in enumerate(shape_of(table))]
    numbers = hlo.GatherDimensionNumbers.get(
        offset_dims=list(range(given, given + rank - 1)),
        collapsed_slice_dims=[row],
        operand_batching_dims=[],
        start_indices_batching_dims=[],
        start_index_map=[row],
        index_vector_dim=given,
    )
    return hlo.gather(table, indices, numbers, sizes, results=[kind])


def _added(table: ir.Value, indices: ir.Value, updates: ir.Value) -> ir.Value:
    """`table` with the updates added to the rows of these indices, if in bounds."""
    given, element = len(shape_of(indices)), element_type(table)
    numbers = hlo.ScatterDimensionNumbers.get(
        update_window_dims=list(range(given, len(shape_of(updates)))),
        inserted_window_dims=[0],
        input_batching_dims=[],
        scatter_indices_batching_dims=[],
        scattered_dims_to_operand_dims=[0],
        index_vector_dim=given,
    )
    op = hlo.ScatterOp([table.type], [table], indices, [updates], numbers)
    scalar = ir.RankedTensorType.get((), element)
    build.append_combiner(op.update_computation, scalar, hlo.add)
    return op.results[0]
