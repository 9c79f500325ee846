"""What MLIR reports while it parses, verifies and runs passes, as values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from jaxlib.mlir import ir

from .locations import format_location, frames_of

_IN_MEMORY = "-"  # the file name that MLIR gives to a text that is parsed from memory

_CURRENT_OP = "see current operation:"


@dataclass(frozen=True)
class Diagnostic:
    """One message.

    Attributes:
        kind: "error", "warning", "note" or "remark".
        message: its text.
        line: in the input; None where the location is unknown or in another file.
        where: the location as text.
    """

    kind: str
    message: str
    line: int | None
    where: str


@contextmanager
def collect_diagnostics(context: ir.Context, name: str) -> Iterator[list[Diagnostic]]:
    """Collect what MLIR reports inside, which then goes nowhere else.

    Notes that print the current op are left out, as mlir-opt does for `--verify-diagnostics`.

    Args:
        context: the context of the modules.
        name: the file name of a module that is parsed from memory.
    """
    found: list[Diagnostic] = []

    def keep(diagnostic: ir.Diagnostic) -> bool:
        kind = diagnostic.severity.name.lower()
        found.append(diagnostic_at(kind, diagnostic.message, diagnostic.location, name))
        found.extend(
            diagnostic_at("note", note.message, note.location, name)
            for note in diagnostic.notes
            if not note.message.startswith(_CURRENT_OP)
        )
        return True

    before = context.emit_error_diagnostics
    context.emit_error_diagnostics = True  # exceptions then hold none
    try:
        with context.attach_diagnostic_handler(keep):
            yield found
    finally:
        context.emit_error_diagnostics = before


def diagnostic_at(kind: str, message: str, location: ir.Location, name: str) -> Diagnostic:
    """A message about a location; arguments as for `Diagnostic` and `collect_diagnostics`."""
    frames = frames_of(location)
    is_here = bool(frames) and frames[0][0] in (_IN_MEMORY, name)
    line = frames[0][1] if is_here else None
    return Diagnostic(kind, message, line, format_location(location, name))
