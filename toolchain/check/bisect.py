"""Find the step of a pipeline, and the rewrite in it, that makes a module wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxlib.mlir import ir

from ..ir import clone_module
from ..pipeline import (
    Pipeline,
    PipelineLike,
    PipelineReport,
    PipelineStep,
    make_pipeline,
    run_pipeline,
)
from ..rewrite import PassContext
from .verify import contract_of, verify_modules

_REWRITE_LIMIT = "max_num_rewrites"


@dataclass(frozen=True)
class Culprit:
    """The first step of a pipeline after which a module is wrong.

    Attributes:
        index: the step's position in the pipeline, from 0.
        step: the step.
        rule: the rule whose application makes it wrong; None for a pass without rules.
        application: which rewrite of that pass it is, from 1.
    """

    index: int
    step: PipelineStep
    rule: str | None = None
    application: int = 0

    def __str__(self) -> str:
        which = f"pass {self.step.name!r}, step {self.index + 1} of the pipeline"
        if self.rule is None:
            return which
        return f"rule {self.rule!r}, rewrite {self.application} of {which}"


def blame(
    module: ir.Module,
    pipeline: PipelineLike,
    *,
    context: PassContext | None = None,
    seeds: int = 3,
    given: Sequence[np.ndarray] | None = None,
) -> Culprit | None:
    """The first pass and rewrite of a pipeline that breaks a module; None if none does.

    The arguments are those of `verify_pipeline`.
    """
    steps, context = make_pipeline(pipeline), context or PassContext()
    contract = contract_of(steps, run_pipeline(clone_module(module), steps, context))

    def is_wrong(after: ir.Module) -> bool:
        verdicts = verify_modules(module, after, contract=contract, seeds=seeds, given=given)
        return any(v.report.difference is not None for v in verdicts)

    return bisect(module, steps, context, is_wrong)


def bisect(
    module: ir.Module,
    pipeline: Pipeline,
    context: PassContext,
    is_wrong: Callable[[ir.Module], bool],
) -> Culprit | None:
    """The first pass, and in it the first rewrite, after which `is_wrong` holds.

    Args:
        module: the module before the pipeline.
        pipeline: its result is wrong.
        context: what rules may depend on.
        is_wrong: the test; a wrong module is assumed to stay wrong.

    Returns:
        None where no step makes the module wrong.
    """

    def after(steps: tuple[PipelineStep, ...]) -> tuple[ir.Module, PipelineReport]:
        copy = clone_module(module)
        return copy, run_pipeline(copy, Pipeline(steps, pipeline.library), context)

    count = _first(len(pipeline.steps), lambda n: is_wrong(after(pipeline.steps[:n])[0]))
    if count is None or count == 0:
        return None
    before, step = pipeline.steps[: count - 1], pipeline.steps[count - 1]
    culprit = Culprit(count - 1, step)
    rewrites = sum(rule.hits for rule in after(pipeline.steps[:count])[1].steps[-1].rules)
    options = step.python.options if step.python is not None else ()
    if _REWRITE_LIMIT.replace("_", "-") not in options or not rewrites:
        return culprit

    def limited(limit: int) -> tuple[PipelineStep, ...]:
        return (*before, replace(step, options={**step.options, _REWRITE_LIMIT: limit}))

    number = _first(rewrites, lambda n: is_wrong(after(limited(n))[0]))
    if not number:
        return culprit
    counts = [after(limited(n))[1].steps[-1].rules for n in (number - 1, number)]
    fired = next(b.name for a, b in zip(*counts, strict=True) if a.hits != b.hits)
    return replace(culprit, rule=fired, application=number)


def _first(count: int, holds: Callable[[int], bool]) -> int | None:
    """The smallest n up to `count` from which on `holds` is true; None if it is false there."""
    if not holds(count):
        return None
    low, high = -1, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
