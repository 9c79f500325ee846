"""MLIR's textual pipelines, parsed and printed: `a,b{k=v k2=v2},func.func(c)`."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UsageError

_OPEN, _CLOSE = "({", ")}"


@dataclass(frozen=True)
class Element:
    """One element of a pipeline as written.

    Attributes:
        name: the name of a pass, or of the op that a nested pipeline is anchored on.
        options: the text inside the braces; empty without braces.
        nested: the text inside the parentheses; None without parentheses.
    """

    name: str
    options: str = ""
    nested: str | None = None

    def __str__(self) -> str:
        nested = "" if self.nested is None else f"({self.nested})"
        return f"{self.name}{nested}" + (f"{{{self.options}}}" if self.options else "")


def parse_pipeline(text: str) -> tuple[Element, ...]:
    """Parse a pipeline, with or without `builtin.module(...)` around it.

    Raises:
        UsageError: the text is not a pipeline; the message gives the column.
    """
    elements = _parse_list(text)
    if len(elements) == 1 and elements[0].name == "builtin.module":
        return _parse_list(elements[0].nested or "")
    return elements


def _parse_list(text: str) -> tuple[Element, ...]:
    if not text.strip():
        return ()
    return tuple(_parse_element(part, text, start) for part, start in _split(text))


def _split(text: str) -> list[tuple[str, int]]:
    """The parts between top-level commas, each with its start column."""
    parts, depth, start = [], [], 0
    for column, char in enumerate(text):
        if char in _OPEN:
            depth.append(char)
        elif char in _CLOSE:
            if not depth or _OPEN.index(depth.pop()) != _CLOSE.index(char):
                raise _error(text, column, f"unmatched {char!r}")
        elif char == "," and not depth:
            parts.append((text[start:column], start))
            start = column + 1
    if depth:
        raise _error(text, text.rfind(depth[-1]), f"{depth[-1]!r} is not closed")
    return [*parts, (text[start:], start)]


def _parse_element(part: str, text: str, start: int) -> Element:
    start += len(part) - len(part.lstrip())
    part = part.strip()
    cut = next((i for i, char in enumerate(part) if char in _OPEN), len(part))
    name, rest = part[:cut].strip(), part[cut:]
    if not name:
        raise _error(text, start, "expected the name of a pass")
    if any(char.isspace() for char in name):
        raise _error(text, start, f"expected the name of a pass, found {name!r}")
    if rest.startswith("{") and rest.endswith("}"):
        return Element(name, options=" ".join(rest[1:-1].split()))
    if rest.startswith("(") and rest.endswith(")"):
        return Element(name, nested=rest[1:-1].strip())
    if rest:
        raise _error(text, start + cut, f"expected {{options}} or (passes), found {rest!r}")
    return Element(name)


def _error(text: str, column: int, what: str) -> UsageError:
    error = UsageError(f"malformed pipeline, column {column + 1}: {what}")
    error.add_note(text)
    error.add_note(" " * column + "^")
    error.add_note("write passes as 'simplify,cse' or 'simplify{max-num-rewrites=10},cse'")
    return error


def parse_options(text: str) -> dict[str, str]:
    """The options of a pass, such as `k=v k2={a b} k3="c d" flag`, as texts by key."""
    options = {}
    for item in _split_options(text):
        key, equals, value = item.partition("=")
        if len(value) > 1 and (value[0], value[-1]) in (("{", "}"), ('"', '"'), ("'", "'")):
            value = value[1:-1]
        options[key.strip()] = value if equals else "true"
    return options


def _split_options(text: str) -> list[str]:
    """The parts between spaces that are outside of quotes and braces."""
    parts: list[str] = []
    part, depth, quote = "", 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "{}":
            depth += 1 if char == "{" else -1
        if char.isspace() and not depth and not quote:
            parts, part = [*parts, part], ""
        else:
            part += char
    return [part for part in [*parts, part] if part]
