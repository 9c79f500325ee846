"""Writing the page: one HTML file with its style, its script and all texts; it needs no network.

The list and the timeline are plain HTML from the templates beside this file. The texts of programs
are packed into `<script type="text/plain">` elements; the page's script unpacks them when a program
is opened.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import MissingTargetError
from .content import PageComparison, PageEntry, ProgramTexts
from .highlight import RULES, sources_as_json
from .links import PythonFiles
from .overview import FILTERS, timeline, totals
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
    environment.filters.update(FILTERS)
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
