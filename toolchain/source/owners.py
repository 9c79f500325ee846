"""Whose a line of Python is: the user's, a library's, or jax's and ours."""

from __future__ import annotations

import sys
from functools import cache
from types import FrameType

from .lines import Place, is_compiler_file, is_user_file

homes: list[str] = []
"""Folders of installed packages that are the user's: where `jxc explain -m` found the program."""


def user_line() -> Place | None:
    """The innermost line on this thread's stack that is the user's.

    Where no file is, what was typed in or run from a string; else the innermost library's.
    """
    frame, others = sys._getframe(1), dict[str, FrameType]()
    while frame is not None:
        owner = owner_of(frame.f_code.co_filename)
        if owner == "user":
            return _place(frame)
        if owner != "compiler":
            others.setdefault(owner, frame)
        frame = frame.f_back  # type: ignore[assignment]
    found = others.get("typed") or others.get("library")
    return _place(found) if found else None


def _place(frame: FrameType) -> Place:
    return Place(frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name)


def owner_of(file: str) -> str:
    """Whose a file is: "user", "typed" (no file), "compiler" (jax's or jxc's) or "library"."""
    return _owner(file, tuple(homes))


_PROMPTS = ("<stdin>", "<python-input-", "<ipython-input-", "<console>")
"""What is typed at a prompt, which a script such as `bin/ipython` may have opened."""


@cache
def _owner(file: str, homes: tuple[str, ...]) -> str:
    if file.startswith(_PROMPTS):
        return "user"
    if file.startswith("<"):
        return "compiler" if file.startswith("<frozen") else "typed"
    if is_compiler_file(file):
        return "compiler"
    return "user" if any(is_user_file(file, home) for home in homes or (None,)) else "library"
