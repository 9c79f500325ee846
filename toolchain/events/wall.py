"""Dividing the wall clock between everything that was active.

Kernels run on several threads at once, loops contain kernels, and while a kernel runs the host
prepares the next. So that rows add up to the wall clock, each moment is given to what is active at
the highest level at that moment, in equal parts if there are several. Threads that compute kernels
are the highest: a kernel on three threads is given three times as much as one on one. A kernel is
above the loop that contains it, and that is above what the host does meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_Column = Sequence[int] | NDArray[np.int64]


def shares(starts: _Column, ends: _Column, levels: _Column) -> NDArray[np.float64]:
    """The part of the wall clock that each span is given, in the unit of the times.

    The parts add up to the length of the union of all spans. Spans that end before they start are
    taken as empty. Takes time in proportion to N log N for N spans, for each level.
    """
    begin = np.asarray(starts, dtype=np.int64)
    end = np.maximum(np.asarray(ends, dtype=np.int64), begin)
    level = np.asarray(levels, dtype=np.int64)
    times = np.unique(np.concatenate([begin, end]))
    given = np.zeros(len(begin))
    if len(times) < 2:
        return given
    lengths = np.diff(times)
    first, last = np.searchsorted(times, begin), np.searchsorted(times, end)
    is_taken = np.zeros(len(lengths), dtype=bool)
    for each in np.unique(level)[::-1]:
        chosen = level == each
        changes = np.bincount(first[chosen], minlength=len(times)).astype(np.int64)
        changes -= np.bincount(last[chosen], minlength=len(times))
        active = np.cumsum(changes)[:-1]
        is_own = (active > 0) & ~is_taken
        part = np.where(is_own, lengths / np.maximum(active, 1), 0.0)
        until = np.concatenate([[0.0], np.cumsum(part)])
        given[chosen] = until[last[chosen]] - until[first[chosen]]
        is_taken |= is_own
    return given
