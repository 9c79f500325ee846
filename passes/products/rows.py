"""Rows that are gathered before or after a product, whichever needs fewer multiply-adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, is_float, shape_of, splat_of
from jxc.rewrite import exact, reassociates, rule

from .._shared.dot import OperandDims, dot, may_be_hoisted, shape_of_product, sides_of
from .._shared.elementwise import numeric_shape, size_of, with_shape
from .work import is_plain, is_single


@dataclass(frozen=True)
class _Rows:
    """Rows of a table: `gather(table, indices)`, NaN where `inside` is false.

    Attributes:
        op: the gather.
        inside: for each index whether it is in bounds, of the shape of the indices; None if the
            gather clamps them.
        index_dims: the dimensions of the gathered rows that number the indices.
        table_dims: for each other dimension of the rows, the dimension of the table.
    """

    op: hlo.GatherOp
    inside: ir.Value | None
    index_dims: tuple[int, ...]
    table_dims: dict[int, int]


def _rows_of(value: ir.Value) -> _Rows | None:
    """`value` as rows of a table, as `table[i]` and `jnp.take(table, i, 0)` write them, or None."""
    inside = None
    match value.owner:
        case hlo.SelectOp(pred=mask, on_true=rows, on_false=fill) if is_float(fill):
            found = splat_of(fill)
            if found is None or found == found or not isinstance(mask.owner, hlo.BroadcastInDimOp):
                return None
            inside, value = mask.owner, rows
    op = value.owner
    if (
        not isinstance(op, hlo.GatherOp)
        or numeric_shape(op.result, op.operand, op.start_indices) is None
    ):
        return None
    dims = hlo.GatherDimensionNumbers(op.dimension_numbers)
    shape, collapsed = shape_of(op.operand), list(dims.collapsed_slice_dims)
    if dims.operand_batching_dims or list(dims.start_index_map) != collapsed:
        return None
    kept = [dim for dim in range(len(shape)) if dim not in collapsed]
    if any(op.slice_sizes[dim] != shape[dim] for dim in kept):
        return None
    offsets = list(dims.offset_dims)
    index_dims = tuple(dim for dim in range(len(shape_of(op.result))) if dim not in offsets)
    if inside is not None and list(inside.broadcast_dimensions) != list(index_dims):
        return None
    mask = None if inside is None else inside.operand
    return _Rows(op, mask, index_dims, dict(zip(offsets, kept, strict=True)))


def _sides_with_table(sides: Sequence[OperandDims], i: int, rows: _Rows) -> list[OperandDims]:
    """The dimensions of a product whose operand i, the rows, is replaced by their table."""
    found = list(sides)
    found[i] = OperandDims((), tuple(rows.table_dims[dim] for dim in sides[i].summed))
    return found


def _may_come_first(sides: Sequence[OperandDims], i: int, value: ir.Value, rows: _Rows) -> bool:
    """Whether the table of operand i, the rows `value`, can be multiplied first, and is smaller.

    The product must have no batching dimensions, and contract only dimensions of the table.
    """
    if sides[i].batch or not set(sides[i].summed) <= set(rows.table_dims):
        return False
    return 0 < size_of(rows.op.operand) < size_of(value)


@rule(
    exact,
    producer=(hlo.GatherOp, hlo.SelectOp),
    priced=True,
)
def product_of_rows(op: hlo.DotGeneralOp) -> ir.Value | None:
    """table[i] @ W -> (table @ W)[i], if the table has fewer rows than are gathered.

    Rows outside of the table are clamped, or all NaN, before and after.
    """
    if not is_plain(op):
        return None
    for i, value in enumerate((op.lhs, op.rhs)):
        rows = _rows_of(value)
        if rows is not None and _may_come_first(sides_of(op), i, value, rows):
            return _gathered_after(op, list(op.operands), sides_of(op), i, rows)
    return None


def _gathered_after(
    like: hlo.DotGeneralOp,
    operands: Sequence[ir.Value],
    sides: Sequence[OperandDims],
    i: int,
    rows: _Rows,
) -> ir.Value:
    """The product `like`, whose operand i is rows of a table: these are gathered afterwards."""
    shape = shape_of_product([shape_of(value) for value in operands], sides)
    first, whole = list(operands), _sides_with_table(sides, i, rows)
    first[i] = rows.op.operand
    product = dot(like, first, whole)
    # the dimensions that number the rows: of the table, and of the indices in the result
    before = len(sides[0].free(len(shape_of(operands[0])))) if i else 0
    old = hlo.GatherDimensionNumbers(rows.op.dimension_numbers)
    free = whole[i].free(len(shape_of(first[i])))
    numbered = [before + free.index(dim) for dim in old.collapsed_slice_dims]
    own = sides[i].free(len(shape_of(operands[i])))
    index_dims = [before + own.index(dim) for dim in rows.index_dims]
    numbers = hlo.GatherDimensionNumbers.get(
        offset_dims=[dim for dim in range(len(shape)) if dim not in index_dims],
        collapsed_slice_dims=numbered,
        operand_batching_dims=[],
        start_indices_batching_dims=[],
        start_index_map=numbered,
        index_vector_dim=old.index_vector_dim,
    )
    kind = with_shape(like.result, shape)
    taken = hlo.gather(
        product,
        rows.op.start_indices,
        numbers,
        [1 if dim in numbered else size for dim, size in enumerate(shape_of(product))],
        indices_are_sorted=rows.op.indices_are_sorted,
        results=[kind],
    )
    if rows.inside is None:
        return taken
    mask = build.broadcast(rows.inside, shape, index_dims)
    return hlo.select(mask, taken, build.splat(float("nan"), kind))


@rule(exact, producer=hlo.DotGeneralOp, priced=True)
def rows_of_product(op: hlo.GatherOp) -> ir.Value | None:
    """(x @ W)[i] -> x[i] @ W, for rows of x, such as the last token of each sequence.

    If the product has no other use.
    """
    product = op.operand.owner
    if not isinstance(product, hlo.DotGeneralOp) or not is_single(op.operand, op):
        return None
    if not is_plain(product) or may_be_hoisted(product):
        return None
    if numeric_shape(op.result, op.start_indices) is None:
        return None
    numbers = _numbers_in_rows(op, product)
    if numbers is None:
        return None
    x, dims = product.lhs, sides_of(product)
    rank = len(shape_of(x)) - len(dims[0].summed)
    sizes = [*list(op.slice_sizes)[:rank], *shape_of(x)[rank:]]
    wide = len(shape_of(product.result)) - rank  # the dimensions of W in the result
    own = shape_of(op.result)[: len(shape_of(op.result)) - wide]
    shape = [*own, *shape_of(x)[rank:]]
    if prod(shape) >= size_of(x):
        return None
    rows = hlo.gather(
        x,
        op.start_indices,
        numbers,
        sizes,
        indices_are_sorted=op.indices_are_sorted,
        results=[with_shape(x, shape)],
    )
    summed = tuple(range(len(own), len(shape)))
    return dot(product, [rows, product.rhs], [OperandDims((), summed), dims[1]])


def _numbers_in_rows(
    op: hlo.GatherOp, product: hlo.DotGeneralOp
) -> hlo.GatherDimensionNumbers | None:
    """The dimensions of a gather `op` of a product x @ W, for the gather of the rows of x.

    None unless the last dimensions of x are summed, and those of W are taken whole and come last.
    An index component along a dimension of W, which is always 0, is moved to a summed dimension.
    """
    left, right = sides_of(product)
    rank, wide = len(shape_of(product.lhs)), len(right.free(len(shape_of(product.rhs))))
    start = rank - len(left.summed)  # where in the product the dimensions of W start
    if left.batch or sorted(left.summed) != list(range(start, rank)) or not wide:
        return None
    old, shape = hlo.GatherDimensionNumbers(op.dimension_numbers), shape_of(op.operand)
    kept = [*old.collapsed_slice_dims, *old.operand_batching_dims]
    if any(dim >= start for dim in kept) or tuple(op.slice_sizes)[start:] != shape[start:]:
        return None
    end = len(shape_of(op.result)) - wide
    if list(old.offset_dims)[-wide:] != list(range(end, end + wide)):
        return None
    of_columns = [dim for dim in old.start_index_map if dim >= start]
    if len(of_columns) > len(left.summed):
        return None
    others = dict(zip(of_columns, range(start, rank), strict=False))
    return hlo.GatherDimensionNumbers.get(
        offset_dims=[*list(old.offset_dims)[:-wide], *range(end, end + rank - start)],
        collapsed_slice_dims=list(old.collapsed_slice_dims),
        operand_batching_dims=list(old.operand_batching_dims),
        start_indices_batching_dims=list(old.start_indices_batching_dims),
        start_index_map=[others.get(dim, dim) for dim in old.start_index_map],
        index_vector_dim=old.index_vector_dim,
    )


class _Part(NamedTuple):
    """Operands of a concatenation, and the rows of W with which they are multiplied.

    Attributes:
        values: adjacent operands that stay together, or one that is rows of a table.
        rows: these rows, if the table can be multiplied first.
        cut: the indices of the summed dimension.
    """

    values: list[ir.Value]
    rows: _Rows | None
    cut: range


@rule(reassociates, producer=hlo.ConcatenateOp, priced=True)
def product_of_concatenated_rows(op: hlo.DotGeneralOp) -> ir.Value | None:
    """[n[i], n[j], e] @ W -> (n @ W1)[i] + (n @ W2)[j] + e @ W3, where n has few rows.

    Messages along the edges of a graph are computed so from the features of its nodes. For f32 and
    f64, if the concatenation has no other use.
    """
    if not isinstance(op.lhs.owner, hlo.ConcatenateOp) or not is_plain(op):
        return None
    dim, sides = op.lhs.owner.dimension.value, sides_of(op)
    if sides[0].batch or sides[0].summed != (dim,) or not is_single(op.lhs, op):
        return None
    if not isinstance(element_type(op.result), ir.F32Type | ir.F64Type):
        return None
    parts = _parts(list(op.lhs.owner.inputs), dim, sides)
    if all(part.rows is None for part in parts):
        return None
    return _sum_of(op, parts, dim)


def _parts(inputs: Sequence[ir.Value], dim: int, sides: Sequence[OperandDims]) -> list[_Part]:
    parts: list[_Part] = []
    start = 0
    for value in inputs:
        cut = range(start, start + shape_of(value)[dim])
        start = cut.stop
        rows = _rows_of(value)
        if rows is not None and not _may_come_first(sides, 0, value, rows):
            rows = None
        if rows is None and parts and parts[-1].rows is None:
            last = parts.pop()
            parts.append(_Part([*last.values, value], None, range(last.cut.start, cut.stop)))
        else:
            parts.append(_Part([value], rows, cut))
    return parts


def _sum_of(op: hlo.DotGeneralOp, parts: Sequence[_Part], dim: int) -> ir.Value:
    """The sum of the products of the parts."""
    (summed,) = sides_of(op)[1].summed
    total: ir.Value | None = None
    for part in parts:
        x = part.values[0] if len(part.values) == 1 else hlo.concatenate(part.values, dim)
        cuts = [range(size) for size in shape_of(op.rhs)]
        cuts[summed] = part.cut
        weights = hlo.slice(
            op.rhs, [cut.start for cut in cuts], [cut.stop for cut in cuts], [1] * len(cuts)
        )
        if part.rows is None:
            product = dot(op, [x, weights], sides_of(op))
        else:
            product = _gathered_after(op, [x, weights], sides_of(op), 0, part.rows)
        total = product if total is None else hlo.add(total, product)
    assert total is not None
    return total
