"""The search for the cheapest plan whose peak, by the target's compiler, is within the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from ...backend.lowered import Lowered
from ...backend.targets import Target
from ...errors import JxcError
from .check import check_plan, in_parts_pass
from .choices import KERNELS, Choices
from .donation import donation_of
from .frontier import FitChoice
from .measures import bare_measures, measures_of
from .names import name_of, with_own_names
from .plan import BatchSplit, FitPlan
from .request import FitRequest, compile_version, request_of
from .result import FitResult, Trial, trial_of

_MOST_COMPILATIONS = 16
"""The most versions that are compiled to find the boundary of the budget."""

_CLOSE, _FAR = 0.005, 0.05
"""Shares of the time of a run: one that is not worth another compilation, and one that is worth it
even for a choice that is not expected to fit."""

_MOST_ALONE = 2
"""The versions of parts of the batch alone that are compiled if no other version fits."""

_MOST_OTHERS = 4
"""The most versions that are compiled with values on the host, and with kernels."""


def search(
    lowered: Lowered,
    target: Target,
    budget: int,
    *,
    pipeline: str = "O2",
    assume: str | Sequence[str] = (),
    seconds: float = 300.0,
    exact: bool = False,
    batch: str = "",
    tell: Callable[[str], None] = lambda _: None,
) -> FitResult:
    """Find the cheapest plan.

    Args:
        lowered: the program.
        target: the hardware.
        budget: bytes of one device that the program may need.
        pipeline: the passes that run after those of the plan, as text.
        assume: promises such as "no-nans".
        seconds: after so many, no further version is compiled than a first one with a plan.
        exact: whether the batch may not be split, nor kernels used: both sum in another order.
        batch: the arguments that have the batch, as for `microbatch`; found if empty.
        tell: called with what is being done.

    Raises:
        MissingTargetError: the target's compiler is not installed.
        JxcError: the program cannot be lowered or compiled for the target.
    """
    request = request_of(lowered, target, budget, pipeline, assume, seconds, tell, exact, batch)
    finder = _Finder(request)
    try:
        return finder.with_advice(finder.run())
    except KeyboardInterrupt:
        if finder.base is None:
            raise
        return finder.result("interrupted")


def search_from(request: FitRequest, base: Trial) -> FitResult:
    """Find the cheapest plan of a program that was compiled without one.

    Args:
        request: the program and the budget.
        base: the program without a plan, which needs more than the budget; its bytes may be a
            prediction.
    """
    finder = _Finder(request)
    finder.base = base
    return finder.run()


class _Finder:
    """The state of one search, from which a result can be made at any time."""

    def __init__(self, request: FitRequest) -> None:
        self.request = request
        self.lowered, self.target, self.budget = request.lowered, request.target, request.budget
        self.pipeline, self.tell = request.pipeline, request.tell
        self.exact, self.batch = request.exact, request.batch
        self.base: Trial | None = None
        self.trials: dict[int, Trial] = {}
        self.failed: dict[int, str] = {}  # why choices could not be compiled
        self.found: Choices | None = None

    def run(self) -> FitResult:
        if self.base is None:
            self.tell(f"compiling {self.lowered.name} for {self.target.name}")
            self.base = self._compiled("no plan", self._after(self.pipeline))
        if self.base.needed <= self.budget:
            return self.result("")
        self.tell("choosing values to compute again")
        self.found = Choices(self.lowered, self.target, self.batch)
        if not self.exact:
            self.found.split(self.budget, self.tell)
            self._replace_by_kernels()
        required = chain(self._indices(), self._smaller())
        for index in chain(self._kernels_alone(), required, self._moved(), self._with_kernels()):
            count = len(self.trials) + len(self.failed)
            is_tried = self._best() or count > bool(self.found.with_kernels)
            if is_tried and perf_counter() > self.request.deadline:
                return self.result("the time is over")
            try:
                self._try(index)
            except JxcError as error:  # compilers have bugs, which others of the versions avoid
                if index < len(self.found.all):
                    self.failed[index] = str(error.__cause__ or error).splitlines()[0]
        return self.result("")

    def _replace_by_kernels(self) -> None:
        assert self.found is not None
        self.tell("replacing attention and losses by kernels")
        with suppress(JxcError):
            self.found.replace_by_kernels()

    def with_advice(self, found: FitResult) -> FitResult:
        """The result with what donating arguments would free, if memory is short."""
        trial = found.chosen or found.smallest
        if found.stopped or found.chosen is found.base or not trial.needed:
            return found
        self.tell("compiling with donated arguments")
        made = self._rewritten(trial.choice) if trial.choice else self._after(self.pipeline)
        return replace(found, donation=donation_of(made, self.target, trial.needed))

    def _smaller(self) -> Iterator[int]:
        """Choices of less memory than the first that fits, which the compiler may make faster.

        If none fits, those that only split the batch: values again may need more than expected.
        """
        assert self.found is not None
        last = len(self.found.all) - 1
        tried = ((i, trial) for i, trial in self.trials.items() if i <= last)
        fitting = [i for i, trial in tried if trial.needed <= self.budget]
        if not fitting:
            first = {choice.parts: i for i, choice in reversed([*enumerate(self.found.all)])}
            alone = [first[parts] for parts in sorted(first, reverse=True) if parts > 1]
            yield from [i for i in alone if i not in self.trials][:_MOST_ALONE]
        else:
            best = min(fitting)
            more = {(best + last) // 2, last}
            yield from (i for i in sorted(more) if i > best and i not in self.trials)

    def _indices(self) -> Iterator[int]:
        """The choices to compile: the first that should fit, then those around the boundary."""
        assert self.found is not None
        count = len(self.found.all)
        low, high, misses = 0, count, 0
        for _ in range(_MOST_COMPILATIONS):
            between = [i for i in range(low + 1, high) if i not in self.failed]
            if not between or (high < count and self._saving(low, high) < _CLOSE):
                return
            fitting = [i for i in between if self._expected(i) <= self.budget]
            if high < count and not fitting and self._saving(low, high) < _FAR:
                return
            if fitting:  # in steps that double, if the compiler needs more than was expected
                index = fitting[min(2**misses, len(fitting)) - 1]
            else:
                index = between[-1 if high == count else len(between) // 2]
            yield index
            if index in self.failed:
                continue
            if self.trials[index].needed <= self.budget:
                high = index
            else:
                low, misses = index, misses + 1

    def _moved(self) -> Iterator[int]:
        """Choices that keep values on the host, if they should be cheaper than those before."""
        assert self.found is not None
        first = len(self.found.all)
        yield from self._among(first, first + len(self.found.hosted))

    def _kernels_alone(self) -> Iterator[int]:
        """The program with kernels and no other measure."""
        if self.found is not None and self.found.with_kernels:
            yield len(self.choices) - len(self.found.with_kernels)

    def _with_kernels(self) -> Iterator[int]:
        """Choices with kernels that should be cheaper, if the kernels alone do not fit."""
        for first in self._kernels_alone():
            alone = self.trials.get(first)
            if alone is not None and alone.needed > self.budget:
                yield from self._among(first + 1, len(self.choices))

    def _among(self, first: int, end: int) -> Iterator[int]:
        """The cheapest of the choices from `first` to before `end` that should fit, until one does.

        Only those that should be cheaper than what fits already.
        """
        for _ in range(_MOST_OTHERS):
            best, limit = self._best(), float("inf")
            if best is not None and best.choice is not None and self.found is not None:
                whole = self.found.frontier(self.choices[0]).peak.seconds
                limit = best.choice.seconds - _CLOSE * whole
            cheaper = [i for i in range(first, end) if self.choices[i].seconds < limit]
            fitting = [i for i in cheaper if self._expected(i) <= self.budget]
            if not fitting and (best is not None or not cheaper):
                return
            index = min(fitting or cheaper[-1:], key=lambda i: self.choices[i].seconds)
            yield index
            trial = self.trials.get(index)
            if trial is None or trial.needed <= self.budget:
                return
            first = index + 1

    def _best(self) -> Trial | None:
        """The fastest trial within the budget."""
        fitting = (trial for trial in self.trials.values() if trial.needed <= self.budget)
        return min(fitting, key=_rank, default=None)

    def _saving(self, low: int, high: int) -> float:
        """The share of the time that the first choice after `low` saves against `high`."""
        assert self.found is not None
        whole = self.found.frontier(self.choices[0]).peak.seconds
        return (self.choices[high].seconds - self.choices[low + 1].seconds) / max(whole, 1e-12)

    @property
    def choices(self) -> list[FitChoice]:
        if self.found is None:
            return []
        return [*self.found.all, *self.found.hosted, *self.found.with_kernels]

    def _expected(self, index: int) -> float:
        """The bytes that a choice should need, by what the compiler said of others."""
        assert self.base is not None and self.found is not None
        fixed, choice = self.found.argument_bytes, self.choices[index]
        tried = [(self.choices[0], self.base.needed)]
        tried += [(self.choices[i], trial.needed) for i, trial in self.trials.items()]
        alike = [each for each in tried if each[0].is_like(choice)] or tried
        known = sorted((c.peak, (needed - fixed) / max(c.peak, 1)) for c, needed in alike)
        peaks, ratios = ([each[i] for each in known] for i in range(2))
        return fixed + choice.peak * float(np.interp(choice.peak, peaks, ratios))

    def _try(self, index: int) -> None:
        assert self.base is not None and self.found is not None
        choice = self.choices[index]
        choice = self.found.frontier(choice).without_useless(choice)
        name = self._name(choice)
        self.tell(f"compiling with {name}")
        trial = self._compiled(name, self._rewritten(choice))
        if trial.assumed and not self.base.assumed:
            trial = replace(trial, seconds=self._modelled(choice))
        self.trials[index] = replace(trial, choice=choice)

    def _modelled(self, choice: FitChoice) -> float:
        """The time of a choice whose loops have trip counts that the compiler does not know."""
        assert self.base is not None and self.found is not None
        base = self.base.seconds
        if base is None:
            base = self.found.frontier(self.choices[0]).peak.seconds
        return base + choice.seconds

    def _name(self, choice: FitChoice) -> str:
        assert self.found is not None
        return name_of(choice, self.found.frontier(choice))

    def _rewritten(self, choice: FitChoice) -> Lowered:
        with _saved(self._plan(choice)) as path:
            return self._after(path)

    def _after(self, pipeline: str) -> Lowered:
        return self.request.after(pipeline)

    def _plan(self, choice: FitChoice, trial: Trial | None = None) -> FitPlan:
        assert self.found is not None
        made_for: dict[str, str | int | float] = {
            "program": self.lowered.name,
            "target": self.target.name,
            "budget_bytes": self.budget,
        }
        if trial is not None and self.base is not None:
            made_for["needed_bytes"] = trial.needed
            made_for["needed_without_plan_bytes"] = self.base.needed
            if trial.seconds is not None and self.base.seconds is not None:
                made_for["seconds"] = trial.seconds
                made_for["seconds_without_plan"] = self.base.seconds
        in_parts = in_parts_pass(choice.parts, self.batch)
        again = "rematerialize" if choice.selectors else ""
        moved = "offload" if choice.host.selectors else ""
        before = KERNELS if choice.kernels else ""
        pipeline = ",".join(filter(None, [before, in_parts, again, moved, self.pipeline]))
        measures = (
            measures_of(self.found.frontier(choice), choice) if trial else bare_measures(choice)
        )
        kernels = self.found.kernels if choice.kernels else {}
        return FitPlan(pipeline, tuple(measures), made_for, self._split(choice), kernels=kernels)

    def _split(self, choice: FitChoice) -> BatchSplit | None:
        assert self.found is not None
        if choice.parts == 1:
            return None
        first, alone = self.choices[0], self.found.without_values(choice)
        return BatchSplit(choice.parts, first.peak - alone.peak, alone.seconds - first.seconds)

    def _compiled(self, name: str, lowered: Lowered) -> Trial:
        return trial_of(name, compile_version(lowered, self.target, self.lowered.mesh))

    def result(self, stopped: str) -> FitResult:
        """What was found until now."""
        assert self.base is not None
        self.trials = dict(zip(self.trials, with_own_names([*self.trials.values()]), strict=True))
        trials = tuple(self.trials.values())
        unsplit = self.found.unsplit if self.found else ""
        whole = FitResult(
            self.lowered.name,
            self.target,
            self.budget,
            self.base,
            trials,
            stopped=stopped,
            unsplit=unsplit,
            failed=tuple(
                f"{self._name(self.choices[index])}: {why}" for index, why in self.failed.items()
            ),
        )
        if self.base.needed <= self.budget:
            return replace(whole, chosen=self.base)
        chosen = self._best()
        if chosen is None or chosen.choice is None:
            return whole
        checked = self._check(chosen.choice)
        following = self._following(chosen.choice)
        plan = self._plan(chosen.choice, chosen)
        return replace(whole, chosen=chosen, plan=plan, following=following, checked=checked)

    def _following(self, chosen: FitChoice) -> FitChoice | None:
        """The next choice that should need less memory, for more time, and was not compiled."""
        new = (c for i, c in enumerate(self.choices) if i not in self.trials)
        like = (c for c in new if c.kernels == chosen.kernels and c.seconds > chosen.seconds)
        smaller = (c for c in like if c.peak < chosen.peak)
        return max(smaller, key=lambda choice: choice.peak, default=None)

    def _check(self, choice: FitChoice) -> str:
        assert self.found is not None
        self.tell("checking the plan")
        with _saved(replace(self._plan(choice), pipeline="rematerialize")) as path:
            again = path if choice.selectors else ""
            module, parts = self.found.program(choice), choice.parts
            checked = check_plan(module, again, parts, self.batch, self.target.name)
        found = {
            checked: bool(checked),
            "offload moves values, and changes none": choice.host.selectors,
            "kernels: not compared, since they replace large sizes only": choice.kernels,
        }
        return "; ".join(text for text, applies in found.items() if applies)


def _rank(trial: Trial) -> tuple[float, int]:
    assert trial.choice is not None
    known = trial.seconds if trial.seconds is not None else float("inf")
    return known, trial.needed


@contextmanager
def _saved(plan: FitPlan) -> Iterator[str]:
    """The path of a file with a plan, which is removed afterwards."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "plan.toml"
        plan.save(path)
        yield str(path)
