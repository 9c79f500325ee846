"""`jxc opt --verify-diagnostics`: comments say which diagnostics are expected, on which line.

    // expected-error@+1 {{use of undeclared SSA value name}}

The kinds are error, warning, note and remark. Without `@`, the line of the comment is meant; `@+N`
and `@-N` count lines from it, `@above` and `@below` name the nearest line without such a comment,
and `@unknown` means no location in this file. The text is a part of the message; after `-re`, each
`{{...}}` in it is a regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import UsageError
from ...ir.diagnostics import Diagnostic

_COMMENT = re.compile(
    r"expected-(error|warning|note|remark)(-re)? *"
    r"(?:@([+-]\d+|above|below|unknown))? *\{\{(.*)\}\}$"
)


@dataclass
class Expected:
    """One comment.

    Attributes:
        kind: of the diagnostic.
        text: a part of the message, as written.
        pattern: what the message must contain.
        line: of the diagnostic; None for an unknown location.
        at: the line and column of the comment.
        is_found: whether a diagnostic has matched it.
    """

    kind: str
    text: str
    pattern: re.Pattern[str]
    line: int | None
    at: str
    is_found: bool = False

    def matches(self, diagnostic: Diagnostic) -> bool:
        """Whether this is the first diagnostic that the comment expects."""
        is_here = (self.kind, self.line) == (diagnostic.kind, diagnostic.line)
        return is_here and not self.is_found and bool(self.pattern.search(diagnostic.message))


def read_expected(text: str, name: str) -> list[Expected]:
    """The comments in the text of a module, which is that of the file `name`.

    Raises:
        UsageError: a regular expression is malformed.
    """
    lines = text.split("\n")  # as MLIR counts them: a form feed ends no line
    found = {n: each for n, line in enumerate(lines, 1) if (each := _COMMENT.search(line.rstrip()))}
    return [_expected(each, number, frozenset(found), name) for number, each in found.items()]


def _expected(found: re.Match[str], number: int, comments: frozenset[int], name: str) -> Expected:
    kind, is_regex, where, text = found.groups()
    line: int | None = number
    if where == "unknown":
        line = None
    elif where in ("above", "below"):
        step = 1 if where == "below" else -1
        line = number + step
        while line in comments:
            line += step
    elif where:
        line = number + int(where)
    at = f"{number}:{found.start() + 1}"
    try:
        pattern = re.compile(_regex(text) if is_regex else re.escape(text))
    except re.error as error:
        raise UsageError(
            f"{name}:{at}: invalid regular expression in {{{{{text}}}}}: {error}"
        ) from None
    return Expected(kind, text, pattern, line, at)


def _regex(text: str) -> str:
    """A text in which each `{{...}}` is a regular expression."""
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return "".join(part if n % 2 else re.escape(part) for n, part in enumerate(parts))


def compare(
    expected: Sequence[Expected],
    found: Sequence[Diagnostic],
    name: str,
    *,
    only_expected: bool,
) -> list[str]:
    """The differences between comments and diagnostics, one line each.

    Args:
        expected: the comments.
        found: the diagnostics, in order.
        name: the file's name.
        only_expected: accept diagnostics that no comment expects.
    """
    unexpected = []
    for diagnostic in found:
        comment = next((each for each in expected if each.matches(diagnostic)), None)
        if comment is not None:
            comment.is_found = True
        elif not only_expected:
            kind = diagnostic.kind
            unexpected.append(f"{diagnostic.where}: error: unexpected {kind}: {diagnostic.message}")
    missing = [
        f'{name}:{each.at}: error: expected {each.kind} "{each.text}" was not produced'
        for each in expected
        if not each.is_found
    ]
    return unexpected + missing
