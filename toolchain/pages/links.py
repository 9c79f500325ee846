"""The lines of Python that each line of a program, at each stage, comes from.

Many lines of a program share their origin, and many origins share frames. `Links` keeps each frame,
each stack of frames and each origin once and numbers them; the page's script looks them up.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from ..source import SourceLine, is_standard_library, owner_of

MAX_STACKS = 8  # kept for a line in a function that is called from many places


class PythonFiles:
    """The Python files of a page, numbered; one instance per page.

    Attributes:
        paths: all files that lines lead to or through, by number.
        reached: the numbers of the files whose text the page shows: those of the innermost frames,
            and all of the user's.
    """

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.reached: set[int] = set()
        self._numbers: dict[str, int] = {}

    def number(self, path: str) -> int:
        """The number of a file."""
        if path not in self._numbers:
            self._numbers[path] = len(self.paths)
            self.paths.append(path)
        return self._numbers[path]


class Links:
    """The origins in Python of the lines of one program, each stored once.

    A link is a number. 0 means that no origin is known. Every other number stands for the path of
    the traced op ("jit(step)/sin") and the stacks of Python frames, innermost first, under which it
    was traced. Frames of jax, of jxc and of the standard library are left out.
    """

    def __init__(self, files: PythonFiles) -> None:
        self._files = files
        self._frames: dict[tuple[int, int, str], int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}
        self._links: dict[tuple[str, tuple[int, ...]], int] = {("", ()): 0}
        self._table: list[tuple[str, tuple[int, ...]]] = [("", ())]

    def add(self, name: str, frames: Iterable[SourceLine]) -> int:
        """The link of an op with the path `name`, traced under `frames`, innermost first."""
        known = [frame for frame in frames if owner_on_page(frame.file)]
        if not known:
            return self._intern(name, ())
        shown = (f.file for i, f in enumerate(known) if not i or owner_on_page(f.file) == "user")
        self._files.reached.update(map(self._files.number, shown))
        keys = ((self._files.number(f.file), f.line, f.function) for f in known)
        numbers = (self._frames.setdefault(key, len(self._frames)) for key in keys)
        stack = tuple(dict.fromkeys(numbers))  # inlining repeats some frames
        number = self._stacks.setdefault(stack, len(self._stacks))
        return self._intern(name, (number,))

    def of_frames(self, name: str, frames: Iterable[tuple[str, int, str]]) -> int:
        """As `add`, for frames of a location as `ir.frames_of` returns them."""
        return self.add(name, (SourceLine(*frame) for frame in frames))

    def has_frames(self, link: int) -> bool:
        """Whether a link leads to any line of Python."""
        return bool(self._table[link][1])

    def inherit(self, link: int, callers: Sequence[int]) -> int:
        """The link of a line without frames in a function; `callers` are the links of its calls."""
        name, stacks = self._table[link]
        if stacks:
            return link
        found = dict.fromkeys(stack for each in callers for stack in self._table[each][1])
        return self._intern(name, tuple(found)[:MAX_STACKS])

    def as_json(self) -> dict[str, Any]:
        """Tables for the page: frames, stacks of frames, and links as [name, [stack, ...]]."""
        return {
            "frames": [list(frame) for frame in self._frames],
            "stacks": [list(stack) for stack in self._stacks],
            "links": [[name, list(stacks)] for name, stacks in self._table],
        }

    def _intern(self, name: str, stacks: tuple[int, ...]) -> int:
        known = self._links.setdefault((name, stacks), len(self._table))
        if known == len(self._table):
            self._table.append((name, stacks))
        return known


@functools.cache
def owner_on_page(file: str) -> str:
    """ "user" or "library"; empty for files that pages leave out: jax's, jxc's and Python's."""
    if not file or file.startswith("<") or is_standard_library(file):
        return ""
    owner = owner_of(file)
    return "" if owner == "compiler" else owner
