"""Statistics of values, as passes record them and as users read them; the result of `trace-values`.

A pass writes six numbers for a value (`COUNT`), in the order min, max, mean, NaNs, infinities,
zeros. `trace-values` writes for each chosen value the number of runs, the six numbers over all
runs, and then a row for each of the first runs: six numbers and the iterations of the loops around.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from ...source import SourceLine, line_of_stack

COUNT = 6
"""How many numbers of a record make up `Statistics`."""


@dataclass(frozen=True)
class Statistics:
    """Statistics of the elements of a value.

    Attributes:
        type: as JAX writes it: "f32[8,128]".
        min, max: without NaNs; None if no element is left. Of complex numbers, absolute values.
        mean: over all elements: NaN if one of them is; None if there are none.
        nan, inf, zeros: how many elements are NaN, infinite, zero.
        runs: how many values of the type were counted together.
    """

    type: str
    min: float | None
    max: float | None
    mean: float | None
    nan: int
    inf: int
    zeros: int
    runs: int = 1

    @property
    def size(self) -> int:
        """The number of elements."""
        inner = re.search(r"\[([\d,]*)\]", self.type)
        sizes = inner[1].split(",") if inner and inner[1] else []
        return math.prod(map(int, sizes)) * self.runs

    @staticmethod
    def of(type_: str, numbers: Sequence[float], runs: int = 1) -> Statistics:
        """The statistics that `COUNT` numbers of a record stand for."""
        least, most, mean = map(float, numbers[:3])
        nan, inf, zeros = map(int, numbers[3:COUNT])
        if least > most:  # no element is left
            return Statistics(type_, None, None, mean if nan else None, nan, inf, zeros, runs)
        return Statistics(type_, least, most, mean, nan, inf, zeros, runs)

    def as_json(self) -> dict[str, Any]:
        """The statistics as an object; NaN and infinities as strings."""
        return {
            name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in asdict(self).items()
        }

    def __str__(self) -> str:
        if not self.size:
            return "no elements"
        parts = []
        if self.min is not None and self.max is not None:
            parts += [f"min {self.min:.6g}", f"max {self.max:.6g}"]
            if self.size == 1:
                parts = [f"{self.min:.6g}"]
        if self.mean is not None and math.isfinite(self.mean) and self.size > 1:
            parts.append(f"mean {self.mean:.6g}")
        for count, name in ((self.nan, "NaN"), (self.inf, "infinite"), (self.zeros, "zero")):
            if count and self.size > 1:
                parts.append(f"{count} of {self.size} {name}")
        return ", ".join(parts) or "NaN"


@dataclass(frozen=True)
class TracedValue:
    """The statistics of one value of a program, recorded by `trace-values`.

    Attributes:
        op: the op that computes it, such as "dot_general".
        path: JAX's name of the op.
        place: the user's line; None if no location gives one.
        type: as JAX writes it.
        runs: how often it was computed: once, outside of loops.
        total: over all runs; None if it was never computed.
        each: for the first runs, in order: the iterations of the loops around the op, the outermost
            loop first, counted from 0; and the statistics.
    """

    op: str
    path: str
    place: SourceLine | None
    type: str
    runs: int
    total: Statistics | None
    each: tuple[tuple[tuple[int, ...], Statistics], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The value as an object. "turns" repeats "iterations", under its former name."""
        return {
            "op": self.op,
            "path": self.path,
            "file": self.place.file if self.place else None,
            "line": self.place.line if self.place else None,
            "type": self.type,
            "runs": self.runs,
            "total": self.total.as_json() if self.total else None,
            "each": [
                {"iterations": list(iterations), "turns": list(iterations), **found.as_json()}
                for iterations, found in self.each
            ],
        }

    def __str__(self) -> str:
        where = f" at {self.place}" if self.place else ""
        head = f"{self.op}{where}  {self.type}"
        if self.total is None:
            return f"{head}  never computed"
        if not self.each:
            return f"{head}  {self.total}"
        lines = [f"{head}  {self.runs} runs: {self.total}"]
        for iterations, found in self.each:
            lines.append(f"  iteration {', '.join(map(str, iterations))}: {found}")
        if self.runs > len(self.each):
            lines.append(f"  and {self.runs - len(self.each)} more (iterations=N shows more)")
        return "\n".join(lines)


def traced_values(table: dict[str, Any], numbers: Sequence[float]) -> list[TracedValue]:
    """The values in a record of `trace-values`.

    Args:
        table: what the numbers mean, as the pass writes it.
        numbers: the record.
    """
    rest = iter(numbers)
    found = []
    for entry in table["values"]:
        type_ = entry["type"]
        runs, *whole = islice(rest, 1 + COUNT)
        rows = [list(islice(rest, COUNT + entry["depth"])) for _ in range(entry["rows"])]
        total = None
        if runs:
            least, most, sum_of_means, *counts = whole
            total = Statistics.of(type_, [least, most, sum_of_means / runs, *counts], int(runs))
        each = tuple(
            (tuple(map(int, row[COUNT:])), Statistics.of(type_, row[:COUNT]))
            for row in rows[: int(runs)]
        )
        line = line_of_stack(table["stacks"][entry["stack"]])
        found.append(TracedValue(entry["op"], entry["path"], line, type_, int(runs), total, each))
    return found
