"""Tokens of MLIR text: names with their sigils, strings, brackets; no numbers, no types.

The lexer is as lenient as an editor needs it: what it does not know, it skips. The names follow
MLIR's language reference (https://mlir.llvm.org/docs/LangRef/#identifiers-and-keywords).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

SPLIT_MARKER = "// -----"
"""What starts a line between two modules of one file."""

_SUFFIX = r"(?:\d+|[A-Za-z$._-][\w$.-]*)"
_TOKEN = re.compile(
    r"(?P<newline>[\n\r])"
    r"|(?P<comment>//[^\n\r]*)"
    r'|(?P<string>"(?:[^"\\\n]|\\.)*"?)'
    r"|(?P<resources>\{-\#.*?\#-\})"
    r'|(?P<dense>\bdense<[^">]*>)'
    rf"|(?P<value>%{_SUFFIX}(?:\#\d+)?)"
    r'|(?P<symbol>@(?:[A-Za-z_][\w$.]*|"(?:[^"\\\n]|\\.)*"))'
    rf"|(?P<block>\^{_SUFFIX})"
    r"|(?P<attribute>\#[A-Za-z$._-][\w$.-]*|\#\d+)"
    r"|(?P<type>![A-Za-z$._-][\w$.-]*)"
    r"|(?P<word>[A-Za-z_][\w$.]*)"
    r"|(?P<punctuation>->|::|[%@^(){}\[\]=:,])",
    re.ASCII | re.DOTALL,
)


class Token(NamedTuple):
    """A token: its kind (a group of the pattern), its text, where it is.

    `leads` says whether it is the first on its line. The text of a punctuation mark is its kind.
    """

    kind: str
    text: str
    start: int
    end: int
    leads: bool


def tokens_of(text: str) -> Iterator[Token]:
    """The tokens of a text, without comments and resources."""
    leads = True
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup or ""
        if kind == "newline":
            leads = True
        elif kind not in ("comment", "resources", "dense"):
            word = found[0]
            yield Token(word if kind == "punctuation" else kind, word, *found.span(), leads)
            leads = False


def split(text: str) -> list[tuple[int, str]]:
    """The modules between the lines that start with `SPLIT_MARKER`, each with its offset."""
    marks = list(re.finditer(rf"^{re.escape(SPLIT_MARKER)}[^\n\r]*", text, re.MULTILINE))
    starts = [0, *(mark.end() for mark in marks)]
    ends = [*(mark.start() for mark in marks), len(text)]
    return [(start, text[start:end]) for start, end in zip(starts, ends, strict=True)]


def without_locations(text: str) -> str:
    """The text with spaces in place of the locations after ops, arguments and blocks.

    MLIR then gives each op the position of its name in the text. Locations that are values of
    attributes stay.
    """
    if "loc(" not in text:
        return text
    pieces, done, depth, begin, previous = [], 0, 0, -1, ""
    for token in tokens_of(text):
        if begin < 0:
            if token.text == "loc" and text[token.end : token.end + 1] == "(":
                begin = token.start if previous not in _BEFORE_VALUES else -1
                depth = 0
            previous = token.kind
        elif token.kind in "()":
            depth += 1 if token.kind == "(" else -1
            if depth == 0:
                pieces += [text[done:begin], _blank(text[begin : token.end])]
                done, begin, previous = token.end, -1, ")"
    return "".join([*pieces, text[done:]])


def _blank(text: str) -> str:
    """Spaces of the same length in UTF-8, which keeps MLIR's columns, and the same lines."""
    return re.sub(r"[^\n\r]", lambda found: " " * len(found[0].encode()), text)


_BEFORE_VALUES = ("=", "[", ",", "(", "{")
