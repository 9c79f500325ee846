"""The head of a page before any text is opened: totals, the timeline, and numbers as words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...source import SourceLine
from ...units import show_bytes, show_count
from .content import PageEntry
from .highlight import short_name

STAGES = ("trace", "lower", "passes", "compile", "load")
_MIN_BAR_WIDTH = 0.15  # percent: the narrowest bar that is visible


@dataclass(frozen=True)
class TimelineBar:
    """An entry on the timeline; `left`, `width` and the shares of stages in percent."""

    entry: PageEntry
    left: float
    width: float
    lane: int
    parts: tuple[tuple[str, float], ...]


def totals(entries: Sequence[PageEntry]) -> dict[str, Any]:
    """The counts in the head of the page, and seconds by stage."""
    seconds: Counter[str] = Counter()
    for each in entries:
        seconds.update(each.seconds)
    compiled = [each for each in entries if {"compile", "load"} & each.seconds.keys()]
    return {
        "compiled": len(compiled),
        "only_traced": len(entries) - len(compiled),
        "again": sum(bool(each.reason) for each in entries),
        "cached": sum(each.from_cache for each in entries),
        "functions": len({(each.title, each.defined) for each in entries}),
        "seconds": {stage: seconds[stage] for stage in STAGES if stage in seconds},
        "total": sum(seconds.values()),
    }


def timeline(
    entries: Sequence[PageEntry],
) -> tuple[list[TimelineBar], list[tuple[float, str]]]:
    """A bar for each entry, in another lane where bars overlap, and the ticks of the axis."""
    end = max((each.started + each.total for each in entries), default=0.0) or 1.0
    lane_ends: list[float] = []
    bars = []
    for each in sorted(entries, key=lambda each: each.started):
        total = each.total
        free = (lane for lane, at in enumerate(lane_ends) if at <= each.started)
        lane = next(free, len(lane_ends))
        lane_ends[lane : lane + 1] = [each.started + total]
        parts = tuple((s, 100 * t / total) for s, t in each.seconds.items() if total and t)
        width = max(100 * total / end, _MIN_BAR_WIDTH)
        left = min(100 * each.started / end, 100 - width)
        bars.append(TimelineBar(each, round(left, 3), round(width, 3), lane, parts))
    return bars, ticks(end)


def ticks(end: float) -> list[tuple[float, str]]:
    """Three to ten round numbers of seconds up to `end`: their positions in percent, and labels.

    Args:
        end: in seconds, more than zero.
    """
    step = 10.0 ** math.floor(math.log10(end / 5))
    step *= next(factor for factor in (1, 2, 5, 10) if end / (step * factor) <= 9)
    count = int(end / step + 1e-9)
    return [(100 * i * step / end, show_seconds(i * step) if i else "0") for i in range(count + 1)]


def show_seconds(seconds: float) -> str:
    """A time with three digits: "2.31 s", "45.2 ms"."""
    if seconds >= 1 or seconds == 0:
        return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds * 1e6:.3g} \u00b5s"


def _show_line(line: SourceLine) -> str:
    return f"{short_name(line.file)}:{line.line}"


FILTERS: dict[str, Any] = {
    "seconds": show_seconds,
    "bytes": lambda size: "" if size is None else show_bytes(size),
    "count": lambda number: "" if number is None else show_count(number),
    "line": _show_line,
}
