"""Who did what: hits, tries and time of a rule in one run of a pass."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class RuleCount:
    """What one rule did in one run of a pass.

    Attributes:
        name: the rule's.
        hits: how many ops it replaced.
        tries: how many ops it was asked about.
        seconds: the time spent in it.
    """

    name: str
    hits: int = 0
    tries: int = 0
    seconds: float = 0.0
