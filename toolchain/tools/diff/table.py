"""A comparison as text: the figures side by side, then what differs at each line of Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...units import show_bytes, show_count
from ..report.format import line_of, show_seconds
from . import Comparison, Figure, Group
from .graph import Site

_MOST_LINES = 12  # of Python; the rest by --all
_MOST_CHANGES = 3  # of one op at one line, each shown
_MOST_LETTERS = 160  # of an attribute
_STYLES = {"fewer": "red", "more": "green", "changed": "yellow", "rewired": "yellow"}


def print_comparison(found: Comparison, *, whole: bool) -> None:
    """Print how two programs differ; with `whole`, every line."""
    width = None if os.environ.get("COLUMNS") or os.isatty(1) else 120
    console = Console(width=width, highlight=False, soft_wrap=False)
    with console.capture() as captured:
        _print(console, found, whole)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())  # tables are padded to their width


def _print(console: Console, found: Comparison, whole: bool) -> None:
    if found.is_same and len(found.figures) == 1:
        ops = found.figures[0].after
        console.print(Text(f"the same: {ops:.0f} ops"))
        return
    for letter, program in zip("AB", found.programs, strict=True):
        words = [program.name, program.pipeline, program.target.name if program.target else ""]
        console.print(Text(f"{letter}  {'  '.join(filter(None, words))}", overflow="fold"))
    console.print()
    console.print(_figures(found))
    for letter, compiled in zip("AB", found.compiled, strict=True):
        if message := getattr(compiled, "message", ""):  # that of a `Refused`
            first = message.partition("\n")[0]
            console.print(Text(f"{letter} is not compiled: {first}", style="bold red"))
    if found.difference.is_same:
        console.print(Text("\nthe ops are the same"))
        return
    _print_groups(console, found.difference.groups, whole)


def _figures(found: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column("")
    for letter in (*"AB", ""):
        table.add_column(letter, justify="right", no_wrap=True)
    for figure in found.figures:
        if figure.before or figure.after:
            shown = (show_value(figure, value) for value in (figure.before, figure.after))
            table.add_row(figure.label, *shown, show_ratio(figure))
    return table


def show_value(figure: Figure, value: float | None) -> str:
    """One of a figure's values with its unit; empty if unknown."""
    shows = {"bytes": show_bytes, "seconds": show_seconds, "flops": show_count}
    return "" if value is None else shows.get(figure.unit, "{:.0f}".format)(value)


def show_ratio(figure: Figure) -> str:
    """The relative change from A to B, such as "+12.5%"; empty if there is none."""
    if not figure.before or figure.after is None or figure.before == figure.after:
        return ""
    return f"{100 * (figure.after / figure.before - 1):+.1f}%"


def _print_groups(console: Console, groups: Sequence[Group], whole: bool) -> None:
    shown = [group for group in groups if group.kind != "rewired"] or groups
    if whole:
        shown = groups
    lines = [
        (found[0].site, found) for found in (list(each) for _, each in groupby(shown, key=_line))
    ]
    for site, each in lines if whole else lines[:_MOST_LINES]:
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


def _line(group: Group) -> str:
    return str(group.site)


def _heading(site: Site | None) -> Text:
    """A line of Python with its text, cut where the terminal ends."""
    if site is None:
        return Text("arguments, results, and what has no line", style="bold")
    return Text(f"{line_of(site)}  ", style="bold").append(site.text, style="not bold dim")


def _rows(groups: Sequence[Group]) -> Iterator[tuple[str, Text]]:
    """What differs at one line; changes of one op that are of many kinds, as one."""
    for (kind, op), alike in _gathered(groups).items():
        if kind == "changed" and len(alike) <= _MOST_CHANGES:
            for group in alike:
                yield _row(group.count, kind, f"{op}{_changed(group)}")
            continue
        count, most = sum(group.count for group in alike), alike[0]
        said = _changed(most, "such as ") if kind == "changed" else _of(groups, most)
        yield _row(count, kind, op + said)


def _gathered(groups: Sequence[Group]) -> dict[tuple[str, str], list[Group]]:
    """Those of one op and kind together, wherever they stand; the most frequent ones first."""
    found: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        found.setdefault((group.kind, group.op), []).append(group)
    return {each: sorted(alike, key=lambda group: -group.count) for each, alike in found.items()}


def _of(groups: Sequence[Group], one: Group) -> str:
    """Its type, where ops of that name are both fewer and more."""
    kinds = {group.kind for group in groups if group.op == one.op}
    return f": {one.example}" if one.example and {"fewer", "more"} <= kinds else ""


def _row(count: int, kind: str, said: str) -> tuple[str, Text]:
    word = "changed" if kind == "rewired" else kind
    read = ": its operands" if kind == "rewired" else ""
    return str(count), Text(f"{word} ", style=_STYLES[kind]).append(said + read, "none")


def _changed(group: Group, prefix: str = "") -> str:
    changes = "; ".join(change_words(*each) for each in group.changes)
    moved = "" if group.before == group.site or group.before is None else f" (A: {group.before})"
    return f": {prefix}{changes}{moved}"


def change_words(what: str, before: str, after: str) -> str:
    """One attribute, both sides; of a compiler's long notes only that they differ."""
    if what == "backend_config":
        return what
    if not before or not after:
        return f"{what} {before and 'was ' + _short(before)}{after and 'is now ' + _short(after)}"
    return f"{what} {_short(before)} → {_short(after)}"


def _short(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"


def _notes(
    lines: Sequence[object],
    groups: Sequence[Group],
    shown: Iterable[Group],
    whole: bool,
) -> Iterator[str]:
    """What was left out."""
    if whole:
        return
    left = len(lines) - _MOST_LINES
    rewired = sum(group.count for group in groups if group.kind == "rewired")
    hidden = rewired if not any(group.kind == "rewired" for group in shown) else 0
    said = [f"{left} more lines of Python"] if left > 0 else []
    said += [f"{hidden} ops of which only the operands changed"] if hidden else []
    if said:
        yield f"\nand {', '.join(said)}: --all"
