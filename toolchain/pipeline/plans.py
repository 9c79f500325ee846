"""Plans of `jxc fit` as pipelines: a file of TOML whose key `pipeline` has the passes."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

from ..errors import UsageError
from ..rewrite import File
from .step import PipelineStep

PLAN_SUFFIX = ".toml"
PLAN_VERSION = 1
_OPTION = "plan"


def read_plan(path: str) -> tuple[str, str]:
    """The textual pipeline of a plan, and the name of its program, which may be empty.

    Raises:
        UsageError: there is no such file, or it is not a plan of a known version.
    """
    try:
        found = tomllib.loads(File(path).read())
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not a plan: {error}") from None
    if (version := found.get("version")) != PLAN_VERSION:
        raise UsageError(
            f"{path}: expected a plan with version = {PLAN_VERSION}, found {version!r}"
        )
    pipeline = found.get("pipeline")
    if not isinstance(pipeline, str):
        raise UsageError(
            f'{path}: expected the passes, such as pipeline = "rematerialize,O2"; found '
            f"{pipeline!r}"
        )
    made_for = found.get("made_for")
    program = made_for.get("program") if isinstance(made_for, dict) else None
    return pipeline, program if isinstance(program, str) else ""


def bind_plan(step: PipelineStep, path: str, program: str) -> PipelineStep:
    """A step of a plan: a pass that has an option `plan` reads the plan, unless it names another.

    The path becomes absolute, so that the printed pipeline is the same in any directory.
    """
    step = replace(step, made_for=program)
    options = {} if step.python is None else step.python.options
    if _OPTION not in options or _OPTION in step.options:
        return step
    path = str(Path(path).resolve())
    text = " ".join(filter(None, (step.element.options, f"{_OPTION}={path}")))
    element = replace(step.element, options=text)
    return replace(step, element=element, options={**step.options, _OPTION: File(path)})
