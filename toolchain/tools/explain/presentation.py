"""The log of `jxc explain` as text for a terminal."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...backend.children import ChildProcess
from ...display.console import text_console
from ...source import SourceLine, short_line
from ...units import counted, show_bytes, show_seconds, stated_columns, text_width
from .groups import CompilationRow, RecompilationGroup, seconds_by_stage
from .tracing import FailedTrace, SideEffect

_MAX_ROWS = 15
_MAX_NAMES = 4  # of programs of a child process
_WIDE = 95  # columns from which on the table has ops and peak memory
_STAGES = {"trace": "trace", "lower": "lower", "passes": "passes", "compile": "XLA", "load": "load"}


_Entry = tuple[SourceLine | None, str, str]
"""A line of the user's, a sentence about it, and what to do."""


def table(
    rows: Sequence[CompilationRow],
    groups: Sequence[RecompilationGroup],
    effects: Sequence[SideEffect],
    failures: Sequence[FailedTrace],
    *,
    children: Sequence[ChildProcess] = (),
    all_rows: bool = False,
    plain: bool = False,
) -> str:
    """The table of compilations, then what was compiled again, side effects and failed traces.

    Args:
        rows, groups, effects, failures, children: those of a log.
        all_rows: list every line of the table.
        plain: without colours, even if standard error is a terminal.
    """
    is_terminal = not plain and os.isatty(2)
    width = max(text_width(100, 2) if is_terminal else stated_columns() or 100, 60)
    console = text_console(width, force_terminal=is_terminal or None)
    with console.capture() as captured:
        print_log(console, rows, groups, effects, failures, children=children, all_rows=all_rows)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def print_log(
    console: Console,
    rows: Sequence[CompilationRow],
    groups: Sequence[RecompilationGroup],
    effects: Sequence[SideEffect],
    failures: Sequence[FailedTrace],
    *,
    children: Sequence[ChildProcess] = (),
    all_rows: bool = False,
) -> None:
    """Print what `table` returns."""
    sections: list[tuple[str, list[_Entry]]] = [
        (
            "Compiled again",
            [
                (next(iter(g.called), None), f"{g.sentence} ({show_seconds(g.seconds)})", g.fix)
                for g in groups
            ],
        ),
        ("At tracing only", [(each.place, each.sentence, each.fix) for each in effects]),
        ("Not traceable", [(each.place, each.sentence, each.fix) for each in failures]),
    ]
    _print_rows(console, rows, rows if all_rows else rows[:_MAX_ROWS])
    console.print(about_children(children), end="", markup=False, soft_wrap=True)
    for title, entries in sections:
        if entries:
            console.print()
            console.print(Text(title, style="bold"))
        for entry in entries:
            _print_entry(console, *entry)


def _print_rows(
    console: Console, rows: Sequence[CompilationRow], shown: Sequence[CompilationRow]
) -> None:
    console.print(Text(f"jxc explain: {_summary(rows)}", style="bold"), soft_wrap=True)
    if shown:
        console.print()
        console.print(_table_of(shown, console.width))
    if left := rows[len(shown) :]:
        times, seconds = sum(row.times for row in left), sum(row.total for row in left)
        programs = counted(times, "program")
        lines = counted(len(left), "line")
        console.print(f"and {programs} in {lines} not shown, {show_seconds(seconds)} (--all)")


def about_children(children: Sequence[ChildProcess], width: int = 80) -> str:
    """What child processes compiled, of which no reasons are known, as lines; empty without any."""
    if not children:
        return ""
    count = sum(sum(each.programs.values()) for each in children)
    seconds = show_seconds(sum(each.seconds for each in children))
    processes = counted(len(children), "child process")
    sentence = (
        f"{processes} compiled {counted(count, 'program')} in {seconds}. They are "
        "counted only: run the command of such a process under `jxc explain`, or its work in this "
        "process, to see why it compiled them."
    )
    lines = ["", *textwrap.wrap(sentence, width)]
    for each in children:
        names = [f"{name} {times}" if times > 1 else name for name, times in each.programs.items()]
        more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        names_text = ", ".join(names[:_MAX_NAMES]) + more
        lines.append(_cut(f"  {each.command} (process {each.process}): {names_text}", width))
    return "\n".join(lines) + "\n"


def _summary(rows: Sequence[CompilationRow]) -> str:
    count = sum(row.times for row in rows)
    if not count:
        return "nothing was compiled in this process"
    programs = "1 program was" if count == 1 else f"{count} programs were"
    total = seconds_by_stage(rows)
    stages = ", ".join(
        f"{title} {show_seconds(total[s])}" for s, title in _STAGES.items() if total[s]
    )
    return f"{programs} compiled in {show_seconds(sum(total.values()))}: {stages}"


def _table_of(rows: Sequence[CompilationRow], width: int) -> Table:
    stages = [stage for stage in _STAGES if any(stage in row.seconds for row in rows)]
    numbers = ("ops", "peak") if width >= _WIDE else ()
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
            *(_largest(row, name) for name in numbers),
        )
    return result


def _largest(row: CompilationRow, name: str) -> str:
    """The largest number of ops, or of bytes at the peak, of the programs; empty if unknown."""
    if name == "ops":
        return str(max((n for each in row.compilations if (n := each.ops) is not None), default=""))
    sizes = [n for each in row.compilations if (n := each.peak_bytes) is not None]
    return show_bytes(max(sizes)) if sizes else ""


def _cut(text: str, most: int, *, from_left: bool = False) -> str:
    most = max(most, 8)
    if len(text) <= most:
        return text
    return f"…{text[1 - most :]}" if from_left else f"{text[: most - 1]}…"


def _print_entry(console: Console, line: SourceLine | None, sentence: str, fix: str) -> None:
    if line is not None:
        source = f" |  {line.text}" if line.text else ""
        heading = Text(f"  {short_line(line)}{source}", style="dim")
        console.print(heading, overflow="ellipsis", no_wrap=True)
    width = console.width - 4
    for text, style in ((sentence, ""), (fix, "green")):
        for part in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False):
            console.print(Text(f"    {part}", style=style))
