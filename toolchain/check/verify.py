"""Whether a pipeline, or a second module, keeps a program's meaning: several draws, one verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from ..errors import JxcError, UsageError
from ..ir import clone_module
from ..pipeline import Pipeline, PipelineLike, make_pipeline, run_pipeline
from ..pipeline import Report as RunReport
from ..rewrite import Contract, PassContext, exact, reassociates
from .bisect import Culprit, bisect
from .compare import Report, compare_modules
from .entries import entry_names, with_main
from .extents import static_pairs
from .inputs import CannotRun
from .other_extents import at_other_extents

CONTRACTS = {"exact": exact, "reassociates": reassociates}


@dataclass(frozen=True)
class Verdict:
    """What comparing one function before and after gave.

    Attributes:
        function: the function's name, without the @.
        report: the draw that differed, or the last one.
        draws: how many sets of arguments were compared.
        elsewhere: how many more were, with extents of the program made 1 or 0.
        program: the program at other extents that differed; None where it is the function itself.
    """

    function: str
    report: Report
    draws: int
    elsewhere: int = 0
    program: ir.Module | None = None

    @property
    def agrees(self) -> bool:
        """Whether it ran and gave the same on every draw."""
        return self.report.agrees

    def __str__(self) -> str:
        more = f", {self.elsewhere} with other extents" if self.elsewhere else ""
        return f"@{self.function}: {self.report} [{self.draws} draws{more}]"


def contract_of(pipeline: Pipeline, report: RunReport) -> Contract:
    """The loosest contract among the rules that fired. MLIR's own passes count as exact."""
    rules = [rule for step in pipeline.steps if step.python for rule in step.python.rules]
    loose = {rule.name for rule in rules if rule.contract != exact}
    return reassociates if loose & report.hits.keys() else exact


def verify_modules(
    before: ir.Module, after: ir.Module, *, contract: Contract = exact, seeds: int = 3
) -> list[Verdict]:
    """Compare each public function of two modules on generated arguments.

    Args:
        before: the module that is right.
        after: the one in question, with the same public functions.
        contract: how far it may move a result.
        seeds: how many times to draw arguments of each kind.

    Raises:
        JxcError: the modules have no public function in common, or its type differs.
    """
    names = [name for name in entry_names(before) if name in entry_names(after)]
    if not names:
        raise JxcError("the modules have no public function in common: nothing to compare")
    return [_verdict(before, after, name, contract, seeds) for name in names]


def _verdict(
    before: ir.Module, after: ir.Module, name: str, contract: Contract, seeds: int
) -> Verdict:
    draws, report = 0, Report(contract, {}, {})
    try:
        for pair in static_pairs(with_main(before, name), with_main(after, name)):
            for seed in range(seeds):
                report = compare_modules(*pair, contract=contract, seed=seed)
                draws += len(report.runs)
                if not report.agrees:
                    return Verdict(name, report, draws)
    except CannotRun as error:
        report = Report(contract, {}, {"any": str(error)})
    except ValueError as error:
        raise JxcError(f"@{name}: {error}") from error
    return Verdict(name, report, draws)


def verify_pipeline(
    module: ir.Module, pipeline: PipelineLike, *, context: PassContext | None = None, seeds: int = 3
) -> list[Verdict]:
    """Compare a module with itself after a pipeline, by the loosest contract that was used.

    Where they agree, the same for the module with an extent made 1 or 0, each in turn: rules that
    count on more are found out there.
    """
    steps, known = make_pipeline(pipeline), context or PassContext()
    verdicts = _compared(module, steps, known, seeds)
    if not all(verdict.agrees for verdict in verdicts):
        return verdicts
    return [_elsewhere(module, verdict, steps, known) for verdict in verdicts]


def _compared(
    module: ir.Module, steps: Pipeline, context: PassContext, seeds: int
) -> list[Verdict]:
    after, contract = _after(module, steps, context)
    return verify_modules(module, after, contract=contract, seeds=seeds)


def _elsewhere(
    module: ir.Module, verdict: Verdict, steps: Pipeline, context: PassContext
) -> Verdict:
    """The verdict, with what the program does at other extents."""
    for program in at_other_extents(with_main(module, verdict.function)):
        [found] = _compared(program, steps, context, seeds=1)
        if found.report.difference is not None:
            return replace(found, function=verdict.function, program=program)
        verdict = replace(verdict, elsewhere=verdict.elsewhere + found.draws)
    return verdict


def blame(
    module: ir.Module, pipeline: PipelineLike, *, context: PassContext | None = None, seeds: int = 3
) -> Culprit | None:
    """The first pass and rewrite of a pipeline that breaks a module; None if none does."""
    steps = make_pipeline(pipeline)
    _, contract = _after(module, steps, context or PassContext())

    def is_wrong(after: ir.Module) -> bool:
        verdicts = verify_modules(module, after, contract=contract, seeds=seeds)
        return any(v.report.difference is not None for v in verdicts)

    return bisect(module, steps, context or PassContext(), is_wrong)


def _after(module: ir.Module, steps: Pipeline, context: PassContext) -> tuple[ir.Module, Contract]:
    copy = clone_module(module)
    return copy, contract_of(steps, run_pipeline(copy, steps, context))


def save_inputs(verdict: Verdict, path: Path) -> None:
    """Write the arguments that show a difference, as `jxc compile --input @FILE` reads them.

    Raises:
        UsageError: the file cannot be written.
    """
    difference = verdict.report.difference
    assert difference is not None
    try:
        with path.open("wb") as file:
            np.savez(file, *difference.inputs)
    except OSError as error:
        raise UsageError(f"{path}: cannot write: {error.strerror}") from None


def verify(
    fn: Callable[..., Any], /, *args: Any, pipeline: PipelineLike = "O2", **kwargs: Any
) -> Verdict:
    """Whether a function means the same after a pipeline, on arguments like the given ones.

    Args:
        fn: the function, or what `jax.jit` made of one.
        args: arrays or `jax.ShapeDtypeStruct`s, of which only the types count.
        pipeline: a level, a textual pipeline, or passes and rules.
        kwargs: the same, by name.

    Returns:
        The verdict; its text shows the first difference and the arguments that show it.

    Raises:
        JxcError: the function cannot be traced, or a pass failed.
    """
    from ..backend.lowered import lower

    [verdict] = verify_pipeline(lower(fn, *args, **kwargs).module, pipeline)
    return verdict
