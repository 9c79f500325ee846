"""Positions in a text: offsets in code points, bytes as MLIR counts, units as editors count."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property


class Lines:
    """A text with its lines, which end with "\\n", "\\r\\n" or "\\r" as the protocol has it.

    Args:
        text: the text.
        unit: how the editor counts columns: "utf-16", "utf-8" or "utf-32".
    """

    def __init__(self, text: str, unit: str = "utf-16") -> None:
        self.text, self.unit = text, unit

    @cached_property
    def starts(self) -> list[int]:
        """The offset of the first character of each line."""
        text = self.text
        if "\r" in text:  # of the same length, so that offsets stay
            text = text.replace("\r\n", " \n").replace("\r", "\n")
        starts, at = [0], text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = text.find("\n", at + 1)
        return starts

    def line_of(self, offset: int) -> int:
        """The number of the line of an offset, counted from 0."""
        return bisect_right(self.starts, offset) - 1

    def position(self, offset: int) -> tuple[int, int]:
        """The line and the column of an offset, both counted from 0, the column in units."""
        line = self.line_of(offset)
        before = self.text[self.starts[line] : offset]
        return line, len(before) if before.isascii() else sum(map(self._width, before))

    def offset(self, line: int, column: int) -> int:
        """The offset of a position; one beyond the end of a line or of the text is its end."""
        if line >= len(self.starts):
            return len(self.text)
        return self._advance(line, column, self._width)

    def offset_of_bytes(self, line: int, column: int) -> int:
        """The offset of MLIR's line and column, both counted from 1, the column in UTF-8 bytes."""
        if line > len(self.starts):
            return len(self.text)
        return self._advance(max(line, 1) - 1, max(column, 1) - 1, _utf8_width)

    def replaced(self, start: tuple[int, int], end: tuple[int, int], new: str) -> Lines:
        """The text after the edit of a range of positions."""
        first, last = self.offset(*start), self.offset(*end)
        return Lines(self.text[:first] + new + self.text[last:], self.unit)

    def _advance(self, line: int, column: int, width: object) -> int:
        start = self.starts[line]
        is_last = line + 1 == len(self.starts)
        content = self.text[start : None if is_last else self.starts[line + 1]].rstrip("\r\n")
        if content.isascii():
            return start + min(column, len(content))
        for index, character in enumerate(content):
            if column <= 0:
                return start + index
            column -= width(character)  # type: ignore[operator]
        return start + len(content)

    def _width(self, character: str) -> int:
        if self.unit == "utf-16":
            return 2 if ord(character) > 0xFFFF else 1
        return _utf8_width(character) if self.unit == "utf-8" else 1


def _utf8_width(character: str) -> int:
    return len(character.encode("utf-8", "surrogatepass"))
