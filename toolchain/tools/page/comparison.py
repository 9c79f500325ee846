"""What the page of a comparison says before its texts: figures side by side, what differs where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ...units import show_bytes, show_count
from .overview import show_seconds

_WORDS = {
    "fewer": "only in A",
    "more": "only in B",
    "changed": "changed",
    "rewired": "reads others",
}
_MOST_LETTERS = 160  # of an attribute


@dataclass(frozen=True)
class Row:
    """A figure of both programs, in words.

    Attributes:
        label: what it is.
        before, after: of A and of B; empty where it is not known.
        ratio: by how much B is more than A, such as "+12.5%"; empty where that says nothing.
        is_less: whether B has less of it.
    """

    label: str
    before: str
    after: str
    ratio: str
    is_less: bool


@dataclass(frozen=True)
class Line:
    """What differs at one line of Python.

    Attributes:
        side: "a" or "b": whose line it is.
        place: "file:line"; empty where no line is known.
        text: the line.
        items: kind, its words, how many, and which ops, for each group.
    """

    side: str
    place: str
    text: str
    items: tuple[tuple[str, str, int, str], ...]


def figure_rows(found: Mapping[str, Any]) -> list[Row]:
    """The figures in a comparison's JSON; those that are 0 or unknown in both are left out."""
    return [
        _row(name, figure)
        for name, figure in found["figures"].items()
        if figure["before"] or figure["after"]
    ]


def _row(name: str, figure: Mapping[str, Any]) -> Row:
    before, after = figure["before"], figure["after"]
    shows: Mapping[str, Any] = {"bytes": show_bytes, "seconds": show_seconds, "flops": show_count}
    show = shows.get(figure["unit"], "{:.0f}".format)
    one, other = ["" if value is None else show(value) for value in (before, after)]
    is_known = bool(before) and after is not None and before != after
    ratio = f"{100 * (after / before - 1):+.1f}%" if is_known else ""
    label = figure.get("label", name.replace("_", " ")).strip()
    return Row(label, one, other, ratio, is_known and after < before)


def difference_lines(found: Mapping[str, Any]) -> list[Line]:
    """What differs in a comparison's JSON, by line of Python, in its order."""
    groups = found["difference"]["groups"]
    return [_line(*key, list(each)) for key, each in groupby(groups, key=_place)]


def _place(group: Mapping[str, Any]) -> tuple[str, str]:
    site = group["site"]
    return (f"{site['file']}:{site['line']}", site["text"]) if site else ("", "")


def _line(place: str, text: str, groups: Sequence[Mapping[str, Any]]) -> Line:
    items = tuple((g["kind"], _WORDS[g["kind"]], g["count"], _said(g)) for g in groups)
    is_of_a = all(group["kind"] == "fewer" for group in groups)
    return Line("a" if is_of_a else "b", place, text, items)


def _said(group: Mapping[str, Any]) -> str:
    changes = "; ".join(_change(**each) for each in group["changes"])
    return group["op"] + (f": {changes}" if changes else "")


def _change(what: str, before: str, after: str) -> str:
    if not before or not after:
        return f"{what}{' was ' + _short(before) if before else ''}" + (
            f" is now {_short(after)}" if after else ""
        )
    return f"{what} {_short(before)} \u2192 {_short(after)}"


def _short(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}\u2026"
