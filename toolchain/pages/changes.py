"""The changes that a pass makes to a program's text, as edits of the text before it.

MLIR numbers the values of each text anew, so that removing one op renames all values after it. To
show only what a pass changed, lines are first matched without the names of values (`align`), then
values of matched lines get their earlier names back (`ValueNames`), and the lines that still differ
become hunks (`hunks_of`).

`align` works like a patience diff: it matches lines that are unique in both texts, then aligns what
lies between by the shortest edit script (Myers), with bounded look-ahead.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple

from .stages import StageText

Keys = Sequence[object]
NEW = -1
_MAX_EDITS = 250  # look-ahead of the search for the shortest script


def align(before: Keys, after: Keys) -> list[int]:
    """For each line of `after`, the equal line of `before`, in rising order; -1 for a new line.

    The time is linear in the number of lines. Between two unique lines, the script is the shortest
    where that has at most 250 edits.
    """
    found = [NEW] * len(after)
    todo = [(0, len(before), 0, len(after))]
    while todo:
        a, a_end, b, b_end = todo.pop()
        # Equal lines at both ends.
        while a < a_end and b < b_end and before[a] == after[b]:
            found[b] = a
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and before[a_end - 1] == after[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
            found[b_end] = a_end
        if a == a_end or b == b_end:
            continue
        # Unique lines cut the gap into smaller ones; without them, search for the script.
        if anchors := _anchors(before, after, (a, a_end, b, b_end)):
            for i, j in anchors:
                found[j] = i
            for i, j in [*anchors, (a_end, b_end)]:
                if a < i and b < j:
                    todo.append((a, i, b, j))
                a, b = i + 1, j + 1
        else:
            for i, j in shortest(before[a:a_end], after[b:b_end]):
                found[b + j] = a + i
    return found


def _anchors(before: Keys, after: Keys, gap: tuple[int, int, int, int]) -> list[tuple[int, int]]:
    """Pairs of lines that are unique in both parts: the longest sequence that rises in both."""
    a, a_end, b, b_end = gap
    ours, theirs = Counter(before[a:a_end]), Counter(after[b:b_end])
    at = {before[i]: i for i in range(a, a_end) if ours[before[i]] == 1}
    pairs = [(at[after[j]], j) for j in range(b, b_end) if theirs[after[j]] == 1 and after[j] in at]
    return _longest_rising(pairs)


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence whose first numbers rise, by patience sorting."""
    tops: list[int] = []  # the smallest end of a rising sequence, by its length
    ends: list[int] = []
    previous: list[int] = []
    for index, (i, _) in enumerate(pairs):
        pile = bisect_left(tops, i)
        previous.append(ends[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [i]
        ends[pile : pile + 1] = [index]
    chain, index = [], ends[-1] if ends else -1
    while index >= 0:
        chain.append(pairs[index])
        index = previous[index]
    return chain[::-1]


def shortest(before: Keys, after: Keys) -> list[tuple[int, int]]:
    """The pairs of lines that an edit script keeps: the shortest script, up to 250 edits."""
    pairs: list[tuple[int, int]] = []
    x = y = 0
    while x < len(before) and y < len(after):
        read, read_after, kept = _search(before[x:], after[y:])
        found = []
        while kept:
            i, j, kept = kept
            found.append((x + i, y + j))
        pairs += reversed(found)
        x, y = x + read, y + read_after
    return pairs


def _search(before: Keys, after: Keys) -> tuple[int, int, Any]:
    """How much of both texts up to 250 edits cover, and the pairs that the shortest script keeps.

    The pairs are a chain, the last one first: (i, j, earlier pairs).
    """
    n, m = len(before), len(after)
    # By diagonal x - y: how far `before` is read, and the pairs kept until there.
    furthest: dict[int, tuple[int, Any]] = {1: (0, None)}
    edits = 0
    for edits in range(min(n + m, _MAX_EDITS) + 1):
        for k in range(-edits, edits + 1, 2):
            if k == -edits or (k != edits and furthest[k - 1][0] < furthest[k + 1][0]):
                x, kept = furthest[k + 1]  # a line of `after` is inserted
            else:
                x, kept = furthest[k - 1][0] + 1, furthest[k - 1][1]
            while x < n and x - k < m and before[x] == after[x - k]:
                x, kept = x + 1, (x, x - k, kept)
            furthest[k] = x, kept
            if x >= n and x - k >= m:
                return n, m, kept
    ends = ((x, x - k, kept) for k in range(-edits, edits + 1, 2) for x, kept in [furthest[k]])
    return max((end for end in ends if end[0] <= n and end[1] <= m), key=lambda e: e[0] + e[1])


# Names of values

_VALUE = re.compile(r"%[\w.$-]+")
_USE = re.compile(r"%[\w.$-]+(?:#\d+)?")
_DEFINED = re.compile(r"(%[\w.$-]+)(?:(?::\d+)? = |: )")
_NUMBERED = re.compile(r"%([A-Za-z]\w*?)?_?(\d+)$")
_FUNCTION = re.compile(r"\s*func\.func ")


class ValueNames:
    """Names of values that stay the same at every stage of a program.

    A value that a pass adds gets a number that no earlier text uses.

    Args:
        first: the text whose names are kept.
    """

    def __init__(self, first: StageText) -> None:
        numbers = (_NUMBERED.match(name) for line in first.lines for name in _VALUE.findall(line))
        self._next = 1 + max((int(found[2]) for found in numbers if found), default=-1)

    def keep(self, before: StageText, after: StageText) -> tuple[StageText, list[int]]:
        """`after` with the names of `before`, and for each of its lines the matched one, or -1."""
        pairs = _match_lines(before, after)
        # For each line the number of the function that it is in; -1 outside of any.
        starts = (bool(_FUNCTION.match(line)) for line in before.lines)
        function_of = [count - 1 for count in accumulate(starts)]
        renamed: dict[str, str] = {}
        lines, function = [], -1
        for line, old in zip(after.lines, pairs, strict=True):
            if _FUNCTION.match(line):
                renamed, function = {}, function_of[old] if old != NEW else -1
            # Values keep their names within a function only: an inlined op is new to its caller.
            is_kept = old != NEW and function_of[old] == function
            known = _DEFINED.findall(before.lines[old]) if is_kept else []
            for index, name in enumerate(_DEFINED.findall(line)):
                renamed[name] = known[index] if index < len(known) else self._fresh(name)
            lines.append(_VALUE.sub(lambda found: renamed.get(found[0], found[0]), line))  # noqa: B023
        return replace(after, lines=tuple(lines)), pairs

    def _fresh(self, name: str) -> str:
        found = _NUMBERED.match(name)
        stem = (found[1] or "") if found else name[1:]
        self._next += 1
        return f"%{stem}_{self._next - 1}" if stem else f"%{self._next - 1}"


def _match_lines(before: StageText, after: StageText) -> list[int]:
    """Match lines that are equal but for names: first those with the same origin in Python."""
    old_keys, new_keys = ([_USE.sub("%", line) for line in s.lines] for s in (before, after))
    with_links = zip(old_keys, before.links, strict=True), zip(new_keys, after.links, strict=True)
    pairs = align(*map(list, with_links))
    a, b = 0, 0
    for j, i in [*enumerate(pairs), (len(new_keys), len(old_keys))]:
        if i == NEW:
            continue
        if i > a and j > b:
            found = align(old_keys[a:i], new_keys[b:j])
            pairs[b:j] = [NEW if k == NEW else a + k for k in found]
        a, b = i + 1, j + 1
    return pairs


# Hunks


class Hunk(NamedTuple):
    """Lines that replace others.

    Attributes:
        start: the first replaced line of the text before, from 0.
        removed: how many lines are replaced.
        text: the new lines.
        links: their links; empty if there are no new lines.
        marks: for each new line "+" if it is new, "~" if it is the same op with other operands, "="
            if only its origin in Python differs.
    """

    start: int
    removed: int
    text: str
    links: tuple[int, ...]
    marks: str


def hunks_of(before: StageText, after: StageText, pairs: list[int]) -> list[Hunk]:
    """The replacements that turn `before` into `after`, in order.

    Args:
        pairs: for each line of `after` the matched line of `before`, or -1.
    """
    hunks, a, b = [], 0, 0
    old, new = (list(zip(s.lines, s.links, strict=True)) for s in (before, after))
    kept = [(i, j) for j, i in enumerate(pairs) if i != NEW and old[i] == new[j]]
    for i, j in [*kept, (len(old), len(new))]:
        if i > a or j > b:
            marks = "".join(
                "+" if k == NEW else "=" if before.lines[k] == line else "~"
                for k, line in zip(pairs[b:j], after.lines[b:j], strict=True)
            )
            hunks.append(Hunk(a, i - a, "\n".join(after.lines[b:j]), after.links[b:j], marks))
        a, b = i + 1, j + 1
    return hunks
