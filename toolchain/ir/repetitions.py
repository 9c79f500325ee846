"""Repetitions in a sequence of which each element has a number."""

from __future__ import annotations

import numpy as np


def longest_true(flags: np.ndarray) -> tuple[int, int]:
    """The start and the length of the longest stretch of true in booleans; (0, 0) without one."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.view(np.int8), [0]))))
    if not len(edges):
        return 0, 0
    starts, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - starts))
    return int(starts[longest]), int(ends[longest] - starts[longest])
