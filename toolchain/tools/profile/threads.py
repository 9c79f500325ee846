"""Which kernel of XLA:CPU each thread computes, and when.

XLA:CPU divides a large kernel into tasks for a pool of threads, and runs several kernels at once. A
trace has one event for each kernel, on the thread that starts it. The pool adds events without a
length, which have a number: "Record" on the thread that makes a task, and "StartRegion" and
"StopRegion" on the thread that runs it. A task belongs to the kernel, or to the task, in which it
was made, until that kernel ends: a thread of YNNPACK goes on with the tasks of other kernels, and
nothing tells of which. A thread that runs a task may start kernels in it: the innermost one counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

LISTENER = "ThreadpoolListener::"
"""How the names of the pool's events begin."""


Key: TypeAlias = "tuple[str, str, str]"
"""The device, the program and the instruction of a kernel."""


class Kernel(NamedTuple):
    """A kernel's event on a thread.

    Attributes:
        start, end: of the event.
        key: of the kernel.
        number: of the kernel in its "end:" event; None if it has no such event.
    """

    start: int
    end: int
    key: Key
    number: int | None = None


class Task(NamedTuple):
    """A task that a thread ran; `number` tells where it was made."""

    start: int
    end: int
    number: int


class Made(NamedTuple):
    """A task was made; `start` and `end` are the same time."""

    start: int
    end: int
    number: int


Thread: TypeAlias = "list[Kernel | Task | Made]"
"""The events of one thread."""


class Work(NamedTuple):
    """A thread computed the kernel with this key from `start` to `end`."""

    start: int
    end: int
    key: Key


class Regions:
    """Tasks from the events of one thread, which come in order of time."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self._open: list[tuple[int, int]] = []

    def add(self, name: str, time: int, stats: Mapping[str, int]) -> None:
        """Add an event whose name begins with `LISTENER`."""
        kind = name.removeprefix(LISTENER)
        if kind == "Record" and "_p" in stats:
            self._thread.append(Made(time, time, stats["_p"]))
        elif kind == "StartRegion":
            self._open.append((time, stats.get("_c", 0)))
        elif kind == "StopRegion" and self._open:
            start, number = self._open.pop()
            self._thread.append(Task(start, time, number))


def work_of(threads: Sequence[Thread], ends: Mapping[int, int]) -> Iterator[Work]:
    """What each thread computed, without overlaps on one thread.

    Args:
        threads: their events.
        ends: the times of "end:" events, by the numbers of kernels.
    """
    made: dict[int, Kernel | Task | None] = {}
    parts: list[tuple[int, int, Kernel | Task]] = []
    for thread in threads:
        parts += _innermost(thread, made)
    known: dict[int, Kernel | None] = {}
    for start, end, inner in parts:
        kernel = _kernel_of(inner, made, known)
        if kernel is not None:
            last = max(kernel.end, ends.get(kernel.number, 0) if kernel.number is not None else 0)
            if min(end, last) > start:
                yield Work(start, min(end, last), kernel.key)


def _innermost(
    thread: Thread, made: dict[int, Kernel | Task | None]
) -> Iterator[tuple[int, int, Kernel | Task]]:
    """The innermost event at each time; adds to `made` where each task was made."""
    stack: list[Kernel | Task] = []
    since = 0
    for each in sorted(thread, key=lambda event: (event.start, -event.end)):
        begins = each.start - isinstance(each, Made)  # a task is made before its kernel ends
        while stack and stack[-1].end <= begins:
            ended = stack.pop()
            if ended.end > since:
                yield since, ended.end, ended
                since = ended.end
        if isinstance(each, Made):
            made[each.number] = stack[-1] if stack else None
            continue
        if stack and each.start > since:
            yield since, each.start, stack[-1]
        since = each.start
        stack.append(each)
    while stack:
        ended = stack.pop()
        if ended.end > since:
            yield since, ended.end, ended
            since = ended.end


def _kernel_of(
    inner: Kernel | Task | None,
    made: Mapping[int, Kernel | Task | None],
    known: dict[int, Kernel | None],
) -> Kernel | None:
    """The kernel of an event; adds to `known` those of the tasks on the way."""
    passed: list[int] = []
    while isinstance(inner, Task):
        if inner.number in known:
            inner = known[inner.number]
            break
        known[inner.number] = None  # ends a circle
        passed.append(inner.number)
        inner = made.get(inner.number)
    known.update(dict.fromkeys(passed, inner))
    return inner
