"""A profile as text for a terminal: the parts of the wall clock, then the rows of a grouping."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...display.console import text_console
from ...units import counted, show_bytes, show_count, show_seconds, stated_columns, text_width
from .profile import PARTS, WARM_UP, Grouping, Profile, ProfiledStep, ProfileRow

_MAX_ROWS = 12
_MIN_SHARE = 0.001  # of the running time: smaller parts are not printed
_WAITS = 0.05  # of the steps' time: from here on the input pipeline is named
_WIDE = 110  # columns from which on flops and bytes are printed


def as_text(
    profile: Profile, by: Grouping = "line", *, most: int | None = _MAX_ROWS, plain: bool = False
) -> str:
    """The tables of `jxc profile`.

    Args:
        profile: the measured time.
        by: how the running time is grouped.
        most: how many rows are printed; None for all.
        plain: without colours, even if standard error is a terminal.
    """
    is_terminal = not plain and os.isatty(2)
    width = max(text_width(80, 2) if is_terminal else stated_columns() or 80, 60)
    console = text_console(width, force_terminal=is_terminal or None)
    with console.capture() as captured:
        _print_parts(console, profile)
        for sentence in about_steps(profile.steps):
            console.print(Text(sentence), soft_wrap=True)
        _print_rows(console, profile, by, most)
        for note in _notes(profile):
            console.print(Text(note, style="dim"))
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _new_table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")


def percent(share: float) -> str:
    """A share as text, with two digits below 10 %: "66%", "6.6%"."""
    return f"{100 * share:.0f}%" if share >= 0.0995 else f"{100 * share:.1f}%"


# The parts of the wall clock


def _print_parts(console: Console, profile: Profile) -> None:
    title = f"jxc profile: {profile.name} ran for {show_seconds(profile.seconds)}"
    console.print(Text(title, style="bold"), soft_wrap=True)
    console.print()
    table = _new_table()
    table.show_header = False
    for justify in ("left", "right", "right", "left"):
        table.add_column(justify=justify, no_wrap=True)
    running = profile.running_seconds
    table.add_row("warm-up", show_seconds(profile.warm_up_seconds), "", "")
    for name in WARM_UP:
        if profile.parts.get(name, 0.0):
            note = counted(profile.compiled, "program") if name == "compilation" else ""
            table.add_row(f"  {name}", show_seconds(profile.parts[name]), "", note)
    table.add_row("running", show_seconds(running), "100%", "")
    for name in PARTS:
        seconds = profile.parts.get(name, 0.0)
        if name in WARM_UP or seconds < _MIN_SHARE * running:
            continue
        share = seconds / running
        bar = Text("█" * round(20 * share), style="cyan")
        table.add_row(f"  {name}", show_seconds(seconds), percent(share), bar)
    console.print(table)
    if not any(piece.kernel for piece in profile.pieces):
        console.print(Text("no kernel ran on a device while the profiler recorded"))


def about_steps(steps: Sequence[ProfiledStep]) -> Iterator[str]:
    """Sentences on marked steps: how many, how long, how long they wait for data."""
    by_name: dict[str, list[ProfiledStep]] = {}
    for each in steps:
        by_name.setdefault(each.name, []).append(each)
    for name, found in by_name.items():
        warm = [each for each in found if not each.is_warm_up]
        left_out = len(found) - len(warm)
        if not warm:
            which = "which" if len(found) == 1 else "all of which"
            yield f"steps {name!r}: {len(found)}, {which} compiled something"
            continue
        median = statistics.median(each.seconds for each in warm)
        longest = max(warm, key=lambda each: each.seconds)
        without = f" (without {left_out} of warm-up)" if left_out else ""
        yield (
            f"steps {name!r}: {len(warm)}{without}, median {show_seconds(median)}, "
            f"longest {show_seconds(longest.seconds)}"
        )
        waited = sum(each.waited for each in warm)
        total = sum(each.seconds for each in warm)
        if waited > _WAITS * total:
            mean = show_seconds(waited / len(warm))
            yield f"each waits {mean} for data: see the input pipeline below"


# The rows


def _print_rows(console: Console, profile: Profile, by: Grouping, most: int | None) -> None:
    rows = [row for row in profile.rows(by) if row.seconds > 0]
    large = [row for row in rows if row.share >= _MIN_SHARE]
    shown = rows if most is None else large[:most]
    if not shown:
        return
    o2 = [(row.seconds, row.o2_seconds) for row in shown if row.o2_seconds is not None]
    has_o2 = any(show_seconds(before) != show_seconds(after) for before, after in o2)
    is_wide = console.width >= _WIDE
    names = ["share", "time", "calls", "each", *(["flops", "bytes"] if is_wide else []), "roofline"]
    names += ["with O2"] * has_o2
    cells = [[COLUMNS[name](row) for name in names] for row in shown]
    table = _new_table()
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(by, no_wrap=True)
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    left_over = console.width - sum(widths) - 2 * len(widths)
    for row, numbers in zip(shown, cells, strict=True):
        named = _named(row, by)
        named.truncate(left_over, overflow="ellipsis")
        table.add_row(*numbers, named)
    console.print()
    console.print(table)
    if left := rows[len(shown) :]:
        seconds = show_seconds(sum(row.seconds for row in left))
        them = "it" if len(left) == 1 else "them"
        more = f"{counted(len(left), 'more row')}: {seconds}; --top all prints {them}"
        console.print(Text(more, style="dim"))
    if o2 and not has_o2:
        console.print(Text("none of these rows changed beyond noise with O2", style="dim"))


COLUMNS: Mapping[str, Callable[[ProfileRow], str]] = {
    "share": lambda row: percent(row.share),
    "time": lambda row: show_seconds(row.seconds),
    "calls": lambda row: f"{row.calls or ''}",
    "each": lambda row: show_seconds(row.seconds / row.calls) if row.calls else "",
    "flops": lambda row: show_count(row.flops) if row.calls else "",
    "bytes": lambda row: show_bytes(row.bytes) if row.calls else "",
    "roofline": lambda row: "" if row.roofline is None else percent(row.roofline),
    "with O2": lambda row: "" if row.o2_seconds is None else show_seconds(row.o2_seconds),
}
"""The cells of a row by heading, on the terminal and on the page."""


def _named(row: ProfileRow, by: Grouping) -> Text:
    mark = "~" if row.is_estimated else ""
    if by != "line":
        return Text.assemble(f"{mark}{row.name}", (f"  {row.detail}" if row.detail else "", "dim"))
    text = Text(mark + _short(row.name))
    if row.detail and row.detail != row.part:
        text.append(f"  {row.detail}")
    elif row.part not in ("device work", "Python"):
        text.append(f"  [{row.part}]", "yellow")
    if row.line is not None and not (row.detail and row.detail != row.part):
        text.append(f"  {row.line.text}", "dim")
    return text


def _short(name: str) -> str:
    """A file's name without its folder, where it is not below the current one."""
    return os.path.basename(name) if os.path.isabs(name) else name


def _notes(profile: Profile) -> Iterator[str]:
    yield ""
    if any(piece.fraction < 1 for piece in profile.pieces):
        yield "~ a kernel has ops of several lines: its time is divided by the cost model"
    size = f"{show_count(profile.trace.events)} events, {show_bytes(profile.trace.bytes)}"
    yield f"recording: {size}; {about_overhead(profile.overhead)}"
    yield from profile.notes


def about_overhead(overhead: Mapping[str, float]) -> str:
    """What recording cost: how many times as long programs took, by name."""
    if not overhead:
        return (
            "its cost was not measured, since no program that ran twice was run again without "
            "it; short kernels may take several times as long"
        )
    took = (
        f"{name} took no longer than without"
        if ratio == 1
        else f"{name} took {ratio:.2f} times as long as without"
        for name, ratio in overhead.items()
    )
    return ", ".join(took)
