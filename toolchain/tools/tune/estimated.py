"""O3 for hardware that is not here: candidates are compiled and ranked by estimated seconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

from ...backend.lowered import Lowered
from ...backend.targets import Target
from ...backend.tuning import NotTuned, TuneSettings, budget_seconds
from ...backend.verdicts import DEFAULT, TuneVerdict, find_verdict, keep_verdict, key_of
from ...compiled.program import Compiled, compile_module
from ...errors import MissingTargetError
from ...pipeline import PipelineReport
from ...rewrite import promises
from .candidates import (
    BASES,
    PLAIN,
    Candidate,
    knobs,
    rules_by_family,
    smaller_pipelines,
    without,
)
from .choice import choose_by_estimate
from .trials import Trials, first_line


def rank(
    lowered: Lowered,
    target: Target,
    assume: tuple[str, ...] = (),
    settings: TuneSettings | None = None,
) -> TuneVerdict:
    """The verdict for a program on hardware that is not here; stored, and read from the store.

    Args:
        lowered: the program; lowered again if it was lowered for other hardware.
        target: the hardware.
        assume: promises such as "no-nans".
        settings: the budget, and whether to tune again.

    Raises:
        NotTuned: neither plain JAX nor O2 could be compiled.
        MissingTargetError: the target's compiler is not installed.
    """
    settings, start = settings or TuneSettings(), perf_counter()
    plain = lowered if lowered.platform == target.platform else lowered.for_target(target.name)
    key = key_of(plain.module, target.name, promises(assume))
    if not settings.again and (known := find_verdict(key)) is not None:
        return known
    ranker = _Ranker(plain, target, assume, settings, start)
    ranker.try_all(BASES)
    ranker.try_all(smaller_pipelines(ranker.report))
    ranker.try_all(ranker.combinations())
    ranker.try_all(each.on(BASES[-1]) for each in knobs(target.kind) if each.passes)
    if not ranker.seconds:
        raise NotTuned(f"{target.name} compiles no candidate: {ranker.left_out[PLAIN]}")
    ranker.explain_no_time()
    choice = choose_by_estimate(ranker.seconds)
    chosen = ranker.candidates[choice.name]
    verdict = TuneVerdict(
        plain.name,
        target.name,
        chosen.name,
        chosen.pipeline,
        dict(chosen.xla_options),
        ranker.seconds,
        ranker.left_out,
        choice.passed_over,
        estimated=True,
        tuning_seconds=perf_counter() - start,
    )
    return replace(verdict, stored=keep_verdict(key, verdict))


def estimated_seconds(found: Compiled) -> float:
    """The estimated time of a run, with the time for which the device waits for collectives.

    The compiler's estimate of each kernel, or else the roofline's. The compilers estimate no
    collective.
    """
    return found.step.seconds


class _Ranker(Trials):
    """The candidates of one program on one target, and their estimates."""

    fatal = (MissingTargetError,)

    def __init__(
        self,
        plain: Lowered,
        target: Target,
        assume: tuple[str, ...],
        settings: TuneSettings,
        start: float,
    ) -> None:
        super().__init__(settings.tell or (lambda _: None))
        self.plain, self.target, self.assume, self.settings = plain, target, assume, settings
        self.start, self.longest = start, 0.0
        self.base = self._rewritten(Candidate(DEFAULT, DEFAULT))
        self.report = self.base.report or PipelineReport()
        self.seconds: dict[str, float] = {}
        self.candidates: dict[str, Candidate] = {}

    def has_time(self) -> bool:
        spent = perf_counter() - self.start
        return spent + self.longest <= budget_seconds(self.longest, self.settings)

    def budget_for(self, more: int) -> float:
        return perf_counter() - self.start + (more + 1) * self.longest

    def combinations(self) -> Iterator[Candidate]:
        """O2 without all the families that each cost time."""
        base = self.seconds.get(DEFAULT)
        if base is None:
            return
        names = {family: without({family: ()}).name for family in rules_by_family(self.report)}
        costly = [f for f, name in names.items() if self.seconds.get(name, base) < base]
        if len(costly) > 1:
            yield without(dict.fromkeys(costly, ()))

    def _rewritten(self, candidate: Candidate) -> Lowered:
        return self.plain.opt(candidate.pipeline, target=self.target.name, assume=self.assume)

    def attempt(self, candidate: Candidate) -> None:
        begun = perf_counter()
        is_base = candidate.name == DEFAULT
        module = (self.base if is_base else self._rewritten(candidate)).module
        if self.is_known(candidate, module):
            return
        try:
            found = compile_module(module, self.target, candidate.xla_options, self.plain.mesh)
        finally:
            self.longest = max(self.longest, perf_counter() - begun)
        if not isinstance(found, Compiled):
            self.left_out[candidate.name] = first_line(found.message)
            return
        self.seconds[candidate.name] = estimated_seconds(found)
        self.candidates[candidate.name] = candidate
