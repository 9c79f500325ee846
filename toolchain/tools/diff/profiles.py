"""Two profiles of `jxc profile --json` compared: seconds by line, layer, kernel and program.

Where both runs have marked steps, the seconds are the median of a step, and the spread is between
the quartiles of steps. Else they are those of the whole running time, whose spread is not known.
Rows are matched by name; lines by their file and text, so that edits elsewhere do not move them. A
line that was edited is matched with the most similar one.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...display.console import text_console
from ...errors import UsageError
from ...events.profile_file import read_profile
from ...source import short_line
from ...units import counted, show_seconds, text_width

_GROUPINGS = ("line", "layer", "kernel", "program")
_PRINTED = {"line": 12, "program": 6, "kernel": 8}
_NUMBER = re.compile(r"\(\d+\)")  # of a program, which differs from run to run
_ALIKE = 0.4  # of the letters of a line, from which on it counts as edited
_NOISE = 0.02  # without steps: smaller relative differences do not count
_MIN_SHARE = 0.001  # of the running time: rows with less in both are not compared


@dataclass(frozen=True)
class ComparedRow:
    """A line, layer, kernel or program in two profiles.

    Attributes:
        name: in the second profile, or in the first if only that one has it.
        before_name: in the first; different where a line has moved.
        detail: the text of a line, what a kernel does.
        part: of the wall clock.
        before, after: seconds of a step, or of the whole run; None if there is no such row.
        is_within_spread: whether the quartiles of the steps overlap; None if it is not known.
    """

    name: str
    before_name: str
    detail: str
    part: str
    before: float | None
    after: float | None
    is_within_spread: bool | None

    @property
    def change(self) -> float:
        """Seconds after less those before."""
        return (self.after or 0.0) - (self.before or 0.0)

    @property
    def ratio(self) -> float | None:
        """After divided by before; None if one is missing or zero."""
        return self.after / self.before if self.before and self.after is not None else None

    @property
    def differs(self) -> bool:
        """Whether the difference is outside the spread; where that is not known, above 2 %."""
        if self.is_within_spread is not None:
            return not self.is_within_spread
        return abs(self.change) > _NOISE * max(self.before or 0.0, self.after or 0.0)

    def as_json(self) -> dict[str, Any]:
        """The row as an object."""
        return asdict(self) | {"ratio": self.ratio}


@dataclass(frozen=True)
class ProfileComparison:
    """How two profiles differ.

    Attributes:
        names: of the two files.
        profiles: the two objects of `jxc profile --json`.
        is_by_step: whether seconds are those of a step.
        rows: by grouping, the largest change first.
    """

    names: tuple[str, str]
    profiles: tuple[Mapping[str, Any], Mapping[str, Any]]
    is_by_step: bool
    rows: Mapping[str, Sequence[ComparedRow]]

    @property
    def is_same(self) -> bool:
        """Whether no line differs by more than the spread."""
        return not any(row.differs for row in self.rows["line"])

    def as_json(self) -> dict[str, Any]:
        """The comparison as an object."""
        keys = ("program", "seconds", "warm_up_seconds", "running_seconds", "parts")
        sides = [
            {"file": name, "steps": len(warm_steps(found)), **{key: found[key] for key in keys}}
            for name, found in zip(self.names, self.profiles, strict=True)
        ]
        return {
            "same": self.is_same,
            "per": "step" if self.is_by_step else "run",
            "before": sides[0],
            "after": sides[1],
            "by": {by: [row.as_json() for row in rows] for by, rows in self.rows.items()},
        }


def compare_profiles(words: Sequence[str]) -> ProfileComparison:
    """Compare two files of `jxc profile --json`.

    Raises:
        UsageError: these are not two such files.
    """
    if len(words) != 2:
        raise UsageError(
            f"expected two files of `jxc profile --json`, found {len(words)}: {' '.join(words)}"
        )
    one, other = map(read_profile, words)
    is_by_step = all(any(row["step_seconds"] for row in p["by"]["line"]) for p in (one, other))
    rows = {by: list(_compared(one, other, by, is_by_step)) for by in _GROUPINGS}
    for found in rows.values():
        found.sort(key=lambda row: -abs(row.change))
    return ProfileComparison((words[0], words[1]), (one, other), is_by_step, rows)


def warm_steps(profile: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The marked steps that are no warm-up."""
    return [step for step in profile["steps"] if not step["is_warm_up"]]


# Matching


def _compared(
    one: Mapping[str, Any], other: Mapping[str, Any], by: str, is_by_step: bool
) -> Iterator[ComparedRow]:
    sides = [_RowsByKey(profile, by, is_by_step) for profile in (one, other)]
    if by == "line":
        sides[0].rename(_edited(sides[0].row, sides[1].row))
    least = [_MIN_SHARE * side.whole for side in sides]
    for key in dict.fromkeys((*sides[0].seconds, *sides[1].seconds)):
        before, after = (side.seconds.get(key) for side in sides)
        if (before or (0.0,))[0] < least[0] and (after or (0.0,))[0] < least[1]:
            continue
        row = sides[1].row[key] if after else sides[0].row[key]
        yield ComparedRow(
            name=_NUMBER.sub("", row["name"]),
            before_name=_NUMBER.sub("", sides[0].row[key]["name"]) if before else "",
            detail=(by == "line" and _text_of(row)) or row["detail"],
            part=row["part"],
            before=before and before[0],
            after=after and after[0],
            is_within_spread=_overlap(before, after) if is_by_step else None,
        )


_Seconds = tuple[float, float, float]
"""The seconds, and the limits of their spread."""


class _RowsByKey:
    """The rows of one grouping by key; those of equal keys are added up."""

    def __init__(self, profile: Mapping[str, Any], by: str, is_by_step: bool) -> None:
        self.seconds: dict[object, _Seconds] = {}
        self.row: dict[object, Mapping[str, Any]] = {}
        self.whole = 0.0
        for row in profile["by"][by]:
            low, middle, high = row["seconds"], row["seconds"], row["seconds"]
            if is_by_step:
                low, middle, high = row["step_seconds"] or (0.0, 0.0, 0.0)
            key = _key(row, by)
            added = self.seconds.get(key, (0.0, 0.0, 0.0))
            self.seconds[key] = (added[0] + middle, added[1] + low, added[2] + high)
            self.row.setdefault(key, row)
            self.whole += middle

    def rename(self, keys: Mapping[object, object]) -> None:
        """Replace keys."""
        self.seconds = {keys.get(key, key): each for key, each in self.seconds.items()}
        self.row = {keys.get(key, key): each for key, each in self.row.items()}


def _key(row: Mapping[str, Any], by: str) -> object:
    if by == "line" and _text_of(row):
        file = os.path.basename(row["line"]["file"])
        return file, _text_of(row), row["part"], row["detail"]
    return _NUMBER.sub("", row["name"]), row["part"] if by == "line" else "", ""


def _edited(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> dict[Any, Any]:
    """Lines that only the first profile has, with the most similar one of only the second."""
    pairs = [
        (difflib.SequenceMatcher(None, a[1], b[1]).ratio(), a, b)
        for a in one.keys() - other.keys()
        for b in other.keys() - one.keys()
        if (a[0], a[2], a[3:]) == (b[0], b[2], b[3:]) and len(a) == 4
    ]
    found: dict[Any, Any] = {}
    for likeness, a, b in sorted(pairs, key=lambda each: -each[0]):
        if likeness >= _ALIKE and a not in found and b not in found.values():
            found[a] = b
    return found


def _text_of(row: Mapping[str, Any]) -> str:
    return str((row["line"] or {}).get("text", ""))


def _overlap(before: _Seconds | None, after: _Seconds | None) -> bool:
    nothing = (0.0, 0.0, 0.0)
    one, other = before or nothing, after or nothing
    return one[1] <= other[2] and other[1] <= one[2]


# Text


def print_profiles(found: ProfileComparison, *, whole: bool) -> None:
    """Print a comparison; with `whole`, every row."""
    console = text_console(text_width(100))
    with console.capture() as captured:
        _print(console, found, whole)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def _print(console: Console, found: ProfileComparison, whole: bool) -> None:
    for letter, name, profile in zip("AB", found.names, found.profiles, strict=True):
        steps = len(warm_steps(profile))
        note = f", {counted(steps, 'step')} without warm-up" if steps else ""
        text = f"{letter}  {name}: {profile['program']}, {show_seconds(profile['seconds'])}{note}"
        console.print(Text(text, overflow="fold"))
    console.print()
    table = _table("A", "B", "B / A", "")
    for label, key in (("in all", "seconds"), ("warm-up", "warm_up_seconds")):
        table.add_row(*_numbers(*(p[key] for p in found.profiles)), label)
    table.add_row(*_numbers(*(p["running_seconds"] for p in found.profiles)), "running")
    console.print(table)
    per = "median of a step" if found.is_by_step else "whole run"
    for by, most in _PRINTED.items():
        _print_rows(
            console, found.rows[by], f"by {by}, {per}", len(found.rows[by]) if whole else most
        )
    console.print()
    console.print(Text(_about_spread(found), style="dim"))


def _about_spread(found: ProfileComparison) -> str:
    if not found.is_by_step:
        return (
            "the spread is not known, because the runs do not both have four steps marked by "
            "jax.profiler.StepTraceAnnotation: differences below 2 % are not printed"
        )
    alike = sum(not row.differs for row in found.rows["line"])
    return (
        f"{counted(alike, 'line')} within the spread of the steps: the quartiles of A and B overlap"
    )


def _print_rows(console: Console, rows: Sequence[ComparedRow], title: str, most: int) -> None:
    different = [row for row in rows if row.differs]
    if not different:
        return
    table = _table("A", "B", "B / A", title)
    for row in different[:most]:
        table.add_row(*_numbers(row.before, row.after), _named(row))
    console.print()
    console.print(table)
    if len(different) > most:
        console.print(Text(f"{len(different) - most} more: --all", style="dim"))


def _named(row: ComparedRow) -> Text:
    text = Text(short_line(row.name))
    if row.before_name and row.before_name != row.name:
        text.append(f" (A: {short_line(row.before_name)})", "dim")
    is_named = row.detail == row.part or row.name.startswith("(")
    if row.part not in ("device work", "Python") and not is_named:
        text.append(f"  [{row.part}]", "yellow")
    if row.detail:
        text.append(f"  {row.detail}", "dim")
    return text


def _numbers(before: float | None, after: float | None) -> tuple[str, str, Text]:
    shown = ["" if each is None else show_seconds(each) for each in (before, after)]
    if before is None:
        return shown[0], shown[1], Text("new", style="red")
    if after is None:
        return shown[0], shown[1], Text("gone", style="green")
    ratio = after / before if before else None
    style = "green" if after < before else "red"
    return shown[0], shown[1], Text("" if ratio is None else f"{ratio:.2f}", style=style)


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in names[:-1]:
        table.add_column(name, justify="right", no_wrap=True, min_width=7)
    table.add_column(names[-1], no_wrap=True, overflow="ellipsis")
    return table
