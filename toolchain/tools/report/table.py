"""A report as text: the numbers of all targets side by side, then the sections of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...units import show_bytes, show_count, show_seconds
from .budgets import Violation
from .report import Compiled, Refused, Report
from .sections import print_sections

_ARROW = " → "

ROWS = 8
"""Rows of a section that are printed unless `--top` or `--all` says otherwise."""


def as_text(
    reports: Sequence[Report],
    findings: Mapping[str, Sequence[Violation]],
    *,
    whole: bool,
    rows: int | None = ROWS,
) -> str:
    """The numbers of every target as columns, and what is wrong with each.

    Args:
        reports: one for each target.
        findings: by target, budgets that are exceeded.
        whole: whether the sections of each target follow.
        rows: how many rows of a section are printed; None for all.
    """
    console = _console()
    with console.capture() as captured:
        _print(console, reports, findings, rows if whole else 0)
    lines = captured.get().splitlines()
    return "\n".join(line.rstrip() for line in lines)  # tables are padded to their width


def _print(
    console: Console,
    reports: Sequence[Report],
    findings: Mapping[str, Sequence[Violation]],
    rows: int | None,
) -> None:
    if reports:
        console.print(_numbers(reports))
    for each in reports:
        if rows != 0 and isinstance(each.optimised, Compiled):
            print_sections(console, each, rows)
    for each in reports:
        for finding in findings.get(each.target.name, ()):
            console.print(Text(f"{each.target.name}: {finding}", style="bold red"))
        for advice in _advice(each):
            console.print(Text(f"  {advice}"))


def _advice(found: Report) -> Sequence[str]:
    """What would make the program fit, where it does not."""
    fit = found.fit
    return () if fit is None or fit.fits is not False else fit.advice or fit.largest


def _console() -> Console:
    """A console as wide as the terminal; 120 columns where there is none."""
    width = None if os.environ.get("COLUMNS") or os.isatty(1) else 120
    return Console(width=width, highlight=False, soft_wrap=False)


def _numbers(reports: Sequence[Report]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    for each in reports:
        table.add_column(each.target.name)
    for label, cell in _ROWS.items():
        cells = [cell(each) for each in reports]
        if any(cells):
            table.add_row(label, *cells)
    return table


def _both(read: Callable[[Compiled], Any], show: Callable[[Any], str]) -> Callable[[Report], str]:
    """A cell with a number before and after our passes; one number where both print alike."""

    def cell(found: Report) -> str:
        sides = [side for side in (found.plain, found.optimised) if isinstance(side, Compiled)]
        texts = [show(value) for value in map(read, sides) if value is not None]
        return _ARROW.join(dict.fromkeys(texts))

    return cell


def _verdict(found: Report) -> Text | str:
    if found.fit is None:
        return Text("not compiled", style="bold red")
    if found.fit.fits is None:
        return "not known"
    if not found.fit.fits:
        return Text("DOES NOT FIT", style="bold red")
    return Text(f"yes, {100 * found.fit.needed / found.fit.available:.2g}%", style="green")


def _seconds(name: str) -> Callable[[Report], str]:
    return lambda found: show_seconds(found.seconds[name]) if name in found.seconds else ""


def _rules(found: Report) -> str:
    total = sum(found.rules.values())
    return f"{total} by {len(found.rules)} rules" if total else "none"


def _collectives(compiled: Compiled) -> tuple[float, float] | None:
    if not compiled.collectives:
        return None
    calls = sum(each.times for each in compiled.collectives)
    return calls, sum(each.payload * each.times for each in compiled.collectives)


def _refusal(found: Report) -> str:
    """The first line of the compiler's message, where it refused for another reason than memory."""
    refused = found.optimised
    if not isinstance(refused, Refused) or refused.fit:
        return ""
    return refused.message.partition("\n")[0]


_ROWS: dict[str, Callable[[Report], Any]] = {
    "fits": _verdict,
    "  into": lambda r: show_bytes(r.target.device.memory_bytes) + " a device",
    "memory at peak": _both(lambda c: c.memory.peak, show_bytes),
    "  arguments": _both(lambda c: c.memory.arguments, show_bytes),
    "  outputs": _both(lambda c: c.memory.outputs, show_bytes),
    "  temporaries": _both(lambda c: c.memory.temporaries, show_bytes),
    "  shared (donated)": _both(lambda c: -c.memory.aliases or None, show_bytes),
    "code, constants": _both(lambda c: c.memory.needed - c.memory.peak or None, show_bytes),
    "flops": _both(lambda c: c.totals.flops, show_count),
    "bytes moved": _both(lambda c: c.totals.bytes_in + c.totals.bytes_out, show_bytes),
    "flops a byte": _both(lambda c: c.totals.intensity, "{:.3g}".format),
    "kernels": _both(lambda c: c.totals.launches, "{:.0f}".format),
    "collectives": _both(_collectives, lambda found: f"{found[0]:.0f}, {show_bytes(found[1])}"),
    "time, by the compiler": _both(lambda c: c.estimated_seconds, show_seconds),
    "time, roofline": _both(lambda c: c.roofline_seconds, show_seconds),
    "StableHLO ops": _both(lambda c: c.ops, str),
    "rewrites": _rules,
    "trace": _seconds("trace"),
    "lower": _seconds("lower"),
    "passes": _seconds("passes"),
    "XLA": _both(lambda c: c.build.seconds, show_seconds),
    "refused": _refusal,
}
