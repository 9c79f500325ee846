"""What is behind the figures of one target: buffers, kernels, what did not fuse, collectives."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...analysis.kernels import Kernel, Roofline
from ...analysis.report import Compiled, Report
from ...analysis.sizes import show_bytes, show_count
from .words import kernel_ops, line_of, lines_of, show_seconds

_MOST = 8  # rows of a section; the whole is in `--json`

_Show = Callable[[float], str]


@dataclass(frozen=True)
class _Section:
    """A table of what is alike, added up, the largest first.

    Attributes:
        title: what it shows.
        figures: names of the columns of numbers, and how they are written.
        words: names of the columns of words.
        rows: numbers and words of each thing.
    """

    title: str
    figures: Mapping[str, _Show]
    words: Sequence[str]
    rows: Iterable[tuple[tuple[float, ...], tuple[str, ...]]]

    def grouped(self) -> list[tuple[str, ...]]:
        """One row for all that read alike but for an index, such as the layers of a network."""
        sums: dict[tuple[str, ...], list[float]] = {}
        for numbers, words in self.rows:
            alike = tuple(_without_index(word) for word in words)
            found = sums.setdefault(alike, [0.0] * len(numbers))
            found[:] = map(sum, zip(found, numbers, strict=True))
        ranked = sorted(sums.items(), key=lambda each: -each[1][0])
        shows = list(self.figures.values())
        return [
            (*(show(n) for show, n in zip(shows, found, strict=True)), *alike)
            for alike, found in ranked
        ]


_INDEX = re.compile(r"\[\d+\]")
_SHAPE = re.compile(r"[a-z]+\d*\w*\[[\d,]*\]$")


def _without_index(word: str) -> str:
    return word if _SHAPE.match(word) else _INDEX.sub("[*]", word)


def print_sections(console: Console, found: Report) -> None:
    """Print what is behind the figures of a target."""
    compiled = found.optimised
    assert isinstance(compiled, Compiled)
    console.print(Text(f"\n{found.target.name}", style="bold underline"))
    for make in (_buffers, _kernels, _neighbours, _collectives, _replicated):
        _print_section(console, make(compiled))
    for note in _notes(found, compiled):
        console.print(Text(note))


def _print_section(console: Console, section: _Section) -> None:
    rows = section.grouped()
    if not rows:
        return
    more = f" ({_MOST} of {len(rows)})" if len(rows) > _MOST else ""
    console.print(Text(f"{section.title}{more}", style="bold"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in section.figures:
        table.add_column(name, justify="right", no_wrap=True)
    for name in section.words:
        table.add_column(name, overflow="fold")
    for row in rows[:_MOST]:
        table.add_row(*row)
    console.print(table)


def _buffers(compiled: Compiled) -> _Section:
    return _Section(
        "live at the peak of memory",
        {"bytes": show_bytes, "n": _count},
        ("", "shape", "of", "line"),
        (
            ((each.bytes, 1), (each.kind, each.shape, each.name, line_of(each.place)))
            for each in compiled.memory.buffers
        ),
    )


def _kernels(compiled: Compiled) -> _Section:
    device = compiled.build.target.device
    return _Section(
        "kernels, by time (roofline)",
        {"time": show_seconds, "runs": _count, "flops": show_count, "bytes": show_bytes},
        ("bound by", "kernel: ops", "line"),
        (_kernel(kernel, kernel.roofline(device)) for kernel in compiled.kernels),
    )


def _kernel(kernel: Kernel, roof: Roofline) -> tuple[tuple[float, ...], tuple[str, ...]]:
    moved = kernel.traffic.read + kernel.traffic.written
    each = (roof.seconds, 1, kernel.flops.total, moved)
    what = f"{kernel.engine or kernel.kind}: {kernel_ops(kernel)}"
    numbers = tuple(number * kernel.times for number in each)
    return numbers, (roof.bound, what, lines_of(kernel.lines))


def _neighbours(compiled: Compiled) -> _Section:
    return _Section(
        "values between kernels, through memory",
        {"bytes": show_bytes, "n": _count},
        ("from", "to", "because"),
        (
            (
                (each.bytes, 1),
                (
                    line_of(each.producer_line) or each.producer,
                    line_of(each.consumer_line) or each.consumer,
                    each.reason,
                ),
            )
            for each in compiled.neighbours
            if not each.on_chip
        ),
    )


def _collectives(compiled: Compiled) -> _Section:
    return _Section(
        "collectives",
        {"bytes": show_bytes, "runs": _count},
        ("kind", "over", "line"),
        (
            (
                (each.payload * each.times, each.times),
                (
                    each.kind,
                    "+".join(each.axes) if each.axes else f"{each.group_size} devices",
                    line_of(each.place) or each.op_name,
                ),
            )
            for each in compiled.collectives
        ),
    )


def _replicated(compiled: Compiled) -> _Section:
    return _Section(
        "whole on every device",
        {"bytes": show_bytes, "n": _count, "more than once": show_bytes},
        ("what",),
        (
            ((each.bytes, 1, each.wasted), (f"{each.kind} {each.name}",))
            for each in compiled.replicated
        ),
    )


def _notes(found: Report, compiled: Compiled) -> Iterable[str]:
    passes = sum(kernel.passes * kernel.times for kernel in compiled.kernels)
    apart = sum(kernel.unfused_bytes * kernel.times for kernel in compiled.kernels)
    moved = compiled.totals.bytes_in + compiled.totals.bytes_out
    yield (
        f"without fusion: {passes:.0f} reads and writes of memory, {show_bytes(apart)}; "
        f"with it: {compiled.totals.launches:.0f}, {show_bytes(moved)}"
    )
    if any(kernel.is_asynchronous for kernel in compiled.kernels):
        yield "asynchronous copies and collectives are taken to run beside the other kernels"
    if compiled.collectives:
        yield "collectives are counted at the speed of memory: nothing is known of the network"
    if compiled.totals.assumed:
        yield "a loop of unknown length is counted as one turn"
    if compiled.totals.branches:
        yield "of a branch, the dearest side is counted"
    if compiled.totals.unknown:
        names = ", ".join(compiled.totals.unknown)
        yield f"flops of these are not known, and counted as none: {names}"
    if found.fit and found.fit.fits:  # elsewhere it stands with the verdict
        yield from found.fit.advice


def _count(number: float) -> str:
    return f"{number:g}"
