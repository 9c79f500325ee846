"""Actions: single applications of rules, which can be counted, skipped and logged.

They stand for MLIR's actions, which the Python bindings lack: `jxc opt --log-actions-to` and
`--mlir-debug-counter` use them. Outside of `observe_rewrites` they cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from jaxlib.mlir import ir

from ..errors import UsageError, did_you_mean
from ..ir import format_location

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


@dataclass
class Actions:
    """An observer with a debug counter for each rule, and a log.

    Attributes:
        log: called with each line.
        counters: by rule.
        name: the file name to print for a module that was parsed from memory.
    """

    log: Callable[[str], None] = lambda _: None
    counters: dict[str, DebugCounter] = field(default_factory=dict)
    name: str = "-"

    def __call__(self, rule: str, op: str, location: ir.Location) -> bool:
        counter = self.counters.setdefault(rule, DebugCounter())
        is_allowed = counter.allows()
        at = format_location(location, self.name)
        what = f"Action `{rule}` number {counter.seen} on Operation `{op}` at {at}"
        if not is_allowed:
            self.log(f"[thread jxc] skips {what}\n")
        else:
            self.log(f"[thread jxc] begins (no breakpoint) {what}\n")
            self.log(f"[thread jxc] completed `{rule}`\n")
        return is_allowed

    def table(self) -> str:
        """The counters in the form of MLIR's `--mlir-print-debug-counter`: {seen,skip,count}."""
        rows = [f"{k:<32}: {{{c.seen},{c.skip},{c.count}}}" for k, c in self.counters.items()]
        return "\n".join(["DebugCounter counters:", *rows]) + "\n"


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
