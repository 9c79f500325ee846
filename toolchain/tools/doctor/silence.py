"""Comments that silence findings on their statement: `# jxc: ignore[gather-as-slice]`."""

from __future__ import annotations

import ast
import functools
import io
import linecache
import re
import tokenize
from collections.abc import Iterable

from ...errors import did_you_mean
from ...source import SourceLine
from .finding import Finding
from .syntax import syntax_of

_COMMENT = re.compile(r"#\s*jxc:\s*ignore\[([^\]]*)\]")


def is_silenced(finding: Finding) -> bool:
    """Whether a comment in the source takes a finding back."""
    place = finding.place
    if place is None:
        return False
    comments = _comments(place.file)
    lines = _statement(place) if comments else range(0)
    return any(finding.name in comments.get(line, ()) for line in lines)


def unknown_names(findings: Iterable[Finding], known: list[str]) -> list[str]:
    """A sentence for each comment, in a file with findings, that silences what there is not."""
    files = dict.fromkeys(each.place.file for each in findings if each.place)
    return [
        f"{SourceLine(file, line)}: no finding is called {name!r}.{did_you_mean(name, known)}"
        for file in files
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
    """The lines of the innermost statement around a line; of a `def`, those of its head."""
    best = range(place.line, place.line + 1)
    width = float("inf")
    for node in ast.walk(syntax_of(place.file) or ast.Module([], [])):
        if isinstance(node, ast.stmt):
            lines = _lines(node)
            if place.line in lines and len(lines) < width:
                best, width = lines, len(lines)
    return best


def _lines(node: ast.stmt) -> range:
    """The lines of a statement, without the statements within it."""
    body = getattr(node, "body", None)
    last = node.end_lineno or node.lineno
    if isinstance(body, list) and body:
        last = max(node.lineno, body[0].lineno - 1)
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    return range(first, last + 1)
