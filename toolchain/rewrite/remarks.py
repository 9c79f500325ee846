"""Remarks: why a rule or a replacement did not apply, for whoever asks.

A rule returns `no_match("the padding is not constant")` in place of None. The reason is kept only
inside `collect_remarks`; elsewhere it costs nothing more than the text.
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
    """What a rule returns in place of None to say why it leaves an op alone."""

    reason: str


def no_match(reason: str) -> NoMatch:
    """The answer of a rule that leaves an op alone, with the reason."""
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
    """Whether anyone asks for remarks."""
    return _collected.get() is not None


def remark(rule: str, kind: str, location: ir.Location | None, text: str) -> None:
    """Add a remark, if anyone asks for remarks."""
    found = _collected.get()
    if found is not None:
        where = "" if location is None else format_location(location)
        found.append(Remark(rule, kind, where, text))
