"""Highlighting of jaxprs, StableHLO and HLO by patterns.

The HTML page highlights lines in its script when they come into view; notebooks get the HTML of
`highlighted`. Both use `RULES`.
"""

from __future__ import annotations

import html
import re
from functools import cache

# A token gets the class of the first pattern that matches. The patterns are valid in both Python
# and JavaScript.
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
    "asm": [
        ("c", r"#.*$"),
        ("f", r"<[^>]*>"),
        ("v", r"%\w+|\b(?:[xvqdswb]\d+|sp|[xw]zr)\b"),
        ("a", r"^\s*[0-9a-f]+:"),
        ("o", r"(?<=: )\s*[a-z]\w+"),
        ("m", r"\$?-?0x[0-9a-f]+|" + _NUMBER),
    ],
}
"""The classes and patterns of each language's tokens."""


@cache
def _pattern(language: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{name}>{text})" for name, text in RULES[language]))


def highlighted(line: str, language: str) -> str:
    """One line as HTML, in which each token is `<i class=k>`; all other text is escaped.

    Args:
        line: without a line break.
        language: a key of `RULES`.
    """
    parts, end = [], 0
    for token in _pattern(language).finditer(line):
        parts.append(html.escape(line[end : token.start()], quote=False))
        escaped = html.escape(token[0], quote=False)
        parts.append(f"<i class={token.lastgroup}>{escaped}</i>")
        end = token.end()
    return "".join([*parts, html.escape(line[end:], quote=False)])
