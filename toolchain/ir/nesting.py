"""How deep a module may be nested: loops in loops, branches in branches, calls in calls.

MLIR's parser and printer call themselves for each level, and so do some passes. A module that is
nested too deep is rejected in a sentence before the stack overflows, which ends the process in C++.
"""

from __future__ import annotations

import re
import sys

from jaxlib.mlir import ir

from ..errors import JxcError
from .module import functions, nesting_of

MOST_NESTED = 1000
"""The most levels. With a stack of 8 MiB, MLIR parses 2000 and crashes on 4000."""

_FRAMES = 4  # Python's, for each level: all passes of O2 need 2
_USUAL_FRAMES = 1000  # Python's own limit, for all that is not nested

_OTHER_BRACES = 8  # around and inside of the levels: module, function, attributes
_BRACE = re.compile(rb'"(?:[^"\\\n]|\\.)*"|//[^\n]*|[{}]')


def check_text(text: bytes, name: str) -> None:
    """Reject the text of a module that MLIR's parser may not survive.

    Raises:
        JxcError: it is nested more than `MOST_NESTED` deep.
    """
    limit, depth = MOST_NESTED + _OTHER_BRACES, 0
    if text.count(b"{") <= limit:
        return
    for found in _BRACE.finditer(text):
        if found[0] == b"{":
            depth += 1
            if depth > limit:
                line = text.count(b"\n", 0, found.start()) + 1
                raise JxcError(f"{name}:{line}: {_too_deep(f'more than {MOST_NESTED}')}")
        elif found[0] == b"}":
            depth -= 1


def make_room(module: ir.Module, name: str = "-", nesting: int | None = None) -> None:
    """Raise Python's recursion limit as far as a module needs.

    It is not lowered again: other threads may need it. `nesting` is that of the module, if known.

    Raises:
        JxcError: the module is nested more than `MOST_NESTED` deep.
    """
    nesting = nesting_of(module.operation) if nesting is None else nesting
    depth = max(0, nesting - 1)  # without the functions
    if depth > MOST_NESTED:
        raise JxcError(_too_deep(depth) if name == "-" else f"{name}: {_too_deep(depth)}")
    needed = _USUAL_FRAMES + _FRAMES * (depth + len(functions(module)))
    sys.setrecursionlimit(max(sys.getrecursionlimit(), needed))


def _too_deep(depth: int | str) -> str:
    return (
        f"loops and branches are nested {depth} deep; jxc and MLIR handle up to {MOST_NESTED}. "
        "Move inner ones into functions, or replace nested ones by one loop with a longer state."
    )
