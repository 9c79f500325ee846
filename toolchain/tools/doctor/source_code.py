"""Facts from the user's source: the loop around a line, the results of a function, and the comments
`# jxc: ignore[gather-as-slice]` that silence findings on their statement.

Files are parsed with `ast`, once each. A file without source, or with source that does not parse,
counts as empty.
"""

from __future__ import annotations

import ast
import functools
import inspect
import io
import linecache
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...errors import did_you_mean
from ...source import SourceLine, definition_line

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
_COMMENT = re.compile(r"#\s*jxc:\s*ignore\[([^\]]*)\]")


def parameters_of(function: Callable[..., Any]) -> list[str]:
    """The names of a function's parameters; empty if it has no signature."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def return_place(function: Callable[..., Any]) -> SourceLine | None:
    """The line of a function's only `return`; None if there are several, or no source."""
    found = _only_return(function)
    return SourceLine(found[0].file, found[1].lineno, found[0].function) if found else None


def returned_names(function: Callable[..., Any]) -> list[str | None]:
    """The variables that a function's only `return` lists, None for an entry that is no variable.

    Empty if there are several `return`s, or no source.
    """
    found = _only_return(function)
    if found is None or found[1].value is None:
        return []
    value = found[1].value
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return [each.id if isinstance(each, ast.Name) else None for each in parts]


def _only_return(function: Callable[..., Any]) -> tuple[SourceLine, ast.Return] | None:
    """The line of a function's `def`, and its only `return`."""
    place = definition_line(function)
    if place is None:
        return None
    for node in _nodes_of(place.file):
        if isinstance(node, _FUNCTIONS) and node.lineno == place.line:
            returns = [each for each in _own_nodes(node) if isinstance(each, ast.Return)]
            return (place, returns[0]) if len(returns) == 1 else None
    return None


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions that it contains."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, (*_FUNCTIONS, ast.Lambda, ast.ClassDef)):
            yield child
            yield from _own_nodes(child)


def loop_around(place: SourceLine) -> SourceLine | None:
    """The line of the innermost Python loop around a line; None if there is none."""
    best = 0
    for node in _nodes_of(place.file):
        if isinstance(node, (*_LOOPS, *_COMPREHENSIONS)):
            first = node.body[0].lineno if isinstance(node, _LOOPS) else node.lineno
            if first <= place.line <= (node.end_lineno or 0):
                best = max(best, node.lineno)
    return SourceLine(place.file, best, place.function) if best else None


@functools.lru_cache(maxsize=32)
def _nodes_of(file: str) -> tuple[ast.AST, ...]:
    """The nodes of a file's syntax tree, outer nodes first; empty without valid source."""
    try:
        return tuple(ast.walk(ast.parse("".join(linecache.getlines(file)))))
    except (SyntaxError, ValueError, RecursionError):
        return ()


# Comments


def is_silenced(place: SourceLine | None, name: str) -> bool:
    """Whether a comment on the statement of a finding's line silences it.

    Args:
        place: the line of the finding.
        name: of the finding.
    """
    if place is None or not (comments := _comments(place.file)):
        return False
    return any(name in comments.get(line, ()) for line in _statement(place))


def unknown_names(places: Iterable[SourceLine | None], known: list[str]) -> list[str]:
    """A warning for each comment, in the files of some lines, that silences an unknown name."""
    return [
        f"{SourceLine(file, line)}: no finding is called {name!r}.{did_you_mean(name, known)}"
        for file in dict.fromkeys(each.file for each in places if each)
        for line, names in _comments(file).items()
        for name in sorted(names - set(known))
    ]


@functools.lru_cache(maxsize=64)
def _comments(file: str) -> dict[int, frozenset[str]]:
    """The names that comments of a file silence, by line."""
    source = "".join(linecache.getlines(file))
    if "jxc:" not in source:
        return {}
    found = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and (match := _COMMENT.search(token.string)):
                names = (name.strip() for name in match[1].split(","))
                found[token.start[0]] = frozenset(name for name in names if name)
    except (tokenize.TokenError, SyntaxError):
        return {}
    return found


def _statement(place: SourceLine) -> range:
    """The lines of the innermost statement around a line."""
    around = (_own_lines(node) for node in _nodes_of(place.file) if isinstance(node, ast.stmt))
    own = range(place.line, place.line + 1)
    return min((lines for lines in around if place.line in lines), key=len, default=own)


def _own_lines(node: ast.stmt) -> range:
    """The lines of a statement without those of its body: of a `def`, the decorators and head."""
    body = getattr(node, "body", None)
    last = node.end_lineno or node.lineno
    if isinstance(body, list) and body:
        last = max(node.lineno, body[0].lineno - 1)
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    return range(first, last + 1)
