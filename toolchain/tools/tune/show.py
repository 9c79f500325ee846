"""Verdicts as text: the table of candidates of one, and the list of those in the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from textwrap import wrap

from ...backend.verdicts import DEFAULT, TuneVerdict
from ...units import counted, show_bytes, show_seconds
from .candidates import PLAIN


def as_table(verdict: TuneVerdict) -> str:
    """The candidates of a verdict, the fastest first, and why others were not chosen."""
    unit = "estimate" if verdict.estimated else "median"
    rows: list[tuple[str, ...]] = [("candidate", unit, "plain/it", "O2/it", "")]
    base, plain = verdict.seconds.get(DEFAULT), verdict.seconds.get(PLAIN)
    for name, seconds in sorted(verdict.seconds.items(), key=lambda each: each[1]):
        ratios = [f"{other / seconds:.2f}" if other and seconds else "-" for other in (plain, base)]
        chosen = "<- chosen" if name == verdict.choice else ""
        rows.append((name, show_seconds(seconds), *ratios, chosen))
    lines = [f"{verdict.program} on {verdict.device}", *_aligned(rows)]
    lines += _reasons("not chosen", verdict.passed_over) + _reasons("left out", verdict.left_out)
    return "\n".join(lines)


def _reasons(what: str, reasons: Mapping[str, str]) -> list[str]:
    """A line for each reason, with all that have it; lines of more than 80 columns are wrapped."""
    names: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names.setdefault(reason, []).append(name)
    texts = [f"{what}: {'; '.join(each)}: {reason}" for reason, each in names.items()]
    lines = [wrap(text, 80, subsequent_indent="  ", break_on_hyphens=False) for text in texts]
    return [line for each in lines for line in each]


_COLUMNS = ("program", "device", "candidate", "plain/it", "O2/it", "date", "size")


def as_list(found: Iterable[tuple[str, TuneVerdict, int]]) -> str:
    """One line for each stored verdict, and a last line with their number and size."""
    rows: list[tuple[str, ...]] = [_COLUMNS]
    sizes = []
    for _, verdict, size in found:
        sizes.append(size)
        ratios = [_show_ratio(verdict.ratio(name)) for name in (PLAIN, DEFAULT)]
        when = datetime.fromisoformat(verdict.date).strftime("%Y-%m-%d") if verdict.date else ""
        rows.append(
            (verdict.program, verdict.device, verdict.choice, *ratios, when, show_bytes(size))
        )
    if not sizes:
        return "no verdicts"
    count = f"{counted(len(sizes), 'verdict')}, {show_bytes(sum(sizes))}"
    return "\n".join([*_aligned(rows), count])


def _show_ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
