"""The buffers of a compiled program, and which are live when its temporaries take the most memory.

With `xla_dump_to` XLA writes `*-buffer-assignment.txt`, which says what memory each value has, and
`*-live-range.txt`, which says in which steps of the schedule it is needed. `parse_assignment` and
`parse_live_ranges` read them. `regions_at_peak` walks the steps, adds up what is live at each, and
returns the memory that is live at the step with the most bytes. A value that is updated in place
shares its memory with its successor, so overlapping values are one region; XLA's own list of what
is live at the peak counts both.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

_ALLOCATION = re.compile(r"allocation (\d+): size (\d+)(.*):$")
_VALUE = re.compile(
    r"\s*value: <\d+ ([^\s{]+)(?:\{([\d,]*)\})?(?: \(phi\))? @\d+> "
    r"\(size=(\d+),offset=(\d+)\): (.*)$"
)
_RANGE = re.compile(r"\s*([^\s{]+)\{([\d,]*)\}:(\d+)-(\d+)$")
_QUOTED = re.compile(r"\|.*?\|")
_PARAMETER = re.compile(r"parameter (\d+)")
_INDEX = re.compile(r"at ShapeIndex \{([\d,]*)\}")
_COLOR = re.compile(r"color (\d+)")
LAYOUT = re.compile(r"\{[^{}]*\}|/\*.*?\*/")
"""What a shape in XLA's dumps has besides the element type and the dimensions."""

Index = tuple[int, ...]


@dataclass(frozen=True)
class Value:
    """The result of an instruction, or a part of it, and its place in an allocation.

    Attributes:
        instruction: its name in the HLO text.
        index: which part of a tuple.
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
        number: XLA's.
        size: in bytes.
        kind: "argument", "output", "temporary", "constant"; "other" for values inside a kernel.
        space: the memory space; 0 is main memory.
        parameter: the number of the parameter that it is, with its part of a tuple.
        is_output: whether it holds an output, which a donated argument may.
        values: those in it.
    """

    number: int
    size: int
    kind: str
    space: int
    parameter: tuple[int, Index] | None
    is_output: bool
    values: tuple[Value, ...]


@dataclass(frozen=True)
class LiveRange:
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
        elif found and (value := _VALUE.match(line)):
            found[-1][1].append(_value(value))
    return tuple(_allocation(head, values) for head, values in found)


def _value(found: re.Match[str]) -> Value:
    name, index, size, offset, shape = found.groups()
    kind = "tuple" if shape.startswith("(") else LAYOUT.sub("", shape)
    return Value(name, _index(index), int(size), int(offset), kind)


def _index(text: str | None) -> Index:
    return tuple(int(each) for each in (text or "").split(",") if each)


def _allocation(head: re.Match[str], values: list[Value]) -> Allocation:
    words = _QUOTED.sub("", head[3])
    color, part = _COLOR.search(words), _INDEX.search(words)
    number = _PARAMETER.search(words)
    parameter = (int(number[1]), _index(part[1] if part else "")) if number else None
    return Allocation(
        int(head[1]),
        int(head[2]),
        _kind(words),
        int(color[1]) if color else 0,
        parameter,
        "maybe-live-out" in words,
        tuple(values),
    )


def _kind(words: str) -> str:
    kinds = {
        "thread-local": "other",
        "parameter ": "argument",
        ", constant": "constant",
        "maybe-live-out": "output",
        "preallocated-temp": "temporary",
    }
    return next((kind for word, kind in kinds.items() if word in words), "other")


def parse_live_ranges(text: str) -> Mapping[tuple[str, Index], LiveRange]:
    """The ranges in the text of a `*-live-range.txt`, by instruction and part of a tuple."""
    return dict(_ranges(text))


def _ranges(text: str) -> Iterator[tuple[tuple[str, Index], LiveRange]]:
    _, _, behind = text.partition("BufferLiveRange:")
    for line in behind.splitlines()[1:]:
        found = _RANGE.match(line)
        if found is None:  # the section about the peak follows, which lists values again
            return
        name, index, start, end = found.groups()
        yield (name, _index(index)), LiveRange(int(start), int(end))


# -- the peak -------------------------------------------------------------------------------------

Ranges = Mapping[tuple[str, Index], LiveRange]


@dataclass(frozen=True)
class Region:
    """A piece of an allocation without a gap, and the values that are there at one step.

    Attributes:
        bytes: its size.
        values: the largest first.
    """

    bytes: int
    values: tuple[Value, ...]


def regions_at_peak(allocations: Iterable[Allocation], ranges: Ranges) -> list[Region]:
    """The memory that is live when the temporaries take the most, the largest region first."""
    chunks = [allocation.values for allocation in allocations]
    step = _peak([_changes(values, ranges) for values in chunks])
    found = [
        region
        for values in chunks
        for region in _regions([v for v in values if _is_live(v, step, ranges)])
    ]
    return sorted(found, key=lambda region: -region.bytes)


def range_of(value: Value, ranges: Ranges) -> LiveRange | None:
    """The steps in which a value is needed; None where XLA does not list it."""
    return ranges.get((value.instruction, value.index))


def _is_live(value: Value, step: int, ranges: Ranges) -> bool:
    steps = range_of(value, ranges)
    return steps is not None and steps.start <= step <= steps.end


def _changes(values: Iterable[Value], ranges: Ranges) -> list[tuple[int, int, Value]]:
    """The steps at which values become live (1) or dead (-1)."""
    found = []
    for value in values:
        steps = range_of(value, ranges)
        if steps is not None:
            found += [(steps.start, 1, value), (steps.end + 1, -1, value)]
    return found


def _peak(changes: Sequence[list[tuple[int, int, Value]]]) -> int:
    """The first step at which the most bytes are live.

    Values at one offset are live together only where one is updated in place, so only the largest
    of them counts. This takes time linear in the number of values.
    """
    at_step: dict[int, list[tuple[int, int, Value]]] = defaultdict(list)
    for allocation, each in enumerate(changes):
        for step, sign, value in each:
            at_step[step].append((allocation, sign, value))
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
    return [_region(group) for group in groups]


def _region(values: list[Value]) -> Region:
    size = max(value.end for value in values) - values[0].offset
    return Region(size, tuple(sorted(values, key=lambda value: -value.size)))
