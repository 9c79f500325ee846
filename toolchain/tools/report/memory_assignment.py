"""XLA's buffer assignment and live ranges, from the text of its dumps.

With `xla_dump_to` XLA writes `*-buffer-assignment.txt`, which says what memory each value has, and
`*-live-range.txt`, which says from which step of the schedule to which it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
"""What a shape in XLA's texts says beside the element type and the extents."""

Index = tuple[int, ...]


@dataclass(frozen=True)
class Value:
    """What an instruction gives, or one part of it, and the memory it lies in.

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
        """Where in the allocation the next value may begin."""
        return self.offset + self.size


@dataclass(frozen=True)
class Allocation:
    """A piece of memory, and the values that lie in it at one time or another.

    Attributes:
        number: XLA's.
        size: in bytes.
        kind: "argument", "output", "temporary", "constant"; "other" is not the program's own:
            values that live inside a kernel.
        space: the memory space; 0 is the main memory.
        parameter: the number of the parameter that it is, with its part of a tuple.
        is_output: whether it holds an output, which a donated argument may.
        values: what lies in it.
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
    """The allocations of a `*-buffer-assignment.txt`; empty for a text that is none."""
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
    """The ranges of a `*-live-range.txt` by instruction and part of a tuple."""
    return dict(_ranges(text))


def _ranges(text: str) -> Iterator[tuple[tuple[str, Index], LiveRange]]:
    _, _, behind = text.partition("BufferLiveRange:")
    for line in behind.splitlines()[1:]:
        found = _RANGE.match(line)
        if found is None:  # what follows tells of the peak, and names the same values again
            return
        name, index, start, end = found.groups()
        yield (name, _index(index)), LiveRange(int(start), int(end))
