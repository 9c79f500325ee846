"""Writing the page: one HTML file with its style, its script and all texts; it needs no network.

The list and the timeline are plain HTML from the templates beside this file. The texts of programs
are packed into `<script type="text/plain">` elements; the page's script unpacks them when a program
is opened.
"""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import MissingTargetError
from ...source import SourceLine
from ...units import show_bytes, show_count, show_seconds
from .content import PageComparison, PageEntry, ProgramTexts
from .highlight import RULES, short_name, sources_as_json
from .links import PythonFiles
from .payload import INPUT_OF_XLA, describe_programs, pack

MAX_BYTES = 24_000_000
_BYTES_WITHOUT_TEXTS = 200_000


@dataclass(frozen=True)
class WrittenPage:
    """A page that was written.

    Attributes:
        path: the file.
        bytes: its size.
        notes: sentences on what was left out; empty if nothing was.
    """

    path: Path
    bytes: int
    notes: tuple[str, ...] = ()


def require_packages() -> None:
    """Check that pages can be written, before a program runs in order to write one.

    Raises:
        MissingTargetError: jinja2 or pygments is not installed; the message says how to get both.
    """
    for name in ("jinja2", "pygments"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise MissingTargetError(
                f"an HTML page needs the packages jinja2 and pygments, and {name} cannot be "
                f"imported ({error}): pip install 'jxc[html]'"
            ) from None


def write_page(
    path: str | Path,
    entries: Sequence[PageEntry],
    title: str = "Compilations",
    *,
    max_bytes: int = MAX_BYTES,
) -> WrittenPage:
    """Write one HTML file that shows programs, with their texts where they were recorded.

    Without JavaScript it shows everything but the texts.

    Args:
        path: the file; an existing one is replaced.
        entries: the programs, in any order.
        title: the heading, such as the command that was run.
        max_bytes: the largest size of the file. Beyond it, the texts of the programs that took the
            least time are left out, which the page and `WrittenPage.notes` say.

    Raises:
        MissingTargetError: jinja2 or pygments is not installed.
        OSError: the file cannot be written.
    """
    require_packages()
    texts = _PackedTexts(max_bytes - _BYTES_WITHOUT_TEXTS)
    for each in sorted(entries, key=lambda each: each.total, reverse=True):
        if each.texts:
            texts.add(str(each.number), f"{each.number} ({each.title})", [(each.title, each.texts)])
    return _write(path, title, entries, None, texts)


def write_comparison_page(
    path: str | Path, comparison: PageComparison, title: str, *, max_bytes: int = MAX_BYTES
) -> WrittenPage:
    """Write one HTML file that shows two programs side by side, and what differs between them.

    Args, errors: as for `write_page`.
    """
    require_packages()
    sides = (comparison.before, comparison.after)
    labelled = [(f"{letter}: {side.label}", side) for letter, side in zip("AB", sides, strict=True)]
    programs = [(label, side.texts) for label, side in labelled if side.texts]
    texts = _PackedTexts(max_bytes - _BYTES_WITHOUT_TEXTS)
    if programs:
        texts.add("diff", " and ".join(label for label, _ in labelled), programs)
    return _write(path, title, (), comparison, texts)


@dataclass
class _PackedTexts:
    """Texts of programs by key, as long as `bytes_left` allows, and the labels of the others."""

    bytes_left: int
    files: PythonFiles = field(default_factory=PythonFiles)
    packed: dict[str, str] = field(default_factory=dict)
    omitted: list[str] = field(default_factory=list)

    def add(self, key: str, label: str, programs: Sequence[tuple[str, ProgramTexts]]) -> None:
        text = pack(describe_programs(programs, self.files)) if self.bytes_left > 0 else ""
        if not text or len(text) > self.bytes_left:
            self.omitted.append(label)
            return
        self.bytes_left -= len(text)
        self.packed[key] = text

    @property
    def notes(self) -> tuple[str, ...]:
        if not self.omitted:
            return ()
        shown = ", ".join(self.omitted[:5]) + (", \u2026" if len(self.omitted) > 5 else "")
        count = len(self.omitted)
        return (
            f"The texts of {count} program{'s' if count > 1 else ''} are left out to keep the page "
            f"small: {shown}. Those that took the most time are included.",
        )


def _write(
    path: str | Path,
    title: str,
    entries: Sequence[PageEntry],
    comparison: PageComparison | None,
    texts: _PackedTexts,
) -> WrittenPage:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(_FILTERS)
    bars, axis = timeline(entries)
    page = environment.get_template("page.html.j2").render(
        title=title,
        entries=sorted(entries, key=lambda each: each.total, reverse=True),
        longest=max((each.total for each in entries), default=0.0),
        totals=totals(entries),
        bars=bars,
        axis=axis,
        lanes=1 + max((bar.lane for bar in bars), default=0),
        diff=comparison,
        notes=texts.notes,
        packed=texts.packed,
        sources=pack(sources_as_json(texts.files)),
        rules=RULES,
        settings={"diff": comparison is not None, "inputOfXla": INPUT_OF_XLA},
    )
    Path(path).write_text(page, encoding="utf-8")
    return WrittenPage(Path(path), len(page.encode()), texts.notes)


# The head of the page: totals, and the timeline

_STAGES = ("trace", "lower", "passes", "compile", "load")
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
        "seconds": {stage: seconds[stage] for stage in _STAGES if stage in seconds},
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


def _show_line(line: SourceLine) -> str:
    return f"{short_name(line.file)}:{line.line}"


_FILTERS: dict[str, Any] = {
    "seconds": show_seconds,
    "bytes": lambda size: "" if size is None else show_bytes(size),
    "count": lambda number: "" if number is None else show_count(number),
    "line": _show_line,
}
