"""Reading a jaxpr: its lines, and the Python lines that its equations come from."""

from __future__ import annotations

import re
from typing import Any

from ...frontend._private import print_numbered
from ...source import SourceLine
from .links import Links
from .text import Stage, make_stage

_NUMBER = re.compile(r"\s*#\s*(?:@\d+@\s*)+$")
_MARK = re.compile(r"@(\d+)@")
_CALLEE = re.compile(r"\bjaxpr=(\w+)")
_SHARED = re.compile(r"let (\w+) = \{ lambda")


def read_jaxpr(jaxpr: Any, links: Links) -> Stage:
    """A jaxpr as JAX prints it. The lines of an equation lead where the equation comes from."""
    text, frames = print_numbered(jaxpr)
    reader = _Equations(links, frames)
    for line in text.splitlines():
        reader.take(line)
    reader.inherit()
    return make_stage("jaxpr", "jaxpr", reader.lines, reader.links)


class _Equations:
    """The lines read so far, and the equations that are open at the last of them."""

    def __init__(self, links: Links, frames: list[Any]) -> None:
        self.table, self.frames = links, frames
        self.lines: list[str] = []
        self.links: list[int] = []
        self.open: list[tuple[int, int]] = []  # the indentation and the link of equations around
        self.shared = ""  # the jaxpr, printed by name, that the line is of
        self.within: list[str] = []
        self.calls: dict[str, list[int]] = {}

    def take(self, line: str) -> None:
        shown = _NUMBER.sub("", line)
        indent = len(shown) - len(shown.lstrip())
        named = _SHARED.match(shown)
        if named or indent == 0:
            self.shared = named[1] if named else ""
        self._close(indent, shown.lstrip())
        link = self._link_of(line, indent) if _NUMBER.search(line) else self._around()
        self.lines.append(shown.rstrip())
        self.links.append(link)
        self.within.append(self.shared)
        for callee in _CALLEE.findall(shown):
            self.calls.setdefault(callee, []).append(len(self.links) - 1)

    def inherit(self) -> None:
        """Lead lines of jaxprs that are printed once, by name, to where they are called."""
        for index in reversed(range(len(self.lines))):  # callers stand below
            callers = [self.links[line] for line in self.calls.get(self.within[index], ())]
            if callers:
                self.links[index] = self.table.inherit(self.links[index], callers)

    def _link_of(self, line: str, indent: int) -> int:
        number = _MARK.search(line)
        assert number is not None
        frames = [SourceLine(*frame) for frame in reversed(self.frames[int(number[1])])]
        link = self.table.add("", frames)
        link = self.table.inherit(link, [self._around()])
        self.open.append((indent, link))
        return link

    def _close(self, indent: int, text: str) -> None:
        is_tail = text.startswith((")", "]", "}", "in ("))
        while self.open and (
            indent < self.open[-1][0] or (indent == self.open[-1][0] and not is_tail)
        ):
            self.open.pop()

    def _around(self) -> int:
        return self.open[-1][1] if self.open else 0
