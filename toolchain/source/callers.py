"""Finding the user's own line, and warning there once."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Hashable
from pathlib import Path

import jax

_NOT_USERS = (str(Path(__file__).parent.parent), str(Path(jax.__file__).parent))


class JxcWarning(UserWarning):
    """A pipeline could not do its work, and the program runs without it."""


def user_line() -> tuple[str, int]:
    """File and line of the innermost call that is neither JAX's nor ours."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(_NOT_USERS):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


_warned: set[Hashable] = set()


def first_time(key: Hashable) -> bool:
    """Whether this is the first call with `key` in this process."""
    return key not in _warned and not _warned.add(key)  # type: ignore[func-returns-value]


def warn_user(message: str) -> None:
    """Issue a `JxcWarning` at the user's own line."""
    file, line = user_line()
    warnings.warn_explicit(message, JxcWarning, file, line)
