"""A comparison as text: the metrics of both programs, then the differences by line.

The text has at most `_MAX_LINES` lines of Python, and changes of one op at one line in one row.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...source import short_line
from .compare import ProgramComparison
from .difference import DifferenceGroup, GraphDifference

_MAX_LINES = 12  # of Python; --all prints the rest
_MAX_CHANGES = 3  # of one op at one line that have a row each
_STYLES = {"fewer": "red", "more": "green", "changed": "yellow", "rewired": "yellow"}


def print_comparison(found: ProgramComparison, *, whole: bool) -> None:
    """Print a comparison; with `whole`, every line that differs."""
    width = None if os.environ.get("COLUMNS") or os.isatty(1) else 120
    console = Console(width=width, highlight=False, soft_wrap=False)
    with console.capture() as captured:
        _print(console, found, whole)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())  # rich pads tables to their width


def _print(console: Console, found: ProgramComparison, whole: bool) -> None:
    if found.is_same and len(found.metrics) == 1:
        console.print(Text(f"the same: {found.metrics[0].after:.0f} ops"))
        return
    for letter, program in zip("AB", found.programs, strict=True):
        parts = filter(None, (program.name, program.pipeline, program.target_name))
        console.print(Text(f"{letter}  {'  '.join(parts)}", overflow="fold"))
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column("")
    for letter in (*"AB", ""):
        table.add_column(letter, justify="right", no_wrap=True)
    for metric in found.metrics:
        if metric.before or metric.after:
            table.add_row(metric.label, *metric.shown, metric.ratio)
    console.print()
    console.print(table)
    for letter, compiled in zip("AB", found.compiled, strict=True):
        if message := getattr(compiled, "message", ""):  # that of a `Refused`
            first = message.partition("\n")[0]
            console.print(Text(f"{letter} is not compiled: {first}", style="bold red"))
    if found.difference.is_same:
        console.print(Text("\nthe ops are the same"))
    else:
        _print_groups(console, found.difference, whole)


def _print_groups(console: Console, difference: GraphDifference, whole: bool) -> None:
    rewired = [group for group in difference.groups if group.kind == "rewired"]
    is_short = not whole and len(rewired) < len(difference.groups)
    if is_short:
        others = [group for group in difference.groups if group.kind != "rewired"]
        difference = replace(difference, groups=others)
    lines = difference.by_line
    for site, groups in lines if whole else lines[:_MAX_LINES]:
        heading = Text("arguments, results, and ops without a line", style="bold")
        if site is not None:
            heading = Text(f"{short_line(site)}  ", style="bold").append(site.text, "not bold dim")
        console.print()
        console.print(heading, overflow="ellipsis", no_wrap=True)
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column(justify="right", min_width=6, no_wrap=True)
        table.add_column(overflow="fold")
        for row in _rows(groups):
            table.add_row(*row)
        console.print(table)
    left = 0 if whole else len(lines) - _MAX_LINES
    hidden = sum(group.count for group in rewired) if is_short else 0
    parts = [f"{left} more lines of Python"] if left > 0 else []
    parts += [f"{hidden} ops of which only the operands changed"] if hidden else []
    if parts:
        console.print(Text(f"\nand {', '.join(parts)}: --all", style="dim"))


def _rows(groups: Sequence[DifferenceGroup]) -> Iterator[tuple[str, Text]]:
    """The differences at one line; many different changes of one op have one row."""
    by_kind_and_op: dict[tuple[str, str], list[DifferenceGroup]] = {}
    for group in groups:
        by_kind_and_op.setdefault((group.kind, group.op), []).append(group)
    for (kind, op), alike in by_kind_and_op.items():
        alike.sort(key=lambda group: -group.count)
        if kind == "changed" and len(alike) <= _MAX_CHANGES:
            yield from (_row(group.count, kind, f"{op}: {_changed(group)}") for group in alike)
            continue
        first, suffix = alike[0], ""
        if kind == "changed":
            suffix = f": such as {_changed(first)}"
        elif kind == "rewired":
            suffix = ": its operands"
        elif first.example and {("fewer", op), ("more", op)} <= by_kind_and_op.keys():
            suffix = f": {first.example}"  # the type tells fewer and more ops of a name apart
        yield _row(sum(group.count for group in alike), kind, op + suffix)


def _row(count: int, kind: str, what: str) -> tuple[str, Text]:
    word = "changed" if kind == "rewired" else kind
    return str(count), Text(f"{word} ", style=_STYLES[kind]).append(what, "none")


def _changed(group: DifferenceGroup) -> str:
    is_moved = group.before is not None and group.before != group.site
    return group.changes_text + (f" (A: {group.before})" if is_moved else "")
