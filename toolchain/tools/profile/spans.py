"""Spans of time in which something was active, and the part of the wall clock of each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...events.wall import shares


class OwnedSpans:
    """Spans of time in columns, with their levels and owners; equal owners are one."""

    def __init__(self, first: int, last: int) -> None:
        self.limits = first, last
        self._numbers: dict[object, int] = {}
        self._rows: list[tuple[int, int, int, int]] = []
        self._tables: list[NDArray[np.int64]] = []

    def number(self, owner: object) -> int:
        """The number that stands for an owner in `add_columns`."""
        return self._numbers.setdefault(owner, len(self._numbers))

    def add(self, start: int, end: int, level: int, owner: object) -> None:
        """Add a span, from `start` to `end` in nanoseconds since 1970, cut to the limits."""
        first, last = self.limits
        start, end = max(start, first), min(end, last)
        if end > start:
            self._rows.append((start, end, level, self.number(owner)))

    def add_columns(
        self,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        levels: NDArray[np.int64],
        owners: NDArray[np.int64],
    ) -> None:
        """Add spans, whose owners are those that `number` gave."""
        starts, ends = np.maximum(starts, self.limits[0]), np.minimum(ends, self.limits[1])
        self._tables.append(np.stack([starts, ends, levels, owners])[:, ends > starts])

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
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, 4).T
        return np.concatenate([*self._tables, rows], axis=1)

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
