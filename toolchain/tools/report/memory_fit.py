"""Whether a program fits into a device's memory, by XLA's figures or by its refusal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ...units import show_bytes
from .memory_assignment import LAYOUT

_UNITS = {"": 1, "B": 1} | {unit: 1024 ** (i + 1) for i, unit in enumerate("KMGT")}
_SIZE = r"([\d.]+)([BKMGT]?)"
_TOTAL = re.compile(rf"HLO temporaries \({_SIZE}\) exceeds available HBM \({_SIZE}\)")
_USED = re.compile(rf"memory space hbm\. +Used {_SIZE} of {_SIZE} hbm")
_EXCESS = re.compile(rf"Exceeded hbm capacity by {_SIZE}")
_ALLOCATING = re.compile(r"Out of memory (?:while trying to allocate|allocating) (\d+) bytes")
_ENTRY = re.compile(rf"^ *\d+\. Size: {_SIZE} *$", re.MULTILINE)
_FIELDS = {
    "op_name": re.compile(r'op_name="((?:[^"\\]|\\.)*)"'),
    "shape": re.compile(r"Shape: (.*\S)"),
    "label": re.compile(r"XLA label: %?(.*?)(?: = .*)?$", re.MULTILINE),
    "kind": re.compile(r"Allocation type: (.*\S)"),
}
_SOURCE = re.compile(r'source_file="([^"]*)" source_line=(\d+)')


@dataclass(frozen=True)
class Fit:
    """A verdict on memory.

    Attributes:
        needed: bytes that one device must have for the program.
        available: bytes that it has; 0 where that is not known.
        largest: the allocations that make up the most of it, each in words.
        advice: what would make it less, a sentence each.
    """

    needed: int
    available: int
    largest: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    @property
    def fits(self) -> bool | None:
        """Whether it does; None where the device's memory is not known."""
        return self.needed <= self.available if self.available else None

    @property
    def rest(self) -> int:
        """Bytes that stay free; below 0 what is missing."""
        return self.available - self.needed

    def __str__(self) -> str:
        verdict = "does not fit: " if self.fits is False else "fits: " if self.fits else ""
        if not self.available:
            return f"{verdict}needs {show_bytes(self.needed)}; the device's memory is not known"
        of = f"{show_bytes(self.needed)} of {show_bytes(self.available)}"
        if self.fits:
            return f"{verdict}{of}, {show_bytes(self.rest)} free"
        excess = f", {show_bytes(-self.rest)} too much" if self.rest < 0 else ""
        return f"{verdict}needs {of}{excess}"

    def as_json(self) -> dict[str, Any]:
        """The same in numbers, with the words for people."""
        return {
            "fits": self.fits,
            "needed_bytes": self.needed,
            "available_bytes": self.available or None,
            "rest_bytes": self.rest if self.available else None,
            "largest": list(self.largest),
            "advice": list(self.advice),
        }


class Refusal(Fit):
    """The verdict when the compiler itself gave up: it does not fit, whatever the rounding."""

    @property
    def fits(self) -> bool | None:
        """False: the compiler says so. Its figures have three digits and may look equal."""
        return False


def parse_out_of_memory(message: str) -> Refusal | None:
    """The verdict in a compiler's error message; None where it is about something else.

    XLA's TPU compiler refuses what does not fit into a device's main memory ("E1000:
    CompileTimeHbmOom"), in the one form with the largest allocations. Its GPU and CPU compilers
    refuse nothing; what they say when an allocation fails at run time is understood too.

    Args:
        message: the text of the exception.
    """
    found = _USED.search(message) or _TOTAL.search(message)
    if found is None:
        failed = _ALLOCATING.search(message)
        return Refusal(int(failed[1]), 0) if failed else None
    needed, available = _size(found[1], found[2]), _size(found[3], found[4])
    excess = _EXCESS.search(message)  # three digits of this tell more than three of the total
    needed = available + _size(excess[1], excess[2]) if excess else needed
    return Refusal(needed, available, tuple(_entries(message)))


def _size(number: str, unit: str) -> int:
    return round(float(number) * _UNITS[unit])


def _entries(message: str) -> list[str]:
    """The allocations under "Largest program allocations in hbm", in words, the largest first."""
    heads = list(_ENTRY.finditer(message))
    ends = [head.start() for head in heads] + [len(message)]
    texts = (message[head.end() : end] for head, end in zip(heads, ends[1:], strict=True))
    found = zip((_size(head[1], head[2]) for head in heads), texts, strict=True)
    return [_entry(*each) for each in sorted(found, key=lambda each: -each[0])]


def _entry(size: int, text: str) -> str:
    told = {name: found[1] for name, field in _FIELDS.items() if (found := field.search(text))}
    shape = LAYOUT.sub("", told.get("shape", ""))
    source = _SOURCE.search(text)
    where = f"at {source[1]}:{source[2]}" if source else ""
    name = f"({told.get('op_name') or told.get('label', 'unnamed')})"
    words = (show_bytes(size), shape, told.get("kind", ""), where, name)
    return " ".join(word for word in words if word)
