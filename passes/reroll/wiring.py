"""How the repetitions of a run are wired, and which of them can be the iterations of one loop.

Each repetition is a row; a column is an operand of one of its ops. In all rows of a loop, the value
in a column comes from one source: the same result of the same repetition, the same result of an
earlier repetition (a carry), or from outside of the loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from .sequence import OFFSETS, Run, Sequence, Slot, slots_of

_OUTSIDE = np.iinfo(np.int64).max
_RESULTS = 1 << 16  # a source is a position times this, plus the number of a result


@dataclass(frozen=True)
class Source:
    """A result of an op, computed `delay` repetitions before the one that uses it."""

    op: int
    result: int
    delay: int


@dataclass(frozen=True)
class Wiring:
    """Repetitions that can be the iterations of one loop.

    Attributes:
        rows: the ops of each repetition.
        slots: the operands of each repetition, in the same order.
        carried: the source of each slot whose value an earlier repetition computes.
        outside: the slots whose values come from outside of the loop.
        constants: the values computed from constants, each with the first that is equal to it.
    """

    rows: list[list[ir.OpView]]
    slots: list[list[Slot]]
    carried: dict[int, Source]
    outside: list[int]
    constants: Mapping[ir.Value, ir.Value]

    @property
    def count(self) -> int:
        """The number of iterations."""
        return len(self.rows)

    @cached_property
    def columns(self) -> list[list[ir.Value]]:
        """The value of each slot in each repetition, before the loop is built."""
        return [
            [self.constants.get(value, value) for value in (slot.value for slot in slots)]
            for slots in zip(*self.slots, strict=True)
        ]

    def values(self, column: int) -> list[ir.Value]:
        """The value of a slot in each repetition."""
        return self.columns[column]

    @cached_property
    def _inside(self) -> set[ir.Operation]:
        return {op.operation for row in self.rows for op in row} | {
            slot.owner.operation for row in self.slots for slot in row
        }

    def is_used_outside(self, value: ir.Value) -> bool:
        """Whether an op that is not in a repetition uses `value`."""
        return any(use.owner.operation not in self._inside for use in value.uses)

    @cached_property
    def varying_offsets(self) -> dict[int, list[list[int]]]:
        """The offsets of the slices and pads that differ between repetitions, by position."""
        found = {}
        for position, ops in enumerate(zip(*self.rows, strict=True)):
            if (names := OFFSETS.get(ops[0].operation.name)) is not None:
                offsets = [list(op.attributes[names[0]]) for op in ops]
                if any(each != offsets[0] for each in offsets):
                    found[position] = offsets
        return found

    @property
    def is_loop(self) -> bool:
        """Whether its values can be stacked, and its offsets computed."""
        stacked = {
            value.type
            for op, result in self.uses_outside
            for value in [self.rows[0][op].results[result]]
        }
        stacked |= {v[0].type for c in self.outside if len(set(v := self.values(c))) > 1}
        return all(map(_can_be_stacked, stacked)) and all(
            _can_be_dynamic(row[position]) for position in self.varying_offsets for row in self.rows
        )

    @cached_property
    def uses_outside(self) -> dict[tuple[int, int], dict[int, list[Slot]]]:
        """The uses of results outside of the loop, by op and result, then by iteration."""
        found: dict[tuple[int, int], dict[int, list[Slot]]] = {}
        for number, row in enumerate(self.rows):
            for position, op in enumerate(row):
                for index, result in enumerate(op.results):
                    uses = [
                        Slot(use.owner, use.operand_number)
                        for use in result.uses
                        if use.owner.operation not in self._inside
                    ]
                    if uses:
                        found.setdefault((position, index), {})[number] = uses
        return found


def _can_be_stacked(kind: ir.Type) -> bool:
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return False
    return isinstance(kind.element_type, (ir.IntegerType, ir.FloatType, ir.ComplexType))


def _can_be_dynamic(op: ir.OpView) -> bool:
    """Whether a dynamic slice or update can replace a slice or pad."""
    if not all(_can_be_stacked(value.type) for value in (*op.operands, *op.results)):
        return False
    if len(op.attributes) != 3:
        return False  # such as a sharding, which belongs to the slice
    if isinstance(op, hlo.SliceOp):
        return set(op.strides) <= {1}
    padding = (*op.edge_padding_low, *op.edge_padding_high)
    return not any(op.interior_padding) and min(padding, default=0) >= 0


def wiring_of(sequence: Sequence, run: Run, min_repeats: int) -> Wiring | None:
    """The largest part of a run that one loop can compute; None if it has too few repetitions.

    Also None if no repetition uses a result of an earlier one: a loop would make parallel work
    sequential.
    """
    rows, slots, sources = _rows(sequence.ops, run)
    first, last = _longest_alike(sources)
    period = run.period
    if last - first < 1:
        return None
    shape = sources[last - 1] // _RESULTS
    outside = sources[last - 1] == _OUTSIDE
    earlier = ~outside & (shape < 0)
    if not earlier.any():
        return None
    delays = np.where(earlier, -(shape // period), 0)
    start = next(
        each
        for each in range(max(first - int(delays.max()), 0), first + 1)
        if _starts_at(each, first, sources, delays, outside, period)
    )
    if last - start < max(min_repeats, int(delays.max()) + 1):
        return None
    carried = {
        int(column): Source(
            int(shape[column] % period),
            int(sources[last - 1][column] % _RESULTS),
            int(delays[column]),
        )
        for column in np.flatnonzero(earlier)
    }
    columns = np.flatnonzero(outside).tolist()
    return Wiring(rows[start:last], slots[start:last], carried, columns, sequence.constants)


def _rows(
    ops: list[ir.OpView], run: Run
) -> tuple[list[list[ir.OpView]], list[list[Slot]], np.ndarray]:
    """The ops and operands of each repetition, and the source of each operand.

    A source is a position relative to the start of the repetition, and a result; `_OUTSIDE` for a
    value from outside of the run.
    """
    rows = [ops[at : at + run.period] for at in run.starts]
    made = {
        result: (number * run.period + position) * _RESULTS + index
        for number, row in enumerate(rows)
        for position, op in enumerate(row)
        for index, result in enumerate(op.results)
    }
    slots = [[slot for op in row for slot in slots_of(op)] for row in rows]
    sources = np.array([[made.get(s.value, _OUTSIDE) for s in row] for row in slots], np.int64)
    base = np.arange(len(rows), dtype=np.int64)[:, None] * (run.period * _RESULTS)
    return rows, slots, np.where(sources == _OUTSIDE, _OUTSIDE, sources - base)


def _longest_alike(sources: np.ndarray) -> tuple[int, int]:
    """The start and the end of the longest range of rows with the same sources."""
    best, first = (0, 0), 0
    for row in range(1, len(sources) + 1):
        if row == len(sources) or (sources[row] != sources[first]).any():
            best = max(best, (first, row), key=lambda each: each[1] - each[0])
            first = row
    return best


def _starts_at(
    start: int,
    first: int,
    sources: np.ndarray,
    delays: np.ndarray,
    outside: np.ndarray,
    period: int,
) -> bool:
    """Whether rows from `start` on can be iterations, if those from `first` on can.

    Later rows use results of earlier iterations. The first rows have none: in these columns they
    use results from before the loop, or other values.
    """
    for row in range(start, first):
        before = (sources[row] == _OUTSIDE) | (sources[row] // _RESULTS < (start - row) * period)
        early = outside | (delays > row - start)
        if not np.where(early, before, sources[row] == sources[first]).all():
            return False
    return True
