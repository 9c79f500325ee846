"""From a record of which values hold a NaN back to the op that made the first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Bad = Callable[[float], bool]


@dataclass(frozen=True)
class Recorded:
    """A record and its table, as `locate-nans` writes them.

    Attributes:
        table: what the numbers mean.
        numbers: the record: of a value its largest |x|, NaN where there is a NaN in it.
    """

    table: dict[str, Any]
    numbers: Sequence[float]

    @cached_property
    def sites(self) -> list[dict[str, Any]]:
        return self.table["sites"]

    def is_bad(self, site: int, bad: Bad) -> bool:
        """Whether a site is a value's, and one that is bad."""
        is_value = self.sites[site]["kind"] in _OF_VALUES
        return is_value and bad(self.numbers[site])

    def sources(self, site: int, bad: Bad) -> list[int]:
        """The bad values among those that a bad one was made of."""
        each = self.sites[site]
        found = [at for _, at in each["operands"] if at >= 0 and self.is_bad(at, bad)]
        if each["kind"] == "result" and each["op"] == "while":
            return found[:1]  # what the last turn handed on, before what the first was given
        return found

    def origins(self, start: Iterable[int], bad: Bad) -> list[int]:
        """Where what is bad in `start` comes from, in program order."""
        seen: set[int] = set()
        found: set[int] = set()
        left = [site for site in start if site >= 0 and self.is_bad(site, bad)]
        while left:
            site = left.pop()
            if site in seen:
                continue
            seen.add(site)
            sources = self.sources(site, bad) or self._within(site, bad)
            routine = None if sources else self._routine(site)
            if routine is not None:
                sources = self.sources(routine, bad)
            left += sources
            if not sources:
                found.add(site if routine is None else routine)
        return sorted(found)

    def _routine(self, site: int) -> int | None:
        """The routine that did not succeed, of a constant that JAX gives in place of its results.

        Both have the name and the line of one equation.
        """
        constant = self.sites[site]
        if constant["kind"] != "constant" or not is_nan(self.numbers[site]):
            return None
        for at, each in enumerate(self.sites):
            if each.get("op") == "custom_call" and all(each[k] == constant[k] for k in _OF_ONE):
                return at
        return None

    def reader(self, site: int, bad: Bad) -> int | None:
        """The first op that is bad because a site is."""
        for at, each in enumerate(self.sites):
            if site in (operand for _, operand in each.get("operands", ())) and self.is_bad(
                at, bad
            ):
                return at
        return None

    def _within(self, site: int, bad: Bad) -> list[int]:
        """The first bad value inside a loop whose own way back is not recorded.

        A loop records one turn, and one of its values may turn bad in another.
        """
        if self.sites[site]["kind"] not in ("result", "carried"):
            return []
        turn = self._turn_behind(site)
        inside = (at for at in range(turn, len(self.sites)) if self._is_in(at, turn))
        made = (at for at in inside if self.sites[at]["kind"] == "value" and at != site)
        return [at for at in made if self.is_bad(at, bad) and not self.sources(at, bad)][:1]

    def _turn_behind(self, site: int) -> int:
        if self.sites[site]["kind"] == "carried":
            return self.sites[site]["within"]
        later = range(site, len(self.sites))
        return next((at for at in later if self.sites[at]["kind"] == "turn"), len(self.sites))

    def _is_in(self, site: int, turn: int) -> bool:
        while site >= 0:
            if site == turn:
                return True
            site = self.sites[site].get("within", -1)
        return False

    def turns(self, site: int) -> tuple[int, ...]:
        """The turns of the loops around a site, the outermost first, from 0."""
        around = self.sites[site]["within"]
        if around < 0:
            return ()
        return (*self.turns(around), int(self.numbers[around]) - 1)

    def everywhere(self, bad: Bad) -> list[int]:
        """The values that are bad though nothing that they were made of is, in program order."""
        places = range(len(self.sites))
        return [at for at in places if self.is_bad(at, bad) and not self.sources(at, bad)]


_OF_ONE = ("path", "stack", "within")
"""What the ops have in common that JAX makes of one equation."""

_OF_VALUES = ("value", "constant", "argument", "carried", "result")


def is_nan(number: float) -> bool:
    """Whether a value holds a NaN, by its number in the record."""
    return math.isnan(number)


def is_infinite(number: float) -> bool:
    """Whether it holds an infinity, and no NaN."""
    return math.isinf(number)


def is_not_finite(number: float) -> bool:
    """Whether it holds one or the other."""
    return not math.isfinite(number)
