"""What several rules read about one op, computed once while the driver visits it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class _Visit(threading.local):
    """The results on this thread since the visit began, by function and arguments.

    None outside of visits. Each result comes with its arguments, whose identities are the key: as
    long as they are referred to, no other object has these identities.
    """

    known: dict[tuple[Any, ...], tuple[Any, ...]] | None = None


_visit = _Visit()


def once_per_visit(function: Callable[P, T]) -> Callable[P, T]:
    """Let rules that are tried on the same op share a result; a decorator.

    Rules change nothing until one of them applies, which ends the visit. So the result of a
    function that only reads an op stays the same for all rules. Callers must not modify it.
    """

    @wraps(function)
    def shared(*args: P.args, **kwargs: P.kwargs) -> T:
        known = _visit.known
        if known is None:
            return function(*args, **kwargs)
        key = (function, *map(id, args), *map(id, kwargs.values()))
        if (found := known.get(key)) is None:
            found = known[key] = (function(*args, **kwargs), args, kwargs)
        result: T = found[0]
        return result

    return shared


def begin_visit() -> None:
    """Drop the results of the last visit, and keep those of the visit that begins."""
    _visit.known = {}


def end_visits() -> None:
    """Keep no results from now on."""
    _visit.known = None
