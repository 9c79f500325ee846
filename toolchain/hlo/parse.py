"""Parses HLO text as `HloModule.to_string()` and XLA's dumps print it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..errors import JxcError
from .frames import Frames, op_name_of
from .lexer import attributes_of, split_top_level, take_shape, without_comments
from .values import Computation, Instruction, Module

_TABLE = re.compile(r"[A-Z]\w*$")
_HEADER = re.compile(r"(ENTRY\s+)?%?([\w.\-]+)\s*(?:\(.*\)\s*->\s*.*)?\{$")
_START = re.compile(r"\s*(ROOT )?%?([\w.\-]+) = ")
_OPCODE = re.compile(r" ([a-z][\w\-]*)\(")
_NAMED = re.compile(r"%?([\w.\-#]+)$")
_ALIAS = re.compile(r"\{([\d,\s]*)\}:\s*\((\d+)")
_CALLS = (
    "calls",
    "to_apply",
    "condition",
    "body",
    "branch_computations",
    "true_computation",
    "false_computation",
    "called_computations",
    "select",
    "scatter",
)
_NO_OPERANDS = frozenset(["constant", "parameter", "iota"])


def parse_hlo(text: str) -> Module:
    """Parse an HLO module, in time linear in the length of the text.

    Raises:
        JxcError: the text is not HLO, or is truncated; the message names the line.
    """
    reader = _Reader()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            reader.take(number, line)
        except (ValueError, RecursionError) as error:
            is_deep = isinstance(error, RecursionError)
            why = "brackets are nested too deeply" if is_deep else error
            shown = line.strip()
            shown = shown if len(shown) <= 120 else shown[:117] + "..."
            raise JxcError(
                f"line {number} of the HLO text cannot be read: {why}\n  {number} | {shown}\n"
                "expected the text of one optimized module, such as `compiled.as_text()`"
            ) from None
    return reader.finish()


class _Reader:
    """The state of the parser: the header, the tables, the computations, the one being read."""

    def __init__(self) -> None:
        self.header: dict[str, str] | None = None
        self.name = ""
        self.tables: dict[str, list[str]] = {}
        self.rows: list[str] | None = None
        self.computations: dict[str, Computation] = {}
        self.entry: Computation | None = None
        self.open: Computation | None = None
        self.body: dict[str, Instruction] = {}
        self.frames = Frames({})
        self.line = 0

    def take(self, number: int, line: str) -> None:
        """Read the next line."""
        self.line = number
        if not line.strip():
            self.rows = None
        elif self.open is not None:
            self._inside(line)
        elif line.startswith("HloModule") and self.header is None:
            pieces, _ = split_top_level(line)
            self.name = pieces[0].removeprefix("HloModule").strip()
            self.header = attributes_of(pieces[1:])
            for count in ("num_partitions", "replica_count"):
                _number(self.header.get(count, "1"), count)
        elif line.startswith("HloModule"):
            raise ValueError("expected one module, found the start of a second")
        elif self.header is None:
            raise ValueError("expected `HloModule NAME`")
        elif _TABLE.match(line):
            self.rows = self.tables.setdefault(line.strip(), [])
        elif self.rows is not None:
            self.rows.append(line)
        else:
            self._start(line)

    def finish(self) -> Module:
        """The module, after the last line of the text."""
        if self.header is None:
            raise JxcError("there is no HLO text: expected a module, found nothing")
        if self.open is not None:
            raise JxcError(f"the HLO text breaks off after line {self.line}, in %{self.open.name}")
        if self.entry is None:
            raise JxcError(f"the HLO text ends at line {self.line} without an ENTRY computation")
        return Module(
            self.name,
            self.entry,
            self.computations,
            num_partitions=int(self.header.get("num_partitions", "1")),
            num_replicas=int(self.header.get("replica_count", "1")),
            aliases={
                tuple(int(each) for each in index.split(",") if each.strip()): int(parameter)
                for index, parameter in _ALIAS.findall(self.header.get("input_output_alias", ""))
            },
        )

    def _start(self, line: str) -> None:
        found = _HEADER.match(line.strip())
        if found is None:
            raise ValueError("expected a computation, `%NAME (...) -> ... {`")
        if not self.computations:
            self.frames = Frames(self.tables)
        self.open = Computation(found[2], is_entry=bool(found[1]))
        self.body = {}

    def _inside(self, line: str) -> None:
        assert self.open is not None
        if not line.lstrip().startswith("}"):
            instruction = _instruction(line, self.open, self.body, self.computations)
            if metadata := instruction.attributes.get("metadata", ""):
                instruction.op_name = op_name_of(metadata)
                instruction.place = self.frames.place_of(metadata)
            self.body[instruction.name] = instruction
            return
        if not self.body:
            raise ValueError(f"the computation %{self.open.name} has no instructions")
        self.open.instructions = tuple(self.body.values())
        self.computations[self.open.name] = self.open
        self.entry = self.open if self.open.is_entry else self.entry
        self.open = None


def _instruction(
    line: str,
    computation: Computation,
    body: dict[str, Instruction],
    computations: Mapping[str, Computation],
) -> Instruction:
    """The instruction on one line of a computation, whose operands are in `body` already."""
    start = _START.match(line)
    if start is None:
        raise ValueError("expected an instruction, `%NAME = SHAPE OPCODE(...)`")
    shape, end = take_shape(line, start.end())
    opcode = _OPCODE.match(line, end)
    if opcode is None:
        raise ValueError("expected an opcode and `(` after the shape")
    inside, end = split_top_level(line, opcode.end(), closed=True)
    is_leaf = opcode[1] in _NO_OPERANDS
    attributes = attributes_of(split_top_level(line, end)[0][1:])
    if opcode[1] == "parameter":
        _number(", ".join(inside), "a parameter")
    if opcode[1] == "get-tuple-element":
        _number(attributes.get("index", ""), "the index")
    return Instruction(
        name=start[2],
        opcode=opcode[1],
        shape=shape,
        operands=() if is_leaf else tuple(_operands(inside, body)),
        attributes=attributes,
        calls=_called(attributes, computations),
        literal=", ".join(inside) if is_leaf else "",
        op_name="",
        place=None,
        is_root=bool(start[1]),
        computation=computation,
    )


def _number(text: str, what: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"expected a number for {what}, found {text!r}")
    return int(text)


def _operands(pieces: list[str], body: dict[str, Instruction]) -> Iterator[Instruction]:
    """The instructions that the operands name, after an optional shape and comment each."""
    for piece in pieces:
        name = _NAMED.search(without_comments(piece))
        if name is None or name[1].partition("#")[0] not in body:
            raise ValueError(f"the operand {piece!r} is not defined before it is used")
        yield _element(name[1], body)


def _element(name: str, body: dict[str, Instruction]) -> Instruction:
    """The instruction `x`, or for `x#1` (newer texts only) a new one: element 1 of its tuple."""
    if name not in body:
        whole_name, _, index = name.rpartition("#")
        whole = _element(whole_name, body)
        if not index.isdecimal() or int(index) >= len(whole.shape.parts):
            raise ValueError(f"{whole_name!r} has no element {index}")
        body[name] = replace(
            whole,
            name=name,
            opcode="get-tuple-element",
            shape=whole.shape.parts[int(index)],
            operands=(whole,),
            attributes={"index": index},
            calls={},
            literal="",
            is_root=False,
        )
    return body[name]


def _called(
    attributes: Mapping[str, str], computations: Mapping[str, Computation]
) -> dict[str, tuple[Computation, ...]]:
    found = {}
    for attribute in _CALLS:
        if attribute not in attributes:
            continue
        names = re.findall(r"[^{},\s]+", attributes[attribute])
        for name in names:
            if name.removeprefix("%") not in computations:
                raise ValueError(f"the computation {name!r} is not defined before it is used")
        found[attribute] = tuple(computations[name.removeprefix("%")] for name in names)
    return found
