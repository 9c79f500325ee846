"""A program at one stage as lines to be shown, with their links."""

from __future__ import annotations

import re
from dataclasses import dataclass

QUOTED = r'"(?:[^"\\]|\\.)*"'
MOST_LINES = 30_000  # of one text
MOST_CHARACTERS = 500  # of one line
_KEPT = 200  # of the end of a longer one
_CONSTANT = re.compile(r"(dense(?:_resource)?<)([^<>]{90,})(>)")


@dataclass(frozen=True)
class Stage:
    """A program at one stage.

    Attributes:
        title: what it is called, such as "StableHLO" or "after fold-constants".
        kind: "jaxpr", "stablehlo" or "hlo".
        lines: the text, without what is only for linking.
        links: for each line, a number in the program's `Links`.
        left_out: how many lines were left out at the end.
    """

    title: str
    kind: str
    lines: tuple[str, ...]
    links: tuple[int, ...]
    left_out: int = 0


def make_stage(title: str, kind: str, lines: list[str], links: list[int]) -> Stage:
    """A stage of lines and links as they were read, cut where it is longer than a page takes."""
    left_out = max(0, len(lines) - MOST_LINES)
    shown = tuple(shortened(line) for line in lines[:MOST_LINES])
    return Stage(title, kind, shown, tuple(links[:MOST_LINES]), left_out)


def shortened(line: str) -> str:
    """A line with large constants, and then its middle, left out and the gap counted."""
    if len(line) <= 120:
        return line
    if "dense" in line:
        line = _CONSTANT.sub(_elided, line)
    if len(line) <= MOST_CHARACTERS:
        return line
    head, tail = line[: MOST_CHARACTERS - _KEPT], line[-_KEPT:]
    return f"{head} \u2026{len(line) - MOST_CHARACTERS} characters\u2026 {tail}"


def _elided(found: re.Match[str]) -> str:
    return f"{found[1]}{found[2][:24]}\u2026{len(found[2]) - 24} characters\u2026{found[3]}"


def unquoted(text: str) -> str:
    """What a quoted string says."""
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if "\\" in text else text[1:-1]
