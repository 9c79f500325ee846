"""The search for the cheapest plan whose peak, by the target's compiler, is within the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from ...backend.lowered import Lowered
from ...backend.targets import Target
from ...units import counted
from .check import check_plan, in_parts_pass
from .choices import Choices
from .donation import donation_of
from .frontier import FitChoice, Frontier
from .plan import BatchSplit, FitPlan, Measure
from .request import FitRequest, compile_version, request_of
from .result import FitResult, Trial, trial_of
from .simulate import simulate

_MOST_COMPILATIONS = 16
"""The most versions that are compiled to find the boundary of the budget."""

_CLOSE, _FAR = 0.005, 0.05
"""Shares of the time of a run: one that is not worth another compilation, and one that is worth it
even for a choice that is not expected to fit."""

_MOST_ALONE = 2
"""The versions of parts of the batch alone that are compiled if no other version fits."""


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
        exact: whether the batch may not be split, which sums in another order.
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
        for index in chain(self._indices(), self._smaller()):
            if self.trials and perf_counter() > self.request.deadline:
                return self.result("the time is over")
            self._try(index)
        return self.result("")

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
        fitting = [i for i, trial in self.trials.items() if trial.needed <= self.budget]
        last = len(self.choices) - 1
        if not fitting:
            first = {choice.parts: i for i, choice in reversed([*enumerate(self.choices)])}
            alone = [first[parts] for parts in sorted(first, reverse=True) if parts > 1]
            yield from [i for i in alone if i not in self.trials][:_MOST_ALONE]
        else:
            best = min(fitting)
            more = {(best + last) // 2, last}
            yield from (i for i in sorted(more) if i > best and i not in self.trials)

    def _indices(self) -> Iterator[int]:
        """The choices to compile: the first that should fit, then those around the boundary."""
        count = len(self.choices)
        low, high, misses = 0, count, 0
        for _ in range(_MOST_COMPILATIONS):
            between = range(low + 1, high)
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
            if self.trials[index].needed <= self.budget:
                high = index
            else:
                low, misses = index, misses + 1

    def _saving(self, low: int, high: int) -> float:
        """The share of the time that the first choice after `low` saves against `high`."""
        assert self.found is not None
        whole = self.found.frontier(self.choices[0]).peak.seconds
        return (self.choices[high].seconds - self.choices[low + 1].seconds) / max(whole, 1e-12)

    @property
    def choices(self) -> list[FitChoice]:
        return self.found.all if self.found else []

    def _expected(self, index: int) -> float:
        """The bytes that a choice should need, by what the compiler said of others."""
        assert self.base is not None and self.found is not None
        fixed, choice = self.found.argument_bytes, self.choices[index]
        tried = [(self.choices[0], self.base.needed)]
        tried += [(self.choices[i], trial.needed) for i, trial in self.trials.items()]
        alike = [each for each in tried if each[0].parts == choice.parts] or tried
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
        members = self.found.frontier(choice).members(choice.selectors)
        values = counted(len(members) + choice.loops.values, "value")
        parts = [f"{choice.parts} parts"] if choice.parts > 1 else []
        parts += [f"{values} again"] if choice.selectors else []
        return ", ".join(parts + ["in segments"] * any(s.segments for s in choice.selectors))

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
        in_parts = in_parts_pass(choice.parts, self.batch)
        again = "rematerialize" if choice.selectors else ""
        pipeline = ",".join(filter(None, [in_parts, again, self.pipeline]))
        measures = _measures(self.found.frontier(choice), choice) if trial else _bare(choice)
        return FitPlan(pipeline, tuple(measures), made_for, self._split(choice))

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
        )
        if self.base.needed <= self.budget:
            return replace(whole, chosen=self.base)
        fitting = [t for t in trials if t.needed <= self.budget]
        if not fitting:
            return whole
        chosen = min(fitting, key=_rank)
        assert chosen.choice is not None
        checked = self._check(chosen.choice)
        smaller = [c for c in self.choices if c.peak < chosen.choice.peak]
        following = smaller[0] if smaller else None
        plan = self._plan(chosen.choice, chosen)
        return replace(whole, chosen=chosen, plan=plan, following=following, checked=checked)

    def _check(self, choice: FitChoice) -> str:
        self.tell("checking the plan")
        with _saved(replace(self._plan(choice), pipeline="rematerialize")) as path:
            again = path if choice.selectors else ""
            module, parts = self.lowered.module, choice.parts
            return check_plan(module, again, parts, self.batch, self.target.name)


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


def _bare(choice: FitChoice) -> list[Measure]:
    return [Measure(each, 0, 0, 0.0) for each in choice.selectors]


def _measures(frontier: Frontier, choice: FitChoice) -> list[Measure]:
    """The lines of a plan: what each frees and costs, given the others."""
    whole = simulate(frontier.timeline, frontier.members(choice.selectors))
    found = []
    loops, runs = choice.loops.selectors, frontier.peak.runs
    for each in choice.straight:
        others = [other for other in choice.straight if other != each]
        without = simulate(frontier.timeline, frontier.members(others))
        values = len(frontier.members([each]))
        freed, added = without.peak - whole.peak, runs * (whole.seconds - without.seconds)
        found.append(Measure(each, values, freed, added))
    for each in loops:
        part = 1 / len(loops)
        amounts = choice.loops.bytes * part, choice.loops.seconds * part
        found.append(Measure(each, 1, round(amounts[0]), amounts[1]))
    return sorted(found, key=lambda measure: -measure.bytes)
