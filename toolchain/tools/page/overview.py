"""What the page says of compilations before any text is opened: words, sizes, places of bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...source import SourceLine
from ...units import show_bytes, show_count
from ..explain.records import Compilation
from .sources import short_name

STAGES = ("trace", "lower", "passes", "compile", "load")
_LEAST_WIDTH = 0.15  # of a bar, in percent: what can still be seen


@dataclass(frozen=True)
class Bar:
    """A compilation on the timeline; places and widths in percent."""

    compilation: Compilation
    left: float
    width: float
    lane: int
    parts: tuple[tuple[str, float], ...]


def total_of(compilation: Compilation) -> float:
    """Seconds over all stages."""
    return sum(compilation.seconds.values())


def totals(compilations: Sequence[Compilation]) -> dict[str, Any]:
    """The figures of the head: counts, and seconds by stage in the order of the stages."""
    seconds: dict[str, float] = {}
    for each in compilations:
        for stage, time in each.seconds.items():
            seconds[stage] = seconds.get(stage, 0.0) + time
    in_order = sorted(seconds, key=lambda stage: (*STAGES, stage).index(stage))
    return {
        "compilations": sum(each.is_compiled for each in compilations),
        "traced": sum(not each.is_compiled for each in compilations),
        "again": sum(each.reason is not None for each in compilations),
        "cached": sum(each.from_cache for each in compilations),
        "functions": len({(each.function, each.defined) for each in compilations}),
        "seconds": {stage: seconds[stage] for stage in in_order},
        "total": sum(seconds.values()),
    }


def timeline(compilations: Sequence[Compilation]) -> tuple[list[Bar], list[tuple[float, str]]]:
    """A bar per compilation, in lanes where they overlap, and the ticks of the axis."""
    end = max((each.started + total_of(each) for each in compilations), default=0.0) or 1.0
    free: list[float] = []
    bars = []
    for each in sorted(compilations, key=lambda each: each.started):
        total = total_of(each)
        lane = next((i for i, at in enumerate(free) if at <= each.started), len(free))
        free[lane : lane + 1] = [each.started + total]
        parts = tuple((s, 100 * t / total) for s, t in each.seconds.items() if total and t)
        width = max(100 * total / end, _LEAST_WIDTH)
        left = min(100 * each.started / end, 100 - width)
        bars.append(Bar(each, round(left, 3), round(width, 3), lane, parts))
    return bars, ticks(end)


def ticks(end: float) -> list[tuple[float, str]]:
    """Five to ten round numbers of seconds up to `end`: their places in percent, and their words.

    Args:
        end: in seconds, more than zero.
    """
    step = 10.0 ** math.floor(math.log10(end / 5))
    step *= next(factor for factor in (1, 2, 5, 10) if end / (step * factor) <= 9)
    count = int(end / step + 1e-9)
    return [(100 * i * step / end, show_seconds(i * step) if i else "0") for i in range(count + 1)]


def show_seconds(seconds: float) -> str:
    """A time in three digits: "2.31 s", "45.2 ms"."""
    if seconds >= 1 or seconds == 0:
        return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds * 1e6:.3g} \u00b5s"


def show_arguments(compilation: Compilation) -> str:
    """The arguments in one line: "x=f32[8,128], n=3"."""
    static = {name: f"{value} (static)" for name, value in compilation.static.items()}
    return ", ".join(f"{k}: {v}" for k, v in {**compilation.arguments, **static}.items())


def show_size(size: int | None) -> str:
    """A size in words; empty where it is not known."""
    return "" if size is None else show_bytes(size)


def show_number(number: float | None) -> str:
    """A count in words; empty where it is not known."""
    return "" if number is None else show_count(number)


def show_place(place: SourceLine) -> str:
    """A line of Python, its file as the page names files."""
    return f"{short_name(place.file)}:{place.line}"


FILTERS: dict[str, Any] = {
    "seconds": show_seconds,
    "bytes": show_size,
    "count": show_number,
    "arguments": show_arguments,
    "place": show_place,
    "total": total_of,
}
