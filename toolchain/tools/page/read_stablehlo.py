"""Reading a StableHLO module's text: its lines, and the Python lines that its ops come from."""

from __future__ import annotations

import re

from .links import Links
from .locations import Locations, is_definition
from .text import QUOTED, Stage, make_stage

_OF_ARGUMENT = re.compile(rf" loc\((?:[^()\"]|{QUOTED}|\([^()]*\))*\)")
_CALL = re.compile(r"\bcall @([\w.$-]+|" + QUOTED + r")\(")
_FUNCTION = re.compile(r"\s*func\.func (?:\w+ )?@([\w.$-]+|" + QUOTED + r")\(")


def read_stablehlo(title: str, text: str, links: Links) -> Stage:
    """A module's text, of which locations are taken off and become the links."""
    lines = text.splitlines()
    reader = _Module(links, Locations(lines))
    for line in lines:
        if line.startswith("{-#"):
            break
        if line and not is_definition(line):
            reader.take(line)
    reader.inherit()
    return make_stage(title, "stablehlo", reader.lines, reader.links)


class _Module:
    """The lines read so far, the ops whose regions are open, and who calls which function."""

    def __init__(self, links: Links, locations: Locations) -> None:
        self.table, self.locations = links, locations
        self.known: dict[str, int] = {"": 0}
        self.lines: list[str] = []
        self.links: list[int] = []
        self.open: list[int] = []  # the lines of ops whose regions have not ended
        self.function = ""
        self.within: list[str] = []
        self.calls: dict[str, list[int]] = {}

    def take(self, line: str) -> None:
        shown, location = _without_location(line)
        function = _FUNCTION.match(shown)
        if function:
            self.function = function[1]
        link = self._link(location)
        is_end = shown.lstrip().startswith("}")
        if is_end and self.open and not shown.endswith("{"):
            link = self._end(self.open.pop(), link)
        self.lines.append(_OF_ARGUMENT.sub("", shown) if " loc(" in shown else shown)
        self.links.append(link)
        self.within.append(self.function)
        if shown.endswith("{") and not is_end:
            self.open.append(self._start())
        for callee in _CALL.findall(shown):
            self.calls.setdefault(callee, []).append(len(self.links) - 1)

    def _link(self, location: str) -> int:
        if location not in self.known:
            self.known[location] = self.table.add(*self.locations.resolve(location))
        return self.known[location]

    def _start(self) -> int:
        """The line on which the op begins whose regions open here: "cond {" has one of its own."""
        last = len(self.lines) - 1
        is_part = self.lines[last].lstrip().startswith(("cond {", "reducer(", "{"))
        return last - 1 if is_part and last else last

    def _end(self, start: int, link: int) -> int:
        """Lead the first line of an op to where its last one, which has the location, leads."""
        if self.lines[start].lstrip().startswith(("func.func", "module")):
            return 0
        self.links[start] = self.links[start] or link
        return link

    def inherit(self) -> None:
        """Lead lines without frames in a function to where the function is called."""
        memo: dict[str, list[int]] = {}
        for index, link in enumerate(self.links):
            if not self.table.has_place(link) and not _is_structure(self.lines[index]):
                self.links[index] = self.table.inherit(
                    link, self._callers(self.within[index], memo)
                )

    def _callers(self, function: str, memo: dict[str, list[int]]) -> list[int]:
        """The links of the lines that call a function, those around them where they have none."""
        if function not in memo:
            memo[function] = []  # a function that calls itself
            found: dict[int, None] = {}
            for line in self.calls.get(function, ()):
                if self.table.has_place(self.links[line]):
                    found[self.links[line]] = None
                else:
                    found.update(dict.fromkeys(self._callers(self.within[line], memo)))
            memo[function] = list(found)
        return memo[function]


def _is_structure(line: str) -> bool:
    return line.lstrip().startswith(("}", "func.func", "module", "cond {", "return"))


def _without_location(line: str) -> tuple[str, str]:
    """A line without the location at its end, and what stands in that; it may be empty."""
    start = line.rfind(" loc(")
    if start < 0 or not line.endswith(")"):
        return line, ""
    return line[:start], line[start + 5 : -1]
