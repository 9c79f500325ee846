"""Check that a pipeline keeps a program's meaning, or that two modules have the same.

`verify_modules` compares on arguments that it draws several times. `verify_pipeline` does so for a
module before and after a pipeline, and again with each dimension at size 1 and 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from ..display.progress import progress
from ..errors import JxcError, UsageError
from ..ir import clone_module, walk
from ..ir.locations import INLINE
from ..pipeline import (
    Pipeline,
    PipelineLike,
    PipelineReport,
    make_pipeline,
    run_pipeline,
)
from ..pipeline.native import run_native
from ..rewrite import Contract, PassContext, exact, reassociates
from ..units import counted
from .callbacks import without_callbacks
from .compare import Comparer, Comparison, Deadline
from .fill import operands_of
from .in_place import check_in_place
from .inputs import KINDS, CannotRun
from .judge import MARGIN
from .modules import entry_names, is_dynamic, main_type, static_pairs, with_main
from .rebuild import NotValid, rebuild
from .rebuild_types import Change
from .reference import INTERPRETER_BUDGET_S, RationedInterpreter
from .run import Interpreter, shared_interpreter

CONTRACTS = {"exact": exact, "reassociates": reassociates}

_MOST_OPS, _MOST_SIZES = 400, 4  # limits on trying other sizes: ops of a program, sizes replaced
_OTHER_SIZES = (1, 0)


@dataclass(frozen=True, repr=False)
class Verdict:
    """The result of comparing one function before and after; `print` shows it in full.

    Attributes:
        function: the function's name, without the @.
        report: the comparison that found a difference, or the last one.
        draws: how many sets of arguments were compared.
        elsewhere: how many more were compared on the program with a dimension of size 1 or 0.
        rewrites: how many rewrites were run alone and compared, of how many.
        wrong: the rule and the location of a rewrite that differs when run alone; else empty.
        program: the program of other sizes that differed, or what `wrong` replaced; None where it
            is the function itself.
        unfinished: why not all sets of arguments were compared; empty where all were.
    """

    function: str
    report: Comparison
    draws: int
    elsewhere: int = 0
    rewrites: tuple[int, int] = (0, 0)
    wrong: str = ""
    program: ir.Module | None = None
    unfinished: str = ""

    @property
    def agrees(self) -> bool:
        """Whether it ran and agreed on every set of arguments."""
        return self.report.agrees

    def __str__(self) -> str:
        more = f", {self.elsewhere} with other sizes" if self.elsewhere else ""
        checked, applied = self.rewrites
        if applied:
            more += f", {checked} of {applied} rewrites in place"
        by = f"{self.wrong} " if self.wrong else ""
        text = f"@{self.function}: {by}{self.report}"
        if self.report.difference is None:
            text = f"{text} [{counted(self.draws, 'draw')}{more}]"
        return f"{text}; {self.unfinished}" if self.unfinished else text

    def __repr__(self) -> str:
        report = self.report
        state = "same" if self.agrees else "differs" if report.ran else "could not run"
        draws = counted(self.draws + self.elsewhere, "draw")
        return f"<jxc.verify @{self.function}: {state} ({report.contract}), {draws}>"

    def _repr_html_(self) -> str:
        from ..display.fragment import escaped, fragment

        state = "green" if self.agrees else "red" if self.report.ran else "yellow"
        lines = [f"<p>{escaped(line)}</p>" for line in str(self).splitlines()]
        lines[0] = lines[0].replace("<p>", f'<p class="jxc-{state}">')
        return fragment("jxc.verify", (), lines)


def contract_of(pipeline: Pipeline, report: PipelineReport) -> Contract:
    """The loosest contract among the rules that fired and passes without rules.

    MLIR's own passes count as exact.

    In ulps of a result, `reassociates` is as loose as `judge.MARGIN`.
    """
    rules = [rule for step in pipeline.steps if step.python for rule in step.python.rules]
    fired = [rule.contract for rule in rules if rule.name in report.hits]
    fired += [step.contract for step in report.steps]
    return max(fired, key=lambda c: MARGIN if c == reassociates else c.ulps, default=exact)


def verify_modules(
    before: ir.Module,
    after: ir.Module,
    *,
    contract: Contract = exact,
    seeds: int = 3,
    deadline: Deadline | None = None,
    given: Sequence[np.ndarray] | None = None,
    interpreter: Interpreter | None = None,
) -> list[Verdict]:
    """Compare each public function of two modules on generated arguments.

    Args:
        before: the module that is right.
        after: the one in question, with the same public functions.
        contract: how far it may move a result.
        seeds: how many times to draw arguments of each kind.
        deadline: when to stop.
        given: arguments of @main to compare on as well, after generated ones.
        interpreter: the reference interpreter; None for one whose budget is that of `deadline`.

    Raises:
        JxcError: the modules have no public function in common, or its type differs.
    """
    names = [name for name in entry_names(before) if name in entry_names(after)]
    if not names:
        raise JxcError("the modules have no public function in common: nothing to compare")
    deadline = deadline or Deadline()
    interpreter = interpreter or _rationed(deadline, len(names) * seeds * len(KINDS))
    own = {"main": given}
    return [
        _verdict(before, after, name, contract, seeds, deadline, own.get(name), interpreter)
        for name in names
    ]


def _rationed(deadline: Deadline, draws: int, share: float = 1.0) -> RationedInterpreter:
    """The interpreter with a part of the budget for so many sets of arguments."""
    return RationedInterpreter(shared_interpreter(), share * _budget(deadline), draws)


def _budget(deadline: Deadline) -> float:
    return INTERPRETER_BUDGET_S if deadline.seconds is None else deadline.seconds


def _verdict(
    before: ir.Module,
    after: ir.Module,
    name: str,
    contract: Contract,
    seeds: int,
    deadline: Deadline,
    given: Sequence[np.ndarray] | None,
    interpreter: Interpreter,
) -> Verdict:
    deadline.doing = f"@{name}"
    last, draws = Comparison(contract, {}, {}), 0
    try:
        both = (without_callbacks(with_main(each, name)) for each in (before, after))
        for pair in static_pairs(*both):
            comparer = Comparer(*pair, contract, interpreter)
            for seed in range(seeds):
                is_last = seed == seeds - 1
                report = comparer.compare(
                    seed=seed, deadline=deadline, given=given if is_last else None
                )
                merged = _joined(last.runs, report.runs), {**last.reasons, **report.reasons}
                last = replace(report, runs=merged[0], reasons=merged[1])
                draws += len(report.runs)
                if report.was_stopped:
                    return Verdict(name, last, draws, unfinished=str(deadline))
                if report.difference is not None:
                    return Verdict(name, last, draws)
    except CannotRun as error:
        last = Comparison(contract, {}, {"any": str(error)})
    except ValueError as error:
        raise JxcError(f"@{name}: {error}") from error
    return Verdict(name, last, draws)


def _joined(runs: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """The engines of each kind of arguments, where each may have run on several."""
    names = {kind: {*runs.get(kind, by).split(", "), by} for kind, by in more.items()}
    return {**runs, **{kind: ", ".join(sorted(each)) for kind, each in names.items()}}


def verify_pipeline(
    module: ir.Module,
    pipeline: PipelineLike,
    *,
    context: PassContext | None = None,
    seeds: int = 3,
    deadline: Deadline | None = None,
    given: Sequence[np.ndarray] | None = None,
) -> list[Verdict]:
    """Compare a module with itself after a pipeline, by the loosest contract that was used.

    A program that agrees is compared again: each rewrite alone, on the values that reach it, which
    finds errors that the rounding around it hides; and with each of its dimensions at size 1 and 0,
    which finds rules that rely on larger sizes.

    Args:
        module: the program.
        pipeline: the pipeline.
        context: what rules may depend on.
        seeds: how many times to draw arguments of each kind.
        deadline: when to stop.
        given: arguments of @main to compare on as well, after generated ones.
    """
    steps, context = make_pipeline(pipeline), context or PassContext()
    deadline = deadline or Deadline()

    def compared(
        program: ir.Module, seeds: int, given: Any = None, interpreter: Interpreter | None = None
    ) -> list[Verdict]:
        after, contract = _after(program, steps, context)
        return verify_modules(
            program,
            after,
            contract=contract,
            seeds=seeds,
            deadline=deadline,
            given=given,
            interpreter=interpreter,
        )

    def with_other_sizes(verdict: Verdict) -> Verdict:
        for program in programs_of_other_sizes(with_main(module, verdict.function)):
            if verdict.unfinished:
                break
            ration = _rationed(deadline, len(KINDS), 1 / (_MOST_SIZES * len(_OTHER_SIZES)))
            [found] = compared(program, 1, interpreter=ration)
            if found.report.difference is not None:
                return replace(found, function=verdict.function, program=program)
            elsewhere = verdict.elsewhere + found.draws
            verdict = replace(verdict, elsewhere=elsewhere, unfinished=found.unfinished)
        return verdict

    def in_place(verdict: Verdict) -> Verdict:
        program = with_main(module, verdict.function)
        if verdict.unfinished or is_dynamic(program):
            return verdict
        own = given if verdict.function == "main" else None
        budget = _budget(deadline) / len(verdicts)
        found = check_in_place(program, steps, context, budget, deadline.is_over, own)
        verdict = replace(verdict, rewrites=(found.checked, found.applied))
        if found.report is None:
            return verdict
        return replace(verdict, report=found.report, program=found.program, wrong=found.wrong)

    verdicts = compared(module, seeds, given)
    if all(verdict.agrees for verdict in verdicts):
        verdicts = [in_place(verdict) for verdict in verdicts]
    if not all(verdict.agrees for verdict in verdicts):
        return verdicts
    return [with_other_sizes(verdict) for verdict in verdicts]


def programs_of_other_sizes(module: ir.Module) -> Iterator[ir.Module]:
    """The program with one size of its arguments replaced by 1, or by 0, wherever it occurs.

    The largest sizes come first. What is not valid then is left out, and so are large programs.

    Args:
        module: has one function, @main.
    """
    inlined = clone_module(module)
    run_native(INLINE, inlined)
    if is_dynamic(module) or sum(1 for _ in walk(module.operation)) > _MOST_OPS:
        return
    kinds = [k for k in main_type(module).inputs if isinstance(k, ir.RankedTensorType)]
    sizes = sorted({size for kind in kinds for size in kind.shape if size > 1}, reverse=True)
    for size, other in product(sizes[:_MOST_SIZES], _OTHER_SIZES):
        try:
            yield rebuild(inlined, Change(extents={size: other}))
        except NotValid:
            continue


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
    """Check that a function means the same after a pipeline, on its and on generated arguments.

    Args:
        fn: the function, jitted or not.
        args: arrays or `jax.ShapeDtypeStruct`s. The function runs on the arrays, and on generated
            ones of their shapes and dtypes.
        pipeline: a level, a textual pipeline, or passes and rules.
        kwargs: the same, by name.

    Returns:
        The verdict: `agrees` says whether the meaning is kept; `print` shows the first difference
        and the arguments that show it.

    Raises:
        JxcError: the function cannot be traced, or a pass failed.
    """
    from ..backend.lowered import lower

    with progress("verifying") as show:
        deadline = Deadline(progress=lambda name, draws: show(f"verifying {name}: {draws} draws"))
        low = lower(fn, *args, **kwargs)
        given = operands_of(low, args, kwargs)
        [verdict] = verify_pipeline(low.module, pipeline, deadline=deadline, given=given)
    return verdict
