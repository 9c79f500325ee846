"""Remarks: why a rule or a replacement did not apply to an op, or what it replaced.

A rule returns `no_match("the padding is not constant")` in place of None. Reasons are kept only
inside `collect_remarks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from jaxlib.mlir import ir

from ..ir import format_location


@dataclass(frozen=True)
class Remark:
    """One remark.

    Attributes:
        rule: the name of the rule or the replacement.
        kind: "missed", or "passed" for a rewrite.
        location: of the op in the program, as text; empty where there is none.
        text: the reason, or what was replaced.
    """

    rule: str
    kind: str
    location: str
    text: str


@dataclass(frozen=True)
class NoMatch:
    """The result of a rule that does not match and gives the reason."""

    reason: str


def no_match(reason: str) -> NoMatch:
    """Return this from a rule in place of None to give the reason why it does not match."""
    return NoMatch(reason)


_collected: ContextVar[list[Remark] | None] = ContextVar("jxc_remarks", default=None)


@contextmanager
def collect_remarks() -> Iterator[list[Remark]]:
    """Collect the remarks of the passes that run inside."""
    found: list[Remark] = []
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


def is_collecting() -> bool:
    """Whether remarks are collected, see `collect_remarks`."""
    return _collected.get() is not None


def remark(rule: str, kind: str, location: ir.Location | None, text: str) -> None:
    """Add a remark, if remarks are collected."""
    found = _collected.get()
    if found is not None:
        where = "" if location is None else format_location(location)
        found.append(Remark(rule, kind, where, text))
