"""Spans of time in which something was active, and the part of the wall clock of each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .wall import shares


class Span(NamedTuple):
    """Something that was active from `start` to `end`, in nanoseconds since 1970."""

    start: int
    end: int
    level: int
    owner: int


class Spans:
    """Spans and their owners; equal owners are one."""

    def __init__(self, first: int, last: int) -> None:
        self.limits = first, last
        self._numbers: dict[object, int] = {}
        self.spans: list[Span] = []

    def add(self, start: int, end: int, level: int, owner: object) -> None:
        """Add a span, cut to the limits."""
        first, last = self.limits
        start, end = max(start, first), min(end, last)
        if end > start:
            number = self._numbers.setdefault(owner, len(self._numbers))
            self.spans.append(Span(start, end, level, number))

    @property
    def owners(self) -> Sequence[object]:
        """The owners by their numbers."""
        return list(self._numbers)

    @cached_property
    def _given(self) -> NDArray[np.float64]:
        _, _, levels, _ = columns = self.columns
        return shares(columns[0], columns[1], levels)

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """Arrays of starts, ends, levels and numbers of owners."""
        return np.array(self.spans or np.zeros((0, 4)), dtype=np.int64).T

    def seconds(self) -> dict[object, float]:
        """The seconds of the wall clock that each owner is given."""
        numbers = self.columns[3]
        totals = np.bincount(numbers, self._given, minlength=len(self._numbers)) * 1e-9
        return dict(zip(self._numbers, totals.tolist(), strict=True))

    def seconds_until(self, ends: Sequence[int]) -> dict[object, NDArray[np.float64]]:
        """The seconds of each owner until each of some times, from the time before it."""
        count = len(ends) + 1
        which = np.searchsorted(np.asarray(ends, dtype=np.int64), self.columns[0])
        cells = self.columns[3] * count + which
        totals = np.bincount(cells, self._given, minlength=len(self._numbers) * count)
        table = totals.reshape(-1, count)[:, :-1] * 1e-9
        return dict(zip(self._numbers, table, strict=True))
