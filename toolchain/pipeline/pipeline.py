"""Pipelines: passes in order with their options, made of names, printed in MLIR's syntax."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from jaxlib.mlir import ir

from ..errors import UsageError, did_you_mean
from ..ir import make_context
from ..rewrite import File, Pass, PassLike, Rule
from ..rewrite.former_names import current_name
from .levels import LEVELS
from .library import Library
from .native import NATIVE_PASSES, check_native, is_native
from .plans import PLAN_SUFFIX, bind_plan, read_plan
from .plugins import as_pass
from .step import PipelineStep as PipelineStep
from .text import Element, parse_options, parse_pipeline


@dataclass(frozen=True)
class Pipeline:
    """Passes in order. `str(pipeline)` is MLIR's spelling, which `make_pipeline` reads back.

    Attributes:
        steps: the passes.
        library: where their names were looked up.
    """

    steps: tuple[PipelineStep, ...]
    library: Library = field(default_factory=Library, compare=False)

    def __str__(self) -> str:
        return f"builtin.module({','.join(map(str, self.steps))})"


PipelineLike = str | Pipeline | Pass | Rule | PassLike | Callable[..., Any] | Sequence[Any]


def make_pipeline(spec: PipelineLike, library: Library | None = None) -> Pipeline:
    """The pipeline that `spec` names.

    Args:
        spec: a level ("O2"), MLIR's textual syntax ("inline,simplify{max-num-rewrites=9}"; levels
            can stand among the passes), the path of a plan of `jxc fit` ("plan.toml", which can
            also stand among them), a pass or rule object, or a sequence of these.
        library: where names are looked up; only jxc's own passes when None.

    Raises:
        UsageError: a name or option is unknown, or the text is malformed.
    """
    if isinstance(spec, Pipeline):
        return spec
    if isinstance(spec, str) and library is None and PLAN_SUFFIX not in spec:
        found = _of_names(spec)
        options = (value for step in found.steps for value in step.options.values())
        if not any(isinstance(value, File) for value in options):  # which may change
            return found
    return _pipeline_of(spec, library or Library())


@lru_cache(maxsize=64)
def _of_names(text: str) -> Pipeline:
    """Cached: finding the passes, MLIR's own among them, takes milliseconds."""
    return _pipeline_of(text, Library())


def _pipeline_of(spec: PipelineLike, library: Library) -> Pipeline:
    specs = [spec] if isinstance(spec, str | Pass | Rule | PassLike) else spec
    if not isinstance(specs, Iterable):
        raise UsageError(
            f"expected a level, a textual pipeline, a pass, a rule or a sequence of these, got "
            f"{type(spec).__name__}. {_DECORATORS}"
        )
    given, names = dict(library.loaded), []
    for each in specs:
        if not isinstance(each, str | Pass | Rule | PassLike):
            raise UsageError(
                f"{getattr(each, '__name__', each)!r} in a pipeline is not a name, a pass or a "
                f"rule. {_DECORATORS}"
            )
        if not isinstance(each, str):
            given[each.name] = as_pass(each)
        names.append(each if isinstance(each, str) else each.name)
    finder = _StepFinder(Library(given, library.files))
    elements = [element for name in names for element in parse_pipeline(name)]
    return Pipeline(tuple(s for e in elements for s in finder.steps(e)), finder.library)


_DECORATORS = "@jxc.rule(...) and @jxc.module_pass make a rule or a pass of a function."


class _StepFinder:
    """Finds the steps that names stand for; `context` is where MLIR looks up native passes."""

    def __init__(self, library: Library) -> None:
        self.library = library

    @cached_property
    def context(self) -> ir.Context:
        return make_context()

    def steps(self, element: Element) -> list[PipelineStep]:
        if element.nested is not None:
            return [self._native(element)]
        if element.name.endswith(PLAN_SUFFIX):
            return self._of_plan(element)
        level = LEVELS.get(element.name.removeprefix("-"))
        if level is None:
            return [self._step(element)]
        if element.options:
            raise UsageError(
                f"{element.name} is a level and takes no options: {{{element.options}}}; its "
                f"passes do: `jxc opt -{element.name} --dump-pass-pipeline` lists them"
            )
        return [step for each in parse_pipeline(",".join(level)) for step in self.steps(each)]

    def _of_plan(self, element: Element) -> list[PipelineStep]:
        """The passes of a plan; those that read plans read this one."""
        pipeline, program = read_plan(element.name)
        elements = parse_pipeline(pipeline)
        return [bind_plan(s, element.name, program) for each in elements for s in self.steps(each)]

    def _step(self, element: Element) -> PipelineStep:
        name = element.name
        if found := self.library.find(name):
            return _python_step(element, found)
        if name in NATIVE_PASSES or is_native(name, self.context):
            return self._native(element)
        if found := self.library.find_slowly(name):
            return _python_step(replace(element, name=current_name(name)), found)
        known = [*self.library.names(), *NATIVE_PASSES, *LEVELS]
        is_level = name.upper() in LEVELS
        offer = f" Did you mean {name.upper()!r}?" if is_level else did_you_mean(name, known)
        raise UsageError(
            f"unknown pass or level {name!r}.{offer} The levels are {', '.join(LEVELS)}; "
            "`jxc opt --list-passes` lists the passes."
        )

    def _native(self, element: Element) -> PipelineStep:
        for inner in parse_pipeline(element.nested or ""):
            if inner.nested is None and self.library.find(inner.name):
                raise UsageError(
                    f"{inner.name!r} works on whole modules: write it outside {element.name}(...)"
                )
        is_plain = not element.options and element.nested is None
        if not is_plain and (why := check_native(str(element), self.context)) is not None:
            raise UsageError(f"pass {element.name!r}: {why}")
        return PipelineStep(element)


def _python_step(element: Element, found: Pass) -> PipelineStep:
    return PipelineStep(element, found, _read_options(found, element.options))


def _read_options(found: Pass, text: str) -> dict[str, Any]:
    """The options in `text` by parameter name, parsed as `found` declares them."""
    options = {}
    for key, value in parse_options(text).items():
        if key not in found.options:
            known = ", ".join(found.options) or "none"
            raise UsageError(f"pass {found.name!r} has no option {key!r}; it has: {known}")
        kind = found.options[key].type
        try:
            parsed = _BOOLS[value.lower()] if kind is bool else kind(value)
        except (KeyError, ValueError):
            expected = {bool: "true or false", int: "an integer", float: "a number"}[kind]
            raise UsageError(
                f"pass {found.name!r}: option {key!r} expects {expected}, got {value!r}"
            ) from None
        options[key.replace("-", "_")] = parsed
    return options


_BOOLS = {"true": True, "1": True, "false": False, "0": False}
