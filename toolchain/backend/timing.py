"""Timing programs against each other, in one process and in interleaved rounds.

One estimator serves everything that jxc prints: the time of a program is the median of its rounds,
and the ratio of two programs is the quotient of these medians, so that the printed numbers agree.
Its 95 % interval comes from a bootstrap over rounds, each drawn for both programs together: other
load on the machine falls on both. Where the interval does not decide, the text says so.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import jax
import numpy as np

_RESAMPLES = 2000
_WIDE = 1.5  # if the ends of the interval differ by more, the ratio means little
_ALIKE = 0.05  # programs whose interval is this close to 1 are equally fast


def repeated_call(
    program: Callable[..., object], args: Any, kwargs: Any, *, donates: bool
) -> Callable[[], object]:
    """A call that can be repeated: of copies of the arguments, where the program donates some.

    Args:
        program: a compiled program.
        args, kwargs: its arguments; they are moved to the device first.
        donates: whether it writes results into arguments.
    """
    given = jax.device_put((args, kwargs))

    def call() -> object:
        args, kwargs = jax.tree.map(jax.numpy.copy, given) if donates else given
        return program(*args, **kwargs)

    return call


def interleave(
    programs: Mapping[str, Callable[[], object]], rounds: int = 20
) -> dict[str, list[float]]:
    """Seconds per call of each program, one measurement for each round.

    Args:
        programs: functions of no arguments, by name; their results are waited for.
        rounds: the number of measurements of each program.
    """
    measured = list(itertools.islice(timing_rounds(programs), rounds))
    return {name: [each[name] for each in measured] for name in programs}


def timing_rounds(
    programs: Mapping[str, Callable[[], object]], least_seconds: float = 0.02
) -> Iterator[dict[str, float]]:
    """Rounds without end, each with the seconds per call of every program.

    A round runs each program in turn, repeatedly if it is short: for about `least_seconds`, because
    of the clock's resolution. The first call of each program is not measured.
    """
    repeats = {}
    for name, call in programs.items():
        jax.block_until_ready(call())
        repeats[name] = max(1, min(10_000, int(least_seconds / max(_seconds(call, 1), 1e-9))))
    while True:
        yield {name: _seconds(call, repeats[name]) for name, call in programs.items()}


@dataclass(frozen=True)
class TimeRatio:
    """How many times as fast the second of two programs is as the first.

    Attributes:
        ratio: the median time of the first program over that of the second.
        low, high: the 95 % interval of the ratio.
    """

    ratio: float
    low: float
    high: float

    @property
    def is_undecided(self) -> bool:
        """Whether the interval leaves open which program is faster, and by more than 5 %."""
        return self.low < 1 < self.high and not self.is_alike

    @property
    def is_wide(self) -> bool:
        """Whether the interval is too wide for its median to mean much."""
        return self.high > _WIDE * self.low

    @property
    def is_alike(self) -> bool:
        """Whether both programs are equally fast within 5 %."""
        return self.low > 1 - _ALIKE and self.high < 1 + _ALIKE

    def __str__(self) -> str:
        value = f"{self.ratio:.2f}"
        if self.is_undecided:
            value = "too noisy to tell"
        elif self.is_wide:
            value = "too noisy for one number"
        return f"{value}, 95 % interval {self.low:.2f} to {self.high:.2f}"


def time_ratio(before: Sequence[float], after: Sequence[float]) -> TimeRatio:
    """How many times as fast `after` is as `before`: seconds of the same rounds, in their order."""
    pairs = np.asarray([before, after], float)
    picks = np.random.default_rng(0).integers(pairs.shape[1], size=(_RESAMPLES, pairs.shape[1]))
    medians = np.median(pairs[:, picks], axis=2)
    low, high = np.quantile(medians[0] / medians[1], [0.025, 0.975])
    return TimeRatio(statistics.median(before) / statistics.median(after), float(low), float(high))


def show_milliseconds(seconds: Sequence[float]) -> str:
    """The median of measurements in ms, and their quartiles: "9.12 ms (8.97 to 9.45)"."""
    low, median, high = np.quantile(seconds, [0.25, 0.5, 0.75]) * 1e3
    return f"{median:.4g} ms ({low:.4g} to {high:.4g})"


def _seconds(call: Callable[[], object], repeats: int) -> float:
    start = perf_counter()
    for _ in range(repeats):
        result = call()
    jax.block_until_ready(result)
    return (perf_counter() - start) / repeats
