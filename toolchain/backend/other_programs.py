"""Programs that a plan of `jxc fit` was not made for: they are compiled without it.

JAX compiles a program for each operation outside of `jit`, under JXC_PIPELINE too. A plan that
applies to no program at all is reported when the process ends.
"""

from __future__ import annotations

import atexit

from ..errors import JxcError
from ..pipeline import PassError, Pipeline
from ..source import first_time, warn_user

_applied: set[str] = set()
"""The labels of plans that applied to a program."""


def is_of_other_program(
    pipeline: Pipeline | str, program: str, label: str, error: Exception
) -> bool:
    """Whether a plan does not apply to a program since it was made for another one.

    Args:
        pipeline: that failed.
        program: its name.
        label: of the pipeline in messages.
        error: why it failed.
    """
    made_for = _program_of(pipeline)
    cause: BaseException = error
    if isinstance(error, PassError) and error.__cause__ is not None:
        cause = error.__cause__
    if made_for in ("", program) or not isinstance(cause, JxcError):
        return False
    if first_time((label, "other programs")):
        atexit.register(_warn_if_unused, label, made_for, f"{program!r}: {error}")
    return True


def note_applied(label: str) -> None:
    """Record that a pipeline applied to a program."""
    _applied.add(label)


def _program_of(pipeline: Pipeline | str) -> str:
    """The name of the program that the plan in a pipeline was made for; empty if there is none."""
    steps = () if isinstance(pipeline, str) else pipeline.steps
    return next((each.made_for for each in steps if each.made_for), "")


def _warn_if_unused(label: str, made_for: str, first: str) -> None:
    if label not in _applied:
        warn_user(
            f"The plan {label} applied to no program of this process. It was made for "
            f"{made_for!r}. The first program to which it did not apply is {first}"
        )
