"""Source lines of HLO instructions: their metadata, and the tables of stack frames it refers to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..source import SourceLine, innermost_user_line, is_compiler_file

_ROW = re.compile(r"(\d+)\s+(.*)$")
_NUMBER = re.compile(r"(\w+)=(\d+)")
_TABLE = re.compile(r"[A-Z]\w*$")
_QUOTED = r'="((?:[^"\\]|\\.)*)"'
_OP_NAME, _FILE = re.compile(r"\bop_name" + _QUOTED), re.compile(r"\bsource_file" + _QUOTED)
_ESCAPE = re.compile(rb"\\(?:([0-3][0-7]{2})|(.))", re.DOTALL)
_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_LINE, _FRAME = re.compile(r"\bsource_line=(\d+)"), re.compile(r"\bstack_frame_id=(\d+)")


class Frames:
    """The stack frames of an HLO text, by number.

    Args:
        tables: the rows under "FileNames", "FunctionNames", "FileLocations" and "StackFrames".
    """

    def __init__(self, tables: Mapping[str, Sequence[str]]) -> None:
        self._files = _strings(tables.get("FileNames", ()))
        self._functions = _strings(tables.get("FunctionNames", ()))
        self._locations = _numbers(tables.get("FileLocations", ()))
        self._frames = _numbers(tables.get("StackFrames", ()))
        # XLA prints the parent's number plus one, so that a frame without a parent has 1. Texts in
        # which some frame has 0 or no number are read without the shift.
        parents = [frame.get("parent_frame_id", 0) for frame in self._frames.values()]
        self._shift = 1 if parents and min(parents) > 0 else 0
        self._known: dict[int, SourceLine | None] = {}

    def place_of(self, metadata: str) -> SourceLine | None:
        """The source line of an instruction with this metadata: the user's innermost."""
        if frame := _FRAME.search(metadata):
            number = int(frame[1])
            if number not in self._known:
                self._known[number] = place_in(self._stack(number))
            return self._known[number]
        file, line = _FILE.search(metadata), _LINE.search(metadata)
        return SourceLine(_unescaped(file[1]), int(line[1]) if line else 0) if file else None

    def stack_of(self, metadata: str) -> list[SourceLine]:
        """All frames of an instruction with this metadata, the innermost first."""
        if frame := _FRAME.search(metadata):
            return self._stack(int(frame[1]))
        line = self.place_of(metadata)
        return [line] if line else []

    def _stack(self, number: int) -> list[SourceLine]:
        """The frames from the innermost outwards; a cycle of parents ends them."""
        lines: dict[int, SourceLine] = {}
        while number in self._frames and number not in lines:
            row = self._frames[number]
            where = self._locations.get(row.get("file_location_id", 0), {})
            file = self._files.get(where.get("file_name_id", 0), "")
            function = self._functions.get(where.get("function_name_id", 0), "")
            lines[number] = SourceLine(file, where.get("line", 0), function)
            number = row.get("parent_frame_id", 0) - self._shift
        return [line for line in lines.values() if line.file]


def read_frames(text: str) -> Frames:
    """The stack frames of an HLO text, which stand between its header and its computations."""
    tables: dict[str, list[str]] = {}
    rows: list[str] = []
    for line in text.splitlines()[1:]:
        if line.endswith("{"):
            break
        if _TABLE.match(line):
            rows = tables.setdefault(line.strip(), [])
        elif line.strip():
            rows.append(line)
    return Frames(tables)


def op_name_of(metadata: str) -> str:
    """The name stack of the traced op in an instruction's metadata; empty without one."""
    found = _OP_NAME.search(metadata)
    return _unescaped(found[1]) if found else ""


def place_in(stack: Sequence[SourceLine]) -> SourceLine | None:
    """The line of a stack, whose innermost frame is first.

    The user's innermost, else the innermost that is not jax's, else the innermost.
    """
    of_others = (each for each in stack if not is_compiler_file(each.file))
    return innermost_user_line(reversed(stack)) or next(of_others, next(iter(stack), None))


def _strings(rows: Sequence[str]) -> dict[int, str]:
    found = (_ROW.match(row) for row in rows)
    return {int(row[1]): _unescaped(row[2].strip()[1:-1]) for row in found if row}


def _numbers(rows: Sequence[str]) -> dict[int, dict[str, int]]:
    found = (_ROW.match(row) for row in rows)
    return {int(row[1]): {k: int(v) for k, v in _NUMBER.findall(row[2])} for row in found if row}


def _unescaped(text: str) -> str:
    """A string without the escapes of C, in which XLA prints the bytes of UTF-8 in octal."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_byte_of, text.encode()).decode(errors="replace")


def _byte_of(escape: re.Match[bytes]) -> bytes:
    if escape[1]:
        return bytes([int(escape[1], 8)])
    return _CONTROLS.get(escape[2], escape[2])
