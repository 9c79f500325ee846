"""Reduce a program that a pipeline breaks to a small one that shows the same."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from jaxlib.mlir import ir

from ...errors import JxcError
from ...ir import clone_module, walk
from ...pipeline import Pipeline, PipelineLike, make_pipeline, run_pipeline
from ...rewrite import PassContext, exact
from ..compare import Comparison, compare_modules
from ..inputs import GIVEN, IN_PLACE, CannotRun
from ..modules import static_pairs, with_main
from ..run import Interpreter
from ..verify import Verdict, contract_of
from .reducer import reduce_module
from .search import NotFailing, Reduction, module_text

_SECONDS = 20.0  # of a search at most
_RUN_LIMIT = 3.0  # seconds for one run: a candidate may be an endless loop


@dataclass(frozen=True)
class Counterexample:
    """A reduced program, and arguments on which the pipeline changes its results.

    Attributes:
        reduction: the program.
        verdict: of the comparison; it has a difference.
    """

    reduction: Reduction
    verdict: Verdict

    def __str__(self) -> str:
        head = f"reduced ({self.reduction}):"
        return f"{head}\n{module_text(self.reduction.module)}{self.verdict}"


def find_counterexample(
    module: ir.Module,
    pipeline: PipelineLike,
    verdict: Verdict,
    *,
    context: PassContext | None = None,
    seeds: int = 3,
) -> Counterexample | None:
    """The smallest program found whose meaning the pipeline changes.

    Args:
        module: the module, or the verdict's own program where it has one.
        pipeline: the pipeline that breaks it.
        verdict: of the function that it breaks; has a difference.
        context: of the rules.
        seeds: how often to draw arguments; the same number shows the difference again.

    Returns:
        None where the difference does not show again on the function alone.
    """
    with closing(_interpreter(verdict)) as interpreter:
        test = _Test(make_pipeline(pipeline), context or PassContext(), verdict, seeds, interpreter)
        is_alone = verdict.program is not None
        alone = module if is_alone else with_main(module, verdict.function)
        try:
            reduction = reduce_module(alone, test.still_fails, seconds=_SECONDS)
        except NotFailing:
            return None
        shown = test.verdict_on(reduction.module)
    return Counterexample(reduction, shown)


class _Refused(JxcError):
    """The interpreter cannot run a candidate, and XLA must not."""


class _WithoutXla(Interpreter):
    """An interpreter without the fallback to XLA, whose runs cannot be stopped."""

    def run(self, module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        try:
            return super().run(module, inputs)
        except CannotRun as error:
            raise _Refused(str(error)) from None


def _interpreter(verdict: Verdict) -> Interpreter:
    return (_WithoutXla if _ran_on_interpreter(verdict) else Interpreter)(_RUN_LIMIT)


def _ran_on_interpreter(verdict: Verdict) -> bool:
    difference = verdict.report.difference
    return difference is not None and difference.by == "interpreter"


@dataclass
class _Test:
    pipeline: Pipeline
    context: PassContext
    found: Verdict
    seeds: int
    interpreter: Interpreter

    def still_fails(self, module: ir.Module) -> bool:
        """Whether the pipeline changes the meaning of @main, under the same contract."""
        if not self._is_bounded(module):
            return False
        try:
            return self.verdict_on(module).report.difference is not None
        except (JxcError, ValueError):  # a pass fails, or nothing can be run
            return False

    def verdict_on(self, module: ir.Module) -> Verdict:
        """The first draw that differs, or the last one."""
        contract = self.found.report.contract
        after = clone_module(module)
        used = contract_of(self.pipeline, run_pipeline(after, self.pipeline, self.context))
        nothing = Comparison(contract, {}, {})
        if contract == exact != used:
            return Verdict("main", nothing, 0)
        report, draws = nothing, 0
        for pair in static_pairs(module, after):
            for seed in range(self.seeds if self._given is None else 1):
                report = compare_modules(
                    *pair,
                    contract=contract,
                    kinds=[self._kind] if self._given is None else [],
                    given=self._given,
                    seed=seed,
                    interpreter=self.interpreter,
                )
                draws += len(report.runs)
                if report.difference is not None:
                    return Verdict("main", report, draws)
                if not report.ran:
                    break
        return Verdict("main", report, draws)

    @property
    def _kind(self) -> str:
        assert self.found.report.difference is not None
        kind = self.found.report.difference.kind
        return "edge" if kind == "mild" else kind

    @property
    def _given(self) -> Sequence[np.ndarray] | None:
        """The caller's arguments where they show it; candidates of other types count as right."""
        assert self.found.report.difference is not None
        return self.found.report.difference.inputs if self._kind in (GIVEN, IN_PLACE) else None

    def _is_bounded(self, module: ir.Module) -> bool:
        """Whether every run can be stopped: a loop on XLA cannot."""
        loops = any(op.operation.name == "stablehlo.while" for op in walk(module.operation))
        return not loops or _ran_on_interpreter(self.found)
