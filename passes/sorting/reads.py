"""Which elements of a sorted axis its users read: the same few positions, or one of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.arithmetic_sequences import sequence_of
from jxc.ir.values import element_type, is_integer, shape_of, static_shape


@dataclass(frozen=True)
class Read:
    """The positions along an axis that an op reads, of all rows.

    Attributes:
        fixed: the positions that are constants.
        indices: an integer value with the other positions, which are clamped to the axis.
        rows: the dimensions of `indices` that are rows, each with its own positions; none if all
            rows have the same.
        count: how many other positions there are, of each row.
    """

    fixed: Sequence[int] = ()
    indices: ir.Value | None = None
    rows: Sequence[int] = ()
    count: int = 0

    def positions(self, size: int, rows: Sequence[int]) -> list[ir.Value]:
        """The other positions: `count` values of i32 of the shape `rows`.

        Args:
            size: of the axis.
            rows: the extents of the other dimensions.
        """
        indices = self.indices
        if indices is None:
            return []
        element, shape = element_type(indices), shape_of(indices)
        last, zero = build.scalar(size - 1, element), build.scalar(0, element)
        clamped = build.convert(hlo.clamp(zero, indices, last), ir.IntegerType.get_signless(32))
        order = [dim for dim in range(len(shape)) if dim not in self.rows] + list(self.rows)
        own = [shape[dim] for dim in self.rows]
        table = build.reshape(build.transpose(clamped, order), [self.count, *own])
        parts = (build.slice_along(table, {0: range(i, i + 1)}) for i in range(self.count))
        return [build.broadcast(build.reshape(x, own), rows, range(len(own))) for x in parts]


def read_of(op: ir.OpView, dim: int) -> Read | None:
    """The positions along `dim` of its first operand that `op` reads; None for other ops."""
    match op:
        case hlo.SliceOp(start_indices=start, limit_indices=limit, strides=stride):
            return Read(fixed=range(start[dim], limit[dim], stride[dim]))
        case hlo.DynamicSliceOp(slice_sizes=sizes, start_indices=starts) if sizes[dim] == 1:
            return _of_indices(starts[dim])
        case hlo.GatherOp():
            return _of_gather(op, dim)
    return None


def _of_indices(indices: ir.Value, rows: Sequence[int] = ()) -> Read | None:
    shape = static_shape(indices)
    if shape is None or not is_integer(indices) or ir.IntegerType(element_type(indices)).width < 32:
        return None
    count = prod(size for dim, size in enumerate(shape) if dim not in rows)
    return Read((), indices, rows, count) if count else None


def _of_gather(op: hlo.GatherOp, dim: int) -> Read | None:
    """One position of all rows for each index; or of each row, if the indices have all rows."""
    numbers = hlo.GatherDimensionNumbers(op.dimension_numbers)
    starts, batch = list(numbers.start_index_map), list(numbers.operand_batching_dims)
    shape, sizes = shape_of(op.operand), list(op.slice_sizes)
    others = [each for each in range(len(shape)) if each != dim]
    if sizes[dim] != 1 or numbers.index_vector_dim != len(shape_of(op.start_indices)) - 1:
        return None
    if starts == [dim] and batch in ([], others):
        return _of_indices(op.start_indices, list(numbers.start_indices_batching_dims))
    if sorted(starts) == list(range(len(shape))) and set(sizes) == {1}:
        return _of_rows(op.start_indices, starts, dim, [shape[each] for each in others])
    return None


def _of_rows(
    indices: ir.Value, starts: Sequence[int], dim: int, extents: Sequence[int]
) -> Read | None:
    """The positions in indices of single elements, of which the others count the rows."""
    parts, shape = _columns(indices), shape_of(indices)
    ahead = len(shape) - 1 - len(extents)
    if len(parts) != len(starts) or ahead < 0 or list(shape[ahead:-1]) != extents:
        return None
    rows = range(ahead, len(shape) - 1)
    others = [each for each in sorted(starts) if each != dim]
    for each, row in zip(others, rows, strict=True):
        steps = tuple(int(d == row and shape[d] > 1) for d in range(len(shape)))
        if sequence_of(parts[starts.index(each)]) != (0, steps):
            return None
    return _of_indices(parts[starts.index(dim)], rows)


def _columns(indices: ir.Value) -> list[ir.Value]:
    """The operands of which `indices` is a concatenation along the last dimension, each of 1."""
    match indices.owner:
        case hlo.ConcatenateOp(inputs=parts, dimension=along):
            last = len(shape_of(indices)) - 1
            if along.value == last and all(shape_of(part)[last] == 1 for part in parts):
                return list(parts)
    return []
