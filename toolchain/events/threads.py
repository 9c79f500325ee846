"""Which kernel of XLA:CPU each thread computes, and when.

XLA:CPU divides a large kernel into tasks for a pool of threads, and runs several kernels at once. A
trace has one event for each kernel, on the thread that starts it. The pool adds events without a
length, which have a number: "Record" on the thread that makes a task, and "StartRegion" and
"StopRegion" on the thread that runs it. A task belongs to the kernel, or to the task, in which it
was made, until that kernel ends: a thread of YNNPACK goes on with the tasks of other kernels, and
nothing tells of which. A thread that runs a task may start kernels in it: the innermost one counts.

There can be millions of kernels, which are therefore columns of numbers. Tasks are fewer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LISTENER = "ThreadpoolListener::"
"""How the names of the pool's events begin."""

Column = NDArray[np.int64]


class Task(NamedTuple):
    """A task that a thread ran; `number` tells where it was made."""

    start: int
    end: int
    number: int


class Made(NamedTuple):
    """A task was made."""

    time: int
    number: int


class Spans(NamedTuple):
    """Spans of time and what each of them is a span of, as columns."""

    start: Column
    end: Column
    key: Column


def no_spans() -> Spans:
    """Columns without rows."""
    return Spans(*np.zeros((3, 0), dtype=np.int64))


@dataclass
class Thread:
    """The events of one thread.

    Attributes:
        kernels: their numbers are in `key`, from 0 on, different on each thread.
        tasks, made: the events of the pool.
    """

    kernels: Spans = field(default_factory=no_spans)
    tasks: list[Task] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)


class Regions:
    """Tasks from the events of one thread, which come in order of time."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self._open: list[tuple[int, int]] = []

    def add(self, name: str, time: int, stats: Mapping[str, int]) -> None:
        """Add an event whose name begins with `LISTENER`."""
        kind = name.removeprefix(LISTENER)
        if kind == "Record" and "_p" in stats:
            self._thread.made.append(Made(time, stats["_p"]))
        elif kind == "StartRegion":
            self._open.append((time, stats.get("_c", 0)))
        elif kind == "StopRegion" and self._open:
            start, number = self._open.pop()
            self._thread.tasks.append(Task(start, time, number))


def work_of(threads: Sequence[Thread], ends: Column) -> Spans:
    """When each thread computed which kernel, without overlaps on one thread.

    Args:
        threads: their events.
        ends: when each kernel and its tasks end, by its number.
    """
    made: dict[int, int] = {}
    tasks = [task for thread in threads for task in thread.tasks]
    parts: list[Spans] = []
    first = -1  # tasks count downward from here, kernels upward from 0
    for thread in threads:
        numbers = first - np.arange(len(thread.tasks))
        first -= len(thread.tasks)
        found = _innermost(_with_tasks(thread, numbers))
        made.update(_makers(thread.made, found))
        parts.append(found.spans)
    starts, finishes, keys = (
        np.concatenate([no_spans()[n], *(p[n] for p in parts)]) for n in range(3)
    )
    known: dict[int, int | None] = {}
    for at in np.flatnonzero(keys < 0).tolist():
        kernel = _kernel_of(int(keys[at]), tasks, made, known)
        keys[at] = -1 if kernel is None else kernel
        finishes[at] = min(finishes[at], 0 if kernel is None else ends[kernel])
    is_work = (keys >= 0) & (finishes > starts)
    return Spans(starts[is_work], finishes[is_work], keys[is_work])


def _with_tasks(thread: Thread, numbers: Column) -> Spans:
    tasks = np.array([task[:2] for task in thread.tasks], dtype=np.int64).reshape(-1, 2)
    added = (tasks[:, 0], tasks[:, 1], numbers)
    return Spans(*map(np.concatenate, zip(thread.kernels, added, strict=True)))


class _Parts(NamedTuple):
    """The innermost spans in order of time, and when the whole span of each began."""

    spans: Spans
    begun: Column


def _innermost(spans: Spans) -> _Parts:
    """Which span is the innermost at each time: of those that are open, the last to begin."""
    order = np.lexsort((-spans.end, spans.start))
    order = order[spans.end[order] > spans.start[order]]
    start, end, key = (column[order] for column in spans)
    depth = np.arange(len(start)) - np.searchsorted(np.sort(end), start, side="right")
    around = np.full(len(start), -1)
    for each in range(1, int(depth.max(initial=0)) + 1):
        inner, outer = np.flatnonzero(depth == each), np.flatnonzero(depth == each - 1)
        around[inner] = outer[np.searchsorted(outer, inner) - 1]
    # A span that ends after the one around it goes on alone: the other one ends where it does.
    for late in np.flatnonzero((around >= 0) & (end > end[around])).tolist():
        end[late] = end[around[late]]
    times = np.concatenate([end, start])
    owners = np.concatenate([around, np.arange(len(start))])
    ranks = np.concatenate([-depth, np.arange(len(start)) + 1])  # ends first, the innermost first
    sequence = np.lexsort((ranks, times))
    times, owners = times[sequence], owners[sequence]
    is_part = (np.diff(times) > 0) & (owners[:-1] >= 0)
    chosen = owners[:-1][is_part]
    return _Parts(Spans(times[:-1][is_part], times[1:][is_part], key[chosen]), start[chosen])


def _makers(made: Sequence[Made], parts: _Parts) -> dict[int, int]:
    """The kernel or task in which each task was made; one that ends at this time still counts."""
    start, end, key = parts.spans
    if not len(start) or not made:
        return {}
    times = np.array([each.time for each in made], dtype=np.int64)
    at = np.searchsorted(start, times, side="right") - 1
    has_ended = (at > 0) & (start[at] == times) & (parts.begun[at] < times)
    at -= has_ended & (end[np.maximum(at - 1, 0)] == times)
    is_inside = (at >= 0) & (end[at] >= times)
    return {
        each.number: int(key[n])
        for each, n, inside in zip(made, at.tolist(), is_inside.tolist(), strict=True)
        if inside
    }


def _kernel_of(
    inner: int, tasks: Sequence[Task], made: Mapping[int, int], known: dict[int, int | None]
) -> int | None:
    """The kernel of a task, or of a kernel; adds to `known` those of the tasks on the way."""
    passed: list[int] = []
    found: int | None = inner
    while found is not None and found < 0:
        number = tasks[-1 - found].number
        if number in known:
            found = known[number]
            break
        known[number] = None  # ends a circle
        passed.append(number)
        found = made.get(number)
    known.update(dict.fromkeys(passed, found))
    return found
