"""A program after a pass as what changed in it, its values keeping the names that they had."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .align import NEW, align
from .text import Stage

_VALUE = re.compile(r"%[\w.$-]+")
_USE = re.compile(r"%[\w.$-]+(?:#\d+)?")
_DEFINED = re.compile(r"(%[\w.$-]+)(?:(?::\d+)? = |: )")
_NUMBERED = re.compile(r"%([A-Za-z]\w*?)?_?(\d+)$")
_FUNCTION = re.compile(r"\s*func\.func ")


@dataclass(frozen=True)
class Hunk:
    """Lines that stand in place of others.

    Attributes:
        start: the first line of the text before that is replaced, from 0.
        removed: how many are.
        lines: what stands there now.
        links: where each line leads.
        marks: for each line "+", new, "~", the same op with other operands, or "=", the same text
            that leads to another line of Python.
    """

    start: int
    removed: int
    lines: tuple[str, ...]
    links: tuple[int, ...]
    marks: str


class Names:
    """The names of values, kept from text to text: a value is called the same at every stage.

    MLIR numbers the values of each text anew, so that one op less renames all behind it. What is
    new gets a number that no earlier text has.

    Args:
        first: the text whose names stay.
    """

    def __init__(self, first: Stage) -> None:
        numbers = (_NUMBERED.match(name) for line in first.lines for name in _VALUE.findall(line))
        self._next = 1 + max((int(found[2]) for found in numbers if found), default=-1)

    def keep(self, before: Stage, after: Stage) -> tuple[Stage, list[int]]:
        """`after` with the names of `before`, and for each of its lines the one it was, or -1."""
        pairs = _pairs(before, after)
        homes = _functions(before)
        named: dict[str, str] = {}
        lines, home = [], -1
        for line, old in zip(after.lines, pairs, strict=True):
            if _FUNCTION.match(line):
                named, home = {}, homes[old] if old != NEW else -1
            is_known = old != NEW and homes[old] == home
            self._define(line, before.lines[old] if is_known else "", named)
            lines.append(_renamed(line, named))
        same = Stage(after.title, after.kind, tuple(lines), after.links, after.left_out)
        return same, pairs

    def _define(self, line: str, known_as: str, named: dict[str, str]) -> None:
        """Give the values that a line defines their names: those of the line that it was."""
        old = _DEFINED.findall(known_as)
        for index, name in enumerate(_DEFINED.findall(line)):
            named[name] = old[index] if index < len(old) else self._fresh(name)

    def _fresh(self, name: str) -> str:
        found = _NUMBERED.match(name)
        stem = (found[1] or "") if found else name[1:]
        self._next += 1
        return f"%{stem}_{self._next - 1}" if stem else f"%{self._next - 1}"


def hunks_of(before: Stage, after: Stage, pairs: list[int]) -> list[Hunk]:
    """What to replace in `before` to get `after`, in order.

    Args:
        pairs: for each line of `after` the line of `before` that it was, or -1.
    """
    hunks, a, b = [], 0, 0
    kept = [(i, j) for j, i in enumerate(pairs) if i != NEW and _is_same(before, i, after, j)]
    for i, j in [*kept, (len(before.lines), len(after.lines))]:
        if i > a or j > b:
            marks = "".join(_mark(before, pairs[k], after, k) for k in range(b, j))
            hunks.append(Hunk(a, i - a, after.lines[b:j], after.links[b:j], marks))
        a, b = i + 1, j + 1
    return hunks


def _is_same(before: Stage, i: int, after: Stage, j: int) -> bool:
    return before.lines[i] == after.lines[j] and before.links[i] == after.links[j]


def _renamed(line: str, named: dict[str, str]) -> str:
    return _VALUE.sub(lambda found: named.get(found[0], found[0]), line)


def _mark(before: Stage, old: int, after: Stage, new: int) -> str:
    if old == NEW:
        return "+"
    return "=" if before.lines[old] == after.lines[new] else "~"


def _pairs(before: Stage, after: Stage) -> list[int]:
    """Lines that say the same but for names: first those that lead to the same Python lines."""
    old_keys, new_keys = _keys(before), _keys(after)
    linked = zip(old_keys, before.links, strict=True), zip(new_keys, after.links, strict=True)
    pairs = align(*map(list, linked))
    a, b = 0, 0
    for j, i in [*enumerate(pairs), (len(new_keys), len(old_keys))]:
        if i == NEW:
            continue
        if i > a and j > b:
            found = align(old_keys[a:i], new_keys[b:j])
            pairs[b:j] = [NEW if k == NEW else a + k for k in found]
        a, b = i + 1, j + 1
    return pairs


def _keys(stage: Stage) -> list[str]:
    """What each line says without the names of values."""
    return [_USE.sub("%", line) for line in stage.lines]


def _functions(stage: Stage) -> list[int]:
    """For each line the number of the function that it stands in; -1 outside of any."""
    numbers, number = [], -1
    for line in stage.lines:
        number += bool(_FUNCTION.match(line))
        numbers.append(number)
    return numbers
