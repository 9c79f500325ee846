"""When a program's temporaries need the most memory, and which values lie there then."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .memory_assignment import Allocation, Index, LiveRange, Value

Ranges = Mapping[tuple[str, Index], LiveRange]


@dataclass(frozen=True)
class Region:
    """Bytes of an allocation without a gap, and the values that lie there at one moment.

    Attributes:
        bytes: how many there are.
        values: the largest first.
    """

    bytes: int
    values: tuple[Value, ...]


def regions_at_peak(allocations: Iterable[Allocation], ranges: Ranges) -> list[Region]:
    """What is live when the temporaries in these allocations take the most, the largest first.

    A value that is updated in place shares its memory with its successor. XLA's own list of what
    is live at the peak counts both; here they are one region.
    """
    chunks = [allocation.values for allocation in allocations]
    moment = _peak([_changes(values, ranges) for values in chunks])
    found = [
        region
        for values in chunks
        for region in _regions([v for v in values if _is_live(v, moment, ranges)])
    ]
    return sorted(found, key=lambda region: -region.bytes)


def range_of(value: Value, ranges: Ranges) -> LiveRange | None:
    """The steps in which a value is needed; None where XLA does not say."""
    return ranges.get((value.instruction, value.index))


def _is_live(value: Value, moment: int, ranges: Ranges) -> bool:
    steps = range_of(value, ranges)
    return steps is not None and steps.start <= moment <= steps.end


def _changes(values: Iterable[Value], ranges: Ranges) -> list[tuple[int, int, Value]]:
    """Each step at which values come (1) or are gone (-1)."""
    found = []
    for value in values:
        steps = range_of(value, ranges)
        if steps is not None:
            found += [(steps.start, 1, value), (steps.end + 1, -1, value)]
    return found


def _peak(changes: Sequence[list[tuple[int, int, Value]]]) -> int:
    """The first step at which the most bytes are live.

    Values at one offset are live together only where one is updated in place, so the largest of
    them counts: that keeps this linear in the number of values.
    """
    at_step: dict[int, list[tuple[int, int, Value]]] = defaultdict(list)
    for allocation, each in enumerate(changes):
        for step, sign, value in each:
            at_step[step].append((allocation, sign, value))
    sizes: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    live = most = moment = 0
    for step in sorted(at_step):
        for allocation, sign, value in at_step[step]:
            here = sizes[allocation, value.offset]
            before = max(+here, default=0)
            here[value.size] += sign
            live += max(+here, default=0) - before
        if live > most:
            most, moment = live, step
    return moment


def _regions(values: Iterable[Value]) -> list[Region]:
    """Values that overlap, together."""
    groups: list[list[Value]] = []
    end = -1
    for value in sorted(values, key=lambda value: (value.offset, -value.size)):
        if value.offset >= end:
            groups.append([])
        groups[-1].append(value)
        end = max(end, value.end)
    return [_region(group) for group in groups]


def _region(values: list[Value]) -> Region:
    size = max(value.end for value in values) - values[0].offset
    return Region(size, tuple(sorted(values, key=lambda value: -value.size)))
