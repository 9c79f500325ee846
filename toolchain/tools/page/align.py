"""Which lines of a text are which lines of the text before it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

Keys = Sequence[object]
_MOST_EDITS = 250  # that are looked ahead
NEW = -1


def align(before: Keys, after: Keys) -> list[int]:
    """For each line of `after` its line in `before`, in rising order; -1 of a new line.

    Lines with equal keys match. Lines whose key is unique in both texts are matched first (patience
    diff), what lies between them by the shortest edit script (Myers), looking 250 edits ahead: so
    the time grows with the lines alone, and a longer script may not be the shortest.
    """
    found = [NEW] * len(after)
    todo = [(0, len(before), 0, len(after))]
    while todo:
        a, a_end, b, b_end = todo.pop()
        while a < a_end and b < b_end and before[a] == after[b]:
            found[b] = a
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and before[a_end - 1] == after[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
            found[b_end] = a_end
        if a == a_end or b == b_end:
            continue
        anchors = _anchors(before, after, (a, a_end, b, b_end))
        if anchors:
            todo.extend(_between(anchors, (a, a_end, b, b_end)))
            for i, j in anchors:
                found[j] = i
        else:
            for i, j in shortest(before[a:a_end], after[b:b_end]):
                found[b + j] = a + i
    return found


def _anchors(before: Keys, after: Keys, gap: tuple[int, int, int, int]) -> list[tuple[int, int]]:
    """The lines unique in both parts, as pairs: the longest sequence that rises in both."""
    a, a_end, b, b_end = gap
    ours, theirs = Counter(before[a:a_end]), Counter(after[b:b_end])
    at = {before[i]: i for i in range(a, a_end) if ours[before[i]] == 1}
    pairs = [(at[after[j]], j) for j in range(b, b_end) if theirs[after[j]] == 1 and after[j] in at]
    return _rising(pairs)


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence whose first numbers rise."""
    tops: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for index, (i, _) in enumerate(pairs):
        pile = bisect_left(tops, i)
        previous.append(ends[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(i)
            ends.append(index)
        else:
            tops[pile], ends[pile] = i, index
    chain, index = [], ends[-1] if ends else -1
    while index >= 0:
        chain.append(pairs[index])
        index = previous[index]
    return chain[::-1]


def _between(
    anchors: list[tuple[int, int]], gap: tuple[int, int, int, int]
) -> list[tuple[int, int, int, int]]:
    a, a_end, b, b_end = gap
    gaps = []
    for i, j in [*anchors, (a_end, b_end)]:
        if a < i and b < j:
            gaps.append((a, i, b, j))
        a, b = i + 1, j + 1
    return gaps


def shortest(before: Keys, after: Keys) -> list[tuple[int, int]]:
    """The pairs that an edit script keeps, the shortest where that has 250 edits at most."""
    pairs: list[tuple[int, int]] = []
    x = y = 0
    while x < len(before) and y < len(after):
        found, (dx, dy) = _ahead(before[x:], after[y:])
        pairs += [(x + i, y + j) for i, j in found]
        x, y = x + dx, y + dy
    return pairs


def _ahead(before: Keys, after: Keys) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """The pairs that the shortest script keeps as far as 250 edits reach, and how far that is."""
    n, m = len(before), len(after)
    reach = {1: 0}  # by diagonal x - y: how far `before` is read
    trail: list[dict[int, int]] = []
    for edits in range(min(n + m, _MOST_EDITS) + 1):
        trail.append(reach.copy())
        for diagonal in range(-edits, edits + 1, 2):
            x = _step(reach, diagonal, edits)
            while x < n and x - diagonal < m and before[x] == after[x - diagonal]:
                x += 1
            reach[diagonal] = x
            if x >= n and x - diagonal >= m:
                return _walk_back(trail, n, m), (n, m)
    last = len(trail) - 1
    ends = ((reach[k], reach[k] - k) for k in range(-last, last + 1, 2))
    x, y = max((end for end in ends if end[0] <= n and end[1] <= m), key=sum)
    return _walk_back(trail, x, y), (x, y)


def _step(reach: dict[int, int], diagonal: int, edits: int) -> int:
    """How far `before` is read on a diagonal after one more edit."""
    if _is_insertion(reach, diagonal, edits):
        return reach[diagonal + 1]
    return reach[diagonal - 1] + 1


def _is_insertion(reach: dict[int, int], diagonal: int, edits: int) -> bool:
    if diagonal in (-edits, edits):
        return diagonal == -edits
    return reach[diagonal - 1] < reach[diagonal + 1]


def _walk_back(trail: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    pairs = []
    for edits, reach in reversed(list(enumerate(trail))):
        diagonal = x - y
        earlier = diagonal + 1 if _is_insertion(reach, diagonal, edits) else diagonal - 1
        start = reach[earlier]
        while x > start and y > start - earlier:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = start, start - earlier
    return pairs[::-1]
