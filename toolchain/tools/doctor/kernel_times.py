"""How long each kernel of a program takes on this machine's CPU, measured by jaxlib's profiler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from time import perf_counter, process_time, sleep
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from ...compiled.kernels import Kernel
from ...cost import cpu, roofline
from ...cost.rates import rates_of
from ...errors import JxcError
from ...events.runs import Trace
from ...events.session import start_session
from ...events.trace import read_trace
from ...events.wall import shares
from ...hlo import Instruction, Module
from ...hlo.work import inner_ops, stablehlo_name

if TYPE_CHECKING:
    from ...cost.device import Device

_MAX_ROUNDS = 5
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
    call: Callable[[], Any], module: Module, kernels: Sequence[Kernel], device: Device
) -> TimedRun | None:
    """The median times in up to five recorded runs.

    The time of a loop or call that XLA:CPU compiles into one kernel is divided between the kernels
    inside, by the roofline, of which products and convolutions there reach what loops do.

    Args:
        call: runs the program; it has run before.
        module: the compiled program.
        kernels: of `module`.
        device: for the roofline.

    Returns:
        None if the program launches too many kernels, or if the profiler does not start: a process
        can have one session.
    """
    if sum(each.times for each in kernels) > _MAX_LAUNCHES:
        return None
    inlined = _inlined(module, kernels)
    runs: list[TimedRun] = []
    start = perf_counter()
    for count in range(1, _MAX_ROUNDS + 1):
        try:
            trace, cpu_seconds = _recorded(call)
        except (JxcError, RuntimeError, ValueError):
            return None
        runs += _timed_runs(trace, kernels, inlined, device, cpu_seconds)
        if (perf_counter() - start) * (count + 1) / count > _MAX_SECONDS:
            break
    return _median_of(runs) if runs else None


def _median_of(runs: Sequence[TimedRun]) -> TimedRun:
    """The median of each kernel's times, and of the runs; of two, the shorter.

    A run whose last kernels were not recorded is much shorter than the others, and left out.
    """
    lengths = sorted(run.seconds for run in runs)
    whole = [run for run in runs if run.seconds >= lengths[len(runs) // 2] / 2]
    by_name: dict[str, list[TimedKernel]] = {}
    for each in (timed for run in whole for timed in run.kernels):
        by_name.setdefault(each.kernel.name, []).append(each)
    found = [
        sorted(times, key=lambda each: each.seconds)[(len(times) - 1) // 2]
        for times in by_name.values()
    ]
    lengths = sorted(run.seconds for run in whole)
    return TimedRun(lengths[(len(whole) - 1) // 2], found)


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


def _inlined(module: Module, kernels: Sequence[Kernel]) -> dict[str, list[Kernel]]:
    """The kernels inside of each loop, branch and call, by its name; a kernel has several."""
    callers = {
        called: instruction
        for computation in module.computations.values()
        for instruction in computation.instructions
        for called in instruction.called
    }
    found: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        around = callers.get(kernel.instruction.computation)
        while around is not None:
            found.setdefault(around.name, []).append(kernel)
            around = callers.get(around.computation)
    return found


def _timed_runs(
    trace: Trace,
    kernels: Sequence[Kernel],
    inlined: Mapping[str, Sequence[Kernel]],
    device: Device,
    cpu_seconds: float,
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
    running = min(cpu_seconds / (length * 1e-9), 1.0) if length else 1.0
    runs: Counter[str] = Counter()
    for key, count in zip(trace.ops.keys, np.bincount(trace.ops.columns.key), strict=True):
        runs[key[2]] += int(count) * (key[1] == program)
    known = {each.name: each for each in kernels}
    timed = []
    for name, seconds in _seconds(trace, program, {*known, *inlined}).items():
        if name in known:
            kernel = known[name]
            least = runs[name] * kernel.roofline(device).seconds
            timed.append(TimedKernel(kernel, running * seconds, least))
            continue
        inside = [each for each in inlined[name] if not runs[each.name] and not each.assumed]
        leasts = [each.times * each.roofline(device).seconds for each in inside]
        weights = [least / loop_speed(each) for each, least in zip(inside, leasts, strict=True)]
        for kernel, least, weight in zip(inside, leasts, weights, strict=True):
            timed.append(TimedKernel(kernel, running * seconds * weight / sum(weights), least))
    return [TimedRun(running * length * 1e-9, timed)]


def _seconds(trace: Trace, program: str, names: Collection[str]) -> Mapping[str, float]:
    """The seconds of the wall clock in which a program's instructions were computed, by name."""
    starts, ends, numbers = trace.work.columns
    own = np.array([key[1] == program and key[2] in names for key in trace.work.keys], dtype=bool)
    chosen = np.flatnonzero(own[numbers]) if len(numbers) else numbers
    given = shares(starts[chosen], ends[chosen], np.zeros(len(chosen), dtype=np.int64))
    seconds: Counter[str] = Counter()
    for number, part in zip(numbers[chosen].tolist(), given.tolist(), strict=True):
        seconds[trace.work.keys[number][2]] += part * 1e-9
    return seconds


def loop_speed(kernel: Kernel) -> float:
    """The part of the roofline that XLA's own loops reach, by the rates of the device.

    1.0 for a kernel that is no product or convolution.
    """
    rates = rates_of("cpu")
    if convolution_in(kernel) is not None:
        return rates[roofline.CONVOLUTION] / rates[cpu.NAIVE_CONVOLUTION]
    return rates[roofline.PRODUCT] / rates[cpu.NAIVE] if "dot_general" in kernel.ops else 1.0


def convolution_in(kernel: Kernel) -> Instruction | None:
    """The convolution that a kernel computes, or None."""
    instruction = kernel.instruction
    ops = inner_ops(instruction.fused) if instruction.fused else [instruction]
    return next((each for each in ops if stablehlo_name(each) == "convolution"), None)
