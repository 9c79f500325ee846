"""Running a pipeline on a module: in order, verified, watched by instruments."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Protocol

from jaxlib.mlir import ir

from ..errors import JxcError, UsageError
from ..ir import clone_module, format_diagnostics, make_context, op_names, read_module
from ..rewrite import PassContext, RuleCount, promises
from .invariants import Invariants, verify
from .native import converts, run_native
from .pipeline import Pipeline, PipelineLike, Step, make_pipeline


@dataclass(frozen=True)
class StepReport:
    """What one step did.

    Attributes:
        name: the pass's.
        seconds: wall time, verification left out.
        rules: the counts of its rules, empty for a pass without rules.
    """

    name: str
    seconds: float
    rules: tuple[RuleCount, ...] = ()


@dataclass
class Report:
    """What a run of a pipeline did, step by step."""

    steps: list[StepReport] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Time in passes, verification and printing left out."""
        return sum(step.seconds for step in self.steps)

    @property
    def hits(self) -> dict[str, int]:
        """How often each rule fired, over all steps; rules that never did are left out."""
        totals: dict[str, int] = {}
        for count in (count for step in self.steps for count in step.rules if count.hits):
            totals[count.name] = totals.get(count.name, 0) + count.hits
        return totals


class Instrument(Protocol):
    """Watches a run. Must not change the module."""

    def before(self, step: Step, module: ir.Module) -> None: ...
    def after(self, step: Step, module: ir.Module, report: StepReport) -> None: ...


class PassError(JxcError):
    """A pass failed or broke the module. The module is then in an unknown state: throw it away.

    Attributes:
        step: the step that failed.
        prefix: the pipeline up to and with it, which reproduces the failure.
        ours: whether the pass comes with jxc and the failure is therefore our bug.
    """

    def __init__(self, message: str, step: Step, prefix: Pipeline, *, ours: bool) -> None:
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
) -> Report:
    """Rewrite `module` in place.

    Args:
        module: the module; after an error it must not be used.
        pipeline: the steps.
        context: what rules may know.
        instruments: called around each step.
        verify_each: check validity after each step; what must hold is checked at the end anyway.
        name: the file's, for messages.

    Raises:
        PassError: a step failed, or broke what must hold.
    """
    with _no_collection():
        return _run_steps(module, pipeline, context, instruments, verify_each, name)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep Python from looking for cycles: ops as Python objects are many, and form none.

    Beside JAX and a model, one such search took 0.2 s, a third of the passes on NASNet.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _run_steps(
    module: ir.Module,
    pipeline: Pipeline,
    context: PassContext,
    instruments: Sequence[Instrument],
    verify_each: bool,
    name: str,
) -> Report:
    report = Report()
    invariants = Invariants.of(module)
    present = _Present(module)
    for index, step in enumerate(pipeline.steps):
        is_last = index == len(pipeline.steps) - 1
        try:
            is_idle = present.leaves_idle(step)
            done = _run_step(step, module, context, instruments, is_idle=is_idle)
            may_differ = not _left_alone(step, done)
            if may_differ:
                present.forget()
            is_due = (verify_each and may_differ) or is_last
            invariants = _checked(step, module, invariants, name, is_due=is_due)
        except UsageError:
            raise
        except Exception as error:
            prefix = Pipeline(pipeline.steps[: index + 1], pipeline.library)
            raise _pass_error(error, step, prefix, name) from error
        report.steps.append(done)
    return report


def _checked(
    step: Step, module: ir.Module, invariants: Invariants, name: str, *, is_due: bool
) -> Invariants:
    """What must hold from here on, after it was seen to hold but for what the step may change."""
    if step.python is None:
        if converts(str(step)):
            return Invariants.of(module)
        if is_due:  # MLIR verifies what its own passes leave
            invariants.check(module)
        return invariants
    changes, adds_results = step.python.changes, bool(step.python.adds_results)
    if is_due or changes or adds_results:
        verify(module, name)
        invariants.without(changes).check(module, may_add_results=adds_results)
    return Invariants.of(module) if changes or adds_results else invariants


def _left_alone(step: Step, done: StepReport) -> bool:
    """Whether a step was a pass of rules of which none fired."""
    is_of_rules = step.python is not None and step.python.roots is not None
    return is_of_rules and not any(count.hits for count in done.rules)


class _Present:
    """Which kinds of op a module holds, looked up once between the steps that change it."""

    def __init__(self, module: ir.Module) -> None:
        self._module = module
        self._names: frozenset[str] | None = None

    def forget(self) -> None:
        """The module may have changed."""
        self._names = None

    def leaves_idle(self, step: Step) -> bool:
        """Whether no rule of a step has an op to look at; not said where it has options to read."""
        if step.python is None or step.python.roots is None or step.options:
            return False
        if self._names is None:
            self._names = op_names(self._module)
        return self._names.isdisjoint(step.python.roots)


def _run_step(
    step: Step,
    module: ir.Module,
    context: PassContext,
    instruments: Sequence[Instrument],
    *,
    is_idle: bool,
) -> StepReport:
    for instrument in instruments:
        instrument.before(step, module)
    start = perf_counter()
    counts: Sequence[RuleCount] | None = None
    if is_idle and step.python is not None:
        counts = [RuleCount(rule.name) for rule in step.python.rules]
    elif step.python is None:
        run_native(str(step.element), module)
    else:
        with module.context, ir.Location.unknown(module.context):
            counts = step.python.function(module.operation, context, **step.options)
    done = StepReport(step.name, perf_counter() - start, tuple(counts or ()))
    for instrument in instruments:
        instrument.after(step, module, done)
    return done


def _pass_error(error: Exception, step: Step, prefix: Pipeline, name: str) -> PassError:
    ours = step.python is not None and step.name not in prefix.library.loaded
    if isinstance(error, ir.MLIRError):
        message = format_diagnostics(error, name)
    elif isinstance(error, JxcError):
        message = str(error)
        ours = False
    else:
        message = f"{type(error).__name__}: {error}"
    wrapped = PassError(f"pass {step.name!r} failed: {message}", step, prefix, ours=ours)
    for note in getattr(error, "__notes__", ()):
        wrapped.add_note(note.replace(" -:", f" {name}:"))
    if not isinstance(error, ir.MLIRError | JxcError):
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
    """A rewritten copy of a module; the given one stays as it is.

    Args:
        module: a module, or one as text or bytes in any form that `jxc opt` reads.
        pipeline: a level, a textual pipeline, or passes and rules.
        target: the hardware that rules assume: "cpu", "gpu" or "tpu".
        assume: promises such as "no-nans".

    Raises:
        JxcError: the module is malformed, a name is unknown, or a pass failed.
    """
    if isinstance(module, ir.Module):
        copy = clone_module(module)
    else:
        copy = read_module(module, make_context(), name="<module>")
    run_pipeline(copy, make_pipeline(pipeline), PassContext(target, promises(assume)))
    return copy
