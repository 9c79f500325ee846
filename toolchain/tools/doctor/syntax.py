"""What a line of Python stands in, and what a function returns: read from the source."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from collections.abc import Callable, Iterator
from typing import Any

from ...source import SourceLine, definition_line

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def return_place(function: Callable[..., Any]) -> SourceLine | None:
    """The line of a function's only `return`; None where there are several, or no source."""
    found = definition_of(function)
    if found is None:
        return None
    place, node = found
    returns = [each for each in _own_nodes(node) if isinstance(each, ast.Return)]
    return SourceLine(place.file, returns[0].lineno, place.function) if len(returns) == 1 else None


def returned_names(function: Callable[..., Any]) -> list[str | None]:
    """The variables that a function's only `return` names, one for each value that it lists.

    None for a value that is no variable; empty where there are several `return`s, or no source.
    """
    found = definition_of(function)
    if found is None:
        return []
    returns = [each for each in _own_nodes(found[1]) if isinstance(each, ast.Return)]
    if len(returns) != 1 or returns[0].value is None:
        return []
    value = returns[0].value
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return [each.id if isinstance(each, ast.Name) else None for each in parts]


def definition_of(function: Callable[..., Any]) -> tuple[SourceLine, ast.AST] | None:
    """Where a function is defined, and its syntax tree."""
    place = definition_line(function)
    tree = syntax_of(place.file) if place else None
    if place is None or tree is None:
        return None
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS) and node.lineno == place.line:
            return place, node
    return None


@functools.lru_cache(maxsize=32)
def syntax_of(file: str) -> ast.Module | None:
    """The syntax tree of a file; None where there is no source, or none that can be read."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return None


_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)


def loop_around(place: SourceLine) -> SourceLine | None:
    """The line of the innermost Python loop around a line; None where there is none."""
    best = None
    for node in ast.walk(syntax_of(place.file) or ast.Module([], [])):
        if not isinstance(node, (*_LOOPS, *_COMPREHENSIONS)):
            continue
        first = node.body[0].lineno if isinstance(node, _LOOPS) else node.lineno
        is_around = first <= place.line <= (node.end_lineno or 0)
        if is_around and (best is None or node.lineno >= best):
            best = node.lineno
    return None if best is None else SourceLine(place.file, best, place.function)


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, those of functions within it left out."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, (*_FUNCTIONS, ast.Lambda, ast.ClassDef)):
            yield child
            yield from _own_nodes(child)


def parameters_of(function: Callable[..., Any]) -> list[str]:
    """The names of a function's parameters; none where they cannot be told."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []
