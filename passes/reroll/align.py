"""Choose where the repetitions of a run begin, so that loops carry and copy little.

A run often begins in the middle of a layer, because the first layer differs from the others in its
first ops. The repetitions may then begin at any of several ops. They begin where the fewest bytes
pass from one to the next. Of several such positions, the gradient takes the one at which its
repetitions are those of the forward pass in reverse: otherwise an iteration of its loop would read
values of two iterations, and of a layer that is not in the loop.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
from jaxlib.mlir import ir

from jxc.cost.flops import bytes_of

from .sequence import Run, Sequence

_PLACES = 8  # positions tried for each run


def aligned(sequence: Sequence, runs: list[Run]) -> list[Run]:
    """The runs with their shifts."""
    places = [_places(sequence, run) for run in runs]
    chosen: list[Run] = []
    for number, run in enumerate(runs):
        uses = [_uses(sequence, earlier, run) for earlier in runs[:number]]
        most = max(range(number), key=lambda each: len(uses[each][0]), default=None)
        if most is None or not len(uses[most][0]):
            chosen.append(replace(run, shift=places[number][0]))
            continue
        earlier, made_used = chosen[most], uses[most]
        pairs = [
            (_matches(replace(earlier, shift=a), replace(run, shift=b), *made_used), a, b)
            for a in places[most]
            for b in places[number]
        ]
        _, a, b = max(pairs, key=lambda each: each[0])
        chosen[most] = replace(earlier, shift=a)
        places[most], places[number] = [a], [b]
        chosen.append(replace(run, shift=b))
    return chosen


def _places(sequence: Sequence, run: Run) -> list[int]:
    """The shifts with which the fewest bytes pass from one repetition to the next."""
    if not run.slack:
        return [0]
    made: dict[ir.Value, int] = {}
    last_use: dict[ir.Value, int] = {}
    for position in range(run.end - run.start):
        for value in sequence.used[run.start + position]:
            if value in made:
                last_use[value] = position
        results = sequence.ops[run.start + position].results
        made.update((result, position) for result in results)
    change = np.zeros(run.end - run.start + 1)
    for value, position in last_use.items():
        change[made[value] + 1] += bytes_of(value.type)
        change[position + 1] -= bytes_of(value.type)
    passing = np.cumsum(change)
    inner = run.period * np.arange(1, run.count)
    totals = np.array([passing[shift + inner].sum() for shift in range(run.slack + 1)])
    best = np.flatnonzero(totals == totals.min())
    some = np.linspace(0, len(best) - 1, min(_PLACES, len(best))).astype(int)
    return [int(each) for each in best[some]]


def _uses(sequence: Sequence, earlier: Run, run: Run) -> tuple[np.ndarray, np.ndarray]:
    """The positions of the ops of `earlier` whose results `run` uses, and those of the users."""
    made = {
        result: position
        for position in range(earlier.start, earlier.end)
        for result in sequence.ops[position].results
    }
    found = [
        (made[value], position)
        for position in range(run.start, run.end)
        for value in sequence.used[position]
        if value in made
    ]
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _matches(earlier: Run, run: Run, made: np.ndarray, used: np.ndarray) -> int:
    """The number of uses of iteration k of `earlier` in iteration n - k of `run`, or in n + k."""
    makers, users = (
        (at - each.starts[0]) // each.period for each, at in ((earlier, made), (run, used))
    )
    inside = (makers >= 0) & (makers < earlier.count) & (users >= 0) & (users < run.count)
    return max(_most_common(numbers[inside]) for numbers in (makers + users, makers - users))


def _most_common(numbers: np.ndarray) -> int:
    """How often the most frequent of `numbers` occurs."""
    return max(Counter(numbers.tolist()).values(), default=0)
