"""The page of `jxc explain --html`: a timeline, a list of compilations, and their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...pages import PackedTexts, require_packages, ticks, write
from .compilations import Compilation

_STAGES = ("trace", "lower", "passes", "compile", "load")
_MIN_BAR_WIDTH = 0.15  # percent: the narrowest bar that is visible


def write_page(
    path: str | Path, compilations: Sequence[Compilation], title: str
) -> tuple[str, ...]:
    """Write one HTML file that shows programs, with their texts where they were recorded.

    Without JavaScript it shows everything but the texts.

    Args:
        path: the file; an existing one is replaced.
        compilations: the programs, in any order.
        title: the heading, such as the command that was run.

    Returns:
        Sentences on what was left out, which the page has, too: beyond `MAX_BYTES`, the texts of
        the programs that took the least time.

    Raises:
        MissingTargetError: jinja2 or pygments is not installed.
        UsageError: the file cannot be written.
    """
    require_packages()
    texts = PackedTexts()
    ordered = sorted(compilations, key=lambda each: each.total, reverse=True)
    for each in ordered:
        if each.texts:
            name = each.function
            texts.add(str(each.number), f"{each.number} ({name})", [(name, each.texts)])
    bars, axis = timeline(compilations)
    values = {"totals": totals(compilations), "bars": bars, "axis": axis}
    write(
        "explain.html.j2",
        Path(__file__).parent,
        path,
        texts,
        title=title,
        compilations=ordered,
        **values,
    )
    return texts.notes


@dataclass(frozen=True)
class TimelineBar:
    """A program on the timeline; `left`, `width` and the shares of stages in percent."""

    compilation: Compilation
    left: float
    width: float
    lane: int
    parts: tuple[tuple[str, float], ...]


def totals(compilations: Sequence[Compilation]) -> dict[str, Any]:
    """The counts in the head of the page, and seconds by stage."""
    seconds: Counter[str] = Counter()
    for each in compilations:
        seconds.update(each.seconds)
    compiled = sum(each.is_compiled for each in compilations)
    return {
        "compiled": compiled,
        "only_traced": len(compilations) - compiled,
        "again": sum(bool(each.reason) for each in compilations),
        "cached": sum(each.from_cache for each in compilations),
        "functions": len({(each.function, each.defined) for each in compilations}),
        "seconds": {stage: seconds[stage] for stage in _STAGES if stage in seconds},
        "total": sum(seconds.values()),
    }


def timeline(
    compilations: Sequence[Compilation],
) -> tuple[list[TimelineBar], list[tuple[float, str]]]:
    """A bar for each program, in another lane where bars overlap, and the ticks of the axis."""
    end = max((each.started + each.total for each in compilations), default=0.0) or 1.0
    lane_ends: list[float] = []
    bars = []
    for each in sorted(compilations, key=lambda each: each.started):
        total = each.total
        free = (lane for lane, at in enumerate(lane_ends) if at <= each.started)
        lane = next(free, len(lane_ends))
        lane_ends[lane : lane + 1] = [each.started + total]
        parts = tuple((s, 100 * t / total) for s, t in each.seconds.items() if total and t)
        width = max(100 * total / end, _MIN_BAR_WIDTH)
        left = min(100 * each.started / end, 100 - width)
        bars.append(TimelineBar(each, round(left, 3), round(width, 3), lane, parts))
    return bars, ticks(end)
