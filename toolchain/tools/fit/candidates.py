"""Which choices the search compiles, and in which order, by what the compiler said of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from .choices import Choices
from .frontier import FitChoice
from .result import Trial

_MOST_COMPILATIONS = 16
"""The most versions that are compiled to find the boundary of the budget."""

_CLOSE, _FAR = 0.005, 0.05
"""Shares of the time of a run: one that is not worth another compilation, and one that is worth it
even for a choice that is not expected to fit."""

_NEAR, _MOST_NEAR = 1.25, 4
"""If nothing fits, but a choice needs at most so many times the budget: the most versions beside it
that are compiled."""

_MOST_ALONE = 2
"""The most versions of parts of the batch alone that are compiled besides."""

_MOST_OTHERS = 4
"""The most versions that are compiled with values on the host, and with kernels."""


class Candidates:
    """The choices of one search, which are known by number.

    Args:
        found: the choices.
        base: the program without a plan, which needs more than the budget, or in which the compiler
            computes values again to need less.
        budget: bytes of one device.

    Attributes:
        all: those of `found`: without the host and kernels, parts of the batch alone that are not
            among these, with values on the host, with kernels.
        trials: what the compiler said, by number.
        failed: why choices could not be compiled, by number.
    """

    def __init__(self, found: Choices, base: Trial, budget: int) -> None:
        self.found, self.base, self.budget = found, base, budget
        self.trials: dict[int, Trial] = {}
        self.failed: dict[int, str] = {}
        more = [each for each in found.in_parts_alone if each not in found.all]
        self.all: list[FitChoice] = [*found.all, *more, *found.hosted, *found.with_kernels]
        ends = np.cumsum([len(found.all), len(more), len(found.hosted), len(found.with_kernels)])
        self._boundary, self._moved_start, self._kernels_start, self._end = map(int, ends)

    def rounds(self) -> Iterator[list[int]]:
        """The choices to compile; what was found of a round is known before the next is asked for.

        Choices of one round can be compiled side by side.
        """
        yield [*self._kernels_alone(), *self._first()]
        yield from ([number] for number in self._around_the_budget())
        yield [*self._smaller(), *self._in_parts_alone()]
        more = chain(self._moved(), self._with_kernels(), self._beside_the_smallest())
        yield from ([number] for number in more)

    @property
    def best(self) -> Trial | None:
        """The fastest trial within the budget."""
        return fastest(self.trials.values(), self.budget)

    @property
    def distinct_trials(self) -> list[Trial]:
        """The trials, of which several choices may have the same."""
        return [*{id(trial): trial for trial in self.trials.values()}.values()]

    def trial_of(self, choice: FitChoice) -> Trial | None:
        """The trial of the same program, of which the search expected something else."""
        trials = self.trials.values()
        return next((each for each in trials if each.choice and each.choice.is_same(choice)), None)

    def following(self, chosen: FitChoice) -> FitChoice | None:
        """The next choice that should need less memory, for more time, and was not compiled."""
        new = (c for i, c in enumerate(self.all) if i not in self.trials)
        like = (c for c in new if c.kernels == chosen.kernels and c.seconds > chosen.seconds)
        smaller = (c for c in like if c.peak < chosen.peak)
        return max(smaller, key=lambda choice: choice.peak, default=None)

    def is_required(self, number: int) -> bool:
        """Whether a failure to compile a choice is worth a line."""
        return number < self._moved_start

    def _first(self) -> list[int]:
        """The first choice that should fit, and the one halfway to the least memory.

        The second also tells how much more than expected the compiler needs, if the first does not
        fit, and is one of `_smaller` if it does.
        """
        first = next(self._around_the_budget(), None)
        if first is None:
            return []
        return [*dict.fromkeys((first, (first + self._boundary - 1) // 2))]

    def _around_the_budget(self) -> Iterator[int]:
        """The first that should fit, then those around the boundary of the budget."""
        for _ in range(_MOST_COMPILATIONS):
            known = [i for i in self.trials if i < self._boundary]
            high = min(filter(self._fits, known), default=self._boundary)
            missed = [i for i in known if i < high]
            low = max(missed, default=0)
            between = [i for i in range(low + 1, high) if i not in self.failed]
            is_found = high < self._boundary
            if not between or (is_found and self._saving(low, high) < _CLOSE):
                return
            fitting = [i for i in between if self._expected(i) <= self.budget]
            if is_found and not fitting and self._saving(low, high) < _FAR:
                return
            if is_found:
                yield fitting[0] if fitting else between[len(between) // 2]
            elif fitting:  # in steps that double, if the compiler needs more than was expected
                yield fitting[min(2 ** len(missed), len(fitting)) - 1]
            else:
                yield between[-1]

    def _smaller(self) -> list[int]:
        """Choices of less memory than the first that fits, which the compiler may make faster.

        That is the least memory, unless one on the way there is slower already.
        """
        last = self._boundary - 1
        fitting = sorted(i for i in self.trials if i <= last and self._fits(i))
        if not fitting or last in self.trials:
            return []
        first, *smaller = (self.trials[i].seconds or 0.0 for i in fitting)
        if smaller and smaller[-1] > (1 + _FAR) * first:
            return []
        return [last] if smaller else [*dict.fromkeys(((fitting[0] + last) // 2, last))]

    def _in_parts_alone(self) -> list[int]:
        """Choices that only split the batch.

        How much faster the parts run, as more of their values stay in caches, is not in the model:
        the fewest that should fit. If nothing fits, values again may need more than expected: the
        most parts.
        """
        numbers = [self.all.index(each) for each in self.found.in_parts_alone]
        untried = [i for i in numbers if i not in self.trials and i not in self.failed]
        if self.best is None:
            return untried[::-1][:_MOST_ALONE]
        return [i for i in untried if self._expected(i) <= self.budget][:_MOST_ALONE]

    def _beside_the_smallest(self) -> Iterator[int]:
        """If nothing fits: choices between the one that needs least and others that were tried.

        Of two choices the compiler may need less for the one that should need more.
        """
        for _ in range(_MOST_NEAR):
            known = {i: t.needed for i, t in self.trials.items() if i < self._boundary and t.needed}
            if self.best is not None or not known:
                return
            smallest = min(known, key=lambda i: known[i])
            if known[smallest] > _NEAR * self.budget:
                return
            tried = sorted({0, *known, *self.failed, self._boundary})
            after = next(i for i in tried if i > smallest)
            before = max((i for i in tried if i < smallest), default=smallest)
            start, end = max((before, smallest), (smallest, after), key=lambda gap: gap[1] - gap[0])
            if end - start < 2:
                return
            yield (start + end) // 2

    def _moved(self) -> Iterator[int]:
        """Choices that keep values on the host, if they should be cheaper than those before."""
        yield from self._among(self._moved_start, self._kernels_start)

    def _kernels_alone(self) -> Iterator[int]:
        """The program with kernels and no other measure."""
        if self._kernels_start < self._end:
            yield self._kernels_start

    def _with_kernels(self) -> Iterator[int]:
        """Choices with kernels that should be cheaper, if the kernels alone do not fit."""
        alone = self.trials.get(self._kernels_start)
        if alone is not None and alone.needed > self.budget:
            yield from self._among(self._kernels_start + 1, self._end)

    def _among(self, first: int, end: int) -> Iterator[int]:
        """The cheapest of the choices from `first` to before `end` that should fit, until one does.

        Only those that should be cheaper than what fits already.
        """
        for _ in range(_MOST_OTHERS):
            best, limit = self.best, float("inf")
            if best is not None and best.choice is not None:
                limit = best.choice.seconds - _CLOSE * self.found.whole_seconds
            cheaper = [i for i in range(first, end) if self.all[i].seconds < limit]
            fitting = [i for i in cheaper if self._expected(i) <= self.budget]
            if not fitting and (best is not None or not cheaper):
                return
            number = min(fitting or cheaper[-1:], key=lambda i: self.all[i].seconds)
            yield number
            if number not in self.trials or self._fits(number):
                return
            first = number + 1

    def _fits(self, number: int) -> bool:
        return self.trials[number].needed <= self.budget

    def _saving(self, low: int, high: int) -> float:
        """The share of the time that the first choice after `low` saves against `high`."""
        saved = self.all[high].seconds - self.all[low + 1].seconds
        return saved / max(self.found.whole_seconds, 1e-12)

    def _expected(self, number: int) -> float:
        """The bytes that a choice should need, by what the compiler said of others."""
        fixed, choice = self.found.argument_bytes, self.all[number]
        # What the compiler computes again by itself is not in the model.
        tried = [] if self.base.rematerialized else [(self.all[0], self.base.needed)]
        tried += [(self.all[i], trial.needed) for i, trial in self.trials.items()]
        alike = [each for each in tried if each[0].is_like(choice)] or tried
        if not alike:
            return fixed + choice.peak
        known = sorted((c.peak, (needed - fixed) / max(c.peak, 1)) for c, needed in alike)
        peaks, ratios = ([each[i] for each in known] for i in range(2))
        return fixed + choice.peak * float(np.interp(choice.peak, peaks, ratios))


def fastest(trials: Iterable[Trial], budget: int) -> Trial | None:
    """The fastest trial that needs at most so many bytes, of those the smallest.

    By the compiler. If some were measured, the fastest of these, and of those whose measured bytes
    are within the budget too if there are any.
    """

    def rank(trial: Trial) -> tuple[bool, bool, float, int]:
        run = trial.measured
        seconds = run.seconds if run else trial.seconds
        is_larger = run is not None and (run.needed or 0) > budget
        return run is None, is_larger, float("inf") if seconds is None else seconds, trial.needed

    return min((each for each in trials if each.needed <= budget), key=rank, default=None)
