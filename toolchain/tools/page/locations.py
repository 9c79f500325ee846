"""MLIR's textual locations: from `#loc7` to the name of an op and the Python frames behind it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...source import SourceLine
from .text import QUOTED, unquoted

_ALIAS = re.compile(r"#loc\d*")
_STRING = re.compile(QUOTED)
_AT_LINE = re.compile(r":(\d+):\d+(?: to (?:\d*:)?\d+)?")
_DEFINITION = re.compile(r"(#loc\d*) = loc\((.*)\)$")

Found = tuple[str, tuple[SourceLine, ...]]
NOWHERE: Found = ("", ())


def is_definition(line: str) -> bool:
    """Whether a line of a module's text defines a location: `#loc7 = loc(...)`."""
    return line.startswith("#loc") and _DEFINITION.match(line) is not None


class Locations:
    """The location table of a module's text.

    Args:
        lines: the text, of which the definitions are read.
    """

    def __init__(self, lines: list[str]) -> None:
        defined = (_DEFINITION.match(line) for line in lines if line.startswith("#loc"))
        self._texts: Mapping[str, str] = {found[1]: found[2] for found in defined if found}
        self._known: dict[str, Found] = {}

    def resolve(self, text: str) -> Found:
        """The name of an op and its frames, innermost first, from what stands in `loc(...)`.

        What is no location, or one nested too deeply, leads nowhere.
        """
        if text not in self._known:
            try:
                self._known[text] = _Reader(text, self).take()
            except (ValueError, RecursionError):
                self._known[text] = NOWHERE
        return self._known[text]

    def alias(self, name: str) -> Found:
        """What `#loc7` stands for; a location that is not defined is unknown."""
        if name not in self._known:
            self._known[name] = NOWHERE  # until it is known: no text leads round in a circle
            self._known[name] = _Reader(self._texts.get(name, "unknown"), self).take()
        return self._known[name]


class _Reader:
    """One location's text, from left to right."""

    def __init__(self, text: str, table: Locations) -> None:
        self.text, self.table, self.at = text, table, 0

    def take(self) -> Found:
        """The location that begins here.

        Raises:
            ValueError: none does.
        """
        alias = _ALIAS.match(self.text, self.at)
        if alias:
            self.at = alias.end()
            return self.table.alias(alias[0])
        for word, read in (("callsite(", self._call), ("fused", self._fused), ('"', self._quoted)):
            if self.text.startswith(word, self.at):
                return read()
        self._expect("unknown")
        return NOWHERE

    def _quoted(self) -> Found:
        string = _STRING.match(self.text, self.at)
        if string is None:
            raise ValueError("a quote that is not closed")
        self.at = string.end()
        name = unquoted(string[0])
        line = _AT_LINE.match(self.text, self.at)
        if line:
            self.at = line.end()
            return "", (SourceLine(name, int(line[1])),)
        if not self.text.startswith("(", self.at):
            return name, ()
        self._expect("(")
        inner, frames = self.take()
        self._expect(")")
        # JAX names a file's line by the function around it, and a stack of them by the op.
        if not inner and len(frames) == 1 and not frames[0].function:
            return "", (SourceLine(frames[0].file, frames[0].line, name),)
        return name, frames

    def _call(self) -> Found:
        self._expect("callsite(")
        name, inner = self.take()
        self._expect(" at ")
        caller, outer = self.take()
        self._expect(")")
        return "/".join(part for part in (caller, name) if part), inner + outer

    def _fused(self) -> Found:
        self.at = self.text.index("[", self.at)
        parts: list[Found] = []
        while not self.text.startswith("]", self.at):
            self.at += 2 if parts else 1  # "[" before the first, ", " between
            parts.append(self.take())
        self._expect("]")
        return next((part for part in parts if part[1]), parts[0] if parts else NOWHERE)

    def _expect(self, word: str) -> None:
        if not self.text.startswith(word, self.at):
            raise ValueError(f"expected {word!r}")
        self.at += len(word)
