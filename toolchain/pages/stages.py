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

from ..frontend.jaxprs import print_numbered
from ..hlo.frames import Frames, op_name_of
from ..ir.locations import frames_of, path_of
from ..source import SourceLine
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
        kind: "jaxpr", "stablehlo", "hlo" or "asm".
        lines: the text without locations and metadata.
        links: for each line, a number in the program's `Links`.
        omitted: how many lines at the end the page does not have.
    """

    title: str
    kind: str
    lines: tuple[str, ...]
    links: tuple[int, ...]
    omitted: int = 0


class _LinkedLines:
    """The lines read so far, with their links and functions, and the lines that call each function.

    A jaxpr that is printed by name is a function, too.
    """

    def __init__(self, links: Links) -> None:
        self.links = links
        self.lines: list[str] = []
        self.line_links: list[int] = []
        self.functions: list[str] = []
        self.calls: dict[str, list[int]] = {}

    def add(self, line: str, link: int, function: str = "", callees: Sequence[str] = ()) -> None:
        for callee in callees:
            self.calls.setdefault(callee, []).append(len(self.lines))
        self.lines.append(line)
        self.line_links.append(link)
        self.functions.append(function)

    def stage(self, title: str, kind: str) -> StageText:
        """The lines; those without frames in a function inherit those of the function's calls."""
        memo: dict[str, list[int]] = {}
        for index, link in enumerate(self.line_links):
            if not self.links.has_frames(link) and not _is_structure(self.lines[index]):
                callers = self._callers(self.functions[index], memo)
                self.line_links[index] = self.links.inherit(link, callers)
        lines, links = map(shortened, self.lines[:MAX_LINES]), self.line_links[:MAX_LINES]
        omitted = max(0, len(self.lines) - MAX_LINES)
        return StageText(title, kind, tuple(lines), tuple(links), omitted)

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


_CONSTANT = re.compile(r"(dense(?:_resource)?<)([^<>]{90,})(>)")


def shortened(line: str) -> str:
    """Replace large constants, and then the middle of a long line, by the number of characters."""
    if len(line) <= 120:
        return line
    if "dense" in line:
        line = _CONSTANT.sub(
            lambda c: f"{c[1]}{c[2][:24]}\u2026{len(c[2]) - 24} characters\u2026{c[3]}", line
        )
    if len(line) <= MAX_LINE_LENGTH:
        return line
    head, tail = line[: MAX_LINE_LENGTH - _KEPT_TAIL], line[-_KEPT_TAIL:]
    return f"{head} \u2026{len(line) - MAX_LINE_LENGTH} characters\u2026 {tail}"


# Jaxprs

_SOURCE_NUMBERS = re.compile(r"\s*#\s*@(\d+)@(?:\s*@\d+@)*\s*$")
_CALLED_JAXPR = re.compile(r"\bjaxpr=(\w+)")
_NAMED_JAXPR = re.compile(r"let (\w+) = \{ lambda")


def read_jaxpr(jaxpr: Any, links: Links) -> StageText:
    """A jaxpr as JAX prints it; every line of an equation has the equation's origin.

    `jaxpr` is JAX's value, or what `print_numbered` returned for it in another process.
    """
    text, frames = jaxpr if isinstance(jaxpr, tuple) else print_numbered(jaxpr)
    read = _LinkedLines(links)
    open_equations: list[tuple[int, int]] = []  # the indentation and the link of each
    name = ""  # of the jaxpr that the line is in, where jaxprs are printed by name
    for line in text.splitlines():
        shown = _SOURCE_NUMBERS.sub("", line).rstrip()
        indent = len(shown) - len(shown.lstrip())
        named = _NAMED_JAXPR.match(shown)
        if named or indent == 0:
            name = named[1] if named else ""
        is_tail = shown.lstrip().startswith((")", "]", "}", "in ("))
        while open_equations and (
            indent < open_equations[-1][0] or (indent == open_equations[-1][0] and not is_tail)
        ):
            open_equations.pop()
        link = open_equations[-1][1] if open_equations else 0
        if source := _SOURCE_NUMBERS.search(line):
            stack = (SourceLine(*frame) for frame in reversed(frames[int(source[1])]))
            link = links.inherit(links.add("", stack), [link])
            open_equations.append((indent, link))
        read.add(shown, link, name, _CALLED_JAXPR.findall(shown))
    return read.stage("jaxpr", "jaxpr")


# StableHLO

_LOCATION = re.compile(r"(.*) loc\((.*)\)")
_ALIAS_DEFINITION = re.compile(r"#loc\d* = loc\(")
_ARGUMENT_LOCATION = re.compile(rf" loc\((?:[^()\"]|{_QUOTED}|\([^()]*\))*\)")
_CALL = re.compile(r"\bcall @([\w.$-]+|" + _QUOTED + r")\(")
_FUNCTION = re.compile(r"\s*func\.func (?:\w+ )?@([\w.$-]+|" + _QUOTED + r")\(")


def read_stablehlo(title: str, module: str, links: Links) -> StageText:
    """A module's text without its locations, which become links."""
    lines = [line for line in module.partition("\n{-#")[0].splitlines() if line]
    aliases = [line for line in lines if _ALIAS_DEFINITION.match(line)]
    shown = [line for line in lines if not _ALIAS_DEFINITION.match(line)]
    matches = ((line, _LOCATION.fullmatch(line)) for line in shown)
    split = [(found[1], found[2]) if found else (line, "") for line, found in matches]
    known = _links_of_locations((location for _, location in split), aliases, links)
    read = _LinkedLines(links)
    function = ""
    open_ops: list[int] = []  # the first lines of ops whose regions have not ended
    for line, location in split:
        if named := _FUNCTION.match(line):
            function = named[1]
        link = known.get(location, 0)
        is_end = line.lstrip().startswith("}")
        if is_end and open_ops and not line.endswith("{"):
            # The last line of an op has its location: the first line gets the same link.
            start = open_ops.pop()
            if read.lines[start].lstrip().startswith(("func.func", "module")):
                link = 0
            else:
                read.line_links[start] = read.line_links[start] or link
        if line.endswith("{") and not is_end:
            # "cond {" has a line of its own, below the first line of the op.
            is_part = line.lstrip().startswith(("cond {", "reducer(", "{")) and read.lines
            open_ops.append(len(read.lines) - bool(is_part))
        text = _ARGUMENT_LOCATION.sub("", line) if " loc(" in line else line
        read.add(text, link, function, _CALL.findall(line))
    return read.stage(title, "stablehlo")


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
                frames = frames_of(module.location)
                found[text] = links.of_frames(_joined_path(module.location), frames)
    except ir.MLIRError:  # the text is not MLIR's own: it is shown without links
        return found
    return found


def _joined_path(location: ir.Location) -> str:
    """The path of an op, that of an inlined op below its caller's: "jit(f)/jit(g)/sin"."""
    if isinstance(location, ir.CallSiteLoc):
        return "/".join(filter(None, map(_joined_path, (location.caller, location.callee))))
    return path_of(location)


# HLO

_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_METADATA = re.compile(rf", metadata=\{{(?:[^\"{{}}]|{_QUOTED})*\}}")
_CONFIG = re.compile(r", backend_config=(\{.{60,}\})")
_HEADER = re.compile(r", (?:entry_computation_layout|allow_spmd_sharding_\w+)=\{.*$")


def read_hlo(text: str, links: Links) -> StageText:
    """An HLO module's text without its tables and metadata, which become links."""
    body, tables = _split_tables(text.rstrip().splitlines())
    frames = Frames(tables)
    read = _LinkedLines(links)
    known = {"": 0}
    for line in body:
        found = _METADATA.search(line)
        shown = line[: found.start()] + line[found.end() :] if found else line
        if shown.startswith("HloModule"):
            shown = _HEADER.sub(", \u2026", shown)
        metadata = found[0] if found else ""
        if metadata not in known:
            known[metadata] = links.add(op_name_of(metadata), frames.stack_of(metadata))
        read.add(_CONFIG.sub(", backend_config={\u2026}", shown), known[metadata])
    return read.stage("optimized HLO", "hlo")


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


# Machine code

_SYMBOL = re.compile(r"[0-9a-f]+ <([^>]+)>:$|\.visible \.entry (\w+)\(")
_DEFINED, _CALLED = re.compile(r"\s*(?:ROOT )?%([\w.-]+) = "), re.compile(r"\bcalls=%([\w.-]+)")
_COMPUTATION = re.compile(r"(?:ENTRY )?%([\w.-]+) .*\{$")


def read_assembly(text: str, hlo: StageText, links: Links) -> StageText:
    """Disassembled kernels; the lines of each have the links of the HLO that it computes.

    XLA names a kernel after its instruction; in PTX with "_" for other characters. Of a fusion, all
    instructions inside count.
    """
    of_kernel = _links_of_kernels(hlo, links)
    of_kernel |= {re.sub(r"\W", "_", name): link for name, link in of_kernel.items()}
    read, link = _LinkedLines(links), 0
    for line in text.rstrip().splitlines():
        if line.startswith("#"):
            link = 0
        elif found := _SYMBOL.match(line.strip()):
            link = of_kernel.get(found[1] or found[2], 0)
        read.add(line.expandtabs(), link)
    return read.stage("assembly", "asm")


def _links_of_kernels(hlo: StageText, links: Links) -> dict[str, int]:
    """For each HLO instruction its link, joined with those of the computation that it calls."""
    inside: dict[str, list[int]] = {}
    own: dict[str, tuple[int, str]] = {}
    computation = ""
    for line, link in zip(hlo.lines, hlo.links, strict=True):
        if found := _COMPUTATION.match(line):
            computation = found[1]
        elif found := _DEFINED.match(line):
            inside.setdefault(computation, []).append(link)
            called = _CALLED.search(line)
            own[found[1]] = link, called[1] if called else ""
    return {
        name: links.inherit(0, [link, *inside.get(called, [])])
        for name, (link, called) in own.items()
    }
