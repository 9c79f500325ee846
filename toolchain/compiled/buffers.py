"""The buffers of a compiled program, and which are live when its temporaries take the most memory.

With `xla_dump_to` XLA writes `*-buffer-assignment.txt`, with the memory of each value, and
`*-live-range.txt`, with the steps of the schedule in which it is needed. `parse_assignment` and
`parse_live_ranges` read them. `regions_at_peak` adds up the live bytes of each step, and returns
the memory that is live at the step with the most. A value that is updated in place shares its
memory with its successor, so overlapping values are one region; XLA's own list of the values at the
peak counts both.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

_ALLOCATION = re.compile(r"allocation \d+: size (\d+)(.*):$")
_VALUE = re.compile(
    r"\s*value: <\d+ ([^\s{]+)(?:\{([\d,]*)\})?(?: \(phi\))? @\d+> "
    r"\(size=(\d+),offset=(\d+)\): (.*)$"
)
_RANGE = re.compile(r"\s*([^\s{]+)\{([\d,]*)\}:(\d+)-(\d+)$")
_QUOTED = re.compile(r"\|.*?\|")
_COLOR = re.compile(r"color (\d+)")
LAYOUT = re.compile(r"\{[^{}]*\}|/\*.*?\*/")
"""The parts of a shape in XLA's dumps other than the element type and the dimensions."""

Index = tuple[int, ...]


@dataclass(frozen=True)
class Value:
    """The result of an instruction, or a part of it, and its position in an allocation.

    Attributes:
        instruction: its name in the HLO text.
        index: the part of a tuple.
        size: in bytes, with the padding of its layout.
        offset: in its allocation.
        shape: without the layout, such as "f32[8,128]"; "tuple" of a table of pointers.
    """

    instruction: str
    index: Index
    size: int
    offset: int
    shape: str

    @property
    def end(self) -> int:
        """The offset behind it."""
        return self.offset + self.size


@dataclass(frozen=True)
class Allocation:
    """A piece of memory, and the values that are in it at one time or another.

    Attributes:
        size: in bytes.
        kind: "argument", "output", "temporary", "constant"; "other" for values inside a kernel.
        space: the memory space; 0 is main memory.
        is_output: whether it holds an output, as that of a donated argument may.
        values: those in it.
    """

    size: int
    kind: str
    space: int
    is_output: bool
    values: tuple[Value, ...]


class LiveRange(NamedTuple):
    """The steps of the schedule, from `start` to `end` inclusive, in which a value is needed."""

    start: int
    end: int


def parse_assignment(text: str) -> tuple[Allocation, ...]:
    """The allocations in the text of a `*-buffer-assignment.txt`; none for another text."""
    found: list[tuple[re.Match[str], list[Value]]] = []
    for line in text.splitlines():
        head = _ALLOCATION.match(line)
        if head is not None:
            found.append((head, []))
        elif found and (fields := _VALUE.match(line)):
            name, index, size, offset, shape = fields.groups()
            shape = "tuple" if shape.startswith("(") else LAYOUT.sub("", shape)
            found[-1][1].append(Value(name, _index(index), int(size), int(offset), shape))
    return tuple(_allocation(head, values) for head, values in found)


def _index(text: str | None) -> Index:
    return tuple(int(each) for each in (text or "").split(",") if each)


def _allocation(head: re.Match[str], values: list[Value]) -> Allocation:
    words = _QUOTED.sub("", head[2])
    color = _COLOR.search(words)
    return Allocation(
        int(head[1]),
        next((kind for word, kind in _KINDS.items() if word in words), "other"),
        int(color[1]) if color else 0,
        "maybe-live-out" in words,
        tuple(values),
    )


_KINDS = {
    "thread-local": "other",
    "parameter ": "argument",
    ", constant": "constant",
    "maybe-live-out": "output",
    "preallocated-temp": "temporary",
}
"""Words of an allocation's description, and its kind. The first that occurs counts."""


Ranges = Mapping[tuple[str, Index], LiveRange]
"""Live ranges by instruction and part of a tuple."""


def parse_live_ranges(text: str) -> Ranges:
    """The ranges in the text of a `*-live-range.txt`."""
    found = {}
    for line in text.partition("BufferLiveRange:")[2].splitlines()[1:]:
        fields = _RANGE.match(line)
        if fields is None:  # the section about the peak follows, which lists values again
            break
        name, index, start, end = fields.groups()
        found[name, _index(index)] = LiveRange(int(start), int(end))
    return found


# -- the peak -------------------------------------------------------------------------------------


class Region(NamedTuple):
    """A piece of an allocation without a gap, and the values that are there at one step.

    Attributes:
        bytes: its size.
        values: the largest first.
    """

    bytes: int
    values: tuple[Value, ...]


def regions_at_peak(allocations: Iterable[Allocation], ranges: Ranges) -> list[Region]:
    """The memory that is live when the temporaries take the most, the largest region first."""
    chunks = [
        [(value, steps) for value in each.values if (steps := range_of(value, ranges))]
        for each in allocations
    ]
    peak = _peak(chunks)
    found: list[Region] = []
    for chunk in chunks:
        found += _regions(value for value, steps in chunk if steps.start <= peak <= steps.end)
    return sorted(found, key=lambda region: -region.bytes)


def range_of(value: Value, ranges: Ranges) -> LiveRange | None:
    """The steps in which a value is needed; None if XLA does not list it."""
    return ranges.get((value.instruction, value.index))


def _peak(chunks: Iterable[Iterable[tuple[Value, LiveRange]]]) -> int:
    """The first step at which the most bytes are live.

    Values at one offset are live together only where one is updated in place, so only the largest
    of them counts. This takes time linear in the number of values.

    Args:
        chunks: the values of each allocation.
    """
    at_step: dict[int, list[tuple[int, int, Value]]] = defaultdict(list)
    for allocation, chunk in enumerate(chunks):
        for value, steps in chunk:
            at_step[steps.start].append((allocation, 1, value))
            at_step[steps.end + 1].append((allocation, -1, value))
    sizes: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    live = most = peak = 0
    for step in sorted(at_step):
        for allocation, sign, value in at_step[step]:
            sizes_here = sizes[allocation, value.offset]
            before = max(+sizes_here, default=0)
            sizes_here[value.size] += sign
            live += max(+sizes_here, default=0) - before
        if live > most:
            most, peak = live, step
    return peak


def _regions(values: Iterable[Value]) -> list[Region]:
    """The values in groups that overlap, one region each."""
    groups: list[list[Value]] = []
    end = -1
    for value in sorted(values, key=lambda value: (value.offset, -value.size)):
        if value.offset >= end:
            groups.append([])
        groups[-1].append(value)
        end = max(end, value.end)
    return [
        Region(
            max(value.end for value in group) - group[0].offset,
            tuple(sorted(group, key=lambda value: -value.size)),
        )
        for group in groups
    ]
