"""Where a value was written: what names the same values in a program after it changed.

A label has no shapes and no numbers of layers, so that all layers of a network have the same
labels, and a program keeps them when its sizes change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from jaxlib.mlir import ir

from ..source import SourceLine, innermost_user_line, is_compiler_file
from .locations import frames_of, path_of, primitive_of, scopes_of

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Label:
    """Where the op that computes a value was written.

    Attributes:
        op: the JAX primitive, or the op of StableHLO if the location does not name one.
        function: the Python function of the line.
        text: the line of Python; empty where its file cannot be read.
        file: the name of its file, without folders.
        line: its number, counted from 1; 0 where it is not known.
        scope: the named scopes around it, such as "block_*/mlp", with their numbers replaced.
    """

    op: str
    function: str = ""
    text: str = ""
    file: str = ""
    line: int = 0
    scope: str = ""

    def matches(self, other: Label) -> bool:
        """Whether `other` is the same op. Lines may have moved if their texts are the same.

        A label without a line matches any.
        """
        if (self.op, self.function, self.scope) != (other.op, other.function, other.scope):
            return False
        if self.text and other.text:
            return self.text == other.text
        return not self.line or (self.file, self.line) == (other.file, other.line)

    @property
    def place(self) -> str:
        """`file:line`; empty where it is not known."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def __str__(self) -> str:
        parts = [self.op, f"in {self.scope}" if self.scope else "", self.place]
        return " ".join(filter(None, [*parts, f"`{self.text}`" if self.text else ""]))

    def as_json(self) -> dict[str, Any]:
        """Its attributes that are known."""
        return {name: value for name, value in vars(self).items() if value}


def label_of(op: ir.OpView) -> Label:
    """The label of an op: its innermost line of Python that is the user's, or else a library's."""
    path = path_of(op.location)
    lines = [SourceLine(*frame) for frame in frames_of(op.location)]
    others = (line for line in lines if not is_compiler_file(line.file))
    line = innermost_user_line(reversed(lines)) or next(others, None)
    name = primitive_of(path) if path else op.operation.name.removeprefix("stablehlo.")
    scope = _NUMBER.sub("*", "/".join(scopes_of(path))) if path else ""
    if line is None:
        return Label(name, scope=scope)
    file = PurePath(line.file).name
    return Label(name, line.function, line.text, file, line.line, scope)
