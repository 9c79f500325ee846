"""Medians with intervals, from figures that several processes took."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Interval:
    """A median, and the bounds between which it lies with 95% confidence."""

    median: float
    low: float
    high: float


def median_interval(groups: Sequence[Sequence[float]], *, resamples: int = 2000) -> Interval:
    """The median of figures and its 95% interval, by bootstrap over processes and rounds.

    The figures of one process are no independent draws: where its memory lay, and what else the
    machine did, falls on all of them. So processes are drawn first, with replacement, and then
    rounds within each.

    Args:
        groups: for each process, its figures; none may be empty.
        resamples: how often to draw.

    Raises:
        ValueError: there are no figures.
    """
    if not groups or not all(len(group) for group in groups):
        raise ValueError(f"expected figures from each process, found {[len(g) for g in groups]}")
    arrays = [np.asarray(group, float) for group in groups]
    random = np.random.default_rng(0)
    medians = [np.median(_drawn(arrays, random)) for _ in range(resamples)]
    low, high = np.quantile(medians, [0.025, 0.975])
    return Interval(float(np.median(np.concatenate(arrays))), float(low), float(high))


def _drawn(arrays: list[np.ndarray], random: np.random.Generator) -> np.ndarray:
    chosen = (arrays[index] for index in random.integers(len(arrays), size=len(arrays)))
    return np.concatenate([random.choice(array, len(array)) for array in chosen])


def geometric_mean(ratios: Iterable[float]) -> float:
    """The mean that treats twice as fast and half as fast alike; NaN of none."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan
