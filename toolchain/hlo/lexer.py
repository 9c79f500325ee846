"""Tokens of HLO text: brackets, quoted strings, lists separated by commas, shapes."""

from __future__ import annotations

import re
from functools import lru_cache

from .values import Shape

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|\{[^{}()\[\]",]*\}|[(){}\[\],"]')
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_ARRAY = re.compile(r"([a-z]\w*)(?:\[([^\]]*)\])?(?:\{(.*)\})?$")
_SPACE = re.compile(r"S\((\d+)\)")
_COMMENT = re.compile(r"/\*.*?\*/")


def split_top_level(text: str, start: int = 0, *, closed: bool = False) -> tuple[list[str], int]:
    """Split at the commas outside brackets and quotes.

    Args:
        text: a line of HLO.
        start: the offset of the first character to read.
        closed: whether a bracket was opened just before `start`: stop at its closing bracket.

    Returns:
        The pieces without surrounding spaces, and the offset after the last character that was
        read: after the closing bracket, or the end of the text.

    Raises:
        ValueError: a bracket or a quote is not closed, or a closing bracket has no opening one.
    """
    pieces: list[str] = []
    depth, begin = 0, start
    for token in _TOKENS.finditer(text, start):
        kind = token[0]
        if kind in _OPEN:
            depth += 1
        elif kind in _CLOSE:
            depth -= 1
            if depth < 0:
                if not closed:
                    raise ValueError(f"unmatched {kind!r}")
                end, after = token.start(), token.end()
                break
        elif kind == "," and depth == 0:
            pieces.append(text[begin : token.start()].strip())
            begin = token.end()
        elif kind == '"':
            raise ValueError("a quote is not closed")
    else:
        if depth or closed:
            raise ValueError("a bracket is not closed")
        end = after = len(text)
    last = text[begin:end].strip()
    return [*pieces, last] if last or pieces else [], after


def attributes_of(pieces: list[str]) -> dict[str, str]:
    """`name=value` pieces as a mapping; a piece without a value has an empty one."""
    return {name: value for name, _, value in (piece.partition("=") for piece in pieces)}


def without_comments(text: str) -> str:
    """The text without `/*index=5*/`."""
    return _COMMENT.sub("", text) if "/*" in text else text


def take_shape(text: str, start: int) -> tuple[Shape, int]:
    """The shape that begins at offset `start`, and the offset after it.

    Raises:
        ValueError: there is no shape.
    """
    if text.startswith("(", start):
        _, end = split_top_level(text, start + 1, closed=True)
    else:
        end = text.find(" ", start)
        end = len(text) if end < 0 else end
    return parse_shape(text[start:end]), end


@lru_cache(maxsize=4096)
def parse_shape(text: str) -> Shape:
    """A shape from its text, such as `bf16[8,128]{1,0:T(8,128)(2,1)S(1)}` or a tuple of such.

    Raises:
        ValueError: it is not a shape.
    """
    text = without_comments(text).strip()
    if text.startswith("("):
        parts, _ = split_top_level(text, 1, closed=True)
        return Shape("tuple", parts=tuple(map(parse_shape, parts)))
    found = _ARRAY.match(text)
    if found is None:
        raise ValueError(f"{text!r} is not a shape")
    kind, dims, layout = found[1], found[2] or "", found[3] or ""
    order, _, tiling = layout.partition(":")
    space = _SPACE.search(tiling)
    return Shape(
        kind,
        tuple(int(dim.strip().removeprefix("<=")) for dim in dims.split(",") if dim.strip()),
        int(space[1]) if space else 0,
        layout=tuple(int(dim) for dim in order.split(",") if dim),
    )
