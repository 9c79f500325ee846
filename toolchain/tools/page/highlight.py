"""Colours: of Python by pygments, of the compiler's languages by rules that the page runs itself.

A program's text is highlighted line by line as it comes into view; so it is kept once, as text.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from itertools import groupby

from .needs import pygments

# What a token is, by the first pattern that matches; written for both Python and JavaScript.
_NUMBER = r"\b(?:0x[0-9A-Fa-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)\b"
_STRING = r'"(?:[^"\\]|\\.)*"'
_ARRAY = r"\b(?:bool|pred|key<\w+>|token|(?:b?f|f8e\w+|[suic])\d+\w*)\[[^\]]*\](?:\{[^}]*\})?"
RULES: dict[str, list[tuple[str, str]]] = {
    "jaxpr": [
        ("s", _STRING),
        ("t", r"\b(?:bool|key<\w+>|f8_\w+|(?:b?f|[uic])\d+)\[[^\]]*\]"),
        ("k", r"\b(?:lambda|let|in)\b"),
        ("o", r"(?<== )\w+"),
        ("a", r"\b\w+(?==)"),
        ("m", _NUMBER),
    ],
    "stablehlo": [
        ("c", r"//.*$"),
        ("s", _STRING),
        ("v", r"%[\w$.-]+(?:[:#]\d+)?"),
        ("f", r"@[\w$.-]+"),
        ("t", r"!?tensor<[^<>]*>|\b(?:tuple|complex)<[^<>]*>|!stablehlo\.token"),
        ("o", r"\b(?:stablehlo|mhlo|chlo|func|sdy|shape)\.\w+|\b(?:call|return|module)\b"),
        ("k", r"\b(?:public|private|attributes|cond|do|applies|across|init|reducer|dense)\b"),
        ("a", r"\b[A-Za-z_][\w.]*(?= = )"),
        ("m", _NUMBER),
    ],
    "hlo": [
        ("c", r"/\*.*?\*/"),
        ("s", _STRING),
        ("t", _ARRAY),
        ("v", r"%[\w.-]+"),
        ("k", r"\b(?:ROOT|ENTRY|HloModule)\b"),
        ("o", r"(?<=[\])}] )[a-z][\w-]*(?=\()"),
        ("a", r"\b[a-z_]+(?==)"),
        ("m", _NUMBER),
    ],
}

_CLASSES = (  # by the longest name that a pygments token starts with
    ("Comment", "c"),
    ("Literal.String", "s"),
    ("Literal.Number", "m"),
    ("Keyword", "k"),
    ("Operator.Word", "k"),
    ("Name.Function", "f"),
    ("Name.Class", "f"),
    ("Name.Decorator", "o"),
)


def python_lines(text: str) -> list[str]:
    """Python source as one piece of HTML per line: what is coloured is `<i class=k>`."""
    lexer = pygments().lexers.PythonLexer(stripnl=False, ensurenl=False)
    tokens = ((_colour(str(kind)), value) for kind, value in lexer.get_tokens(text))
    lines = [""]
    for colour, group in groupby(tokens, key=lambda token: token[0]):
        first, *others = _pieces("".join(value for _, value in group), colour)
        lines[-1] += first
        lines.extend(others)
    return lines


def _colour(kind: str) -> str:
    name = kind.removeprefix("Token.")
    return next((short for full, short in _CLASSES if name.startswith(full)), "")


def _pieces(value: str, colour: str) -> Iterator[str]:
    """A token's lines; one in a string of three quotes has several."""
    for line in value.split("\n"):
        escaped = html.escape(line, quote=False)
        yield f"<i class={colour}>{escaped}</i>" if colour and line.strip() else escaped
