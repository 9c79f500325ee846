"""Products with one-hot vectors, which read rows of a table or add to them.

A product with 0 is 0 unless the other factor is infinite or NaN, which the assumption no-nans rules
out.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import bounds_of, type_bounds
from jxc.ir.values import direction_of, element_type, is_float, shape_of, static_shape
from jxc.passes._shared.signed_zero import plus_zero
from jxc.passes.indexing import cost as cost
from jxc.rewrite import reassociates, rule


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


@rule(reassociates, assumes="no-nans", targets=("cpu",), producer=hlo.ConvertOp)
def one_hot_product_to_gather(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(one_hot(i), e) -> select(0 <= i < rows, gather(e, i), 0).

    A row of e that is not read must hold no infinity: times 0 that is NaN.
    """
    found = _factors(op)
    if found is None:
        return None
    hot, hot_dims, other_dims = found
    if hot_dims != (hot.dimension,) or not cost.table_pays(rows=hot.extent):
        return None
    indices = hot.indices()
    taken = plus_zero(_rows(op.rhs, other_dims[0], indices, op.result.type))
    in_bounds = is_row(indices, hot.extent)
    if in_bounds is None:
        return taken
    shape = shape_of(op.result)
    mask = build.broadcast(in_bounds, shape, range(len(shape_of(in_bounds))))
    return hlo.select(mask, taken, build.splat(0, op.result.type))


@rule(reassociates, assumes="no-nans", targets=("cpu",), producer=hlo.ConvertOp)
def one_hot_product_to_scatter(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(one_hot(i), x), summed over all i -> scatter(0, i, x) with add.

    Elements that are not added must be finite: an infinity times 0 is NaN.
    """
    found = _factors(op)
    if found is None:
        return None
    hot, hot_dims, other_dims = found
    if hot.dimension in hot_dims or len(hot_dims) != len(hot.shape) or not hot_dims:
        return None
    is_summed_alike = isinstance(element_type(op.rhs), ir.F32Type | ir.F64Type)  # others in f32
    if not cost.table_pays(rows=hot.extent) or not is_summed_alike:
        return None
    own = [dim for dim in range(len(shape_of(op.rhs))) if dim not in other_dims]
    order = [dim for _, dim in sorted(zip(hot_dims, other_dims, strict=True))]
    updates = build.transpose(op.rhs, [*order, *own])
    return _added(build.splat(0, op.result.type), hot.indices(), updates)


def _factors(op: hlo.DotGeneralOp) -> tuple[_OneHot, tuple[int, ...], tuple[int, ...]] | None:
    """The one-hot array on the left, and the dimensions that are summed; None in a batch."""
    if static_shape(op.result, op.lhs, op.rhs) is None or op.algorithm is not None:
        return None
    if 0 in (*shape_of(op.lhs), *shape_of(op.rhs)) or not is_float(op.rhs):
        return None
    if not element_type(op.lhs) == element_type(op.rhs) == element_type(op.result):
        return None
    dims = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
    hot = None if dims.lhs_batching_dimensions else _one_hot(op.lhs)
    if hot is None:
        return None
    return hot, tuple(dims.lhs_contracting_dimensions), tuple(dims.rhs_contracting_dimensions)


def _one_hot(value: ir.Value) -> _OneHot | None:
    match value.owner:
        case hlo.ConvertOp(operand=hits):
            match hits.owner:
                case hlo.CompareOp(lhs=x, rhs=y) as compare if direction_of(compare) == "EQ":
                    return compared(x, y) or compared(y, x)
    return None


def compared(indices: ir.Value, positions: ir.Value) -> _OneHot | None:
    match indices.owner, positions.owner:
        case hlo.BroadcastInDimOp(operand=i, broadcast_dimensions=dims), hlo.IotaOp(
            iota_dimension=dim
        ):
            shape, element = shape_of(positions), element_type(i)
            rest = [each for each in range(len(shape)) if each != dim.value]
            if not isinstance(element, ir.IntegerType) or not element.is_signless:
                return None
            kind, extent = type_bounds(element), shape[dim.value]
            if kind is None or extent - 1 > kind.high or element.width < 8:
                return None
            extents = tuple(shape[each] for each in rest)
            kept = [each for each in dims if each != dim.value]
            own = [size for each, size in zip(dims, shape_of(i), strict=True) if each != dim.value]
            if kept != rest or own != list(extents) or prod(shape_of(i)) != prod(extents):
                return None
            return _OneHot(i, extents, dim.value, extent)
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
