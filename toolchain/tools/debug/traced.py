"""What `trace-values` wrote down, as values and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...source import SourceLine
from .finding import place_of
from .numbers import COUNT, Statistics


@dataclass(frozen=True)
class TracedValue:
    """The statistics of one value of a program.

    Attributes:
        op: the op that makes it, such as "dot_general".
        path: the name that JAX gave the op.
        place: the user's line; None where no location says so.
        type: as JAX writes it.
        runs: how often it was made: once, outside of loops.
        total: over all runs; None where it was never made.
        each: of the first runs, in order: the turns of the loops around it, the outermost first,
            counted from 0, and the statistics.
    """

    op: str
    path: str
    place: SourceLine | None
    type: str
    runs: int
    total: Statistics | None
    each: tuple[tuple[tuple[int, ...], Statistics], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {
            "op": self.op,
            "path": self.path,
            "file": self.place.file if self.place else None,
            "line": self.place.line if self.place else None,
            "type": self.type,
            "runs": self.runs,
            "total": self.total.as_json() if self.total else None,
            "each": [{"turns": list(turns), **found.as_json()} for turns, found in self.each],
        }

    def __str__(self) -> str:
        where = f" at {self.place}" if self.place else ""
        head = f"{self.op}{where}  {self.type}"
        if self.total is None:
            return f"{head}  never made"
        if not self.each:
            return f"{head}  {self.total}"
        lines = [f"{head}  {self.runs} runs: {self.total}"]
        for turns, found in self.each:
            lines.append(f"  iteration {', '.join(map(str, turns))}: {found}")
        if self.runs > len(self.each):
            lines.append(f"  and {self.runs - len(self.each)} more (iterations=N shows more)")
        return "\n".join(lines)


def traced_values(table: dict[str, Any], numbers: Sequence[float]) -> list[TracedValue]:
    """What a record of `trace-values` says."""
    found, at = [], 0
    for entry in table["values"]:
        width = COUNT + entry["depth"]
        rows = entry["rows"]
        end = at + 1 + COUNT + rows * width
        found.append(_value(entry, numbers[at:end], width, table["stacks"]))
        at = end
    return found


def _value(
    entry: dict[str, Any], numbers: Sequence[float], width: int, stacks: Sequence[Any]
) -> TracedValue:
    runs = int(numbers[0])
    kind = entry["type"]
    total = Statistics.of(kind, _averaged(numbers[1 : 1 + COUNT], runs), runs) if runs else None
    rows = [
        numbers[1 + COUNT + row * width : 1 + COUNT + (row + 1) * width]
        for row in range(min(runs, entry["rows"]))
    ]
    each = tuple((tuple(map(int, row[COUNT:])), Statistics.of(kind, row[:COUNT])) for row in rows)
    place = place_of(stacks[entry["stack"]])
    return TracedValue(entry["op"], entry["path"], place, kind, runs, total, each)


def _averaged(total: Sequence[float], runs: int) -> list[float]:
    """The statistics over all runs: of means, their mean."""
    least, most, mean, *counts = total
    return [least, most, mean / runs, *counts]
