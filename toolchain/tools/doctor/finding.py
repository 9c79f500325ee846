"""What a check found: where, what it costs, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...source import SourceLine
from ...units import show_bytes, show_count


@dataclass(frozen=True)
class Cost:
    """What a finding costs, as far as it is known: None for what is not.

    Attributes:
        bytes: of memory held, or moved in one run.
        seconds: in one run.
        flops: in one run.
        compile_seconds: of each compilation.
        calls: how often the host is called, or a kernel is started, in one run.
        how: where the figures are from, such as "by the shapes" or "measured".
    """

    bytes: float | None = None
    seconds: float | None = None
    flops: float | None = None
    compile_seconds: float | None = None
    calls: float | None = None
    how: str = ""

    def __str__(self) -> str:
        """The figures in words: "4 MiB, 1.2 ms (by the roofline of cpu)"."""
        parts = [
            None if self.bytes is None else show_bytes(self.bytes),
            None if self.seconds is None else _show_seconds(self.seconds),
            None if self.flops is None else f"{show_count(self.flops)} flops",
            None if self.compile_seconds is None else f"{self.compile_seconds:.2g} s of compiling",
            None if self.calls is None else f"{show_count(self.calls)} calls",
        ]
        told = ", ".join(part for part in parts if part)
        return f"{told} ({self.how})" if told and self.how else told

    def as_json(self) -> dict[str, Any]:
        """The figures that are known, and where they are from."""
        names = ("bytes", "seconds", "flops", "compile_seconds", "calls")
        known = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return {**known, "how": self.how}


def _show_seconds(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


@dataclass(frozen=True)
class Finding:
    """Something that makes a program slow, large or slow to compile.

    Attributes:
        place: the user's line; None where nobody knows.
        message: what was found, a sentence.
        fix: what to do about it, in plain words.
        cost: what it costs.
        name: of the check, such as "gather-as-slice".
    """

    place: SourceLine | None
    message: str
    fix: str
    cost: Cost = field(default_factory=Cost)
    name: str = ""

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        cost = f" [{self.cost}]" if str(self.cost) else ""
        return f"{where}{self.name}: {self.message}{cost}"

    def as_json(self) -> dict[str, Any]:
        """The same, the line as file, number and text."""
        place = self.place
        return {
            "name": self.name,
            "file": place.file if place else None,
            "line": place.line if place else None,
            "source": place.text if place else "",
            "message": self.message,
            "cost": self.cost.as_json(),
            "fix": self.fix,
        }
