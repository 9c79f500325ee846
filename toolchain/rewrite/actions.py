"""Actions: single applications of rules, which can be observed, counted and skipped.

They stand for MLIR's actions, which the Python bindings lack: `jxc opt --mlir-debug-counter` uses
them. Outside of `observe_rewrites` they cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from jaxlib.mlir import ir

from ..errors import UsageError, did_you_mean

Observer = Callable[[str, str, ir.Location], bool]
"""Called with a rule, the name of the op and its location; returns whether to rewrite."""

_observer: ContextVar[Observer | None] = ContextVar("jxc_rewrites", default=None)


@contextmanager
def observe_rewrites(observer: Observer) -> Iterator[None]:
    """Ask `observer` before each rewrite by a rule inside."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def current_observer() -> Observer | None:
    """The innermost observer, or None."""
    return _observer.get()


@dataclass
class DebugCounter:
    """Which applications of a rule are carried out: those after `skip`, up to `count` of them.

    `count` is -1 for no limit; `seen` is the number of applications so far.
    """

    skip: int = 0
    count: int = -1
    seen: int = 0

    def allows(self) -> bool:
        """Count one more application, and return whether it is carried out."""
        self.seen += 1
        after = self.seen - self.skip
        return after > 0 and (self.count < 0 or after <= self.count)


_ARGUMENT = re.compile(r"([\w-]+)-(skip|count)=(\d+)")


def parse_counters(texts: Sequence[str], known: Sequence[str]) -> dict[str, DebugCounter]:
    """The debug counters that `RULE-skip=N` and `RULE-count=N`, separated by commas, describe.

    Raises:
        UsageError: a text is malformed, or names a rule that is not in `known`.
    """
    counters: dict[str, DebugCounter] = {}
    for text in (each.strip() for each in ",".join(texts).split(",")):
        found = _ARGUMENT.fullmatch(text)
        if not found:
            raise UsageError(
                f"--mlir-debug-counter {text}: expected RULE-skip=N or RULE-count=N, "
                "separated by commas"
            )
        rule, kind, number = found.groups()
        if rule not in known:
            raise UsageError(
                f"--mlir-debug-counter: the pipeline has no rule {rule!r}."
                f"{did_you_mean(rule, list(known))}"
            )
        setattr(counters.setdefault(rule, DebugCounter()), kind, int(number))
    return counters
