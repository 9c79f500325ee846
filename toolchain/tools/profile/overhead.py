"""What it costs to record an event: memory and time.

Times are those of the processor: the clock also counts what other processes do.
"""

from __future__ import annotations

import ctypes
import mmap
import time
from collections.abc import Callable
from functools import cache
from typing import Any

_KERNELS, _REPEATS = 10_000, 3  # in a loop, with which the cost of an event is measured
_EVENT_BYTES = 250  # of memory that an event takes from the system: 632 MB for 2.5 million
_MOST = 20.0  # an estimate that leaves less than a twentieth of the time is wrong
_NEW_BYTES = 1 << 25  # with which the time to get memory is measured


class _MallInfo(ctypes.Structure):
    """`struct mallinfo2` of malloc.h."""

    _fields_ = [
        ("arena", ctypes.c_size_t),
        ("ordblks", ctypes.c_size_t),
        ("smblks", ctypes.c_size_t),
        ("hblks", ctypes.c_size_t),
        ("hblkhd", ctypes.c_size_t),
        ("usmblks", ctypes.c_size_t),
        ("fsmblks", ctypes.c_size_t),
        ("uordblks", ctypes.c_size_t),
        ("fordblks", ctypes.c_size_t),
        ("keepcost", ctypes.c_size_t),
    ]


@cache
def _mallinfo() -> Callable[[], Any] | None:
    try:
        found = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError, TypeError):  # another C library, or glibc before 2.33
        return None
    found.restype = _MallInfo
    return found


def heap_bytes() -> int:
    """The bytes of the heap in use, by glibc; 0 if unknown.

    Large arrays are mapped one by one, and not among them.
    """
    mallinfo = _mallinfo()
    return int(mallinfo().uordblks) if mallinfo is not None else 0


def seconds_of_event() -> float:
    """The processor's time to record one event, measured with a loop of kernels.

    The events of a program are in memory that is new to the process, those of the loop are not. 0
    if another profiler is running by now.
    """
    import jax

    from . import _private
    from .wire import count_events

    def body(_: int, x: Any) -> Any:
        return jax.numpy.dot(x, x)  # a loop of elementwise ops would be one kernel

    ones = jax.numpy.ones((8, 8)) / 8
    loop = jax.jit(lambda x: jax.lax.fori_loop(0, _KERNELS, body, x)).lower(ones).compile()

    def timed() -> float:
        start = time.process_time()
        jax.block_until_ready(loop(ones))
        return time.process_time() - start

    plain, recorded, count = [timed()], [], 1
    for _ in range(_REPEATS):
        plain.append(timed())
        try:
            session = _private.start_session()
        except Exception:  # jaxlib's own types
            return 0.0
        recorded.append(timed())
        count = count_events(session.stop())
    own = max(0.0, min(recorded) - min(plain)) / max(count, 1)
    return own + _EVENT_BYTES * _seconds_of_new_byte()


def _seconds_of_new_byte() -> float:
    """The time in which the system gives a process one more byte of memory."""
    with mmap.mmap(-1, _NEW_BYTES) as memory:
        start = time.process_time()
        for at in range(0, _NEW_BYTES, mmap.PAGESIZE):
            memory[at] = 1
        return (time.process_time() - start) / _NEW_BYTES


class ProcessorClock:
    """The processor's time of this process while it runs, without what is between two calls."""

    def __init__(self) -> None:
        self._passed, self._since = 0.0, -1.0

    def run(self) -> None:
        """Count from here on, unless it counts."""
        if self._since < 0:
            self._since = time.process_time()

    def pause(self) -> None:
        """Count no more."""
        if self._since >= 0:
            self._passed += time.process_time() - self._since
            self._since = -1.0

    def ratio(self, seconds: float, always: float) -> float:
        """How many times as long as without something that took some seconds.

        Args:
            seconds: while this clock ran.
            always: since the process began; as much of it counts as this clock ran.
        """
        seconds += always * min(self._passed / max(time.process_time(), 1e-9), 1.0)
        without = max(self._passed - seconds, self._passed / _MOST)
        return self._passed / without if without > 0 else 1.0
