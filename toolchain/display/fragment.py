"""The HTML of one result in a notebook: `_repr_html_` of `Lowered`, reports and logs.

A fragment has its own `<style>`. Every selector in it begins with the class of the fragment, so
that it changes nothing else in the notebook, and its colours follow the notebook's light or dark
theme. It has no script, and needs no network. Its size is bounded: each result says what is left
out and how to print it.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from .syntax import highlighted

MAX_BYTES = 400_000
"""The size of a fragment, without its style. Parts beyond it are left out."""
MAX_ROWS = 100
"""Rows of a table."""
_MAX_LINES, _MAX_LINE_LENGTH = 300, 400
_MAX_CELL = 1000


@cache
def _style() -> str:
    return Path(__file__).with_name("fragment.css").read_text()


def fragment(title: str, facts: Iterable[str], parts: Iterable[str]) -> str:
    """A result as HTML: its heading, then its parts.

    Args:
        title: the kind of result, such as "jxc.Lowered"; empty where the parts say it.
        facts: short texts behind the title; empty ones are left out.
        parts: HTML. Those beyond `MAX_BYTES` are left out, and a note says so.
    """
    shown, left, omitted = [], MAX_BYTES, 0
    for part in parts:
        left -= len(part.encode())
        if left < 0:
            omitted += 1
        else:
            shown.append(part)
    if omitted:
        shown.append(note(f"{omitted} parts are left out to keep the notebook small; print() it."))
    described = " · ".join(map(escaped, filter(None, facts)))
    head = f'<p class="jxc-head"><b>{escaped(title)}</b> <span>{described}</span></p>'
    head = head if title else ""
    return f'<div class="jxc-html"><style>{_style()}</style>{head}{"".join(shown)}</div>'


def escaped(text: str) -> str:
    """Text as HTML, without the middle of a long one."""
    if len(text) > _MAX_CELL:
        text = f"{text[: _MAX_CELL - 100]} …{len(text) - _MAX_CELL} characters… {text[-100:]}"
    return html.escape(text)


def note(text: str) -> str:
    """A sentence about the result, in the colour of secondary text."""
    return f'<p class="jxc-dim">{escaped(text)}</p>'


def code(text: str, language: str, rest: str) -> str:
    """The first 300 lines of a program, highlighted; a note says how many there are.

    Args:
        text: the program.
        language: "jaxpr", "stablehlo" or "hlo".
        rest: the expression that gives the whole text, such as "print(low.as_text())".
    """
    lines = text.split("\n", _MAX_LINES)
    more = lines[_MAX_LINES:]
    shown = "\n".join(highlighted(_cut(line), language) for line in lines[:_MAX_LINES])
    block = f"<pre>{shown.rstrip()}</pre>"
    if not more or not more[0].strip():
        return block
    total = _MAX_LINES + more[0].rstrip("\n").count("\n") + 1
    return block + note(f"{_MAX_LINES} of {total:,} lines are shown: {rest} has all.")


def _cut(line: str) -> str:
    if len(line) <= _MAX_LINE_LENGTH:
        return line
    head, tail = line[: _MAX_LINE_LENGTH - 100], line[-100:]
    return f"{head} …{len(line) - _MAX_LINE_LENGTH} characters… {tail}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows of text as an HTML table; those beyond `MAX_ROWS` are left out, and a note says so.

    Args:
        header: the names of the columns; empty texts for a table without a header.
        rows: the cells of each row, as text.
        right: the positions of the columns that are aligned to the right.
    """
    kinds = [' class="jxc-right"' if n in right else "" for n in range(len(header))]

    def cells(row: Sequence[str], tag: str) -> str:
        marked = zip(kinds, row, strict=True)
        return "".join(f"<{tag}{kind}>{escaped(cell)}</{tag}>" for kind, cell in marked)

    return table_of_cells(
        cells(header, "th") if any(header) else "", [cells(r, "td") for r in rows]
    )


def table_of_cells(header: str, rows: Sequence[str]) -> str:
    """An HTML table.

    Args:
        header: `<th>` elements; empty for a table without a header.
        rows: the `<td>` elements of each row.
    """
    head = f"<thead><tr>{header}</tr></thead>" if header else ""
    body = "".join(f"<tr>{row}</tr>" for row in rows[:MAX_ROWS])
    whole = f'<div class="jxc-wide"><table>{head}<tbody>{body}</tbody></table></div>'
    left = len(rows) - MAX_ROWS
    return whole + (note(f"{left:,} more rows are left out; print() it.") if left > 0 else "")


def details(summary: str, content: str) -> str:
    """HTML that is shown when a line is clicked."""
    return f"<details><summary>{escaped(summary)}</summary>{content}</details>"
