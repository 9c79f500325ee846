"""The search for the cheapest plan whose peak, by the target's compiler, is within the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from ...backend.lowered import Lowered
from ...backend.targets import Target
from ...compiled.program import Compiled, Refused, compile_module
from ...cost.liveness import Timeline
from ...errors import JxcError, UsageError
from ...ir import clone_module
from ...ir.module import main_of
from ...passes.rematerialize import repeatable_values
from ...passes.rematerialize.pairs import prepare
from ...pipeline import PipelineLike, make_pipeline, run_pipeline
from ...rewrite import PassContext
from ...units import counted
from .check import check_plan
from .frontier import Choice, Frontier
from .loops import loop_choices
from .plan import Measure, Plan
from .simulate import simulate

_MOST_COMPILATIONS = 16
_CLOSE, _FAR = 0.005, 0.05
"""Shares of the time of a run: one that is not worth another compilation, and one that is worth it
even for a choice that is not expected to fit."""

_SHOWN = 6
"""The buffers that are shown of a program that does not fit."""


@dataclass(frozen=True)
class Trial:
    """One version of the program that was compiled.

    Attributes:
        name: for the table.
        needed: bytes of one device, by the compiler; 0 if it refused the program without a number.
        seconds: of a run, estimated from the compiler's numbers; None for a refused program.
        choice: what is computed again; None for the program without a plan.
        largest: descriptions of the largest buffers at the peak.
        compile_seconds: of the target's compiler.
    """

    name: str
    needed: int
    seconds: float | None
    choice: Choice | None = None
    largest: tuple[str, ...] = field(default=(), repr=False)
    compile_seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        return {
            "name": self.name,
            "needed_bytes": self.needed,
            "estimated_seconds": self.seconds,
            "compile_seconds": self.compile_seconds,
        }


@dataclass(frozen=True)
class FitResult:
    """How a program fits into memory; `print` shows the table.

    Attributes:
        name: of the program.
        target: the hardware.
        budget: bytes of one device that the program may need.
        base: the program without a plan.
        trials: what was compiled besides, in order.
        chosen: the cheapest trial within the budget; None if none is.
        plan: its file; None if the program fits without a plan, or none fits.
        following: the next choice that needs less memory, and by how much; None if there is none.
        stopped: why the search ended early; empty if it did not.
        checked: how the plan was shown to keep the results.
    """

    name: str
    target: Target
    budget: int
    base: Trial
    trials: tuple[Trial, ...] = ()
    chosen: Trial | None = None
    plan: Plan | None = None
    following: Choice | None = None
    stopped: str = ""
    checked: str = ""

    @property
    def fits(self) -> bool:
        """Whether the program fits, with the plan if it needs one."""
        return self.chosen is not None

    @property
    def smallest(self) -> Trial:
        """The trial that needs least memory."""
        return min((self.base, *self.trials), key=lambda trial: trial.needed)

    def save(self, path: str | Path) -> None:
        """Write the plan to a file, to be used as a pipeline.

        Raises:
            UsageError: there is no plan, since the program fits without, or none was found.
        """
        if self.plan is None:
            why = "the program fits without one" if self.fits else "none fits the budget"
            raise UsageError(f"there is no plan to write to {path}: {why}")
        self.plan.save(path)

    def __str__(self) -> str:
        from .show import as_text

        return as_text(self)

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        return {
            "program": self.name,
            "target": self.target.name,
            "budget_bytes": self.budget,
            "fits": self.fits,
            "without_plan": self.base.as_json(),
            "trials": [trial.as_json() for trial in self.trials],
            "chosen": self.chosen.as_json() if self.chosen else None,
            "plan": self.plan.as_json() if self.plan else None,
            "largest": list(self.smallest.largest),
            "checked": self.checked or None,
            "stopped": self.stopped or None,
        }


def search(
    lowered: Lowered,
    target: Target,
    budget: int,
    *,
    pipeline: PipelineLike = "O2",
    assume: str | Sequence[str] = (),
    seconds: float = 300.0,
    tell: Callable[[str], None] = lambda _: None,
) -> FitResult:
    """Find the cheapest plan.

    Args:
        lowered: the program.
        target: the hardware.
        budget: bytes of one device that the program may need.
        pipeline: the passes that run after those of the plan.
        assume: promises such as "no-nans".
        seconds: no further version is compiled after so many.
        tell: called with what is being done.

    Raises:
        MissingTargetError: the target's compiler is not installed.
        JxcError: the program cannot be lowered or compiled for the target.
    """
    here = lowered if lowered.platform == target.platform else lowered.for_target(target.name)
    until = perf_counter() + seconds
    finder = _Finder(here, target, budget, str(pipeline), assume, until, tell)
    try:
        return finder.run()
    except KeyboardInterrupt:
        if finder.base is None:
            raise
        return finder.result("interrupted")


class _Finder:
    """The state of one search, from which a result can be made at any time."""

    def __init__(
        self,
        lowered: Lowered,
        target: Target,
        budget: int,
        pipeline: str,
        assume: str | Sequence[str],
        deadline: float,
        tell: Callable[[str], None],
    ) -> None:
        self.lowered, self.target, self.budget = lowered, target, budget
        self.pipeline, self.assume = pipeline, assume
        self.deadline, self.tell = deadline, tell
        self.base: Trial | None = None
        self.trials: dict[int, Trial] = {}
        self.frontier: Frontier | None = None

    def run(self) -> FitResult:
        self.tell(f"compiling {self.lowered.name} for {self.target.name}")
        self.base = self._compiled("no plan", self._after(self.pipeline))
        if self.base.needed <= self.budget:
            return self.result("")
        self.tell("choosing values to compute again")
        self.frontier = frontier_of(self.lowered.module, self.target)
        for index in self._indices():
            if perf_counter() > self.deadline:
                return self.result("the time is over")
            self._try(index)
        return self.result("")

    def _indices(self) -> Iterator[int]:
        """The choices to compile: the first that should fit, then those around the boundary."""
        count = len(self.choices)
        low, high = 0, count
        for _ in range(_MOST_COMPILATIONS):
            between = range(low + 1, high)
            if not between or (high < count and self._saving(low, high) < _CLOSE):
                return
            fitting = [i for i in between if self._expected(i) <= self.budget]
            if high < count and not fitting and self._saving(low, high) < _FAR:
                return
            index = fitting[0] if fitting else between[-1 if high == count else len(between) // 2]
            yield index
            if self.trials[index].needed <= self.budget:
                high = index
            else:
                low = index

    def _saving(self, low: int, high: int) -> float:
        """The share of the time that the first choice after `low` saves against `high`."""
        assert self.frontier is not None
        whole = sum(step.seconds for step in self.frontier.timeline.steps)
        return (self.choices[high].seconds - self.choices[low + 1].seconds) / max(whole, 1e-12)

    @property
    def choices(self) -> list[Choice]:
        return self.frontier.choices if self.frontier else []

    def _expected(self, index: int) -> float:
        """The bytes that a choice should need, by what the compiler said of others."""
        assert self.base is not None
        known = {self.choices[0].peak: self.base.needed}
        known |= {self.choices[i].peak: trial.needed for i, trial in self.trials.items()}
        peaks = sorted(known)
        peak = self.choices[index].peak
        if len(peaks) > 1 and peak >= peaks[0]:
            return float(np.interp(peak, peaks, [known[each] for each in peaks]))
        return known[peaks[0]] - (peaks[0] - peak)

    def _try(self, index: int) -> None:
        assert self.frontier is not None
        choice = self.choices[index]
        count = len(self.frontier.members(choice.selectors)) + choice.loops.values
        values = counted(count, "value")
        name = f"{values} again"
        self.tell(f"compiling with {values} computed again")
        self.trials[index] = replace(self._compiled(name, self._rewritten(choice)), choice=choice)

    def _rewritten(self, choice: Choice) -> Lowered:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "plan.toml"
            self._plan(choice).save(path)
            return self._after(str(path))

    def _after(self, pipeline: str) -> Lowered:
        return self.lowered.opt(pipeline, target=self.target.name, assume=self.assume)

    def _plan(self, choice: Choice, trial: Trial | None = None) -> Plan:
        assert self.frontier is not None
        made_for: dict[str, str | int | float] = {
            "program": self.lowered.name,
            "target": self.target.name,
            "budget_bytes": self.budget,
        }
        if trial is not None and self.base is not None:
            made_for["needed_bytes"] = trial.needed
            made_for["needed_without_plan_bytes"] = self.base.needed
        pipeline = ",".join(filter(None, ["rematerialize", self.pipeline]))
        measures = _measures(self.frontier, choice) if trial else _bare(choice)
        return Plan(pipeline, tuple(measures), made_for)

    def _compiled(self, name: str, lowered: Lowered) -> Trial:
        found = compile_module(lowered.module, self.target, {}, self.lowered.mesh)
        if isinstance(found, Refused):
            if found.fit is None:
                raise JxcError(f"{self.target.name} refused the program: {found.message}")
            return Trial(name, found.fit.needed, None, largest=found.fit.largest)
        fit = found.fit
        return Trial(
            name,
            fit.needed,
            _seconds(found),
            largest=tuple(map(str, found.memory.buffers[:_SHOWN])),
            compile_seconds=found.build.seconds,
        )

    def result(self, stopped: str) -> FitResult:
        """What was found until now."""
        assert self.base is not None
        trials = tuple(self.trials.values())
        whole = FitResult(
            self.lowered.name, self.target, self.budget, self.base, trials, stopped=stopped
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

    def _check(self, choice: Choice) -> str:
        self.tell("checking the plan")
        with TemporaryDirectory() as folder:
            path = Path(folder) / "plan.toml"
            replace(self._plan(choice), pipeline="rematerialize").save(path)
            steps, context = make_pipeline(str(path)), PassContext(self.target.name)

            def apply(module: ir.Module) -> ir.Module:
                after = clone_module(module)
                run_pipeline(after, steps, context)
                return after

            return check_plan(self.lowered.module, apply)


def _rank(trial: Trial) -> tuple[float, int]:
    assert trial.choice is not None
    known = trial.seconds if trial.seconds is not None else float("inf")
    return known, trial.needed


def _seconds(found: Compiled) -> float:
    return found.step.seconds


def frontier_of(module: ir.Module, target: Target) -> Frontier:
    """The choices for a program on a target."""
    copy = clone_module(module)
    context = PassContext(target.name)
    with copy.context:
        prepare(copy.operation)
        main = main_of(copy)
        if main is None:
            raise UsageError("the module has no function @main")
        timeline = Timeline(main.regions[0].blocks[0], context.device, context.rates)
        loops = loop_choices(copy.operation, context.device, context.rates)
        found = Frontier(timeline, repeatable_values(timeline), loops)
        found.module = copy
        return found


def _bare(choice: Choice) -> list[Measure]:
    return [Measure(each, 0, 0, 0.0) for each in choice.selectors]


def _measures(frontier: Frontier, choice: Choice) -> list[Measure]:
    """The lines of a plan: what each frees and costs, given the others."""
    whole = simulate(frontier.timeline, frontier.members(choice.selectors))
    found = []
    loops, straight = (
        choice.loops.selectors,
        choice.selectors[: -len(choice.loops.selectors) or None],
    )
    for each in straight:
        others = [other for other in straight if other != each]
        without = simulate(frontier.timeline, frontier.members(others))
        values = len(frontier.members([each]))
        freed, added = without.peak - whole.peak, whole.seconds - without.seconds
        found.append(Measure(each, values, freed, added))
    for each in loops:
        part = 1 / len(loops)
        amounts = choice.loops.bytes * part, choice.loops.seconds * part
        found.append(Measure(each, 1, round(amounts[0]), amounts[1]))
    return sorted(found, key=lambda measure: -measure.bytes)
