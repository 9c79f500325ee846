"""The decision between candidates that were timed in the same rounds.

The verdict is O2 unless another candidate is clearly faster, so that it does not change from one
process to the next by noise; and it is never slower than plain JAX by more than noise.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from ...backend.timing import time_ratio
from ...backend.verdicts import DEFAULT
from .candidates import PLAIN

GAIN = 1.02
"""How many times as fast as O2 a candidate must be, at the lower end of the 95 % interval."""

LOSS = 0.97
"""The verdict is plain JAX if the other candidate is slower than this ratio to it, or than 1 with
the whole 95 % interval."""


def choose(seconds: Mapping[str, Sequence[float]]) -> str:
    """The name of the candidate to use.

    Args:
        seconds: by candidate, one measurement for each round; has `plain` or O2.
    """
    base = DEFAULT if DEFAULT in seconds else PLAIN
    chosen = base
    for name in sorted(seconds, key=lambda each: statistics.median(seconds[each])):
        if name != base and time_ratio(seconds[base], seconds[name]).low > GAIN:
            chosen = name
            break
    if PLAIN not in seconds or chosen == PLAIN:
        return chosen
    ratio = time_ratio(seconds[PLAIN], seconds[chosen])
    return PLAIN if ratio.ratio < LOSS or ratio.high < 1 else chosen


def choose_by_estimate(seconds: Mapping[str, float]) -> str:
    """The name of the candidate to use, by estimates, which have no noise."""
    base = DEFAULT if DEFAULT in seconds else PLAIN
    best = min(seconds, key=lambda name: seconds[name])
    return best if seconds[base] > GAIN * seconds[best] or base not in seconds else base
