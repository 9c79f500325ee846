"""A version of a document: the modules of its text, with their names and what MLIR says of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from .names import Names
from .parsed import ParsedModule, ParsedOp, Position, Problem
from .scopes import Definition, Statement
from .text import Lines
from .tokens import split, tokens_of

_WORD = re.compile(r"[%@^#!]?[\w$.-]+(?:#\d+)?")


class ModuleText:
    """The text of one module of a document; offsets are relative to it.

    Attributes:
        text: MLIR text.
        parsed: MLIR's answer; None until there is one.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.parsed: ParsedModule | None = None

    @cached_property
    def names(self) -> Names:
        """The names in the text."""
        return Names(self.text)

    @cached_property
    def lines(self) -> Lines:
        """The lines of the text."""
        return Lines(self.text)

    @cached_property
    def is_empty(self) -> bool:
        """Whether the text holds comments only."""
        return next(tokens_of(self.text), None) is None

    def range_of(self, position: Position | None) -> tuple[int, int]:
        """The offsets of the token at one of MLIR's positions; without one, of the first token."""
        if position is None:
            first = next(tokens_of(self.text), None)
            return (first.start, first.end) if first else (0, 0)
        start = self.lines.offset_of_bytes(*position)
        statement = self.names.op_at(start)
        if statement and statement.op and start == statement.op.end:
            return statement.op.start, start  # MLIR names the parenthesis behind some ops
        found = _WORD.match(self.text, start)
        return start, found.end() if found else min(start + 1, len(self.text))

    def op_of(self, statement: Statement) -> ParsedOp | None:
        """What MLIR says of an op; None where the module is not parsed, or has errors."""
        if statement.op is None or self.parsed is None:
            return None
        return self._ops.get(statement.op.start) or self._ops.get(statement.op.end)

    def types_of(self, definition: Definition, number: int | None = None) -> list[str]:
        """The types of a value, or of the results that a name stands for; [] if not known."""
        if self.parsed is None:
            return []
        if not definition.is_result:
            found = self._arguments.get(definition.start)
            return [found[0]] if found else []
        op = self.op_of(definition.statement) if definition.statement else None
        first = definition.first + (number or 0)
        count = definition.count if number is None else 1
        return list(op.types[first : first + count]) if op else []

    def jax_name_of(self, definition: Definition) -> str:
        """The name that JAX gave an argument; "" where there is none."""
        return self._arguments.get(definition.start, ("", ""))[1] if self.parsed else ""

    @cached_property
    def _ops(self) -> dict[int, ParsedOp]:
        assert self.parsed is not None
        return {self.lines.offset_of_bytes(*at): op for at, op in self.parsed.ops.items()}

    @cached_property
    def _arguments(self) -> dict[int, tuple[str, str]]:
        assert self.parsed is not None
        found = self.parsed.arguments.items()
        return {self.lines.offset_of_bytes(*at): argument for at, argument in found}


@dataclass(frozen=True)
class DocumentPosition:
    """A position in a document: its module, the offset of that module, the offset within it."""

    module: ModuleText
    base: int
    offset: int


class Document:
    """A version of a document.

    Args:
        lines: its text.
        version: the editor's number of it.
        former: the version before it, whose modules with the same text are kept.
    """

    def __init__(self, lines: Lines, version: int | None, former: Document | None = None) -> None:
        self.lines, self.version = lines, version
        kept = {each.text: each for _, each in former.modules} if former else {}
        self.modules: list[tuple[int, ModuleText]] = [
            (start, kept.get(text) or ModuleText(text)) for start, text in split(lines.text)
        ]

    def at(self, line: int, column: int) -> DocumentPosition:
        """What is at a position of the editor."""
        offset = self.lines.offset(line, column)
        base, module = next(each for each in reversed(self.modules) if each[0] <= offset)
        return DocumentPosition(module, base, min(offset - base, len(module.text)))

    def problems(self) -> Iterator[tuple[int, ModuleText, Problem]]:
        """The problems of all modules, each with its module and the offset of that module."""
        for base, module in self.modules:
            for problem in module.parsed.problems if module.parsed else ():
                yield base, module, problem
