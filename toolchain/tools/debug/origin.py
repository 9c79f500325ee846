"""The search for the op that made the first NaN, in a record of which values hold one.

`locate-nans` writes one number for each value of a program: its largest absolute value, NaN if an
element is NaN, 0 if the value was not computed. Each number belongs to a site, which lists the
sites of the op's operands. A site is an origin if its own value is bad and none of its operands is,
so `NanRecord.origins` walks back from the bad results along bad operands.

Loops need more than that. A loop records one iteration only: the one in which a value that it
carries first turned bad. If none of the recorded operands is bad, the search goes on inside of that
iteration. Also, JAX returns constants of NaN if a routine of linear algebra fails; the origin is
then the routine with the same name and line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

IsBad = Callable[[float], bool]

_VALUES = ("value", "constant", "argument", "carried", "result")
"""The kinds of sites that are about a value."""

_SAME_EQUATION = ("path", "stack", "within")
"""What the ops that JAX lowers from one equation have in common."""


@dataclass(frozen=True)
class NanRecord:
    """A record of `locate-nans` and its table.

    Attributes:
        table: what the numbers mean, as the pass writes it.
        numbers: for each site, the largest absolute value of its value, NaN if it holds a NaN.
    """

    table: dict[str, Any]
    numbers: Sequence[float]

    @cached_property
    def sites(self) -> list[dict[str, Any]]:
        """What each number is about."""
        sites: list[dict[str, Any]] = self.table["sites"]
        return sites

    def holds_bad(self, site: int, is_bad: IsBad) -> bool:
        """Whether a site is about a value, and that value is bad."""
        return self.sites[site]["kind"] in _VALUES and is_bad(self.numbers[site])

    def bad_operands(self, site: int, is_bad: IsBad) -> list[int]:
        """The sites of the bad operands of an op."""
        entry = self.sites[site]
        found = [at for _, at in entry["operands"] if at >= 0 and self.holds_bad(at, is_bad)]
        if entry["kind"] == "result" and entry["op"] == "while":
            return found[:1]  # the last iteration's value comes before the initial value
        return found

    def origins(self, start: Iterable[int], is_bad: IsBad) -> list[int]:
        """The sites where the bad values among `start` come from, in program order."""
        visited: set[int] = set()
        found: set[int] = set()
        pending = [site for site in start if site >= 0 and self.holds_bad(site, is_bad)]
        while pending:
            site = pending.pop()
            if site in visited:
                continue
            visited.add(site)
            sources = self.bad_operands(site, is_bad) or self._inside_loop(site, is_bad)
            routine = None if sources else self._failed_routine(site)
            if routine is not None:
                sources = self.bad_operands(routine, is_bad)
            pending += sources
            if not sources:
                found.add(site if routine is None else routine)
        return sorted(found)

    def _failed_routine(self, site: int) -> int | None:
        """The routine that failed, if a site is the constant that JAX returns instead."""
        constant = self.sites[site]
        if constant["kind"] != "constant" or not math.isnan(self.numbers[site]):
            return None
        for at, entry in enumerate(self.sites):
            is_call = entry.get("op") == "custom_call"
            if is_call and all(entry[key] == constant[key] for key in _SAME_EQUATION):
                return at
        return None

    def reader(self, site: int, is_bad: IsBad) -> int | None:
        """The first op that reads a site and whose value is bad."""
        for at, entry in enumerate(self.sites):
            reads = (operand for _, operand in entry.get("operands", ()))
            if site in reads and self.holds_bad(at, is_bad):
                return at
        return None

    def _inside_loop(self, site: int, is_bad: IsBad) -> list[int]:
        """The first origin inside of the loop that a site is a result of, or carried by."""
        if self.sites[site]["kind"] not in ("result", "carried"):
            return []
        loop = self._loop_of(site)
        inside = (at for at in range(loop, len(self.sites)) if self._is_in(at, loop))
        made = (at for at in inside if self.sites[at]["kind"] == "value" and at != site)
        return [at for at in made if self._is_origin(at, is_bad)][:1]

    def _loop_of(self, site: int) -> int:
        """The site with the iteration of a loop; it comes after the sites of the loop's results."""
        if self.sites[site]["kind"] == "carried":
            return int(self.sites[site]["within"])
        later = range(site, len(self.sites))
        return next((at for at in later if self.sites[at]["kind"] == "iteration"), len(self.sites))

    def _is_in(self, site: int, loop: int) -> bool:
        while site not in (loop, -1):
            site = self.sites[site].get("within", -1)
        return site == loop

    def _is_origin(self, site: int, is_bad: IsBad) -> bool:
        return self.holds_bad(site, is_bad) and not self.bad_operands(site, is_bad)

    def iterations(self, site: int) -> tuple[int, ...]:
        """The recorded iterations of the loops around a site, the outermost first, from 0."""
        loop = self.sites[site]["within"]
        if loop < 0:
            return ()
        return (*self.iterations(loop), int(self.numbers[loop]) - 1)

    def all_origins(self, is_bad: IsBad) -> list[int]:
        """The origins of all bad values, in program order."""
        return [at for at in range(len(self.sites)) if self._is_origin(at, is_bad)]


def is_not_finite(number: float) -> bool:
    """Whether a value holds an infinity or a NaN, by its number in the record."""
    return not math.isfinite(number)
