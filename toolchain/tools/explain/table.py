"""What `jxc explain` prints: what cost how much, why it came again, and what to do."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...units import show_bytes
from ..report.format import line_of, show_seconds

if TYPE_CHECKING:
    from .groups import Row
    from .log import Log

_MOST_ROWS = 15
_STAGES = {"trace": "trace", "lower": "lower", "passes": "passes", "compile": "XLA", "load": "load"}


def table(log: Log | None, *, is_whole: bool = False, to_file: bool = False) -> str:
    """The whole report as text; with colours where standard error is a terminal that has them."""
    console = _console(to_file)
    with console.capture() as captured:
        if log is None:
            console.print("jxc explain: the program did not import jax")
        else:
            _print(console, log, is_whole)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _console(to_file: bool) -> Console:
    """As wide as the terminal that standard error is; a pipe takes 100 columns."""
    is_terminal = not to_file and os.isatty(2)
    if os.environ.get("COLUMNS") or not is_terminal:
        width = int(os.environ.get("COLUMNS") or 100)
    else:
        width = shutil.get_terminal_size().columns
    return Console(width=max(width, 60), highlight=False, force_terminal=is_terminal or None)


def _print(console: Console, log: Log, is_whole: bool) -> None:
    rows = log.rows
    console.print(Text(f"jxc explain: {_summary(rows)}", style="bold"), soft_wrap=True)
    shown = rows if is_whole else rows[:_MOST_ROWS]
    if shown:
        console.print()
        console.print(_rows(shown, console.width))
    if left := rows[len(shown) :]:
        times, seconds = sum(row.times for row in left), sum(row.total for row in left)
        lines = f"{len(left)} more line{'s' if len(left) > 1 else ''}"
        programs = f"{times} program{'' if times == 1 else 's'}"
        console.print(f"and {programs} at {lines}, {show_seconds(seconds)}")
    for title, entries in _sections(log):
        if entries:
            console.print()
            console.print(Text(title, style="bold"))
        for entry in entries:
            _print_entry(console, *entry)


def _summary(rows: Sequence[Row]) -> str:
    count = sum(row.times for row in rows)
    if not count:
        return "nothing was compiled"
    programs = "1 program was" if count == 1 else f"{count} programs were"
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row.seconds)
    stages = ", ".join(
        f"{word} {show_seconds(total[s])}" for s, word in _STAGES.items() if total[s]
    )
    return f"{programs} compiled in {show_seconds(sum(total.values()))}: {stages}"


def _rows(rows: Sequence[Row], width: int) -> Table:
    stages = [stage for stage in _STAGES if any(stage in row.seconds for row in rows)]
    figures = {"ops": _ops, "peak": _peak} if width >= _WIDE else {}
    left = width - 14 - 9 * (len(stages) + len(figures))
    result = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("time", "times"):
        result.add_column(name, justify="right", no_wrap=True)
    for name in ("function", "line"):
        result.add_column(name, no_wrap=True)
    for name in (*(_STAGES[stage] for stage in stages), *figures):
        result.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        seconds = row.seconds
        result.add_row(
            show_seconds(row.total),
            str(row.times),
            Text(_cut(row.function, left // 2), style="dim" if row.is_eager else ""),
            _cut(line_of(row.called), left - left // 2 - 4, from_left=True),
            *(show_seconds(seconds[stage]) if stage in seconds else "" for stage in stages),
            *(figure(row) for figure in figures.values()),
        )
    return result


_WIDE = 95  # columns from which on ops and bytes have room


def _cut(text: str, most: int, *, from_left: bool = False) -> str:
    most = max(most, 8)
    if len(text) <= most:
        return text
    return f"…{text[1 - most :]}" if from_left else f"{text[: most - 1]}…"


def _ops(row: Row) -> str:
    return _most(row, "ops", str)


def _peak(row: Row) -> str:
    return _most(row, "peak_bytes", lambda size: show_bytes(float(f"{size:.3g}")))


def _most(row: Row, name: str, show: Any) -> str:
    """The greatest of a row's figures, in words."""
    found = [value for each in row.compilations if (value := getattr(each, name)) is not None]
    return show(max(found)) if found else ""


_Entry = tuple[Any, str, str]
"""A line of the user's, what there is to say of it, and what to do."""


def _sections(log: Log) -> Iterator[tuple[str, list[_Entry]]]:
    again = [
        (group.called[0] if group.called else None, _with_cost(group), group.fix)
        for group in log.groups
    ]
    yield "Compiled again", again
    yield "At tracing only", [(e.place, e.sentence, e.fix) for e in log.effects]
    yield "Not traceable", [(f.place, f.sentence, f.fix) for f in log.failures]


def _with_cost(group: Any) -> str:
    return f"{group.sentence} ({show_seconds(group.seconds)})"


def _print_entry(console: Console, place: Any, sentence: str, fix: str) -> None:
    if place is not None:
        source = f" |  {place.text}" if place.text else ""
        console.print(
            Text(f"  {line_of(place)}{source}", style="dim"), overflow="ellipsis", no_wrap=True
        )
    width = console.width - 4
    for text, style in ((sentence, ""), (fix, "green")):
        for line in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False):
            console.print(Text(f"    {line}", style=style))
