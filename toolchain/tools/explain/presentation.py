"""The log of `jxc explain` as text for a terminal."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...source import SourceLine, short_line
from ...units import show_bytes, show_seconds

if TYPE_CHECKING:
    from .groups import CompilationRow
    from .log import ExplainLog

_MAX_ROWS = 15
_WIDE = 95  # columns from which on the table has ops and peak memory
_STAGES = {"trace": "trace", "lower": "lower", "passes": "passes", "compile": "XLA", "load": "load"}


def table(log: ExplainLog | None, *, all_rows: bool = False, plain: bool = False) -> str:
    """The table of compilations, then what was compiled again, side effects and failed traces.

    Args:
        log: None if the program did not import jax.
        all_rows: list every line of the table.
        plain: without colours, even if standard error is a terminal.
    """
    is_terminal = not plain and os.isatty(2)
    columns = os.environ.get("COLUMNS")
    width = shutil.get_terminal_size().columns if is_terminal else 100
    width = max(int(columns) if columns else width, 60)
    console = Console(width=width, highlight=False, force_terminal=is_terminal or None)
    with console.capture() as captured:
        if log is None:
            console.print("jxc explain: the program did not import jax")
        else:
            _print(console, log, all_rows)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _print(console: Console, log: ExplainLog, all_rows: bool) -> None:
    rows = log.rows
    console.print(Text(f"jxc explain: {_summary(rows)}", style="bold"), soft_wrap=True)
    shown = rows if all_rows else rows[:_MAX_ROWS]
    if shown:
        console.print()
        console.print(_table_of(shown, console.width))
    if left := rows[len(shown) :]:
        times, seconds = sum(row.times for row in left), sum(row.total for row in left)
        programs = f"{times} program{'' if times == 1 else 's'}"
        lines = f"{len(left)} line{'s' if len(left) > 1 else ''}"
        console.print(f"and {programs} in {lines} not shown, {show_seconds(seconds)} (--all)")
    for title, entries in _sections(log):
        if entries:
            console.print()
            console.print(Text(title, style="bold"))
        for line, sentence, fix in entries:
            _print_entry(console, line, sentence, fix)


def _summary(rows: Sequence[CompilationRow]) -> str:
    count = sum(row.times for row in rows)
    if not count:
        return "nothing was compiled"
    programs = "1 program was" if count == 1 else f"{count} programs were"
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row.seconds)
    stages = ", ".join(
        f"{title} {show_seconds(total[s])}" for s, title in _STAGES.items() if total[s]
    )
    return f"{programs} compiled in {show_seconds(sum(total.values()))}: {stages}"


def _table_of(rows: Sequence[CompilationRow], width: int) -> Table:
    stages = [stage for stage in _STAGES if any(stage in row.seconds for row in rows)]
    numbers = _NUMBERS if width >= _WIDE else {}
    left = width - 14 - 9 * (len(stages) + len(numbers))  # for the function and the line
    result = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("time", "times"):
        result.add_column(name, justify="right", no_wrap=True)
    for name in ("function", "line"):
        result.add_column(name, no_wrap=True)
    for name in (*(_STAGES[stage] for stage in stages), *numbers):
        result.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        seconds = row.seconds
        result.add_row(
            show_seconds(row.total),
            str(row.times),
            Text(_cut(row.function, left // 2), style="dim" if row.is_eager else ""),
            _cut(short_line(row.called), left - left // 2 - 4, from_left=True),
            *(show_seconds(seconds[stage]) if stage in seconds else "" for stage in stages),
            *(show(row) for show in numbers.values()),
        )
    return result


def _cut(text: str, most: int, *, from_left: bool = False) -> str:
    most = max(most, 8)
    if len(text) <= most:
        return text
    return f"…{text[1 - most :]}" if from_left else f"{text[: most - 1]}…"


def _largest(attribute: str, show: Callable[[Any], str]) -> Callable[[CompilationRow], str]:
    """A function from a row to the largest value of its compilations; empty if unknown."""

    def of_row(row: CompilationRow) -> str:
        values = (getattr(each, attribute) for each in row.compilations)
        found = [value for value in values if value is not None]
        return show(max(found)) if found else ""

    return of_row


_NUMBERS = {"ops": _largest("ops", str), "peak": _largest("peak_bytes", show_bytes)}

_Entry = tuple[SourceLine | None, str, str]
"""A line of the user's, a sentence about it, and what to do."""


def _sections(log: ExplainLog) -> Iterator[tuple[str, list[_Entry]]]:
    yield (
        "Compiled again",
        [
            (next(iter(g.called), None), f"{g.sentence} ({show_seconds(g.seconds)})", g.fix)
            for g in log.groups
        ],
    )
    yield "At tracing only", [(each.place, each.sentence, each.fix) for each in log.effects]
    yield "Not traceable", [(each.place, each.sentence, each.fix) for each in log.failures]


def _print_entry(console: Console, line: SourceLine | None, sentence: str, fix: str) -> None:
    if line is not None:
        source = f" |  {line.text}" if line.text else ""
        heading = Text(f"  {short_line(line)}{source}", style="dim")
        console.print(heading, overflow="ellipsis", no_wrap=True)
    width = console.width - 4
    for text, style in ((sentence, ""), (fix, "green")):
        for part in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False):
            console.print(Text(f"    {part}", style=style))
