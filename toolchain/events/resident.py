"""How much memory a call takes, by the pages that this process holds."""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter, sleep

import jax

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"
"""What resets the highest number of pages, by proc(5)."""

_TRIM_THRESHOLD, _AT_ONCE, _USUAL = -1, 2**17, 2**26
"""The option of mallopt(3) for the bytes from which free memory on top of a heap is returned, and
its values: glibc's first, and the one that it reaches in programs with large arrays."""

_RUNS = 5

_SETTLED, _LONGEST = 0.02, 2.0
"""Seconds without a change after which memory counts as returned, and the most seconds to wait."""


def peak_growth(prepare: Callable[[], Callable[[], object]]) -> int | None:
    """The bytes by which the memory of this process grows at most during a call: a median.

    What the call only reserves and never writes does not count. Other threads should not allocate
    meanwhile.

    Args:
        prepare: makes the arguments of a call, which do not count, and returns the call. Its
            results are waited for.

    Returns:
        None if the system does not count: Linux with glibc does.
    """
    with suppress(OSError, AttributeError), _returning_memory():
        jax.block_until_ready(prepare()())  # its memory is returned when it ends
        return round(statistics.median(_growth(prepare()) for _ in range(_RUNS)))
    return None


def _growth(call: Callable[[], object]) -> int:
    _settle()
    _CLEAR.write_text(_RESET_PEAK)
    before = _pages()[0]
    jax.block_until_ready(call())
    return max(0, _pages()[1] - before)


@contextmanager
def _returning_memory() -> Iterator[None]:
    """Free memory goes back to the system at once: a call must not reuse that of an earlier one."""
    set_option = ctypes.CDLL(None).mallopt
    set_option(_TRIM_THRESHOLD, _AT_ONCE)
    try:
        yield
    finally:
        set_option(_TRIM_THRESHOLD, _USUAL)


def _settle() -> None:
    """Wait until XLA has freed the memory of earlier calls: a moment after their results are ready.

    Free pages inside of glibc's heaps are returned too.
    """
    start, last = perf_counter(), None
    while perf_counter() - start < _LONGEST and last != (last := _pages()[0]):
        ctypes.CDLL(None).malloc_trim(0)
        sleep(_SETTLED)


def _pages() -> tuple[int, int]:
    """The bytes that this process holds now, and the most since the last reset."""
    fields = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    now, most = (int(fields[name].split()[0]) for name in ("VmRSS", "VmHWM"))
    return 1024 * now, 1024 * most
