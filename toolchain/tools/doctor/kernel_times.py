"""How long each kernel of a program takes on this machine's CPU, measured by jaxlib's profiler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from time import perf_counter, process_time, sleep
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from ...compiled.kernels import Kernel
from ...errors import JxcError
from ...events.runs import Trace
from ...events.session import start_session
from ...events.trace import read_trace
from ...events.wall import shares

if TYPE_CHECKING:
    from ...cost.device import Device

_MAX_ROUNDS = 3
_MAX_SECONDS = 2.0  # of recorded runs, without the first
_SETTLE = 0.002  # seconds: a result is ready before the end of its kernel is recorded
_MAX_LAUNCHES = 50_000  # of kernels in a run: the profiler takes about 10 µs for each


class TimedKernel(NamedTuple):
    """A kernel and its time in one run of the program.

    Attributes:
        kernel: of the compiled program.
        seconds: of the wall clock, which kernels that run at once share.
        least: the seconds by the roofline, for as many launches as were recorded.
    """

    kernel: Kernel
    seconds: float
    least: float


class TimedRun(NamedTuple):
    """One run of a program: its seconds, from its first kernel to its last, and its kernels."""

    seconds: float
    kernels: Sequence[TimedKernel]

    def within(self, seconds: float) -> TimedRun:
        """The same run in the time of a faster one: other load may have slowed down this one."""
        factor = min(seconds / self.seconds, 1.0) if self.seconds else 1.0
        scaled = [each._replace(seconds=factor * each.seconds) for each in self.kernels]
        return TimedRun(factor * self.seconds, scaled)


def time_kernels(
    call: Callable[[], Any], kernels: Sequence[Kernel], device: Device
) -> TimedRun | None:
    """The median of up to three recorded runs, or the longer of two.

    Kernels that XLA:CPU compiles into a loop or a call are not recorded, and left out.

    Args:
        call: runs the program; it has run before.
        kernels: of the compiled program.
        device: for the roofline.

    Returns:
        None if the program launches too many kernels, or if the profiler does not start: a process
        can have one session.
    """
    if sum(each.times for each in kernels) > _MAX_LAUNCHES:
        return None
    runs: list[TimedRun] = []
    start = perf_counter()
    for count in range(1, _MAX_ROUNDS + 1):
        try:
            trace, cpu_seconds = _recorded(call)
        except (JxcError, RuntimeError, ValueError):
            return None
        runs += _timed_runs(trace, kernels, device, cpu_seconds)
        if (perf_counter() - start) * (count + 1) / count > _MAX_SECONDS:
            break
    return sorted(runs, key=lambda run: run.seconds)[len(runs) // 2] if runs else None


def _recorded(call: Callable[[], Any]) -> tuple[Trace, float]:
    """The events of one call, and the seconds of cores that the process used in it."""
    session = start_session()
    start = process_time()
    try:
        jax.block_until_ready(call())
        used = process_time() - start
        sleep(_SETTLE)
    finally:
        data = session.stop()
    return read_trace(data), used


def _timed_runs(
    trace: Trace, kernels: Sequence[Kernel], device: Device, cpu_seconds: float
) -> list[TimedRun]:
    """The kernels of the program that takes the most time: copies of arguments are others.

    Where other processes use all cores, the program waits for one: such time is left out, as far as
    it is more than the process used of a core.
    """
    lengths: Counter[str] = Counter()
    for run in trace.runs:
        lengths[run.program] += run.end - run.start
    if not lengths:
        return []
    program, length = lengths.most_common(1)[0]
    known = {each.name: each for each in kernels}
    runs = Counter[str]()
    for number, count in enumerate(np.bincount(trace.ops.columns.key).tolist()):
        runs[trace.ops.keys[number][2]] += count * (trace.ops.keys[number][1] == program)
    starts, ends, numbers = trace.work.columns
    own = np.array([key[1] == program and key[2] in known for key in trace.work.keys], dtype=bool)
    chosen = np.flatnonzero(own[numbers]) if len(numbers) else numbers
    given = shares(starts[chosen], ends[chosen], np.zeros(len(chosen), dtype=np.int64))
    seconds: Counter[str] = Counter()
    for number, part in zip(numbers[chosen].tolist(), given.tolist(), strict=True):
        seconds[trace.work.keys[number][2]] += part * 1e-9
    running = min(cpu_seconds / (length * 1e-9), 1.0) if length else 1.0
    timed = [
        TimedKernel(known[name], running * taken, runs[name] * known[name].roofline(device).seconds)
        for name, taken in seconds.items()
    ]
    return [TimedRun(running * length * 1e-9, timed)]
