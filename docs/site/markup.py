"""Markup that Sphinx does not read by itself: MLIR, and Markdown in docstrings and help texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
    lines[:] = _with_literal_blocks(
        [f"    {line[2:]}" if line.startswith("| ") else line for line in lines]
    )
    lines[:] = _escaped(lines)


def _with_literal_blocks(lines: list[str]) -> list[str]:
    """Mark what is indented after an empty line as code, as Markdown does."""
    found: list[str] = []
    in_block = False
    for before, line in zip(["", *lines], lines, strict=False):
        if line and not line.startswith("    "):
            in_block = False
        elif line and not before and not in_block:
            found += ["::", ""]
            in_block = True
        found.append(line)
    return found


def _escaped(lines: list[str]) -> Iterator[str]:
    """The lines with the characters escaped that reStructuredText interprets, except in code."""
    in_block = False
    for line in lines:
        in_block = line == "::" or (in_block and (not line or line.startswith("    ")))
        yield line if in_block else _escaped_text(line)


def _escaped_text(line: str) -> str:
    pieces = re.split(r"(`[^`]*`)", line)
    pieces[::2] = [re.sub(r"([*|]|(?<=\w)_(?!\w))", r"\\\1", each) for each in pieces[::2]]
    return re.sub(r"(`[^`]+`)(?=\w)", r"\1\\ ", "".join(pieces))
