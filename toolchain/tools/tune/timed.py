"""O3 on hardware that is here: candidates are compiled, compared with plain JAX, and timed.

`tune_call` gets the first call of a program, which has run under O2: its time decides whether there
is time to tune. Each candidate is compiled, run on the same arguments, compared with plain JAX by
the bounds of `jxc verify`, and timed by a few runs. Those that are near the best go into
interleaved rounds, which decide (`choice`). Everything ends at the time budget. A candidate that
fails, differs, is slow or takes too long is left out, with the reason.

Candidates come in two groups: a fixed list, and combinations of what the first group has shown,
such as O2 without two families that each cost time, or without single rules of one.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, TypeVar

import jax
import numpy as np
from jaxlib.mlir import ir

from ...backend import jax_state
from ...backend.targets import find_target
from ...backend.targets.build import build
from ...backend.timing import time_ratio
from ...backend.tuning import FirstCall, NotTuned
from ...backend.verdicts import DEFAULT, TuneVerdict, keep_verdict
from ...check.deviation import DRAWS, deviation_of, moved_leaf, numbers_of
from ...ir import clone_module
from ...pipeline import PipelineReport
from ...source import warn_user
from ...units import show_seconds
from .bounded import TookTooLong, bounded
from .candidates import (
    ABORTING,
    BASES,
    PLAIN,
    Candidate,
    knobs,
    rules_by_family,
    smaller_pipelines,
    without,
)
from .choice import choose, why_not_faster
from .progress import tuning_progress
from .trials import Trials

LIMITS = (5.0, 2.0)
"""A candidate may take so many seconds to compile, and to run; more if O2 takes long itself."""

COMPILE_TIMES = 10
"""A candidate may take so many times as long to compile as O2."""

SCREENING_RUNS = 3
SCREENED = 1.15
"""Candidates that take more than this times the best are not timed in rounds."""

ROUNDS = (5, 40)
"""The least and the most number of rounds; with fewer, O2 is used and no verdict is stored."""

ROUND_SECONDS = 0.01
_RUNS_NEEDED = 12  # of one program, to compare two candidates with plain
_HELPS = 1.03  # O2 without a family is this much faster: combinations with it are tried
_MOST_RULES = 6  # single rules of a family that are tried
_COMPARED = 1 << 20  # elements of each output
_OVERRUN = 0.5  # of the budget, to reach the least number of rounds
_SHARE_OF_COMPILING = 0.6  # of the budget; the rest is for rounds
_HOW_TO_RAISE = "--seconds or JXC_TUNE_SECONDS raises it"


@dataclass(eq=False)
class _Timed:
    """A candidate that compiles and has the right results."""

    candidate: Candidate
    executable: Any
    module: ir.Module
    report: PipelineReport
    quick: float = 0.0
    seconds: list[float] = field(default_factory=list)


T = TypeVar("T")

Tuned = tuple[Any, TuneVerdict, PipelineReport, ir.Module]


def tune_call(call: FirstCall, first_seconds: float) -> Tuned:
    """The executable to use for a program, its verdict, and the report and module of its passes.

    Args:
        call: the call, whose arguments may be used until this returns.
        first_seconds: how long it took under O2.

    Raises:
        NotTuned: there is not enough time or memory.
    """
    start = perf_counter()
    if not call.report.hits and not knobs(call.context.target):
        raise NotTuned("no rule applies to it")
    if (least := _RUNS_NEEDED * first_seconds + call.compile_seconds) > call.seconds:
        raise NotTuned(
            f"it needs about {show_seconds(least)}, more than the budget of "
            f"{show_seconds(call.seconds)}; {_HOW_TO_RAISE}"
        )
    with tuning_progress(call.name, call.plan.settings.tell) as tell:
        tuner = _Tuner(call, first_seconds, start + call.seconds, tell)
        chosen = tuner.run()
    verdict = TuneVerdict(
        call.name,
        call.plan.device,
        chosen.candidate.name,
        chosen.candidate.pipeline,
        dict(chosen.candidate.xla_options),
        {n: statistics.median(x.seconds or [x.quick]) for n, x in tuner.timed.items()},
        tuner.left_out,
        tuner.passed_over,
        tuning_seconds=perf_counter() - start,
    )
    verdict = replace(verdict, stored=keep_verdict(call.plan.key, verdict))
    return chosen.executable, verdict, chosen.report, chosen.module


class _Hangs(Exception):
    def __init__(self, name: str, seconds: float) -> None:
        super().__init__(name)
        self.name, self.seconds = name, seconds


class _Tuner(Trials):
    """The tuning of one program."""

    fatal = (_Hangs,)

    def __init__(
        self, call: FirstCall, first_seconds: float, deadline: float, tell: Callable[[str], None]
    ) -> None:
        super().__init__(tell)
        self.call, self.first_seconds = call, first_seconds
        self.start, self.deadline = perf_counter(), deadline
        self.timed: dict[str, _Timed] = {}
        self.passed_over: Mapping[str, str] = {}
        self._plain: _Timed | None = None
        self._expected: list[np.ndarray] = []  # of plain JAX
        self._moved: list[list[np.ndarray]] = []  # the same on arguments one ulp away
        self._compile_seconds = call.compile_seconds
        self._limit = max(COMPILE_TIMES * call.compile_seconds, LIMITS[0])
        self._knobs = knobs(call.context.target)

    @property
    def base(self) -> _Timed | None:
        """O2, or plain JAX if O2 is the same program or failed."""
        return self.timed.get(DEFAULT) or self.timed.get(PLAIN)

    def run(self) -> _Timed:
        """The candidate to use.

        Raises:
            NotTuned: plain JAX cannot be measured, or there was time for too few rounds.
        """
        report = self.call.report
        try:
            self.try_all(BASES)
            self.try_all(self._with_options())
            self.try_all(smaller_pipelines(report))
            self.try_all(self._combinations())
            self.try_all(self._with_options())
        except _Hangs as error:  # its thread uses the processor: later times mean nothing
            self.left_out[error.name] = f"it took more than {show_seconds(error.seconds)}"
            self.explain_no_time()
            if self.base is not None:
                faster = [n for n, each in self.timed.items() if each.quick < self.base.quick]
                self.passed_over = dict.fromkeys(faster, f"no rounds: {error.name} hangs")
                return self.base
            raise NotTuned(f"{error.name} took more than {show_seconds(error.seconds)}") from None
        if PLAIN not in self.timed or self.base is None:
            raise NotTuned(f"plain JAX failed: {self.left_out.get(PLAIN, 'no time')}")
        self.explain_no_time()
        if len(self.timed) == 1:
            return self.base
        self._leave_out_slow()
        return self._chosen()

    # Candidates one by one

    def has_time(self) -> bool:
        spent, whole = perf_counter() - self.start, self.deadline - self.start
        return spent + self._seconds_of_one < _SHARE_OF_COMPILING * whole

    def budget_for(self, more: int) -> float:
        spent = perf_counter() - self.start
        return (spent + (more + 1) * self._seconds_of_one) / _SHARE_OF_COMPILING

    @property
    def _seconds_of_one(self) -> float:
        """The most that one more candidate takes."""
        return self._compile_seconds + (SCREENING_RUNS + 2) * self.first_seconds

    def attempt(self, candidate: Candidate) -> None:
        call, start = self.call, perf_counter()
        module, report = call.rewritten(candidate.pipeline)
        if self.is_known(candidate, module):
            return
        executable = call.base
        if candidate.name != DEFAULT:
            if ABORTING.intersection(candidate.xla_options):
                build(module, find_target("cpu"), xla_options=candidate.xla_options)
            executable = self._bounded(
                candidate, lambda: call.compile(module, candidate.xla_options), self._limit
            )
            self._compile_seconds = max(self._compile_seconds, perf_counter() - start)
            if not jax_state.has_same_signature(executable, call.base):
                self.left_out[candidate.name] = "XLA chose other layouts or shardings"
                return
        timed = _Timed(candidate, executable, module, report)
        if reason := self._check(timed):
            self.left_out[candidate.name] = reason
            warn_user(f"{candidate.name} of {call.name!r} is not used by O3: {reason}")
            return
        runs = [self._seconds(timed, 1) for _ in range(SCREENING_RUNS)]
        timed.quick = min(runs)
        self.timed[candidate.name] = timed

    def _check(self, timed: _Timed) -> str:
        """Why the results of a candidate are wrong; empty if they are those of plain JAX."""
        call = self.call
        limit = max(20 * self.first_seconds, LIMITS[1])
        found = self._bounded(timed.candidate, lambda: self._results(timed, call.fresh()), limit)
        if timed.candidate.name == PLAIN:
            self._plain, self._expected = timed, found
            return ""
        if self._plain is None:
            raise NotTuned(f"plain JAX failed: {self.left_out.get(PLAIN, '')}")
        deviation = deviation_of(self._expected, self._draws(self._plain, limit), found)
        if deviation.agrees:
            return ""
        return (
            f"output {deviation.output} differs from plain JAX by {deviation.error:.2g}, and "
            f"rounding moves it by {deviation.sensitivity:.2g}"
        )

    def _draws(self, plain: _Timed, limit: float) -> Iterator[list[np.ndarray]]:
        """The results of plain JAX on arguments one ulp away, each computed when it is needed."""
        for draw in range(DRAWS):
            if draw == len(self._moved):
                moved = [_moved(array, draw) for array in self.call.fresh()]
                work = partial(self._results, plain, moved)
                self._moved.append(self._bounded(plain.candidate, work, limit))
            yield self._moved[draw]

    def _results(self, timed: _Timed, arrays: Sequence[Any]) -> list[np.ndarray]:
        return [_sample(numbers_of(each)) for each in self.call.run(timed.executable, arrays)]

    def _bounded(self, candidate: Candidate, work: Callable[[], T], seconds: float) -> T:
        try:
            return bounded(work, seconds)
        except TookTooLong:
            raise _Hangs(candidate.name, seconds) from None

    # Combinations of what the first candidates have shown

    def _combinations(self) -> Iterator[Candidate]:
        if DEFAULT not in self.timed:
            return
        base = self.timed[DEFAULT].quick
        families = rules_by_family(self.call.report)
        gains = {
            family: base / self.timed[name].quick
            for family in families
            if (name := without({family: ()}).name) in self.timed
        }
        costly = [family for family, gain in gains.items() if gain > _HELPS]
        if len(costly) > 1:
            yield without(dict.fromkeys(costly, ()))
        for family in sorted(costly, key=lambda each: -gains[each])[:1]:
            hits = families[family]
            if len(hits) > 1:
                for rule in sorted(hits, key=lambda each: -hits[each])[:_MOST_RULES]:
                    yield without({family: (rule,)})

    def _with_options(self) -> Iterator[Candidate]:
        """The fastest pipeline with each of XLA's options, unless they did not help another."""
        pipelines = [each for each in self.timed.values() if not each.candidate.xla_options]
        if not pipelines:
            return
        best = min(pipelines, key=lambda each: each.quick).candidate
        for knob in self._knobs:
            gains = [
                each.quick / self.timed[name].quick
                for each in pipelines
                if (name := knob.on(each.candidate).name) in self.timed
            ]
            if not gains or max(gains) > _HELPS:
                yield knob.on(best)

    # Rounds

    def _chosen(self) -> _Timed:
        """The fastest candidate that is faster than plain JAX, also when it is compiled anew.

        Two executables of one program differ by up to a tenth in some processes, as their code and
        buffers lie elsewhere in memory.
        """
        if self._time_rounds(self.timed, self.deadline) < ROUNDS[0]:
            raise NotTuned(
                f"its budget of {show_seconds(self.call.seconds)} ended before each candidate ran "
                f"{ROUNDS[0]} times; {_HOW_TO_RAISE}"
            )
        seconds = {name: each.seconds for name, each in self.timed.items()}
        refused: dict[str, str] = {}
        while True:
            choice = choose(seconds, refused)
            chosen, self.passed_over = self.timed[choice.name], choice.passed_over
            if choice.name in (PLAIN, DEFAULT) or not (reason := self._why_not_again(chosen)):
                return chosen
            refused[choice.name] = reason

    def _why_not_again(self, chosen: _Timed) -> str:
        """Why a candidate is not faster than plain JAX once more; empty if it is."""
        again = {}
        for name in (PLAIN, chosen.candidate.name):
            first, candidate = self.timed[name], self.timed[name].candidate
            self.tell(f"{name} again")
            work = partial(self.call.compile, clone_module(first.module), candidate.xla_options)
            try:
                executable = self._bounded(candidate, work, self._limit)
            except _Hangs as error:
                return f"compiled again it took more than {show_seconds(error.seconds)}"
            again[name] = replace(first, executable=executable, seconds=[])
            self._seconds(again[name], 1)
        extra = self.deadline + _OVERRUN * self.call.seconds
        if self._time_rounds(again, extra) < ROUNDS[0]:
            return f"no time for rounds with it compiled again; {_HOW_TO_RAISE}"
        reason = why_not_faster(time_ratio(*(each.seconds for each in again.values())))
        return reason and f"compiled again, {reason}"

    def _leave_out_slow(self) -> None:
        """Leave out the candidates that are far from the best, and drop their executables."""
        best = min(self.timed, key=lambda name: self.timed[name].quick)
        fastest = self.timed[best].quick
        for name, each in list(self.timed.items()):
            if name not in (PLAIN, DEFAULT) and each.quick >= SCREENED * fastest:
                del self.timed[name]
                ratio = f"{each.quick / fastest:.2f}"
                self.left_out[name] = f"{ratio} times the time of {best} in {SCREENING_RUNS} runs"

    def _time_rounds(self, finalists: Mapping[str, _Timed], deadline: float) -> int:
        """Time finalists in alternation; returns the number of rounds."""
        repeats = {
            name: max(1, min(1000, int(ROUND_SECONDS / max(each.quick, 1e-7))))
            for name, each in finalists.items()
        }
        order = random.Random(0)
        for count in range(ROUNDS[1]):
            begun = perf_counter()
            self.tell(f"round {count + 1} of {len(finalists)} candidates")
            for name in order.sample(list(finalists), len(finalists)):
                each = finalists[name]
                each.seconds.append(self._seconds(each, repeats[name]))
            now = perf_counter()
            is_late = 2 * now - begun > deadline
            is_much_too_late = now - deadline > _OVERRUN * self.call.seconds
            if (is_late and count + 1 >= ROUNDS[0]) or is_much_too_late:
                return count + 1
        return ROUNDS[1]

    def _seconds(self, timed: _Timed, repeats: int) -> float:
        """Seconds of one run. The arguments of a program that overwrites some are copied before."""
        call, spent = self.call, 0.0
        if not call.donated:
            start = perf_counter()
            for _ in range(repeats):
                results = call.run(timed.executable, call.arrays)
            jax.block_until_ready(results)
            return (perf_counter() - start) / repeats
        for _ in range(repeats):
            arrays = jax.block_until_ready(call.fresh())
            start = perf_counter()
            jax.block_until_ready(call.run(timed.executable, arrays))
            spent += perf_counter() - start
        return spent / repeats


def _sample(array: np.ndarray) -> np.ndarray:
    """At most so many elements of an array, evenly spaced; a copy, so that the rest is freed."""
    step = -(-array.size // _COMPARED) or 1
    return array.reshape(-1)[::step].copy()


def _moved(array: Any, draw: int) -> Any:
    moved = moved_leaf(array, draw)
    return array if moved is array else jax_state.placed_like(moved, array)
