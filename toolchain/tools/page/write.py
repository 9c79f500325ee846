"""One self-contained HTML page of compilations: it asks for nothing from any network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..explain.records import Compilation, Texts
from . import needs
from .comparison import difference_lines, figure_rows
from .highlight import RULES
from .links import Files
from .overview import FILTERS, timeline, total_of, totals
from .payload import describe_programs, pack
from .sources import sources_of

MOST_BYTES = 24_000_000
_TEMPLATES = Path(__file__).parent


@dataclass(frozen=True)
class Written:
    """A page that was written.

    Attributes:
        path: where.
        bytes: its size.
        notes: sentences on what was left out; empty where nothing was.
    """

    path: Path
    bytes: int
    notes: tuple[str, ...] = ()


@dataclass
class _Room:
    """The bytes that are left for texts, and what did not fit."""

    left: int
    files: Files
    packed: dict[str, str]
    without: list[str]

    def put(self, key: str, label: str, programs: Sequence[tuple[str, Texts]]) -> None:
        """Keep the texts of programs under a key, unless they are too large."""
        if self.left <= 0:
            self.without.append(label)
            return
        text = pack(describe_programs(programs, self.files))
        if len(text) > self.left:
            self.without.append(label)
            return
        self.left -= len(text)
        self.packed[key] = text


def write_page(
    path: str | Path,
    compilations: Sequence[Compilation],
    title: str = "Compilations",
    diff: Any = None,
    *,
    most_bytes: int = MOST_BYTES,
) -> Written:
    """Write one HTML file that shows compilations, and their texts where they were kept.

    It works from a disk and without a network; without JavaScript it shows all but the texts.

    Args:
        path: the file; an old one is replaced.
        compilations: in any order; of a diff the two programs, the older one first.
        title: the page's heading, such as the command that was run.
        diff: a value with `as_json()`, for the page of two programs' differences.
        most_bytes: how large the file may become; texts of the cheapest compilations are left out
            beyond it, which the page and `Written.notes` say.

    Raises:
        MissingTargetError: jinja2 or pygments is not installed.
        OSError: the file cannot be written.
    """
    needs.require()
    room = _Room(most_bytes - 200_000, Files(), {}, [])
    if diff is not None:
        _compared(room, compilations)
    else:
        _each(room, compilations)
    notes = _notes(room)
    text = _render(room, compilations, title, diff, notes)
    Path(path).write_text(text, encoding="utf-8")
    return Written(Path(path), len(text.encode()), notes)


def _each(room: _Room, compilations: Sequence[Compilation]) -> None:
    """The texts of each compilation, those of the costliest first."""
    for each in sorted(compilations, key=total_of, reverse=True):
        if each.texts is not None and _has_any(each.texts):
            programs = [(each.function, each.texts)]
            label = f"{each.number} ({each.function})"
            room.put(str(each.number), label, programs)


def _compared(room: _Room, compilations: Sequence[Compilation]) -> None:
    """The texts of two programs as one, under the first one's number."""
    kept = [(each, each.texts) for each in compilations if each.texts is not None]
    names = [f"{letter}: {each.function}" for letter, (each, _) in zip("AB", kept, strict=False)]
    programs = [(name, texts) for name, (_, texts) in zip(names, kept, strict=False)]
    if programs:
        room.put("diff", " and ".join(names), programs)


def _has_any(texts: Texts) -> bool:
    return texts.jaxpr is not None or bool(texts.stablehlo or texts.hlo)


def _notes(room: _Room) -> tuple[str, ...]:
    if not room.without:
        return ()
    shown = ", ".join(room.without[:5]) + (", \u2026" if len(room.without) > 5 else "")
    count = len(room.without)
    return (
        f"The texts of {count} compilation{'s' if count > 1 else ''} were left out, which would "
        f"have made the page too large: {shown}. The costliest are here.",
    )


def _render(
    room: _Room,
    compilations: Sequence[Compilation],
    title: str,
    diff: Any,
    notes: Sequence[str],
) -> str:
    jinja2 = needs.jinja2()
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    bars, axis = timeline(compilations)
    found = diff.as_json() if diff is not None else None
    return environment.get_template("page.html.j2").render(
        title=title,
        compilations=sorted(compilations, key=total_of, reverse=True),
        most=max(map(total_of, compilations), default=0.0),
        totals=totals(compilations),
        bars=bars,
        axis=axis,
        lanes=1 + max((bar.lane for bar in bars), default=0),
        diff=found,
        rows=figure_rows(found) if found else [],
        lines=difference_lines(found) if found else [],
        notes=notes,
        packed=room.packed,
        sources=pack(sources_of(room.files)),
        rules=RULES,
    )
