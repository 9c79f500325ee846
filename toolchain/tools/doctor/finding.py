"""Checks, and their findings: the line, the problem, its cost and the fix."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ...source import SourceLine
from ...units import show_bytes, show_count, show_seconds
from .program import ExaminedProgram

_SHOWS: dict[str, Callable[[float], str]] = {
    "bytes": show_bytes,
    "seconds": show_seconds,
    "flops": lambda number: f"{show_count(number)} flops",
    "compile_seconds": lambda number: f"{number:.2g} s of compiling",
    "calls": lambda number: f"{show_count(number)} calls",
}


@dataclass(frozen=True)
class FindingCost:
    """What a finding costs. A number that is not known is None.

    Attributes:
        bytes: memory that is held, or moved in one run of the program.
        seconds: in one run.
        flops: in one run.
        compile_seconds: in each compilation.
        calls: calls of the host, or kernel launches, in one run.
        how: the source of the numbers, such as "by the shapes" or "measured".
    """

    bytes: float | None = None
    seconds: float | None = None
    flops: float | None = None
    compile_seconds: float | None = None
    calls: float | None = None
    how: str = ""

    def __str__(self) -> str:
        """The known numbers as text: "4 MiB, 1.2 ms (by the roofline of cpu)"."""
        text = ", ".join(_SHOWS[name](number) for name, number in self._known().items())
        return f"{text} ({self.how})" if text and self.how else text

    def _known(self) -> dict[str, float]:
        return {name: n for name in _SHOWS if (n := getattr(self, name)) is not None}

    def as_json(self) -> dict[str, Any]:
        """The known numbers by name, and `how`."""
        return {**self._known(), "how": self.how}


@dataclass(frozen=True, repr=False)
class Finding:
    """Something that makes a program slow, large, or slow to compile.

    Attributes:
        place: the user's line; None where it is not known.
        message: what was found, as a clause without its full stop.
        fix: what to do about it, in sentences.
        cost: what it costs.
        name: the name of the check that found it, such as "gather-as-slice".
        measured: a clause on the time of its line in a profile; empty without a profile.
        measured_seconds: that time; None without a profile or a line.
    """

    place: SourceLine | None
    message: str
    fix: str
    cost: FindingCost = field(default_factory=FindingCost)
    name: str = ""
    measured: str = ""
    measured_seconds: float | None = None

    def __repr__(self) -> str:
        return f"<Finding {self}>"

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        cost = f" [{self.cost}]" if str(self.cost) else ""
        return f"{where}{self.name}: {self.message}{cost}"

    def as_json(self) -> dict[str, Any]:
        """The finding as an object; its line as a file, a number and the text."""
        place = self.place
        return {
            "name": self.name,
            "file": place.file if place else None,
            "line": place.line if place else None,
            "source": place.text if place else "",
            "message": self.message,
            "cost": self.cost.as_json(),
            "measured_seconds": self.measured_seconds,
            "fix": self.fix,
        }


CheckFunction = Callable[[ExaminedProgram], Iterable[Finding]]


@dataclass(frozen=True)
class DoctorCheck:
    """A function that looks for one kind of finding.

    Attributes:
        name: the name of its findings, such as "gather-as-slice".
        doc: what it finds and why that matters; `jxc doctor --list` prints it.
        needs_compiler: whether it reads the compiled program.
        reads_refusals: whether it also reads a compiler's refusal for want of memory.
        function: from a program to its findings; `run` fills in their name.
    """

    name: str
    doc: str
    needs_compiler: bool
    function: CheckFunction
    reads_refusals: bool = False

    def run(self, program: ExaminedProgram) -> list[Finding]:
        """The findings in a program, without duplicates."""
        found = [replace(each, name=self.name) for each in self.function(program)]
        return list({(each.place, each.message): each for each in found}.values())


def check(
    function: CheckFunction, *, needs_compiler: bool = False, reads_refusals: bool = False
) -> DoctorCheck:
    """Make a check of a function. The check has its name and its docstring."""
    name = function.__name__.replace("_", "-")
    doc = inspect.getdoc(function) or ""
    return DoctorCheck(name, doc, needs_compiler, function, reads_refusals)


def compiled_check(function: CheckFunction) -> DoctorCheck:
    """Make a check of a function that reads the compiled program."""
    return check(function, needs_compiler=True)


def memory_check(function: CheckFunction) -> DoctorCheck:
    """Make a check of a function that reads whether the compiled program fits into memory."""
    return check(function, needs_compiler=True, reads_refusals=True)
