"""A console of rich that makes HTML of what is printed on it.

Reports and logs print `Text`s and `Table`s on a console. On this one, each becomes a paragraph or
an HTML table instead of characters in columns.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from .fragment import escaped, table_of_cells

_LINES = 25  # of a terminal; rich uses it for live displays only
_COLORS = ("red", "green", "yellow")


def text_console(width: int, **settings: Any) -> Console:
    """A console of rich of a width. rich reads no environment variables if it has both sizes."""
    return Console(width=width, height=_LINES, highlight=False, **settings)


class HtmlConsole(Console):
    """Collects what is printed.

    Attributes:
        parts: the HTML of each `Text` or `Table`, in order.
    """

    def __init__(self) -> None:
        super().__init__(width=120, height=_LINES, highlight=False)
        self.parts: list[str] = []

    def print(self, *objects: Any, **options: Any) -> None:
        """Add a `Table` or lines of text; the options of rich have no effect."""
        for each in objects:
            if isinstance(each, Table):
                self.parts.append(_table(each))
            else:
                self.parts += _paragraphs(each if isinstance(each, Text) else Text(str(each)))


def _paragraphs(text: Text) -> list[str]:
    lines = text.split("\n", allow_blank=False)
    return [f"<p{_class_of(text.style)}>{_inline(line)}</p>" for line in lines if line.plain]


def _table(table: Table) -> str:
    columns = table.columns
    alignments = [" jxc-right" if column.justify == "right" else "" for column in columns]
    header = ""
    if table.show_header and any(str(column.header) for column in columns):
        header = "".join(
            f"<th{_attribute(kind)}>{_inline(column.header)}</th>"
            for kind, column in zip(alignments, columns, strict=True)
        )
    cells = zip(*(column.cells for column in columns), strict=True)
    rows = [
        "".join(
            f"<td{_attribute(_name_of(getattr(cell, 'style', '')) + kind)}>{_inline(cell)}</td>"
            for kind, cell in zip(alignments, row, strict=True)
        )
        for row in cells
    ]
    return table_of_cells(header, rows)


def _inline(cell: Any) -> str:
    """A cell or a line as HTML; the styled parts of a `Text` are `<span>`s."""
    if not isinstance(cell, Text):
        return escaped(str(cell))
    parts, end = [], 0
    for span in sorted(cell.spans, key=lambda span: span.start):
        if span.start < end:  # within one that is styled
            continue
        styled = cell.plain[span.start : span.end]
        parts += [escaped(cell.plain[end : span.start])]
        parts += [f"<span{_class_of(span.style)}>{escaped(styled)}</span>"]
        end = span.end
    return "".join([*parts, escaped(cell.plain[end:])])


def _class_of(style: str | Style) -> str:
    return _attribute(_name_of(style))


def _attribute(names: str) -> str:
    return f' class="{names.strip()}"' if names else ""


def _name_of(style: str | Style) -> str:
    try:
        parsed = style if isinstance(style, Style) else Style.parse(style)
    except Exception:  # a name of a theme
        return ""
    names = [name for name in ("bold", "dim") if getattr(parsed, name)]
    names += [c for c in _COLORS if parsed.color is not None and parsed.color.name == c]
    return " ".join(f"jxc-{name}" for name in names)
