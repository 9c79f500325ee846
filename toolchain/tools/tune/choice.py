"""The decision between candidates that were timed in the same rounds.

The choice is the fastest candidate that is faster than plain JAX by more than noise, and else plain
JAX. Each candidate with a shorter time than the choice has a reason.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...backend.timing import TimeRatio, time_ratio
from .candidates import PLAIN

GAIN = 1.02
"""How many times as fast as plain JAX a candidate is at least, at the low end of the interval."""


@dataclass(frozen=True)
class Choice:
    """The candidate to use.

    Attributes:
        name: its name.
        passed_over: why each candidate with a shorter time was not chosen, by name.
    """

    name: str
    passed_over: Mapping[str, str]


def choose(seconds: Mapping[str, Sequence[float]], refused: Mapping[str, str]) -> Choice:
    """The candidate to use, by measured times.

    Args:
        seconds: by candidate, one measurement for each round; has `plain`.
        refused: why candidates must not be used although they are faster.
    """
    passed_over: dict[str, str] = {}
    for name in sorted(seconds, key=lambda each: statistics.median(seconds[each])):
        if name == PLAIN:
            return Choice(PLAIN, passed_over)
        reason = refused.get(name) or why_not_faster(time_ratio(seconds[PLAIN], seconds[name]))
        if not reason:
            return Choice(name, passed_over)
        passed_over[name] = reason
    raise KeyError(PLAIN)


def why_not_faster(ratio: TimeRatio) -> str:
    """Why a candidate is not used instead of plain JAX; empty if it is faster."""
    if ratio.low > GAIN:
        return ""
    interval = f"{ratio.low:.2f} to {ratio.high:.2f} times as fast as plain"
    if ratio.low > 1:
        return f"{interval}: less than {GAIN:g} times"
    return f"within noise: {interval}"


def choose_by_estimate(seconds: Mapping[str, float]) -> Choice:
    """The candidate to use, by estimates, which have no noise; has `plain` or one other."""
    best = min(seconds, key=lambda name: seconds[name])
    if PLAIN not in seconds or seconds[PLAIN] > GAIN * seconds[best]:
        return Choice(best, {})
    faster = [name for name in seconds if seconds[name] < seconds[PLAIN]]
    reason = f"less than {GAIN:g} times as fast as plain, by estimates"
    return Choice(PLAIN, dict.fromkeys(faster, reason))
