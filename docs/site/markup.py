"""Markup that Sphinx does not read by itself: MLIR, and Markdown in docstrings and help texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text


class MlirLexer(RegexLexer):
    """MLIR's textual form."""

    name = "MLIR"
    aliases: ClassVar = ["mlir"]
    tokens: ClassVar = {
        "root": [
            (r"//.*", Comment.Single),
            (r'"[^"\n]*"', String),
            (r"[%^][\w$.#-]+", Name.Variable),
            (r"[@#!][\w$.]+", Name.Attribute),
            (r"(?:tensor|memref|vector|tuple|complex)(?=<)", Keyword.Type),
            (r"(?:(?:\d+|\?)x)*(?:[su]?i\d+|b?f\d\w*|index)\b", Keyword.Type),
            (r"-?\d[\d.]*(?:[eE][-+]?\d+)?", Number),
            (r"[a-z_]\w*(?:\.\w+)+", Name.Function),
            (r"\b(?:module|func|return|loc|dense|array|true|false)\b", Keyword),
            (r"\w+", Name),
            (r"[-=:>]+", Operator),
            (r".|\n", Text),
        ]
    }


def docstring_to_rst(
    _app: object, _what: str, _name: str, _obj: object, _options: object, lines: list[str]
) -> None:
    """Change the lines of a docstring in place: its text is Markdown with Google's sections."""
    lines[:] = _escaped(_with_literal_blocks(lines))


def help_to_rst(_app: object, _context: object, lines: list[str]) -> None:
    """Change the lines of a help text in place: its lines that are not filled are code."""
    unfilled = [re.sub(r"^\| ", "    ", line) for line in lines]
    lines[:] = _escaped(_with_literal_blocks(unfilled, ".. code-block:: text"), options_as_code)


def options_to_rst(_app: object, _context: object, lines: list[str]) -> None:
    """Change the lines of the options of a command in place."""
    lines[:] = [
        line if line.startswith("..") else options_as_code(_escaped_text(line)) for line in lines
    ]


def options_as_code(text: str) -> str:
    """A text with the options of commands in it as code, so that they keep their two dashes."""
    return re.sub(r"(?<![`\w-])(--[a-z][\w-]*)(?![\w`-])", r"`\1`", text)


def _with_literal_blocks(lines: list[str], marker: str = "::") -> list[str]:
    """Mark what is indented after an empty line as code, as Markdown does."""
    found: list[str] = []
    in_block = False
    for before, line in zip(["", *lines], lines, strict=False):
        if line and not line.startswith("    "):
            in_block = False
        elif line and not before and not in_block:
            found += [marker, ""]
            in_block = True
        found.append(line)
    return found


def _escaped(lines: list[str], change: Callable[[str], str] = str) -> Iterator[str]:
    """The lines with the characters escaped that reStructuredText interprets, except in code.

    Args:
        lines: with code in literal blocks.
        change: what else to do to a line that is not code.
    """
    in_block = False
    for line in lines:
        in_block = line in ("::", ".. code-block:: text") or (
            in_block and (not line or line.startswith("    "))
        )
        yield line if in_block else change(_escaped_text(line))


def _escaped_text(line: str) -> str:
    pieces = re.split(r"(`[^`]*`)", line)
    pieces[::2] = [re.sub(r"([*|]|(?<=\w)_(?!\w))", r"\\\1", each) for each in pieces[::2]]
    return re.sub(r"(`[^`]+`)(?=\w)", r"\1\\ ", "".join(pieces))
