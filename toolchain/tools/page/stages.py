"""Reading a program at one stage: its lines, and for each line the Python that it comes from.

Jaxprs, StableHLO and HLO carry origins in different ways: JAX's source info, MLIR locations, HLO
metadata. The reader of each removes these from the text, so that it is short enough to read, and
turns them into numbers of `Links`. A line without an origin of its own inherits one: in the region
of an op that of the op, and in a function those of the function's calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir import ir

from ...frontend._private import print_numbered
from ...hlo.frames import Frames, op_name_of
from ...ir.locations import frames_of, path_of
from ...source import SourceLine
from .links import Links

MAX_LINES = 30_000
MAX_LINE_LENGTH = 500
_KEPT_TAIL = 200  # characters at the end of a line that is cut
_QUOTED = r'"(?:[^"\\]|\\.)*"'


@dataclass(frozen=True)
class StageText:
    """A program at one stage, as the page shows it.

    Attributes:
        title: such as "StableHLO" or "after fold-constants".
        kind: "jaxpr", "stablehlo" or "hlo".
        lines: the text without locations and metadata.
        links: for each line, a number in the program's `Links`.
        omitted: how many lines at the end the page does not have.
    """

    title: str
    kind: str
    lines: tuple[str, ...]
    links: tuple[int, ...]
    omitted: int = 0


def _stage_text(title: str, kind: str, lines: list[str], links: list[int]) -> StageText:
    shown = tuple(shortened(line) for line in lines[:MAX_LINES])
    return StageText(title, kind, shown, tuple(links[:MAX_LINES]), max(0, len(lines) - MAX_LINES))


_CONSTANT = re.compile(r"(dense(?:_resource)?<)([^<>]{90,})(>)")


def shortened(line: str) -> str:
    """Replace large constants, and then the middle of a long line, by the number of characters."""
    if len(line) <= 120:
        return line
    if "dense" in line:
        line = _CONSTANT.sub(_elided_constant, line)
    if len(line) <= MAX_LINE_LENGTH:
        return line
    head, tail = line[: MAX_LINE_LENGTH - _KEPT_TAIL], line[-_KEPT_TAIL:]
    return f"{head} \u2026{len(line) - MAX_LINE_LENGTH} characters\u2026 {tail}"


def _elided_constant(found: re.Match[str]) -> str:
    return f"{found[1]}{found[2][:24]}\u2026{len(found[2]) - 24} characters\u2026{found[3]}"


# Jaxprs

_SOURCE_NUMBERS = re.compile(r"\s*#\s*(?:@\d+@\s*)+$")
_SOURCE_NUMBER = re.compile(r"@(\d+)@")
_CALLED_JAXPR = re.compile(r"\bjaxpr=(\w+)")
_NAMED_JAXPR = re.compile(r"let (\w+) = \{ lambda")


def read_jaxpr(jaxpr: Any, links: Links) -> StageText:
    """A jaxpr as JAX prints it; every line of an equation has the equation's origin."""
    text, frames = print_numbered(jaxpr)
    reader = _JaxprReader(links, frames)
    for line in text.splitlines():
        reader.add(line)
    reader.inherit()
    return _stage_text("jaxpr", "jaxpr", reader.lines, reader.line_links)


class _JaxprReader:
    """The lines read so far, and the equations that are open at the last of them."""

    def __init__(self, links: Links, frames: list[Any]) -> None:
        self.links, self.frames = links, frames
        self.lines: list[str] = []
        self.line_links: list[int] = []
        self.open: list[tuple[int, int]] = []  # indentation and link of the enclosing equations
        self.name = ""  # of the jaxpr that the line is in, where jaxprs are printed by name
        self.names: list[str] = []
        self.calls: dict[str, list[int]] = {}

    def add(self, line: str) -> None:
        shown = _SOURCE_NUMBERS.sub("", line)
        indent = len(shown) - len(shown.lstrip())
        named = _NAMED_JAXPR.match(shown)
        if named or indent == 0:
            self.name = named[1] if named else ""
        self._close_equations(indent, shown.lstrip())
        has_source = _SOURCE_NUMBERS.search(line) is not None
        link = self._open_equation(line, indent) if has_source else self._enclosing()
        self.lines.append(shown.rstrip())
        self.line_links.append(link)
        self.names.append(self.name)
        for callee in _CALLED_JAXPR.findall(shown):
            self.calls.setdefault(callee, []).append(len(self.line_links) - 1)

    def inherit(self) -> None:
        """Give lines of jaxprs that are printed by name the origins of their callers."""
        for index in reversed(range(len(self.lines))):  # callers are printed below
            callers = [self.line_links[line] for line in self.calls.get(self.names[index], ())]
            if callers:
                self.line_links[index] = self.links.inherit(self.line_links[index], callers)

    def _open_equation(self, line: str, indent: int) -> int:
        number = _SOURCE_NUMBER.search(line)
        assert number is not None
        frames = [SourceLine(*frame) for frame in reversed(self.frames[int(number[1])])]
        link = self.links.inherit(self.links.add("", frames), [self._enclosing()])
        self.open.append((indent, link))
        return link

    def _close_equations(self, indent: int, text: str) -> None:
        is_tail = text.startswith((")", "]", "}", "in ("))
        while self.open and (
            indent < self.open[-1][0] or (indent == self.open[-1][0] and not is_tail)
        ):
            self.open.pop()

    def _enclosing(self) -> int:
        return self.open[-1][1] if self.open else 0


# StableHLO

_ALIAS_DEFINITION = re.compile(r"#loc\d* = loc\(")
_ARGUMENT_LOCATION = re.compile(rf" loc\((?:[^()\"]|{_QUOTED}|\([^()]*\))*\)")
_CALL = re.compile(r"\bcall @([\w.$-]+|" + _QUOTED + r")\(")
_FUNCTION = re.compile(r"\s*func\.func (?:\w+ )?@([\w.$-]+|" + _QUOTED + r")\(")


def read_stablehlo(title: str, text: str, links: Links) -> StageText:
    """A module's text without its locations, which become links."""
    lines = [line for line in text.partition("\n{-#")[0].splitlines() if line]
    aliases = [line for line in lines if _ALIAS_DEFINITION.match(line)]
    shown = [line for line in lines if not _ALIAS_DEFINITION.match(line)]
    split = [_split_location(line) for line in shown]
    reader = _ModuleReader(links, _links_of_locations((loc for _, loc in split), aliases, links))
    for line, location in split:
        reader.add(line, location)
    reader.inherit()
    return _stage_text(title, "stablehlo", reader.lines, reader.line_links)


def _split_location(line: str) -> tuple[str, str]:
    """A line without the location at its end, and that location without `loc()`, or ""."""
    start = line.rfind(" loc(")
    if start < 0 or not line.endswith(")"):
        return line, ""
    return line[:start], line[start + 5 : -1]


def _links_of_locations(
    locations: Iterable[str], aliases: Sequence[str], links: Links
) -> dict[str, int]:
    """The link of each location, as text.

    MLIR parses them: each is made the location of an empty module in a text with the same aliases.
    """
    texts = [text for text in dict.fromkeys(locations) if text]
    modules = (f"module {{}} loc({text})" for text in texts)
    found = {"": 0}
    try:
        with ir.Context():
            parsed = ir.Module.parse("\n".join((*aliases, "module {", *modules, "}")))
            for text, module in zip(texts, parsed.body.operations, strict=True):
                frames = (SourceLine(*frame) for frame in frames_of(module.location))
                found[text] = links.add(_joined_path(module.location), frames)
    except ir.MLIRError:  # the text is not MLIR's own: it is shown without links
        return found
    return found


def _joined_path(location: ir.Location) -> str:
    """The path of an op, that of an inlined op below its caller's: "jit(f)/jit(g)/sin"."""
    if isinstance(location, ir.CallSiteLoc):
        return "/".join(filter(None, map(_joined_path, (location.caller, location.callee))))
    return path_of(location)


class _ModuleReader:
    """The lines read so far, the ops whose regions are open, and the calls of each function."""

    def __init__(self, links: Links, known: dict[str, int]) -> None:
        self.links, self.known = links, known
        self.lines: list[str] = []
        self.line_links: list[int] = []
        self.open: list[int] = []  # the first lines of ops whose regions have not ended
        self.function = ""
        self.functions: list[str] = []
        self.calls: dict[str, list[int]] = {}

    def add(self, line: str, location: str) -> None:
        if function := _FUNCTION.match(line):
            self.function = function[1]
        link = self.known.get(location, 0)
        is_end = line.lstrip().startswith("}")
        if is_end and self.open and not line.endswith("{"):
            link = self._end_op(self.open.pop(), link)
        self.lines.append(_ARGUMENT_LOCATION.sub("", line) if " loc(" in line else line)
        self.line_links.append(link)
        self.functions.append(self.function)
        if line.endswith("{") and not is_end:
            self.open.append(self._first_line())
        for callee in _CALL.findall(line):
            self.calls.setdefault(callee, []).append(len(self.line_links) - 1)

    def _first_line(self) -> int:
        """The first line of the op whose region opens here: "cond {" has a line of its own."""
        last = len(self.lines) - 1
        is_part = self.lines[last].lstrip().startswith(("cond {", "reducer(", "{"))
        return last - 1 if is_part and last else last

    def _end_op(self, start: int, link: int) -> int:
        """Give the first line of an op the link of its last one, which has the location."""
        if self.lines[start].lstrip().startswith(("func.func", "module")):
            return 0
        self.line_links[start] = self.line_links[start] or link
        return link

    def inherit(self) -> None:
        """Give lines without frames in a function the origins of the function's calls."""
        memo: dict[str, list[int]] = {}
        for index, link in enumerate(self.line_links):
            if not self.links.has_frames(link) and not _is_structure(self.lines[index]):
                callers = self._callers(self.functions[index], memo)
                self.line_links[index] = self.links.inherit(link, callers)

    def _callers(self, function: str, memo: dict[str, list[int]]) -> list[int]:
        """The links of the calls of a function, or of its callers' calls where these have none."""
        if function not in memo:
            memo[function] = []  # ends the recursion of a function that calls itself
            found: dict[int, None] = {}
            for line in self.calls.get(function, ()):
                if self.links.has_frames(self.line_links[line]):
                    found[self.line_links[line]] = None
                else:
                    found.update(dict.fromkeys(self._callers(self.functions[line], memo)))
            memo[function] = list(found)
        return memo[function]


def _is_structure(line: str) -> bool:
    return line.lstrip().startswith(("}", "func.func", "module", "cond {", "return"))


# HLO

_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_METADATA = re.compile(rf", metadata=\{{(?:[^\"{{}}]|{_QUOTED})*\}}")
_CONFIG = re.compile(r", backend_config=(\{.{60,}\})")
_HEADER = re.compile(r", (?:entry_computation_layout|allow_spmd_sharding_\w+)=\{.*$")


def read_hlo(text: str, links: Links, title: str = "optimized HLO") -> StageText:
    """An HLO module's text without its tables and metadata, which become links."""
    body, tables = _split_tables(text.rstrip().splitlines())
    frames = Frames(tables)
    lines: list[str] = []
    line_links: list[int] = []
    known = {"": 0}
    for line in body:
        found = _METADATA.search(line)
        shown = line[: found.start()] + line[found.end() :] if found else line
        if shown.startswith("HloModule"):
            shown = _HEADER.sub(", \u2026", shown)
        lines.append(_CONFIG.sub(", backend_config={\u2026}", shown))
        metadata = found[0] if found else ""
        if metadata not in known:
            known[metadata] = links.add(op_name_of(metadata), frames.stack_of(metadata))
        line_links.append(known[metadata])
    return _stage_text(title, "hlo", lines, line_links)


def _split_tables(lines: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """The lines to show, and the rows of each table of source locations at the head."""
    tables: dict[str, list[str]] = {}
    body: list[str] = []
    rows: list[str] | None = None
    for line in lines:
        if line.strip() in _TABLES:
            rows = tables.setdefault(line.strip(), [])
        elif rows is not None and line.strip():
            rows.append(line)
        elif rows is not None:
            rows = None
        elif line.strip() or (body and body[-1]):
            body.append(line)
    return body, tables
