"""Which pass, and which application of which rule, changes what a module means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from jaxlib.mlir import ir

from ..ir import clone_module
from ..pipeline import Pipeline, Report, Step, run_pipeline
from ..rewrite import PassContext

_BOUND = "max_num_rewrites"


@dataclass(frozen=True)
class Culprit:
    """The first step of a pipeline after which a module is wrong.

    Attributes:
        index: the step's place in the pipeline, from 0.
        step: the step.
        rule: the rule whose application makes it wrong; None for a pass without rules.
        application: which rewrite of that pass it is, from 1.
    """

    index: int
    step: Step
    rule: str | None = None
    application: int = 0

    def __str__(self) -> str:
        place = f"pass {self.step.name!r}, step {self.index + 1} of the pipeline"
        if self.rule is None:
            return place
        return f"rule {self.rule!r}, rewrite {self.application} of {place}"


def bisect(
    module: ir.Module,
    pipeline: Pipeline,
    context: PassContext,
    is_wrong: Callable[[ir.Module], bool],
) -> Culprit | None:
    """The first pass, and in it the first rewrite, after which `is_wrong` holds.

    Args:
        module: the module before the pipeline.
        pipeline: after all of which `is_wrong` holds.
        context: what rules may know.
        is_wrong: the test; a wrong module is taken to stay wrong.

    Returns:
        None where no step makes the module wrong.
    """

    def after(steps: tuple[Step, ...]) -> tuple[ir.Module, Report]:
        copy = clone_module(module)
        return copy, run_pipeline(copy, Pipeline(steps, pipeline.library), context)

    count = _first(len(pipeline.steps), lambda n: is_wrong(after(pipeline.steps[:n])[0]))
    if count is None or count == 0:
        return None
    before, step = pipeline.steps[: count - 1], pipeline.steps[count - 1]
    culprit = Culprit(count - 1, step)
    rewrites = sum(rule.hits for rule in after(pipeline.steps[:count])[1].steps[-1].rules)
    if step.python is None or _BOUND not in step.python.options_by_parameter or not rewrites:
        return culprit

    def bounded(limit: int) -> tuple[Step, ...]:
        return (*before, replace(step, options={**step.options, _BOUND: limit}))

    number = _first(rewrites, lambda n: is_wrong(after(bounded(n))[0]))
    if not number:
        return culprit
    counts = [after(bounded(n))[1].steps[-1].rules for n in (number - 1, number)]
    fired = next(b.name for a, b in zip(*counts, strict=True) if a.hits != b.hits)
    return replace(culprit, rule=fired, application=number)


def _first(count: int, holds: Callable[[int], bool]) -> int | None:
    """The least n up to `count` for which `holds`, which from there on does; None if it never."""
    if not holds(count):
        return None
    low, high = -1, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
