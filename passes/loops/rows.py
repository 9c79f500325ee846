"""Values of a loop's body, computed for all iterations at once outside of the loop.

A value that differs between iterations becomes a tensor with a row for each iteration along its
first dimension, in the order of the iterations or in reverse. Ops of the body are applied to these
tensors as by `jax.vmap`. Loop-invariant values stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.elementwise import is_elementwise
from jxc.ir.values import element_type, shape_of, splat_attr
from jxc.rewrite.annotations import has_annotation

from .._shared.elementwise import numeric_shape, with_shape
from .._shared.reduce_body import combiner_of
from .._shared.region import copy_regions
from .counted import CountedLoop, Row

SHAPING = (
    hlo.BroadcastInDimOp,
    hlo.ConcatenateOp,
    hlo.ReshapeOp,
    hlo.SliceOp,
    hlo.TransposeOp,
)
_CONSTANT = (hlo.ConstantOp, hlo.IotaOp)

_Operands: TypeAlias = Sequence[tuple[ir.Value, bool]]
"""The operands of an op outside of the loop, each with whether it has a row for each iteration."""


def can_have_rows(op: ir.OpView) -> bool:
    """Whether `Rows` can compute an op for all iterations, given its operands."""
    kind = type(op)
    is_plain = is_elementwise(op) or kind in SHAPING or kind in _CONSTANT
    if not is_plain and kind not in (hlo.DotGeneralOp, hlo.ReduceOp):
        return False
    if kind is hlo.ReduceOp and (len(op.results) != 1 or combiner_of(op) is None):
        return False
    return numeric_shape(*op.results, *op.operands) is not None and not has_annotation(op)


def reshaped(value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """`value` reshaped; a reshape that this undoes is left out."""
    match value.owner:
        case hlo.ReshapeOp(operand=x) if shape_of(x) == tuple(shape):
            return x
    return build.reshape(value, shape)


class Rows:
    """Builds values of the body of `loop` for all iterations, at the current insertion point.

    Args:
        loop: the loop.
        is_reverse: whether the row of the last iteration comes first.
        known: values of the body whose rows exist, with their rows.
        written: values of which the loop writes a row to a tensor, with the row and the tensor.
    """

    def __init__(
        self,
        loop: CountedLoop,
        is_reverse: bool,
        known: Iterable[tuple[ir.Value, ir.Value]] = (),
        written: Mapping[ir.Value, tuple[Row, ir.Value]] = MappingProxyType({}),
    ) -> None:
        self._loop = loop
        self._is_reverse = is_reverse
        self._rows = dict(known)
        self._written = written
        self._once: dict[ir.Value, ir.Value] = {}

    def __contains__(self, value: ir.Value) -> bool:
        """Whether the rows of `value` exist already."""
        return value in self._rows or value in self._written

    def of(self, value: ir.Value) -> ir.Value:
        """The rows of `value`; all are equal if it is loop-invariant."""
        found, has_rows = self.maybe(value)
        shape = shape_of(found)
        if has_rows:
            return found
        return build.broadcast(found, [self._loop.trips, *shape], range(1, len(shape) + 1))

    def maybe(self, value: ir.Value) -> tuple[ir.Value, bool]:
        """The rows of `value` and True, or the value and False if it is loop-invariant."""
        if value in self._rows:
            return self._rows[value], True
        if self._loop.is_outside(value):
            return value, False
        if value in self._once:
            return self._once[value], False
        if value in self._written:
            place, tensor = self._written[value]
            rows = self._read(replace(place, tensor=tensor))
            self._rows[value] = reshaped(rows, [self._loop.trips, *shape_of(value)])
            return self._rows[value], True
        with value.owner.location:
            if (row := self._loop.row_of(value)) is not None:
                self._rows[value] = self._read(row)
                return self._rows[value], True
            operands = [self.maybe(each) for each in value.owner.operands]
            has_rows = any(rows for _, rows in operands)
            found = (_with_rows if has_rows else _again)(value.owner, operands, self._loop.trips)
        (self._rows if has_rows else self._once)[value] = found
        return found, has_rows

    def _read(self, row: Row) -> ir.Value:
        """All rows that the loop reads from a tensor, each with its dimension of extent 1."""
        trips, shape = self._loop.trips, list(shape_of(row.tensor))
        least, most = row.index.bounds(trips)
        rows = build.slice_along(row.tensor, {row.dim: range(least, most + 1)})
        if (row.index.step < 0) != self._is_reverse:
            rows = hlo.reverse(rows, [row.dim])
        others = [dim for dim in range(len(shape)) if dim != row.dim]
        rows = build.transpose(rows, [row.dim, *others])
        shape[row.dim] = 1
        return reshaped(rows, [trips, *shape])


def _again(op: ir.OpView, operands: _Operands, trips: int) -> ir.Value:
    """A copy of an op that is the same in all iterations."""
    copy = op.operation.clone()
    for index, (value, _) in enumerate(operands):
        copy.operands[index] = value
    return copy.results[0]


def _with_rows(op: ir.OpView, operands: _Operands, trips: int) -> ir.Value:
    """The result of an op for all iterations; some of its operands have rows."""
    if is_elementwise(op):
        return _elementwise(op, operands, trips)
    return _WITH_ROWS[type(op)](op, operands, trips)


def _elementwise(op: ir.OpView, operands: _Operands, trips: int) -> ir.Value:
    """An elementwise op. Loop-invariant scalars stay scalars, which `select` and `clamp` accept.

    If the result is a scalar too, it becomes a vector, and so do all operands.
    """
    shape = [trips, *shape_of(op.results[0])]
    given = []
    for value, has_rows in operands:
        may_be_scalar = len(shape) > 1 and type(op) in (hlo.SelectOp, hlo.ClampOp)
        is_scalar = may_be_scalar and not shape_of(value)
        if not has_rows and not is_scalar and (element := splat_attr(value)) is not None:
            given.append(build.splat(element, with_shape(value, shape)))
        elif is_scalar:
            given.append(value)
        else:
            first = 0 if has_rows else 1
            dims = range(first, first + len(shape_of(value)))
            given.append(build.broadcast(value, shape, list(dims)))
    copy = op.operation.clone()
    for index, value in enumerate(given):
        copy.operands[index] = value
    copy.results[0].set_type(with_shape(op.results[0], shape))
    return copy.results[0]


def _broadcast(op: hlo.BroadcastInDimOp, operands: _Operands, trips: int) -> ir.Value:
    dims = [0, *(dim + 1 for dim in op.broadcast_dimensions)]
    return build.broadcast(operands[0][0], [trips, *shape_of(op.result)], dims)


def _reshape(op: hlo.ReshapeOp, operands: _Operands, trips: int) -> ir.Value:
    return reshaped(operands[0][0], [trips, *shape_of(op.result)])


def _slice(op: hlo.SliceOp, operands: _Operands, trips: int) -> ir.Value:
    bounds = zip(op.start_indices, op.limit_indices, op.strides, strict=True)
    return build.slice_along(
        operands[0][0], {dim + 1: range(*each) for dim, each in enumerate(bounds)}
    )


def _transpose(op: hlo.TransposeOp, operands: _Operands, trips: int) -> ir.Value:
    return build.transpose(operands[0][0], [0, *(dim + 1 for dim in op.permutation)])


def _concatenate(op: hlo.ConcatenateOp, operands: _Operands, trips: int) -> ir.Value:
    rows = []
    for value, has_rows in operands:
        shape = shape_of(value)
        dims = list(range(1, len(shape) + 1))
        rows.append(value if has_rows else build.broadcast(value, [trips, *shape], dims))
    return hlo.concatenate(rows, op.dimension.value + 1)


def _reduce(op: hlo.ReduceOp, operands: _Operands, trips: int) -> ir.Value:
    (value, _), (initial, _) = operands
    kind = with_shape(op.results[0], [trips, *shape_of(op.results[0])])
    made = hlo.ReduceOp([kind], [value], [initial], [dim + 1 for dim in op.dimensions])
    copy_regions(op, made)
    return made.results[0]


def product(
    op: hlo.DotGeneralOp, operands: _Operands, *, is_summed: bool = False
) -> tuple[ir.Value, int]:
    """A product for all iterations, or their sum.

    Args:
        op: the product of one iteration.
        operands: the left and the right one; the rows of both are summed over if `is_summed`.

    Returns:
        The product, and the dimension of its rows if it has some.
    """
    dims = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
    sides = (
        (list(dims.lhs_batching_dimensions), list(dims.lhs_contracting_dimensions)),
        (list(dims.rhs_batching_dimensions), list(dims.rhs_contracting_dimensions)),
    )
    shifted = [
        tuple([dim + has_rows for dim in each] for each in side)
        for side, (_, has_rows) in zip(sides, operands, strict=True)
    ]
    (left_batch, left_summed), (right_batch, right_summed) = shifted
    shape, batch = list(shape_of(op.result)), len(left_batch)
    (left, left_has_rows), (right, right_has_rows) = operands
    trips = shape_of(left if left_has_rows else right)[0]
    at = 0
    if is_summed:
        left_summed, right_summed = [0, *left_summed], [0, *right_summed]
    elif left_has_rows and right_has_rows:
        left_batch, right_batch = [0, *left_batch], [0, *right_batch]
    elif left_has_rows:
        at = batch
    else:
        at = batch + len(shape_of(left)) - len(left_batch) - len(left_summed)
    if not is_summed:
        shape.insert(at, trips)
    numbers = hlo.DotDimensionNumbers.get(left_batch, right_batch, left_summed, right_summed)
    found = hlo.dot_general(
        ir.RankedTensorType.get(shape, element_type(op.result)),
        left,
        right,
        numbers,
        precision_config=op.precision_config,
        algorithm=op.algorithm,
    )
    return found, at


def _product(op: hlo.DotGeneralOp, operands: _Operands, trips: int) -> ir.Value:
    found, at = product(op, operands)
    others = [dim for dim in range(len(shape_of(found))) if dim != at]
    return build.transpose(found, [at, *others])


_WITH_ROWS: dict[type, Callable[..., ir.Value]] = {
    hlo.BroadcastInDimOp: _broadcast,
    hlo.ConcatenateOp: _concatenate,
    hlo.DotGeneralOp: _product,
    hlo.ReduceOp: _reduce,
    hlo.ReshapeOp: _reshape,
    hlo.SliceOp: _slice,
    hlo.TransposeOp: _transpose,
}
