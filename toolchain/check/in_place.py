"""Run each rewrite of a pipeline alone, on the values that reach it in the program.

The rounding of the ops around a rewrite hides an error of a few ulps. Here the pipeline runs once
more with a recorder (`rewrite.recording`), which copies what a rule replaced and by what. Both
copies run on the values that they have in the program, on drawn arguments, and are compared by the
rule's own contract.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from jaxlib.mlir import ir

from ..ir import clone_module, read_module
from ..ir.locations import INLINE
from ..pipeline import Pipeline, run_pipeline
from ..pipeline.native import run_native
from ..rewrite import PassContext, exact
from ..rewrite.recording import RecordedRewrite, RewriteRecorder, record_rewrites
from .compare import Comparer, Comparison
from .inputs import GIVEN, IN_PLACE, CannotRun, make_inputs, specs_of
from .interpret import narrowed
from .modules import main_type
from .reference import RationedInterpreter, interpreter_seconds
from .run import Interpreter, as_specified, shared_interpreter

MOST_REWRITES, OF_ONE_RULE = 16, 2
"""How many rewrites are run alone, and of one rule. One takes up to 0.2 s, where XLA compiles."""

_EDGES = {True: "edge", False: "mild"}  # by whether the rule is exact


@dataclass(frozen=True)
class InPlace:
    """The result of running rewrites alone.

    Attributes:
        checked: how many were compared on some arguments.
        applied: how many the pipeline makes.
        wrong: the rule and the location of one that differs; empty if none does.
        report: its comparison.
        program: what it replaced, as a module.
    """

    checked: int = 0
    applied: int = 0
    wrong: str = ""
    report: Comparison | None = None
    program: ir.Module | None = None


def check_in_place(
    module: ir.Module,
    pipeline: Pipeline,
    context: PassContext,
    budget_s: float,
    is_over: Callable[[], bool],
    given: Sequence[np.ndarray] | None = None,
) -> InPlace:
    """Run the rewrites of a pipeline alone, until one differs.

    Args:
        module: one function, @main, of static shapes.
        pipeline: the pipeline.
        context: what rules may depend on.
        budget_s: processor seconds for the interpreter.
        is_over: whether to stop.
        given: arguments of @main to run with as well.
    """
    program = clone_module(module)
    run_native(INLINE, program)
    recorder = RewriteRecorder(program, MOST_REWRITES, OF_ONE_RULE)
    with record_rewrites(recorder):
        applied = sum(run_pipeline(program, pipeline, context).hits.values())
    if not recorder.rewrites:
        return InPlace(applied=applied)
    try:
        values = _Values(recorder.inputs(), budget_s, len(recorder.rewrites), given)
    except (CannotRun, ir.MLIRError):
        return InPlace(applied=applied)
    trials = [_Trial(each, values.interpreter, module.context) for each in recorder.rewrites]
    for kind in values.kinds:
        found = values.of(kind) if not is_over() else None
        if found is None:
            continue
        for trial in trials:
            if is_over():
                break
            if (report := trial.run(kind, found)) is not None:
                place = f"rule {trial.rewrite.rule.name} at {trial.rewrite.location}"
                return InPlace(_checked(trials), applied, place, report, trial.comparer.before)
    return InPlace(_checked(trials), applied)


def _checked(trials: Sequence[_Trial]) -> int:
    return sum(trial.has_run for trial in trials)


class _Trial:
    """One rewrite, compared on several sets of values."""

    def __init__(
        self, rewrite: RecordedRewrite, interpreter: Interpreter, context: ir.Context
    ) -> None:
        self.rewrite, self.has_run = rewrite, False
        before, after = (read_module(each, context) for each in (rewrite.before, rewrite.after))
        self.comparer = Comparer(before, after, rewrite.rule.contract, interpreter)

    def run(self, kind: str, values: Sequence[np.ndarray]) -> Comparison | None:
        """The comparison that found a difference, if one did.

        Args:
            kind: of the program's arguments.
            values: all results of `RewriteRecorder.inputs` on them.
        """
        if kind == _EDGES[self.comparer.contract != exact]:  # those for other contracts
            return None
        if not self.rewrite.is_reached(values):
            return None
        report = self.comparer.compare([], given=[values[n] for n in self.rewrite.inputs])
        self.has_run |= report.ran
        if report.difference is None:
            return None
        return replace(report, difference=replace(report.difference, kind=IN_PLACE))


class _Values:
    """The values that reach rewrites, by the kind of the program's arguments."""

    def __init__(
        self,
        module: ir.Module,
        budget_s: float,
        rewrites: int,
        given: Sequence[np.ndarray] | None,
    ) -> None:
        run_native("cse", module)
        self._module, self._given = module, given
        self._arguments = specs_of(main_type(module).inputs)
        self._results = specs_of(main_type(module).results)
        self.kinds = ("normal", *_EDGES.values(), "small", *[GIVEN] * (given is not None))
        draws = len(self.kinds) * (rewrites + 1)
        self.interpreter = RationedInterpreter(shared_interpreter(), budget_s, draws)
        self._compiled = as_specified(module)

    def of(self, kind: str) -> list[np.ndarray] | None:
        """The results of the module; None if nothing runs it."""
        given = self._given if kind == GIVEN else None
        arguments = make_inputs(self._arguments, kind) if given is None else list(given)
        try:
            parts = iter(self._run(arguments))
        except CannotRun:
            return None
        return [narrowed(parts, spec) for spec in self._results]

    def _run(self, arguments: list[np.ndarray]) -> list[np.ndarray]:
        if self.interpreter.affords(interpreter_seconds(self._module), is_edge=False):
            with suppress(CannotRun):
                return self.interpreter.run(self._module, arguments)
        return self._compiled(arguments)
