"""The sections of a report on one target: buffers, kernels, collectives.

Each section is a table with the largest rows first. Rows that differ only in an index, such as the
layers of a network, are added up to one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...compiled.kernels import Kernel
from ...compiled.memory import Buffer
from ...compiled.program import Compiled
from ...compiled.schedule import Communication
from ...cost.device import Device
from ...hlo import SourceLine
from ...ir.locations import op_in_scope, primitive_of, scope_of
from ...source import short_line
from ...units import show_bytes, show_count, show_seconds

_SHAPES = 3  # of a mesh that are named
_FAR = 2  # times the roofline: a slower kernel is bound by neither arithmetic nor memory

_Show = Callable[[float], str]
_Row = tuple[tuple[float, ...], tuple[str, ...]]
_INDEX = re.compile(r"\[\d+\]")
_NUMBER = re.compile(r"(?<![A-Za-z\d])\d+|\d+(?![A-Za-z\d])")  # not that of "conv2d"
_FILE = re.compile(r"[^\s:]+(?=:\d+\b)")


class _Section(NamedTuple):
    """A table of similar things.

    Attributes:
        title: its heading.
        numbers: the columns of numbers, and how each is printed. Rows are ranked by the first.
        texts: the columns of text.
        rows: numbers and texts of each thing; the numbers of rows with equal texts are added up.
    """

    title: str
    numbers: Mapping[str, _Show]
    texts: Sequence[str]
    rows: Iterable[_Row]


def print_sections(console: Console, compiled: Compiled, most: int | None) -> None:
    """Print the sections of one target, and notes on how the numbers were counted.

    Args:
        console: where to.
        compiled: the program.
        most: how many rows of a section are printed; None for all.
    """
    console.print(Text(f"\n{compiled.build.target.name}", style="bold underline"))
    for make in (_buffers, _kernels, _collectives, _replicated):
        _print_section(console, make(compiled), most)
    for note in _notes(compiled):
        console.print(Text(note))


def new_table(header_style: str) -> Table:
    """A table without lines, whose columns are two spaces apart."""
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=header_style)


def _print_section(console: Console, section: _Section, most: int | None) -> None:
    sums: dict[tuple[str, ...], list[float]] = {}
    for numbers, texts in section.rows:
        found = sums.setdefault(texts, [0.0] * len(numbers))
        found[:] = map(sum, zip(found, numbers, strict=True))
    if not sums:
        return
    ranked = sorted(sums.items(), key=lambda each: -each[1][0])
    shows = section.numbers.values()
    shown = [
        (*(show(n) for show, n in zip(shows, numbers, strict=True)), *texts)
        for texts, numbers in ranked[:most]
    ]
    more = (
        f" ({len(shown)} of {len(sums)}; --top all prints them)" if len(shown) < len(sums) else ""
    )
    console.print(Text(f"{section.title}{more}", style="bold"))
    rows = list(_with_short_files(shown))
    columns = list(zip((*section.numbers, *section.texts), *rows, strict=True))
    count = len(section.numbers)
    taken = sum(max(map(len, cells)) + 2 for cells in columns[:count])
    words = _fitting(columns[count:], console.width - taken)
    table = new_table("dim")
    for name in section.numbers:
        table.add_column(name, justify="right", no_wrap=True)
    widths = _widths(words, console.width - taken - 2 * (len(words) - 1))
    for (name, *_), width in zip(words, widths, strict=True):
        table.add_column(name, overflow="fold", width=width)
    for row in zip(*(cells[1:] for cells in (*columns[:count], *words)), strict=True):
        table.add_row(*row)
    console.print(table)


def _fitting(columns: Sequence[Sequence[str]], room: int) -> Sequence[Sequence[str]]:
    """Columns of text, or one column with their cells below each other, to break fewer words."""
    least = [
        max(len(word) for cell in cells for word in (cell.split() or [""])) for cells in columns
    ]
    if sum(least) + 2 * (len(least) - 1) <= room:
        return columns
    title, *cells = (list(filter(None, row)) for row in zip(*columns, strict=True))
    return [[", ".join(title), *map("\n".join, cells)]]


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int]:
    """The widths of columns of text: the widest shrink, but not so that words are broken.

    Where that is not enough, long words are.
    """
    widths = [max(len(line) for cell in cells for line in cell.split("\n")) for cells in columns]
    least = [
        max(len(word) for cell in cells for word in (cell.split() or [""])) for cells in columns
    ]
    while sum(widths) > max(room, len(widths)):
        slack = [w - k for w, k in zip(widths, least, strict=True)]
        at = slack.index(max(slack)) if max(slack) > 0 else widths.index(max(widths))
        widths[at] -= 1
    return widths


def _with_short_files(rows: Sequence[tuple[str, ...]]) -> Iterator[list[str]]:
    """The rows with each file by its name alone, unless two files have that name."""
    files: dict[str, set[str]] = {}
    for file in {file for row in rows for cell in row for file in _FILE.findall(cell)}:
        files.setdefault(os.path.basename(file), set()).add(file)
    alone = {file: name for name, known in files.items() if len(known) == 1 for file in known}
    for row in rows:
        yield [_FILE.sub(lambda found: alone.get(found[0], found[0]), cell) for cell in row]


def _buffers(compiled: Compiled) -> _Section:
    return _Section(
        "live at the peak of memory",
        {"bytes": show_bytes, "n": _count},
        ("", "shape", "of", "line"),
        (
            ((each.bytes, 1), (each.kind, each.shape, _held(each), short_line(each.place)))
            for each in compiled.memory.buffers
        ),
    )


def _held(buffer: Buffer) -> str:
    """The argument in a buffer, or the op that wrote it."""
    scope = scope_of(buffer.name)
    if buffer.kind != "argument" and scope:
        return _in_scope(primitive_of(buffer.name), f"in {scope}")
    name = buffer.name if buffer.kind == "argument" else primitive_of(buffer.name)
    return _INDEX.sub("[*]", name)


def _in_scope(text: str, scope: str) -> str:
    """A text and a scope without its numbers, which tell the layers of a network apart."""
    return f"{text} {_NUMBER.sub('*', scope)}".strip()


def _kernels(compiled: Compiled) -> _Section:
    """The kernels, ranked by the compiler's estimate if it makes one, else by the roofline."""
    device = compiled.build.target.device
    is_estimated = compiled.estimated_seconds is not None
    numbers: dict[str, _Show] = {"time": show_seconds}
    if is_estimated:
        numbers["roofline"] = show_seconds
    numbers |= {"runs": _count, "flops": show_count, "bytes": show_bytes}
    return _Section(
        f"kernels, by time ({'as the compiler estimates it' if is_estimated else 'roofline'})",
        numbers,
        ("bound by", "kernel: ops", "line"),
        (
            _kernel(kernel, device, is_estimated)
            for kernel in compiled.kernels
            if kernel.kind != "collective" or not compiled.step.is_priced  # in their own section
        ),
    )


def _kernel(kernel: Kernel, device: Device, is_estimated: bool) -> _Row:
    roof, seconds = kernel.roofline(device), kernel.estimate(device)
    moved = kernel.traffic.read + kernel.traffic.written
    times = (seconds, roof.seconds) if is_estimated else (seconds,)
    numbers = tuple(each * kernel.times for each in (*times, 1, kernel.flops.total, moved))
    bound = roof.bound if seconds <= _FAR * roof.seconds else ""
    ranked = sorted(kernel.ops.items(), key=lambda each: -each[1])
    ops = _first([f"{name} {count}" if count > 1 else name for name, count in ranked], 4)
    lines = _first(list(dict.fromkeys(map(short_line, kernel.lines))), 2)
    where = _in_scope(lines, scope_of(kernel.op_name))
    return numbers, (bound, f"{kernel.engine or kernel.kind}: {ops}", where)


def _first(texts: Sequence[str], most: int) -> str:
    """The first of some texts, and how many more there are."""
    more = f" +{len(texts) - most}" if len(texts) > most else ""
    return " ".join(texts[:most]) + more


def _origin(place: SourceLine | None, op_name: str, name: str) -> str:
    """The line and the scope of a kernel; its name if the line is not known."""
    return _in_scope(short_line(place), scope_of(op_name)) if place else _in_scope("", name)


def _collectives(compiled: Compiled) -> _Section:
    """The collectives, ranked by their time on the network if that is known, else by bytes."""
    step = compiled.step
    times: dict[str, _Show] = {"time": show_seconds, "waits": show_seconds}
    return _Section(
        "collectives",
        {**(times if step.is_priced else {}), "bytes": show_bytes, "runs": _count},
        ("kind", "over", "line"),
        (_collective(each, is_priced=step.is_priced) for each in step.communication),
    )


def _collective(found: Communication, *, is_priced: bool) -> _Row:
    each = found.collective
    times = (found.seconds or 0.0, found.exposed_seconds) if is_priced else ()
    return (
        (*times, each.payload * each.times, each.times),
        (
            each.kind,
            "+".join(each.axes) if each.axes else f"{each.group_size} devices",
            _origin(each.place, each.op_name, op_in_scope(each.op_name)),
        ),
    )


def _replicated(compiled: Compiled) -> _Section:
    return _Section(
        "whole on every device",
        {"bytes": show_bytes, "n": _count, "more than once": show_bytes},
        ("what", "could be split by"),
        (
            (
                (each.bytes, 1, each.wasted),
                (f"argument {_INDEX.sub('[*]', each.name)}", str(each.split(compiled.mesh) or "")),
            )
            for each in compiled.replicated
        ),
    )


def _notes(compiled: Compiled) -> Iterator[str]:
    totals = compiled.totals
    if compiled.estimated_seconds is not None:
        yield (
            f"`bound by` is empty where the estimate is more than {_FAR} times the roofline, which "
            "only counts arithmetic, memory and launches"
        )
    if any(kernel.is_asynchronous for kernel in compiled.kernels):
        yield "asynchronous copies and collectives are assumed to overlap with other kernels"
    if compiled.collectives:
        yield _note_on_network(compiled)
        if compiled.build.order:
            yield compiled.build.order
    if compiled.build.note:
        yield compiled.build.note
    yield from _advice_on_splitting(compiled)
    if compiled.mesh_shapes:
        shapes = compiled.mesh_shapes[:_SHAPES]
        named = ", ".join(f"{each} ({show_seconds(each.network_seconds)})" for each in shapes)
        yield (
            f"mesh shapes worth compiling, by the time of their collectives: {named}; this one "
            f"{show_seconds(compiled.step.network_seconds)}. Memory and computation may grow"
        )
    if totals.assumed:
        yield "a loop of unknown trip count is counted as one iteration"
    if totals.branches:
        yield "of a conditional, the branch with the most flops is counted"
    if totals.unknown:
        yield f"flops not known, counted as none: {', '.join(totals.unknown)}"
    if compiled.fit.fits:  # otherwise the advice follows the findings
        yield from compiled.fit.advice


def _advice_on_splitting(compiled: Compiled) -> Iterator[str]:
    """How to split the largest argument of which every device has the whole."""
    if not compiled.splittable:
        return
    first, split = compiled.splittable[0]
    saved = sum(each.bytes - each.bytes // split.parts for each, split in compiled.splittable)
    name = _INDEX.sub("[*]", first.name)
    yield (
        f"{show_bytes(saved)} of each device hold arguments that could be split: --sharding "
        f'"{name}={split}" ...{_cost_of_gathering(compiled)}. `jxc fit` without --sharding searches'
    )


def _cost_of_gathering(compiled: Compiled) -> str:
    seconds = compiled.gathering_seconds
    return f"; to gather them where they are used takes {show_seconds(seconds)}" if seconds else ""


def _note_on_network(compiled: Compiled) -> str:
    network = compiled.build.target.device.network
    if network is None or not compiled.step.is_priced:
        return (
            "collectives are counted at the bandwidth of memory: the network between these devices "
            "is not known"
        )
    if network.kind == "memory":
        return "collectives are counted as copies in the memory that all devices share"
    of = "a link" if network.kind == "torus" else "a device"
    return (
        f"collectives are priced at the network's peak, {network.bandwidth / 1e9:g} GB/s {of} each "
        "way; `waits` is what no computation hides"
    )


def _count(number: float) -> str:
    return f"{number:g}"
