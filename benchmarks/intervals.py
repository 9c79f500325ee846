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
    drawn = np.concatenate([_drawn(arrays, resamples, random) for _ in arrays], axis=1)
    low, high = np.quantile(np.nanmedian(drawn, axis=1), [0.025, 0.975])
    return Interval(float(np.median(np.concatenate(arrays))), float(low), float(high))


def _drawn(arrays: list[np.ndarray], resamples: int, random: np.random.Generator) -> np.ndarray:
    """A row for each resample: one process, and as many of its rounds as it has; NaN beyond."""
    lengths = np.asarray([len(array) for array in arrays])
    table = np.full((len(arrays), lengths.max()), np.nan)
    for row, array in zip(table, arrays, strict=True):
        row[: len(array)] = array
    process = random.integers(len(arrays), size=resamples)
    had = lengths[process][:, None]
    rounds = (random.random((resamples, lengths.max())) * had).astype(int)
    return np.where(np.arange(lengths.max()) < had, table[process[:, None], rounds], np.nan)


def geometric_mean(ratios: Iterable[float]) -> float:
    """The mean that treats twice as fast and half as fast alike; NaN of none."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan
