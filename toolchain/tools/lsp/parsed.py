"""What MLIR says about one module's text: the answer of the worker. Imports no MLIR.

Lines and columns are MLIR's: counted from 1, columns in UTF-8 bytes, within the text of the module.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Position = tuple[int, int]
"""Line and column."""


UNKNOWN_DIALECT = "unknown dialect"
NOT_PARSED = "MLIR cannot parse this module"
OWN_MESSAGES = (UNKNOWN_DIALECT, NOT_PARSED)
"""How the messages begin that are not MLIR's own."""


@dataclass(frozen=True)
class ParsedOp:
    """An op: its name, the types of its results, its name stack and the Python frames behind it.

    `frames` are file, line and function, the innermost first.
    """

    name: str
    types: tuple[str, ...]
    path: str = ""
    frames: tuple[tuple[str, int, str], ...] = ()


@dataclass(frozen=True)
class Problem:
    """An error or a warning; `notes` are texts with their own positions or None."""

    position: Position | None
    severity: str
    message: str
    notes: tuple[tuple[Position | None, str], ...] = ()


@dataclass(frozen=True)
class ParsedModule:
    """A module's ops by the position of their names, its block arguments, and its problems.

    An argument has a type and the name that JAX gave it, which may be empty. `summaries` are the
    first paragraphs of the documentation of ops, by name.
    """

    ops: dict[Position, ParsedOp] = field(default_factory=dict)
    arguments: dict[Position, tuple[str, str]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    summaries: dict[str, str] = field(default_factory=dict)
