"""Running a pipeline on a module: passes in order, checked after each, watched by instruments.

A pass of rules is skipped if the module has none of the ops that its rules rewrite. A pass that
fails raises `PassError`, which holds the pipeline up to it, for a reproducer.
"""

from __future__ import annotations

import gc
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from jaxlib.mlir import ir

from ..errors import JxcError, UsageError
from ..ir import clone_module, format_diagnostics, make_context, op_names, read_module
from ..ir.module import names_and_nesting
from ..ir.nesting import make_room
from ..rewrite import Contract, PassContext, RuleCount, promises
from .instruments import FailureInstrument, Instrument
from .invariants import Invariants, ResultShardings, verify_module
from .native import NEEDS, converts, only_removes, run_native_step
from .pipeline import Pipeline, PipelineLike, PipelineStep, make_pipeline
from .report import PipelineReport, StepReport


class PassError(JxcError):
    """A pass failed or broke the module, which must not be used any more.

    Attributes:
        step: the step that failed.
        prefix: the pipeline up to and with this step, which reproduces the failure.
        ours: whether the pass comes with jxc, so that the failure is a bug of jxc.
    """

    def __init__(self, message: str, step: PipelineStep, prefix: Pipeline, *, ours: bool) -> None:
        super().__init__(message)
        self.step = step
        self.prefix = prefix
        self.ours = ours


def run_pipeline(
    module: ir.Module,
    pipeline: Pipeline,
    context: PassContext,
    *,
    instruments: Sequence[Instrument] = (),
    verify_each: bool = True,
    name: str = "-",
) -> PipelineReport:
    """Rewrite `module` in place.

    Args:
        module: the module; after an error it must not be used.
        pipeline: the passes.
        context: passed to passes and rules that have a parameter for it.
        instruments: called before and after each pass.
        verify_each: check the module and its invariants after each pass, not only after the last.
        name: the file name for messages.

    Raises:
        PassError: a pass failed, or broke an invariant of the module.
        JxcError: the module is nested too deep.
    """
    found, nesting = names_and_nesting(module.operation)
    make_room(module, name, nesting)
    report = PipelineReport()
    is_all_native = all(step.python is None for step in pipeline.steps)
    shardings = ResultShardings(None) if is_all_native else ResultShardings.of(module)
    invariants = Invariants.of(module, found)
    is_changed = False
    names: frozenset[str] | None = found  # of all ops in the module; None if they are not known
    with _no_collection():
        for index, step in enumerate(pipeline.steps):
            try:
                is_idle = False
                if _is_conditional(step):
                    names = op_names(module) if names is None else names
                    is_idle = not _may_act(step, names)
                done = _run_step(step, module, context, instruments, is_idle=is_idle)
                may_differ = not is_idle
                if may_differ and step.python is not None and step.python.is_of_rules:
                    may_differ = any(count.hits for count in done.rules)
                names = names if not may_differ or only_removes(str(step)) else None
                is_changed |= may_differ and step.python is not None
                is_due = (verify_each and may_differ) or index == len(pipeline.steps) - 1
                invariants = _checked(step, module, invariants, name, is_due=is_due)
            except UsageError:
                raise
            except Exception as error:
                prefix = Pipeline(pipeline.steps[: index + 1], pipeline.library)
                for instrument in instruments:
                    if isinstance(instrument, FailureInstrument):
                        instrument.failed(step, module)
                raise _pass_error(error, step, prefix, name) from error
            report.steps.append(done)
        if is_changed:
            shardings.restore(module)
    return report


@contextmanager
def _no_collection() -> Iterator[None]:
    """Disable Python's garbage collector: passes make many objects for ops, and no cycles.

    One collection in a process with JAX and a model took 0.2 s, a third of the passes on NASNet.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _checked(
    step: PipelineStep, module: ir.Module, invariants: Invariants, name: str, *, is_due: bool
) -> Invariants:
    """The invariants for the next steps, after a check of those that this step must keep."""
    if step.python is None:
        if converts(str(step)):
            return Invariants.of(module)
        if is_due:  # MLIR has verified the module itself
            invariants.check(module)
        return invariants
    changes, adds_results = step.python.changes, bool(step.python.adds_results)
    if is_due or changes or adds_results:
        verify_module(module, name)
        invariants.without(changes).check(module, may_add_results=adds_results)
    if adds_results:
        return Invariants.of(module)
    return invariants.with_attributes_of(module) if changes else invariants


def _is_conditional(step: PipelineStep) -> bool:
    """Whether a step changes only modules with certain ops."""
    if step.python is None:
        return str(step) in NEEDS
    return bool(step.python.needs or (step.python.rules and not step.options))


def _may_act(step: PipelineStep, names: frozenset[str]) -> bool:
    """Whether a conditional step may change a module whose ops have these names."""
    if step.python is None:
        return not NEEDS[str(step)].isdisjoint(names)
    return step.python.may_fire(names)


def _run_step(
    step: PipelineStep,
    module: ir.Module,
    context: PassContext,
    instruments: Sequence[Instrument],
    *,
    is_idle: bool,
) -> StepReport:
    for instrument in instruments:
        instrument.before(step, module)
    start = perf_counter()
    counts: Sequence[RuleCount] | Contract | None = None
    if is_idle:
        counts = () if step.python is None else step.python.untried
    elif step.python is None:
        run_native_step(str(step.element), module)
    else:
        with module.context, ir.Location.unknown(module.context):
            counts = step.python.function(module.operation, context, **step.options)
    seconds = perf_counter() - start
    if isinstance(counts, Contract):
        done = StepReport(step.name, seconds, contract=counts)
    else:
        done = StepReport(step.name, seconds, tuple(counts or ()))
    for instrument in instruments:
        instrument.after(step, module, done)
    return done


def _pass_error(error: Exception, step: PipelineStep, prefix: Pipeline, name: str) -> PassError:
    is_bug = not isinstance(error, ir.MLIRError | JxcError)
    message = f"{type(error).__name__}: {error}" if is_bug else str(error)
    if isinstance(error, ir.MLIRError):
        message = format_diagnostics(error, name)
    is_own = step.python is not None and step.name not in prefix.library.loaded
    ours = is_own and not isinstance(error, JxcError)
    wrapped = PassError(f"pass {step.name!r} failed: {message}", step, prefix, ours=ours)
    for note in getattr(error, "__notes__", ()):
        wrapped.add_note(note.replace(" -:", f" {name}:"))
    if is_bug:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        wrapped.add_note(f"raised at {Path(frame.filename).name}:{frame.lineno}: {frame.line}")
    return wrapped


def opt(
    module: ir.Module | str | bytes,
    pipeline: PipelineLike = "O2",
    *,
    target: str = "cpu",
    assume: str | Sequence[str] = (),
) -> ir.Module:
    """Run a pipeline on a copy of a module, and return the copy.

    Args:
        module: a module, or its text or bytes in any form that `jxc opt` reads.
        pipeline: a level ("O0" to "O3"), a textual pipeline ("inline,simplify"), a pass or rule, or
            a sequence of these.
        target: the hardware to optimise for: "cpu", "gpu" or "tpu".
        assume: promises about the values, such as "no-nans".

    Raises:
        JxcError: the module is malformed, a name is unknown, or a pass failed.
    """
    if isinstance(module, ir.Module):
        copy = clone_module(module)
    else:
        copy = read_module(module, make_context(), name="<module>")
    run_pipeline(copy, make_pipeline(pipeline), PassContext(target, promises(assume)))
    return copy
