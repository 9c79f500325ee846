"""From a line of a program at some stage to the lines of Python that it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...source import SourceLine, is_standard_library, owner_of

MOST_STACKS = 8  # of a line in a function that many places call


class Files:
    """The Python files of a page, numbered; one per page.

    Attributes:
        paths: all that lines lead to or through.
        reached: the numbers of those that lines lead to: the user's, and the innermost.
    """

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.reached: set[int] = set()
        self._numbers: dict[str, int] = {}

    def number(self, path: str) -> int:
        """The number of a file, a new one where it is new."""
        if path not in self._numbers:
            self._numbers[path] = len(self.paths)
            self.paths.append(path)
        return self._numbers[path]


class Links:
    """The Python lines behind the lines of one program, each kept once.

    A link is a number: 0 of a line that comes from nowhere, else of the path of the traced op
    ("jit(step)/sin") and the stacks of Python frames, innermost first, that it was traced from.
    Frames of jax, of jxc and of Python's own library are left out of the stacks.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._places: dict[tuple[int, int, str], int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}
        self._links: dict[tuple[str, tuple[int, ...]], int] = {("", ()): 0}
        self._table: list[tuple[str, tuple[int, ...]]] = [("", ())]

    def add(self, name: str, frames: Iterable[SourceLine]) -> int:
        """The link of an op called `name`, traced from `frames`, innermost first."""
        known = [frame for frame in frames if kind_of(frame.file)]
        if not known:
            return self._intern(name, ())
        ends = (each.file for i, each in enumerate(known) if not i or kind_of(each.file) == "user")
        self._files.reached.update(map(self._files.number, ends))
        stack = tuple(dict.fromkeys(map(self._place, known)))  # once inlined, some come twice
        number = self._stacks.setdefault(stack, len(self._stacks))
        return self._intern(name, (number,))

    def has_place(self, link: int) -> bool:
        """Whether a link leads to any line of Python."""
        return bool(self._table[link][1])

    def inherit(self, link: int, callers: Sequence[int]) -> int:
        """The link of a line that has a name alone, in a function called from other lines."""
        name, stacks = self._table[link]
        if stacks:
            return link
        found = dict.fromkeys(stack for each in callers for stack in self._table[each][1])
        return self._intern(name, tuple(found)[:MOST_STACKS])

    def as_json(self) -> dict[str, Any]:
        """Tables for the page: places, stacks of places, and links as [name, [stack, ...]]."""
        return {
            "places": [list(place) for place in self._places],
            "stacks": [list(stack) for stack in self._stacks],
            "links": [[name, list(stacks)] for name, stacks in self._table],
        }

    def _place(self, place: SourceLine) -> int:
        key = (self._files.number(place.file), place.line, place.function)
        return self._places.setdefault(key, len(self._places))

    def _intern(self, name: str, stacks: tuple[int, ...]) -> int:
        known = self._links.setdefault((name, stacks), len(self._table))
        if known == len(self._table):
            self._table.append((name, stacks))
        return known


def kind_of(file: str) -> str:
    """ "user" or "library"; empty for files of the compiler and of Python, and where none is."""
    owner = owner_of(file) if file and not file.startswith("<") else "compiler"
    return "" if owner == "compiler" or is_standard_library(file) else owner
