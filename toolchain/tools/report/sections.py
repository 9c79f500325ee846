"""What is behind the figures of one target: buffers, kernels, what did not fuse, collectives."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...hlo import SourceLine
from ...ir.locations import op_in_scope, primitive_of, scope_of
from ...units import show_bytes, show_count
from .format import kernel_ops, line_of, lines_of, show_seconds
from .kernels import Kernel, Roofline
from .memory import Buffer
from .report import Compiled, Report

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
    rows: Iterable[tuple[tuple[float, ...], tuple[_Word, ...]]]

    def grouped(self) -> list[tuple[str, ...]]:
        """One row for all that read alike but for an index, such as the layers of a network."""
        sums: dict[tuple[str, ...], list[float]] = {}
        for numbers, words in self.rows:
            alike = tuple(_alike(word) for word in words)
            found = sums.setdefault(alike, [0.0] * len(numbers))
            found[:] = map(sum, zip(found, numbers, strict=True))
        ranked = sorted(sums.items(), key=lambda each: -each[1][0])
        shows = list(self.figures.values())
        return [
            (*(show(n) for show, n in zip(shows, found, strict=True)), *alike)
            for alike, found in ranked
        ]


@dataclass(frozen=True)
class _Scoped:
    """A text to be left as it is, such as a line, and the named scope it is in, if any."""

    text: str
    scope: str = ""


_Word = str | _Scoped
_INDEX, _NUMBER = re.compile(r"\[\d+\]"), re.compile(r"\d+")
_FILE = re.compile(r"[^\s:]+(?=:\d+\b)")


def _alike(word: _Word) -> str:
    """Without what tells the layers of a network apart: indices, and numbers of a scope."""
    if isinstance(word, _Scoped):
        return f"{word.text} {_NUMBER.sub('*', word.scope)}".strip()
    return _INDEX.sub("[*]", word)


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
    for row in _with_short_files(rows[:_MOST]):
        table.add_row(*row)
    console.print(table)


def _with_short_files(rows: Sequence[tuple[str, ...]]) -> Iterator[list[str]]:
    """The rows with files by name alone, which fits a column, where one name is one file."""
    files: dict[str, set[str]] = {}
    for file in {file for row in rows for word in row for file in _FILE.findall(word)}:
        files.setdefault(os.path.basename(file), set()).add(file)
    alone = {file: name for name, known in files.items() if len(known) == 1 for file in known}
    for row in rows:
        yield [_FILE.sub(lambda found: alone.get(found[0], found[0]), word) for word in row]


def _buffers(compiled: Compiled) -> _Section:
    return _Section(
        "live at the peak of memory",
        {"bytes": show_bytes, "n": _count},
        ("", "shape", "of", "line"),
        (
            ((each.bytes, 1), (each.kind, _Scoped(each.shape), _held(each), line_of(each.place)))
            for each in compiled.memory.buffers
        ),
    )


def _held(buffer: Buffer) -> _Word:
    if buffer.kind == "argument":
        return buffer.name
    scope = scope_of(buffer.name)
    op = primitive_of(buffer.name)
    return _Scoped(op, f"in {scope}") if scope else op


def _kernels(compiled: Compiled) -> _Section:
    device = compiled.build.target.device
    return _Section(
        "kernels, by time (roofline)",
        {"time": show_seconds, "runs": _count, "flops": show_count, "bytes": show_bytes},
        ("bound by", "kernel: ops", "line"),
        (_kernel(kernel, kernel.roofline(device)) for kernel in compiled.kernels),
    )


def _kernel(kernel: Kernel, roof: Roofline) -> tuple[tuple[float, ...], tuple[_Word, ...]]:
    moved = kernel.traffic.read + kernel.traffic.written
    each = (roof.seconds, 1, kernel.flops.total, moved)
    what = f"{kernel.engine or kernel.kind}: {kernel_ops(kernel)}"
    numbers = tuple(number * kernel.times for number in each)
    return numbers, (roof.bound, what, _Scoped(lines_of(kernel.lines), scope_of(kernel.op_name)))


def _neighbours(compiled: Compiled) -> _Section:
    return _Section(
        "values between kernels, through memory",
        {"bytes": show_bytes, "n": _count},
        ("from", "to", "because"),
        (
            (
                (each.bytes, 1),
                (
                    _end(each.producer_line, each.producer_op, each.producer),
                    _end(each.consumer_line, each.consumer_op, each.consumer),
                    each.reason,
                ),
            )
            for each in compiled.neighbours
            if not each.on_chip
        ),
    )


def _end(place: SourceLine | None, op_name: str, otherwise: str) -> _Scoped:
    """Where a kernel comes from: its line and scope, or else what it is called."""
    return _Scoped(line_of(place), scope_of(op_name)) if place else _Scoped("", otherwise)


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
                    _end(each.place, each.op_name, op_in_scope(each.op_name)),
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
