"""A pipeline with passes switched off, run up to a rewrite: what one side of the page shows.

The actions of a run are numbered from 1: each application of a rule is one, and each pass without
rules that changed the module. To show action N, the pipeline runs up to the pass of that action,
once with N actions and, if an earlier action is of the same pass, once with N - 1. The two texts
differ by what the action did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxlib.mlir import ir

from ...backend.log import PassTexts, text_to_read
from ...errors import UsageError
from ...ir import make_context, read_module, write_bytecode
from ...ir.locations import Frame, frames_of, path_of
from ...pipeline import Pipeline, PipelineStep, make_pipeline, run_pipeline
from ...pipeline.levels import LEVELS
from ...pipeline.native import NATIVE_PASSES
from ...pipeline.plans import PLAN_SUFFIX
from ...rewrite import File, PassContext
from ...rewrite.actions import observe_rewrites


@dataclass(frozen=True)
class Variant:
    """What one side of the page shows.

    Attributes:
        pipeline: a level or a textual pipeline.
        off: the labels of passes that are left out.
        step: how many actions are applied; None for all.
        target: what the program is compiled for.
    """

    pipeline: str = "O2"
    off: tuple[str, ...] = ()
    step: int | None = None
    target: str = "cpu"


@dataclass(frozen=True)
class Action:
    """One change of the module: a rewrite by a rule, or a pass without rules.

    Attributes:
        index: of its pass among those that run.
        rule: the name of the rule; empty for a pass without rules.
        op: the name of the op that the rule replaced; empty likewise.
        path: the name stack of that op.
        frames: the Python frames of that op, innermost first.
    """

    index: int
    rule: str = ""
    op: str = ""
    path: str = ""
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class VariantRun:
    """What a variant made of a program.

    Attributes:
        labels: of all passes, those that are off included; a repeated name has a number.
        running: of the passes that run.
        actions: of the whole pipeline.
        texts: the titles and texts of the module after passes, and around the last action shown.
        module: the last of them as bytecode.
        error: why the pipeline failed; empty otherwise.
    """

    labels: tuple[str, ...]
    running: tuple[str, ...]
    actions: tuple[Action, ...]
    texts: tuple[tuple[str, str], ...]
    module: bytes = field(repr=False)


def run_variant(module: bytes, variant: Variant, kind: str) -> VariantRun:
    """Run the pipeline of a variant.

    Args:
        module: the module as bytecode.
        variant: the pipeline and how far it runs.
        kind: the kind of hardware that rules assume.

    Raises:
        UsageError: a name in the pipeline is unknown, or a pass would read a file.
        JxcError: a pass fails.
    """
    if PLAN_SUFFIX in variant.pipeline:
        raise UsageError("`jxc explore` runs no plan, which is a file; use `jxc opt`")
    pipeline = make_pipeline(variant.pipeline)
    _check(pipeline)
    labels = _labels(pipeline)
    off = set(variant.off)
    if unknown := sorted(off - set(labels)):
        raise UsageError(f"the pipeline has no pass {unknown[0]!r}: it has {', '.join(labels)}")
    kept = [(label, s) for label, s in zip(labels, pipeline.steps, strict=True) if label not in off]
    running = tuple(label for label, _ in kept)
    run = _Runner(module, Pipeline(tuple(s for _, s in kept), pipeline.library), kind)
    whole = run(len(kept))
    actions, texts, end = tuple(whole.actions), tuple(whole.texts), whole.end
    if variant.step is not None and variant.step < len(actions):
        texts, end = _up_to(variant.step, run, whole, running)
    return VariantRun(tuple(labels), running, actions, texts, end)


def _up_to(
    number: int, run: _Runner, whole: _Recorder, running: Sequence[str]
) -> tuple[tuple[tuple[str, str], ...], bytes]:
    """The texts until an action and around it, and the module after it."""
    if number <= 0:
        return (), run(0).end
    action = whole.actions[number - 1]
    after = run(action.index + 1, number)
    done = len({each.index for each in whole.actions[:number] if each.index < action.index})
    texts = list(whole.texts[:done])
    title = f"rewrite {number}: {action.rule}" if action.rule else running[action.index]
    if number > 1 and whole.actions[number - 2].index == action.index:
        texts.append((f"rewrite {number - 1}", run(action.index + 1, number - 1).text))
    return (*texts, (title, after.text)), after.end


def _labels(pipeline: Pipeline) -> list[str]:
    """A label for each pass: its name, with a number where the name is not unique."""
    seen: Counter[str] = Counter()
    labels = []
    for step in pipeline.steps:
        seen[step.name] += 1
        number = seen[step.name]
        labels.append(step.name if number == 1 else f"{step.name}.{number}")
    return labels


_KNOWN = {text for level in LEVELS.values() for text in level}


def _check(pipeline: Pipeline) -> None:
    """Refuse passes that could read or write files: the page may choose any pipeline."""
    for step in pipeline.steps:
        native = step.python is None and str(step) not in _KNOWN
        if native and (str(step) != step.name or step.name not in NATIVE_PASSES):
            raise UsageError(
                f"{step}: `jxc explore` runs passes of MLIR without options only; use `jxc opt`"
            )
        if any(isinstance(value, File) for value in step.options.values()):
            raise UsageError(f"{step}: `jxc explore` runs no pass that reads a file; use `jxc opt`")


# Running


class _Recorder(PassTexts):
    """An instrument and an observer of rewrites: keeps actions and texts, stops after `limit`."""

    def __init__(self, limit: int | None) -> None:
        super().__init__()
        self.actions: list[Action] = []
        self.text = ""
        self.end = b""
        self._limit = limit
        self._index = -1
        self._has_rules = False

    def before(self, step: PipelineStep, module: ir.Module) -> None:
        self._index += 1
        self._has_rules = step.python is not None and step.python.is_of_rules
        super().before(step, module)

    def after(self, step: PipelineStep, module: ir.Module, report: Any) -> None:
        count = len(self.texts)
        super().after(step, module, report)
        if not self._has_rules and len(self.texts) > count:
            self.actions.append(Action(self._index))

    def __call__(self, rule: str, op: str, location: ir.Location) -> bool:
        if not self._has_rules:
            return True
        if self._limit is not None and len(self.actions) >= self._limit:
            return False
        frames = tuple(frames_of(location))
        self.actions.append(Action(self._index, rule, op, path_of(location), frames))
        return True


class _Runner:
    """Runs the first passes of a pipeline on a fresh copy of a module."""

    def __init__(self, module: bytes, pipeline: Pipeline, kind: str) -> None:
        self._module, self._pipeline, self._kind = module, pipeline, kind

    def __call__(self, passes: int, limit: int | None = None) -> _Recorder:
        module = read_module(self._module, make_context())
        recorder = _Recorder(limit)
        steps = Pipeline(self._pipeline.steps[:passes], self._pipeline.library)
        with observe_rewrites(recorder):
            run_pipeline(module, steps, PassContext(self._kind), instruments=[recorder])
        recorder.text, recorder.end = text_to_read(module), write_bytecode(module)
        return recorder
