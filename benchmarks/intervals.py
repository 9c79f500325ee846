"""Medians with confidence intervals, from measurements in several processes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Interval:
    """A median and the bounds of its 95% confidence interval."""

    median: float
    low: float
    high: float


def median_interval(groups: Sequence[Sequence[float]], *, resamples: int = 2000) -> Interval:
    """The median of measurements and its 95% interval, by bootstrap over processes and rounds.

    The measurements of one process are not independent: its memory layout and other load on the
    machine affect all of them. The bootstrap therefore draws processes first, with replacement, and
    then rounds within each process.

    Args:
        groups: the measurements of each process; no group may be empty.
        resamples: the number of bootstrap samples.

    Raises:
        ValueError: there are no measurements.
    """
    if not groups or not all(len(group) for group in groups):
        raise ValueError(
            f"expected measurements from each process, found {[len(g) for g in groups]}"
        )
    arrays = [np.asarray(group, float) for group in groups]
    random = np.random.default_rng(0)
    drawn = np.concatenate([_drawn(arrays, resamples, random) for _ in arrays], axis=1)
    low, high = np.quantile(np.nanmedian(drawn, axis=1), [0.025, 0.975])
    return Interval(float(np.median(np.concatenate(arrays))), float(low), float(high))


def _drawn(arrays: list[np.ndarray], resamples: int, random: np.random.Generator) -> np.ndarray:
    """One row per sample: rounds drawn from one process, padded with NaN."""
    lengths = np.asarray([len(array) for array in arrays])
    table = np.full((len(arrays), lengths.max()), np.nan)
    for row, array in zip(table, arrays, strict=True):
        row[: len(array)] = array
    process = random.integers(len(arrays), size=resamples)
    count = lengths[process][:, None]
    rounds = (random.random((resamples, lengths.max())) * count).astype(int)
    return np.where(np.arange(lengths.max()) < count, table[process[:, None], rounds], np.nan)


def geometric_mean(ratios: Iterable[float]) -> float:
    """The geometric mean; NaN if there are no ratios."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan
