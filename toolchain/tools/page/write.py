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
from typing import TYPE_CHECKING, Any

from ...backend.log import ProgramTexts, text_to_read
from ...display.syntax import RULES
from ...distribution import pip_install
from ...errors import MissingTargetError
from ...files import write_output
from ...units import show_bytes, show_count, show_seconds
from .highlight import short_name, sources_as_json
from .links import PythonFiles
from .payload import describe_programs, pack

if TYPE_CHECKING:
    from ..diff import ComparedProgram, ProgramComparison
    from ..explain.recording import Compilation

MAX_BYTES = 24_000_000
_BYTES_WITHOUT_TEXTS = 200_000


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
                f"imported ({error}): {pip_install('html')}"
            ) from None


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
    texts = _PackedTexts()
    ordered = sorted(compilations, key=lambda each: each.total, reverse=True)
    for each in ordered:
        if each.texts:
            name = each.function
            texts.add(str(each.number), f"{each.number} ({name})", [(name, each.texts)])
    bars, axis = timeline(compilations)
    values = {"totals": totals(compilations), "bars": bars, "axis": axis}
    return _write(path, texts, title=title, compilations=ordered, comparison=None, **values)


def write_comparison_page(path: str | Path, comparison: ProgramComparison) -> tuple[str, ...]:
    """Write one HTML file that shows two programs side by side, and what differs between them.

    Result and errors: as for `write_page`.
    """
    require_packages()
    texts = _PackedTexts()
    one, other = map(_texts_of, comparison.programs, comparison.compiled)
    labels = [
        f"{letter}: {' '.join(filter(None, (each.name, each.pipeline, each.target_name)))}"
        for letter, each in zip("AB", comparison.programs, strict=True)
    ]
    texts.add("diff", " and ".join(labels), list(zip(labels, (one, other), strict=True)))
    names = dict.fromkeys(each.name for each in comparison.programs)
    title = f"jxc diff: {' and '.join(names)}"
    return _write(path, texts, title=title, compilations=(), comparison=comparison)


def _texts_of(program: ComparedProgram, compiled: Any) -> ProgramTexts:
    text = text_to_read(program.module) if program.module is not None else ""
    build = getattr(compiled, "build", None)  # a `Refused` has none
    return ProgramTexts(stablehlo=text, hlo=build.hlo if build else program.hlo)


@dataclass
class _PackedTexts:
    """Texts of programs by key, as long as `bytes_left` allows, and the labels of the others."""

    bytes_left: int = field(default_factory=lambda: MAX_BYTES - _BYTES_WITHOUT_TEXTS)
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


def template(name: str, *folders: Path) -> Any:
    """A template of the page, or of `folders`, which can include those of the page."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, Path(__file__).parent]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(_FILTERS)
    return environment.get_template(name)


def _write(path: str | Path, texts: _PackedTexts, **values: Any) -> tuple[str, ...]:
    page = template("page.html.j2").render(
        notes=texts.notes,
        packed=texts.packed,
        sources=pack(sources_as_json(texts.files)),
        rules=RULES,
        **values,
    )
    write_output(page, str(path))
    return texts.notes


# The head of the page: totals, and the timeline

_STAGES = ("trace", "lower", "passes", "compile", "load")
_MIN_BAR_WIDTH = 0.15  # percent: the narrowest bar that is visible


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


def ticks(end: float) -> list[tuple[float, str]]:
    """Three to ten round numbers of seconds up to `end`: their positions in percent, and labels.

    Args:
        end: in seconds, more than zero.
    """
    step = 10.0 ** math.floor(math.log10(end / 5))
    step *= next(factor for factor in (1, 2, 5, 10) if end / (step * factor) <= 9)
    count = int(end / step + 1e-9)
    return [(100 * i * step / end, show_seconds(i * step) if i else "0") for i in range(count + 1)]


_FILTERS: dict[str, Any] = {
    "seconds": show_seconds,
    "bytes": lambda size: "" if size is None else show_bytes(size),
    "count": lambda number: "" if number is None else show_count(number),
    "line": lambda line: f"{short_name(line.file)}:{line.line}",
}
