"""Timing programs against each other: in one process, in turn, by medians."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from time import perf_counter

import jax

_ROUND_SECONDS = 0.02  # each turn runs a program at least so long, so that the clock is fine enough


def interleave(
    programs: Mapping[str, Callable[[], object]], rounds: int = 20
) -> dict[str, list[float]]:
    """Seconds per call of each program, one figure a round.

    In each round every program runs once in turn, repeatedly where it is short, so that what else
    the machine does falls on all of them alike. A first call of each is left out.

    Args:
        programs: functions of no arguments, by name; their results are waited for.
        rounds: how many figures to take of each.
    """
    repeats = {name: _repeats(call) for name, call in programs.items()}
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, call in programs.items():
            seconds[name].append(_seconds(call, repeats[name]))
    return seconds


def ratio(slow: list[float], fast: list[float]) -> float:
    """How often `fast` fits into `slow`: the median over rounds of the rounds' own ratios."""
    return statistics.median(s / f for s, f in zip(slow, fast, strict=True))


def _repeats(call: Callable[[], object]) -> int:
    jax.block_until_ready(call())
    return max(1, min(1000, int(_ROUND_SECONDS / max(_seconds(call, 1), 1e-9))))


def _seconds(call: Callable[[], object], repeats: int) -> float:
    start = perf_counter()
    for _ in range(repeats):
        result = call()
    jax.block_until_ready(result)
    return (perf_counter() - start) / repeats
