"""Loops with a constant trip count: their counters, and the rows that they read and write.

JAX makes `scan`, `fori_loop` and their gradients of a `stablehlo.while` that counts up to a
constant. It reads a row of each input by a `dynamic_slice` at the counter, and writes a row of each
output by a `dynamic_update_slice`; the backward loop of a gradient starts at the last row.

    loop = CountedLoop.of(op)                  # None for other loops
    loop.trips  # the number of iterations, at least 2
    loop.index_of(value)  # value = first + step * iteration
    loop.row_of(value)  # a row of a tensor that the loop does not change
    loop.write_of(carry)  # the row that each iteration writes to a carried tensor
    loop.is_outside(value)  # computed before the loop
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.bounds import step_of, trip_count, type_bounds
from jxc.ir.module import ops_of
from jxc.ir.values import element_type, is_integer, is_used, shape_of, splat_of, users
from jxc.rewrite import once_per_visit
from jxc.rewrite.annotations import has_annotation

from .._shared.elementwise import numeric_shape

_PRODUCERS_SEEN = 6  # of an index


class Index(NamedTuple):
    """An integer that is `first + step * iteration`, and does not wrap around."""

    first: int
    step: int

    def last(self, trips: int) -> int:
        """Its value in the last of `trips` iterations."""
        return self.first + self.step * (trips - 1)

    def bounds(self, trips: int) -> tuple[int, int]:
        """Its least and its greatest value in `trips` iterations."""
        least, most = sorted((self.first, self.last(trips)))
        return least, most


@dataclass(frozen=True)
class Row:
    """A row of a tensor that only one iteration reads or writes.

    Attributes:
        tensor: from outside of the loop, or the carried tensor that is written.
        dim: the dimension of extent 1 in the row.
        index: the position along it.
    """

    tensor: ir.Value
    dim: int
    index: Index


class CountedLoop:
    """A loop of a constant number of iterations, at least two, which carries a counter by 1.

    Attributes:
        op: the loop.
        trips: the number of iterations.
        body: its block.
        ends: the values that the body returns, one for each carried value.
    """

    def __init__(self, op: hlo.WhileOp, trips: int) -> None:
        self.op = op
        self.trips = trips
        self._rows: dict[ir.Value, Row | None] = {}
        self.body: ir.Block = op.body.blocks[0]
        self.ends = list(self.body.operations[len(self.body.operations) - 1].operands)

    @classmethod
    @once_per_visit
    def of(cls, op: hlo.WhileOp) -> CountedLoop | None:
        """The loop `op`, if it counts from a constant to a constant and its extents are static."""
        trips = trip_count(op)
        if trips is None or trips < 2:
            return None
        loop = cls(op, trips)
        carry, _ = next(loop._counters(), (None, None))
        if carry is None:
            return None
        kind = type_bounds(element_type(loop.body.arguments[carry]))
        is_counted = kind is not None and trips <= kind.high
        return loop if is_counted and not loop._has_dynamic_extents() else None

    def _has_dynamic_extents(self) -> bool:
        values = (value for op in self.body.operations for value in (*op.operands, *op.results))
        kinds = [value.type for value in values]
        return any(isinstance(k, ir.RankedTensorType) and not k.has_static_shape for k in kinds)

    @cached_property
    def ops(self) -> list[ir.OpView]:
        """The ops of the body, without its terminator."""
        return ops_of(self.body)

    @cached_property
    def position(self) -> dict[ir.Value, int]:
        """The results of the ops of the body, with the position of the op in `ops`."""
        return {value: i for i, op in enumerate(self.ops) for value in op.results}

    @cached_property
    def arguments(self) -> dict[ir.Value, int]:
        """The carried values in the body, with their numbers."""
        return {argument: index for index, argument in enumerate(self.body.arguments)}

    def is_outside(self, value: ir.Value) -> bool:
        """Whether `value`, an operand of an op of the body, is computed before the loop."""
        return value not in self.position and value not in self.arguments

    @cached_property
    def counter(self) -> tuple[int, Index]:
        """The number of a carried value that counts up or down by 1, and its index."""
        return next(self._counters())

    def _counters(self) -> Iterator[tuple[int, Index]]:
        for argument, carry in self.arguments.items():
            index = self.index_of(argument)
            if index is not None and abs(index.step) == 1:
                yield carry, index

    def index_of(self, value: ir.Value, depth: int = _PRODUCERS_SEEN) -> Index | None:
        """The index that a scalar of the body equals, or None."""
        if shape_of_scalar(value) is None or not is_integer(value) or depth < 0:
            return None
        found = self._index_of(value, depth - 1)
        kind = type_bounds(element_type(value))
        if found is None or kind is None:
            return None
        least, most = found.bounds(self.trips)
        return found if kind.low <= least and most <= kind.high else None

    def _index_of(self, value: ir.Value, depth: int) -> Index | None:
        if (
            number := splat_of(value) if isinstance(value.owner, hlo.ConstantOp) else None
        ) is not None:
            return Index(int(number), 0)
        if (carry := self.arguments.get(value)) is not None:
            first, step = splat_of(self.op.operands[carry]), step_of(self.op, carry)
            return None if first is None or step is None else Index(int(first), step)
        match value.owner:
            case hlo.ConvertOp(operand=x) | hlo.ReshapeOp(operand=x):
                return self.index_of(x, depth)
            case hlo.AddOp(lhs=x, rhs=y):
                sign = 1
            case hlo.SubtractOp(lhs=x, rhs=y):
                sign = -1
            case hlo.MulOp(lhs=x, rhs=y):
                sign = 0
            case _:
                return None
        left, right = self.index_of(x, depth), self.index_of(y, depth)
        if left is None or right is None:
            return None
        if sign:
            return Index(left.first + sign * right.first, left.step + sign * right.step)
        if left.step and right.step:
            return None
        return Index(left.first * right.first, left.first * right.step + left.step * right.first)

    def row_of(self, value: ir.Value) -> Row | None:
        """The row that a `dynamic_slice` of the body reads from a tensor outside of the loop."""
        if value not in self._rows:
            self._rows[value] = self._row_of(value)
        return self._rows[value]

    def _row_of(self, value: ir.Value) -> Row | None:
        match value.owner:
            case hlo.DynamicSliceOp(operand=tensor, start_indices=starts) if self.is_outside(
                tensor
            ):
                return self._row(tensor, starts, value)
        return None

    def write_of(self, carry: int) -> tuple[Row, ir.Value] | None:
        """The row that each iteration writes to a carried tensor, which nothing else reads.

        Returns:
            The row of the carried tensor, and the value that is written, with an extent of 1; None
            if the body does something else with the carried tensor.
        """
        argument = self.body.arguments[carry]
        match self.ends[carry].owner:
            case hlo.DynamicUpdateSliceOp(operand=x, update=update, start_indices=starts) as op:
                if x != argument or len(users(argument)) != 1 or len(users(op.result)) != 1:
                    return None
                if has_annotation(op):
                    return None
                row = self._row(argument, starts, update)
                return None if row is None else (row, update)
        return None

    def _row(self, tensor: ir.Value, starts: Sequence[ir.Value], row: ir.Value) -> Row | None:
        """The row of a tensor along the one dimension in which `row` is smaller than the tensor."""
        if numeric_shape(tensor, row) is None:
            return None
        whole, part = shape_of(tensor), shape_of(row)
        along = [dim for dim, size in enumerate(part) if size != whole[dim]]
        if len(along) != 1 or part[dim := along[0]] != 1:
            return None
        index = self.index_of(starts[dim])
        if index is None or abs(index.step) != 1:
            return None
        least, most = index.bounds(self.trips)
        if least < 0 or most >= whole[dim]:
            return None  # the start would be clamped
        return Row(tensor, dim, index)

    def is_tested(self, carry: int) -> bool:
        """Whether the condition of the loop reads a carried value."""
        return is_used(self.op.cond.blocks[0].arguments[carry])

    def added_to(self, carry: int) -> list[tuple[int, ir.Value]] | None:
        """The terms that each iteration adds to a carried value.

        Returns:
            Pairs of a sign, 1 or -1, and a term, for `c + x - (y + z)`; None if the next value is
            something else, or if the body reads the carried value, or a partial sum, elsewhere.
        """
        argument, terms = self.body.arguments[carry], list(self._terms(self.ends[carry], 1))
        found = [sign for sign, value in terms if value == argument]
        if found != [1] or len(users(argument)) != 1:
            return None
        return [(sign, value) for sign, value in terms if value != argument]

    def _terms(self, value: ir.Value, sign: int) -> Iterator[tuple[int, ir.Value]]:
        """The terms of a sum, whose partial sums are used once."""
        match value.owner if value in self.position and len(users(value)) == 1 else None:
            case hlo.AddOp(lhs=x, rhs=y):
                signs = sign, sign
            case hlo.SubtractOp(lhs=x, rhs=y):
                signs = sign, -sign
            case _:
                yield sign, value
                return
        yield from self._terms(x, signs[0])
        yield from self._terms(y, signs[1])


def shape_of_scalar(value: ir.Value) -> tuple[()] | None:
    """() for a scalar tensor, else None."""
    shape = numeric_shape(value)
    return () if shape == () else None
