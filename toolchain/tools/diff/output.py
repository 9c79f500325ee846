"""A comparison as text, and as an HTML page: the numbers of both, then the differences by line.

The text has at most `_MAX_LINES` lines of Python, and changes of one op at one line in one row.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...backend.log import text_to_read
from ...errors import UsageError
from ...units import show_bytes, show_count, show_seconds
from ..page import (
    ComparedNumber,
    ComparedSide,
    DifferingLine,
    PageComparison,
    ProgramTexts,
    write_comparison_page,
)
from ..report.format import line_of
from .compare import ComparedProgram, Metric, ProgramComparison
from .difference import DifferenceGroup
from .graph import QuotedLine

_MAX_LINES = 12  # of Python; --all prints the rest
_MAX_CHANGES = 3  # of one op at one line that have a row each
_MAX_LETTERS = 160  # of an attribute
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
        ops = found.metrics[0].after
        console.print(Text(f"the same: {ops:.0f} ops"))
        return
    for letter, program in zip("AB", found.programs, strict=True):
        parts = [program.name, program.pipeline, program.target.name if program.target else ""]
        console.print(Text(f"{letter}  {'  '.join(filter(None, parts))}", overflow="fold"))
    console.print()
    console.print(_metrics(found))
    for letter, compiled in zip("AB", found.compiled, strict=True):
        if message := getattr(compiled, "message", ""):  # that of a `Refused`
            first = message.partition("\n")[0]
            console.print(Text(f"{letter} is not compiled: {first}", style="bold red"))
    if found.difference.is_same:
        console.print(Text("\nthe ops are the same"))
        return
    _print_groups(console, found.difference.groups, whole)


def _metrics(found: ProgramComparison) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column("")
    for letter in (*"AB", ""):
        table.add_column(letter, justify="right", no_wrap=True)
    for metric in found.metrics:
        if metric.before or metric.after:
            shown = (_value(metric, value) for value in (metric.before, metric.after))
            table.add_row(metric.label, *shown, _ratio(metric))
    return table


def _value(metric: Metric, value: float | None) -> str:
    """One value of a metric with its unit; empty if unknown."""
    shows = {"bytes": show_bytes, "seconds": show_seconds, "flops": show_count}
    return "" if value is None else shows.get(metric.unit, "{:.0f}".format)(value)


def _ratio(metric: Metric) -> str:
    """The relative change from A to B, such as "+12.5%"; empty if there is none."""
    if not metric.before or metric.after is None or metric.before == metric.after:
        return ""
    return f"{100 * (metric.after / metric.before - 1):+.1f}%"


def _print_groups(console: Console, groups: Sequence[DifferenceGroup], whole: bool) -> None:
    shown = [group for group in groups if group.kind != "rewired"] or groups
    if whole:
        shown = groups
    lines = [
        (found[0].site, found) for found in (list(each) for _, each in groupby(shown, key=_line))
    ]
    for site, each in lines if whole else lines[:_MAX_LINES]:
        console.print()
        console.print(_heading(site), overflow="ellipsis", no_wrap=True)
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column(justify="right", min_width=6, no_wrap=True)
        table.add_column(overflow="fold")
        for row in _rows(each):
            table.add_row(*row)
        console.print(table)
    for note in _notes(lines, groups, shown, whole):
        console.print(Text(note, style="dim"))


def _line(group: DifferenceGroup) -> str:
    return str(group.site)


def _heading(site: QuotedLine | None) -> Text:
    """A line of Python with its text, cut at the width of the terminal."""
    if site is None:
        return Text("arguments, results, and ops without a line", style="bold")
    return Text(f"{line_of(site)}  ", style="bold").append(site.text, style="not bold dim")


def _rows(groups: Sequence[DifferenceGroup]) -> Iterator[tuple[str, Text]]:
    """The differences at one line; many different changes of one op have one row."""
    for (kind, op), alike in _by_kind_and_op(groups).items():
        if kind == "changed" and len(alike) <= _MAX_CHANGES:
            for group in alike:
                yield _row(group.count, kind, f"{op}{_changed(group)}")
            continue
        count, first = sum(group.count for group in alike), alike[0]
        suffix = _changed(first, "such as ") if kind == "changed" else _of(groups, first)
        yield _row(count, kind, op + suffix)


def _by_kind_and_op(
    groups: Sequence[DifferenceGroup],
) -> dict[tuple[str, str], list[DifferenceGroup]]:
    """The groups by kind and op, the most frequent first."""
    found: dict[tuple[str, str], list[DifferenceGroup]] = {}
    for group in groups:
        found.setdefault((group.kind, group.op), []).append(group)
    return {each: sorted(alike, key=lambda group: -group.count) for each, alike in found.items()}


def _of(groups: Sequence[DifferenceGroup], one: DifferenceGroup) -> str:
    """The type of an op, if ops of its name are both fewer and more."""
    kinds = {group.kind for group in groups if group.op == one.op}
    return f": {one.example}" if one.example and {"fewer", "more"} <= kinds else ""


def _row(count: int, kind: str, what: str) -> tuple[str, Text]:
    word = "changed" if kind == "rewired" else kind
    operands = ": its operands" if kind == "rewired" else ""
    return str(count), Text(f"{word} ", style=_STYLES[kind]).append(what + operands, "none")


def _changed(group: DifferenceGroup, prefix: str = "") -> str:
    changes = "; ".join(_change_text(*each) for each in group.changes)
    moved = "" if group.before == group.site or group.before is None else f" (A: {group.before})"
    return f": {prefix}{changes}{moved}"


def _change_text(what: str, before: str, after: str) -> str:
    """An attribute with both values; of a compiler's long configuration, only its name."""
    if what == "backend_config":
        return what
    if not before or not after:
        return f"{what} {before and 'was ' + _short(before)}{after and 'is now ' + _short(after)}"
    return f"{what} {_short(before)} → {_short(after)}"


def _short(text: str) -> str:
    return text if len(text) <= _MAX_LETTERS else f"{text[: _MAX_LETTERS - 1]}…"


def _notes(
    lines: Sequence[object],
    groups: Sequence[DifferenceGroup],
    shown: Iterable[DifferenceGroup],
    whole: bool,
) -> Iterator[str]:
    """A note about what is not printed."""
    if whole:
        return
    left = len(lines) - _MAX_LINES
    rewired = sum(group.count for group in groups if group.kind == "rewired")
    hidden = rewired if not any(group.kind == "rewired" for group in shown) else 0
    parts = [f"{left} more lines of Python"] if left > 0 else []
    parts += [f"{hidden} ops of which only the operands changed"] if hidden else []
    if parts:
        yield f"\nand {', '.join(parts)}: --all"


# HTML

_KINDS = {
    "fewer": "only in A",
    "more": "only in B",
    "changed": "changed",
    "rewired": "other operands",
}


def write_html(path: str, found: ProgramComparison) -> None:
    """Write the page of a comparison.

    Raises:
        MissingTargetError: the packages that pages need are not installed.
        UsageError: the file cannot be written.
    """
    before, after = map(_side, found.programs, found.compiled)
    page = PageComparison(
        before,
        after,
        tuple(_number(each) for each in found.metrics if each.before or each.after),
        tuple(_page_lines(found.difference.groups)),
        found.difference.is_same,
    )
    title = f"jxc diff: {' and '.join(dict.fromkeys(p.name for p in found.programs))}"
    try:
        written = write_comparison_page(path, page, title)
    except OSError as error:
        raise UsageError(f"--html {path}: {error.strerror}") from None
    for note in written.notes:
        click.echo(f"jxc: note: {note}", err=True)


def _side(program: ComparedProgram, compiled: Any) -> ComparedSide:
    text = text_to_read(program.module) if program.module is not None else ""
    build = getattr(compiled, "build", None)  # none in a `Refused`
    return ComparedSide(
        program.name,
        program.pipeline,
        program.target.name if program.target else "",
        getattr(compiled, "message", ""),
        ProgramTexts(stablehlo=text, hlo=build.hlo if build else program.hlo),
    )


def _number(metric: Metric) -> ComparedNumber:
    before, after = metric.before, metric.after
    return ComparedNumber(
        metric.label.strip(),
        _value(metric, before),
        _value(metric, after),
        _ratio(metric),
        is_less=before is not None and after is not None and after < before,
    )


def _page_lines(groups: Sequence[DifferenceGroup]) -> Iterator[DifferingLine]:
    """One line for each run of groups at the same line of Python."""
    for _, run in groupby(groups, key=lambda group: str(group.site)):
        members = list(run)
        site = members[0].site
        side = "a" if all(group.kind == "fewer" for group in members) else "b"
        items = tuple((g.kind, _KINDS[g.kind], g.count, _op_text(g)) for g in members)
        location = f"{site.file}:{site.line}" if site else ""
        yield DifferingLine(side, location, site.text if site else "", items)


def _op_text(group: DifferenceGroup) -> str:
    changes = "; ".join(_change_text(*each) for each in group.changes)
    return group.op + (f": {changes}" if changes else "")
