"""What is behind the figures of one target: buffers, kernels, what did not fuse, collectives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...explain.report import Compiled, Report
from ...explain.sizes import show_bytes, show_count
from .words import kernel_ops, lines_of, show_seconds

_MOST = 8  # rows of a section; the whole is in `--json`


def print_sections(console: Console, found: Report) -> None:
    """Print what is behind the figures of a target."""
    compiled = found.optimised
    assert isinstance(compiled, Compiled)
    console.print(Text(f"\n{found.target.name}", style="bold underline"))
    for title, head, rows in (
        ("live at the peak of memory", ("bytes", "", "what", "line"), _buffers(compiled)),
        (
            "kernels, by time (roofline)",
            ("time", "by", "runs", "flops", "bytes", "kernel: ops", "line"),
            _kernels(compiled),
        ),
        (
            "values between kernels, through memory",
            ("bytes", "from", "to", "because"),
            _neighbours(compiled),
        ),
        (
            "collectives",
            ("bytes", "runs", "over", "kind", "line"),
            _collectives(compiled),
        ),
        (
            "whole on every device",
            ("bytes", "what", "more than once"),
            _replicated(compiled),
        ),
    ):
        _print_section(console, title, head, rows)
    _print_notes(console, found, compiled)


def _print_section(
    console: Console, title: str, head: Sequence[str], rows: list[tuple[str, ...]]
) -> None:
    if not rows:
        return
    more = f" ({_MOST} of {len(rows)})" if len(rows) > _MOST else ""
    console.print(Text(f"{title}{more}", style="bold"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in head:
        right = name in ("bytes", "time", "runs", "flops", "more than once")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in rows[:_MOST]:
        table.add_row(*row)
    console.print(table)


def _buffers(compiled: Compiled) -> list[tuple[str, ...]]:
    return [
        (show_bytes(each.bytes), each.kind, f"{each.shape} {each.name}", _line(each.place))
        for each in compiled.memory.buffers
    ]


def _kernels(compiled: Compiled) -> list[tuple[str, ...]]:
    device = compiled.build.target.device
    timed = [(kernel.roofline(device), kernel) for kernel in compiled.kernels]
    timed.sort(key=lambda each: -each[0].seconds * each[1].times)
    return [
        (
            show_seconds(roof.seconds * kernel.times),
            roof.bound,
            f"{kernel.times:g}",
            show_count(kernel.flops.total),
            show_bytes(kernel.traffic.read + kernel.traffic.written),
            f"{kernel.engine or kernel.kind}: {kernel_ops(kernel)}",
            lines_of(kernel.lines),
        )
        for roof, kernel in timed
    ]


def _neighbours(compiled: Compiled) -> list[tuple[str, ...]]:
    return [
        (
            show_bytes(each.bytes),
            _line(each.producer_line) or each.producer,
            _line(each.consumer_line) or each.consumer,
            each.reason,
        )
        for each in compiled.neighbours
        if not each.on_chip
    ]


def _collectives(compiled: Compiled) -> list[tuple[str, ...]]:
    return [
        (
            show_bytes(each.payload),
            f"{each.times:g}",
            "+".join(each.axes) if each.axes else f"{each.group_size} devices",
            each.kind,
            _line(each.place) or each.op_name,
        )
        for each in compiled.collectives
    ]


def _replicated(compiled: Compiled) -> list[tuple[str, ...]]:
    return [
        (show_bytes(each.bytes), f"{each.kind} {each.name}", show_bytes(each.wasted))
        for each in compiled.replicated
    ]


def _print_notes(console: Console, found: Report, compiled: Compiled) -> None:
    for note in _notes(found, compiled):
        console.print(Text(note))


def _notes(found: Report, compiled: Compiled) -> Iterable[str]:
    passes = sum(kernel.passes * kernel.times for kernel in compiled.kernels)
    apart = sum(kernel.unfused_bytes * kernel.times for kernel in compiled.kernels)
    moved = compiled.totals.bytes_in + compiled.totals.bytes_out
    yield (
        f"without fusion: {passes:.0f} reads and writes of memory, {show_bytes(apart)}; "
        f"with it: {compiled.totals.launches:.0f}, {show_bytes(moved)}"
    )
    if compiled.totals.assumed:
        yield "a loop of unknown length is counted as one turn"
    if compiled.totals.unknown:
        names = ", ".join(compiled.totals.unknown)
        yield f"flops of these are not known, and counted as none: {names}"
    if found.fit:
        yield from found.fit.advice


def _line(place: Any) -> str:
    return str(place) if place else ""
