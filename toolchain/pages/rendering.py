"""Writing a page: one HTML file with its style, its script and all texts; it needs no network.

The template of a tool extends `page.html.j2`. The texts of programs are packed into
`<script type="text/plain">` elements; the page's script unpacks them when a program is opened.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..backend.log import ProgramTexts
from ..display.syntax import RULES
from ..distribution import pip_install
from ..errors import MissingTargetError
from ..files import write_output
from ..units import counted, show_bytes, show_count, show_seconds
from .highlight import short_name, sources_as_json
from .links import PythonFiles
from .payload import describe_programs, pack

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


@dataclass
class PackedTexts:
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
        return (
            f"The texts of {counted(len(self.omitted), 'program')} are left out to keep the page "
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


def write(name: str, folder: Path, path: str | Path, texts: PackedTexts, **values: Any) -> None:
    """Fill in the template `name` of `folder`, which extends `page.html.j2`, and write the file.

    Raises:
        UsageError: the file cannot be written.
    """
    page = template(name, folder).render(
        notes=texts.notes,
        packed=texts.packed,
        sources=pack(sources_as_json(texts.files)),
        rules=RULES,
        **values,
    )
    write_output(page, str(path))


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
