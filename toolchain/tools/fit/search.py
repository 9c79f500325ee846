"""The search for the cheapest plan whose peak, by the target's compiler, is within the budget."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

from ...backend.lowered import Lowered
from ...backend.targets import Target
from ...backend.tuning import free_bytes
from ...compiled.program import RunningCompilation, start_compilation
from ...errors import JxcError
from .candidates import Candidates, fastest
from .check import check_plan
from .choices import Choices, passes_of
from .clock import Clock
from .donation import start_donation
from .frontier import FitChoice
from .measure import Measurement
from .measures import bare_measures, measures_of
from .names import name_of, with_own_names
from .plan import BatchSplit, FitPlan
from .request import FitRequest, request_of, version_of
from .result import FitResult, Trial, trial_of

_MOST_AT_ONCE, _BYTES_EACH = 4, 4 << 30
"""The most versions that are compiled side by side, and the free memory that each must have.

The TPU compiler takes 1.5 GB for GPT-2 small.
"""

_WAIT = 0.05
"""Seconds between two looks at the compilers that run."""


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
    clock: Clock | None = None,
    measurement: Measurement | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> FitResult:
    """Find the cheapest plan.

    Args:
        lowered: the program.
        target: the hardware.
        budget: bytes of one device that the program may need.
        pipeline: the passes that run after those of the plan, as text.
        assume: promises such as "no-nans".
        seconds: after so many, no further version is compiled than a first one with a plan, and
            those that are being compiled are given up if one fits.
        exact: whether the batch may not be split, nor kernels used: both sum in another order.
        batch: the arguments that have the batch, as for `microbatch`; found if empty.
        clock: times each version as it is compiled, if it can time the program.
        measurement: runs the versions that fit, of which the fastest is chosen, unless the search
            was interrupted; for this machine's CPU.
        tell: called with what is being done.

    Raises:
        MissingTargetError: the target's compiler is not installed.
        JxcError: the program cannot be lowered or compiled for the target.
    """
    request = request_of(lowered, target, budget, pipeline, assume, seconds, tell, exact, batch)
    finder = _Finder(request, measurement, clock, advises=True)
    try:
        return finder.run()
    except KeyboardInterrupt:
        if finder.base is None:
            raise
        finder.measurement = None
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


def _at_once(target: Target) -> int:
    """How many versions are compiled side by side."""
    if target.kind == "cpu":  # its compiler uses all cores, and so do versions that are timed
        return 1
    free = free_bytes()
    room = _MOST_AT_ONCE if free is None else max(1, free // _BYTES_EACH)
    return min(_MOST_AT_ONCE, room, os.cpu_count() or 1)


@dataclass(frozen=True)
class _Attempt:
    """A choice that is being compiled: its number, its name, and the program under it."""

    number: int
    name: str
    choice: FitChoice
    version: Lowered
    running: RunningCompilation


class _Finder:
    """The state of one search, from which a result can be made at any time."""

    def __init__(
        self,
        request: FitRequest,
        measurement: Measurement | None = None,
        clock: Clock | None = None,
        *,
        advises: bool = False,
    ) -> None:
        self.request, self.measurement, self.clock = request, measurement, clock
        self.lowered, self.target, self.budget = request.lowered, request.target, request.budget
        self.pipeline, self.tell = request.pipeline, request.tell
        self.exact, self.batch = request.exact, request.batch
        self.advises = advises
        self.base: Trial | None = None
        self.found: Choices | None = None
        self.candidates: Candidates | None = None

    def run(self) -> FitResult:
        if self.base is None:
            self.tell(f"compiling {self.lowered.name} for {self.target.name}")
            version = self._after(self.pipeline)
            with self._started(version) as running:
                self.base = self._compiled("no plan", version, running)
            self.clock = self.clock if self.base.is_timed else None
        if self.base.needed <= self.budget and not self.base.rematerialized:
            return self.result("")
        self.tell("choosing values to compute again")
        self.found = Choices(self.lowered, self.target, self.batch)
        if not self.exact:
            self.found.split(self.budget, self.tell)
            self._replace_by_kernels()
        candidates = self.candidates = Candidates(self.found, self.base, self.budget)
        for numbers in candidates.rounds():
            if not self._try(numbers):
                return self.result("the time is over")
        return self.result("")

    def _try(self, numbers: Sequence[int]) -> bool:
        """Compile choices, side by side; False if the time was over before all were compiled."""
        is_whole = self._compile_all(numbers)
        assert self.candidates is not None
        trials, failed = self.candidates.trials, self.candidates.failed
        for number in numbers:  # in this order, not as they ended
            if number in trials:
                trials[number] = trials.pop(number)
            if number in failed:
                failed[number] = failed.pop(number)
        return is_whole

    def _compile_all(self, numbers: Sequence[int]) -> bool:
        assert self.candidates is not None and self.found is not None
        most = _at_once(self.target)
        running, is_over = list[_Attempt](), False
        with ExitStack() as stack:
            for number in numbers:
                if is_over := self._is_over(len(running)):
                    break
                with self._noted(number):
                    choice = self.found.without_useless(self.candidates.all[number])
                    while len(running) >= most or any(a.choice.is_same(choice) for a in running):
                        if not self._finish_one(running):
                            return False
                    if (known := self.candidates.trial_of(choice)) is not None:
                        self.candidates.trials[number] = known
                        continue
                    name, version = self._name(choice), self._rewritten(choice)
                    compiling = stack.enter_context(self._started(version))
                    running.append(_Attempt(number, name, choice, version, compiling))
                    others = f", beside {len(running) - 1} more" if len(running) > 1 else ""
                    self.tell(f"compiling with {name}{others}")
            while running:
                if not self._finish_one(running):
                    return False
        return not is_over

    def _is_over(self, running: int) -> bool:
        """Whether no version is started any more, while so many are being compiled."""
        assert self.candidates is not None and self.found is not None
        count = len(self.candidates.trials) + len(self.candidates.failed) + running
        is_tried = self.candidates.best or count > bool(self.found.with_kernels)
        return bool(is_tried) and perf_counter() > self.request.deadline

    @contextmanager
    def _noted(self, number: int) -> Iterator[None]:
        """Note why a choice fails: compilers have bugs, which other versions avoid."""
        assert self.candidates is not None
        try:
            yield
        except JxcError as error:
            if self.candidates.is_required(number):
                self.candidates.failed[number] = str(error.__cause__ or error).splitlines()[0]

    def _finish_one(self, running: list[_Attempt]) -> bool:
        """Wait for a compiler, remove its version, and note what it said.

        Returns:
            False if the time is over and a version fits: the others are given up.
        """
        assert self.candidates is not None
        while not (done := [each for each in running if each.running.is_done]):
            if self.candidates.best and perf_counter() > self.request.deadline:
                return False
            sleep(_WAIT)
        attempt = done[0]
        running.remove(attempt)
        with self._noted(attempt.number):
            self.candidates.trials[attempt.number] = self._trial(attempt)
        return True

    def _replace_by_kernels(self) -> None:
        assert self.found is not None
        self.tell("replacing attention and losses by kernels")
        with suppress(JxcError):
            self.found.replace_by_kernels()

    def _trial(self, attempt: _Attempt) -> Trial:
        assert self.base is not None
        trial = self._compiled(attempt.name, attempt.version, attempt.running)
        is_unknown = trial.assumed and not self.base.assumed
        if is_unknown or (self.clock and trial.seconds is not None and not trial.is_timed):
            trial = replace(trial, seconds=self._modelled(attempt.choice))
        return replace(trial, choice=attempt.choice)

    def _modelled(self, choice: FitChoice) -> float:
        """The time of a choice that did not run, or that has loops of unknown trip count."""
        assert self.base is not None and self.found is not None
        base = self.base.seconds
        if base is None:
            base = self.found.whole_seconds
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
            if trial.measured is not None:
                made_for["measured_seconds"] = trial.measured.seconds
        pipeline = ",".join(filter(None, [passes_of(choice, self.batch), self.pipeline]))
        measures = (
            measures_of(self.found.frontier(choice), choice) if trial else bare_measures(choice)
        )
        kernels = self.found.kernels if choice.kernels else {}
        return FitPlan(pipeline, tuple(measures), made_for, self._split(choice), kernels=kernels)

    def _split(self, choice: FitChoice) -> BatchSplit | None:
        assert self.found is not None
        if choice.parts == 1:
            return None
        first, alone = self.found.all[0], self.found.without_values(choice)
        return BatchSplit(choice.parts, first.peak - alone.peak, alone.seconds - first.seconds)

    def _started(self, version: Lowered) -> RunningCompilation:
        return start_compilation(version.module, self.target, {}, self.lowered.mesh)

    def _compiled(self, name: str, version: Lowered, running: RunningCompilation) -> Trial:
        found = version_of(running.result(), version, self.target, self.clock)
        return trial_of(name, found)

    def result(self, stopped: str) -> FitResult:
        """What was found until now, with what donating arguments would free if memory is short."""
        found = self._without_plan(stopped)
        trial = found.chosen or found.smallest
        if not self.advises or stopped or found.chosen is found.base or not trial.needed:
            return self._with_plan(found)
        with start_donation(self._version(trial), self.target, trial.needed) as donation:
            found = self._with_plan(found)
            self.tell("compiling with donated arguments")
            return replace(found, donation=donation())

    def _without_plan(self, stopped: str) -> FitResult:
        assert self.base is not None
        candidates = self.candidates
        trials = with_own_names(candidates.distinct_trials) if candidates else []
        base, *trials = all_trials = self._measured([self.base, *trials])
        to_run = filter(self._is_to_run, all_trials if self.measurement else [])
        whole = FitResult(
            self.lowered.name,
            self.target,
            self.budget,
            base,
            tuple(trials),
            chosen=fastest(all_trials, self.budget),
            stopped=stopped,
            unmeasured=tuple(each.name for each in to_run if each.measured is None),
        )
        if candidates is None:
            return whole
        assert self.found is not None
        failed = ((candidates.all[number], why) for number, why in candidates.failed.items())
        return replace(
            whole,
            unsplit=self.found.unsplit,
            failed=tuple(f"{self._name(choice)}: {why}" for choice, why in failed),
        )

    def _with_plan(self, found: FitResult) -> FitResult:
        """The result with the plan of the version that is chosen, which is checked."""
        chosen, candidates = found.chosen, self.candidates
        if chosen is None or chosen.choice is None or candidates is None:
            return found
        plan, following = self._plan(chosen.choice, chosen), candidates.following(chosen.choice)
        return replace(found, plan=plan, following=following, checked=self._check(chosen.choice))

    def _measured(self, trials: list[Trial]) -> list[Trial]:
        """The trials, of which the one without a plan and those that fit have run here."""
        if self.measurement is None:
            return trials
        self.tell("measuring memory and time")
        fit = [i for i, each in enumerate(trials) if self._is_to_run(each)]
        runs = self.measurement.runs([trials[i] for i in fit], self._version)
        found = dict(zip(fit, runs, strict=True))
        return [replace(each, measured=found.get(i)) for i, each in enumerate(trials)]

    def _is_to_run(self, trial: Trial) -> bool:
        return trial.choice is None or trial.needed <= self.budget

    def _version(self, trial: Trial) -> Lowered:
        return self._rewritten(trial.choice) if trial.choice else self._after(self.pipeline)

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


@contextmanager
def _saved(plan: FitPlan) -> Iterator[str]:
    """The path of a file with a plan, which is removed afterwards."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "plan.toml"
        plan.save(path)
        yield str(path)
