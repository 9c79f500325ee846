"""Functions that cannot be traced: which line asks for what tracing does not have."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jax import errors

from ...frontend.diagnose import TracedCall, problem
from ...source import SourceLine

KINDS = (
    errors.ConcretizationTypeError,  # and with it TracerBoolConversionError
    errors.TracerArrayConversionError,
    errors.TracerIntegerConversionError,
    errors.NonConcreteBooleanIndexError,
    errors.UnexpectedTracerError,
)
"""What JAX raises where Python asks a traced array for its value, or uses one that has leaked."""


_TEXTS = (
    "Shapes must be 1D sequences of concrete values",
    "problematic value is of type",
    "not a valid JAX type",
)
"""What JAX says in the other errors that are about traced values: `TypeError`s."""


@dataclass(frozen=True)
class Failure:
    """A trace that ended in an error of JAX's about traced values.

    Attributes:
        function: the traced function's name.
        place: the line that is to blame.
        sentence: what it asks for, in words.
        fix: what to do about it, in words.
    """

    function: str
    place: SourceLine | None
    sentence: str
    fix: str

    def as_json(self) -> dict[str, Any]:
        return {
            "function": self.function,
            "place": str(self.place) if self.place else None,
            "sentence": self.sentence,
            "fix": self.fix,
        }


def failure_of(
    error: BaseException,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Failure | None:
    """What went wrong, None where it is no error of these kinds."""
    is_known = isinstance(error, KINDS) or _is_of_texts(error)
    if not is_known or not isinstance(error, Exception):
        return None
    call = TracedCall(function, function, args, kwargs)
    place, (sentence, advice) = problem(error, call)
    return Failure(call.name, place, sentence, " ".join(_as_decorator(each) for each in advice))


def _as_decorator(advice: str) -> str:
    """Advice for the command line, as it is for a script."""
    return re.sub(r"--static (\w+)=VALUE", r"jax.jit(..., static_argnames='\1')", advice)


def _is_of_texts(error: BaseException) -> bool:
    return isinstance(error, TypeError) and any(text in str(error) for text in _TEXTS)
