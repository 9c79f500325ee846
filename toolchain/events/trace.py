"""What a recorded trace says: which kernel ran when, on which device, and what the host did.

The profiler of XLA writes planes of lines of events (`xplane.proto`). Three kinds of planes count:

- "/host:CPU" has a line for each thread. The kernels of XLA:CPU are events with the statistics
  `hlo_op`, `hlo_module`, `program_id` and `device_ordinal`. A kernel that ends on another thread is
  followed by "end: NAME", which consumes (`_c`) what the first event produced (`_p`). The events of
  the pool of threads tell which threads compute a kernel (`threads.py`). Other events say what the
  host does: "PjitFunction(step)", "DevicePut", "backend_compile_and_load".
- "/device:GPU:0" has a line for each stream, whose kernels have the same statistics.
- "/device:TPU:0" has the lines "XLA Ops" and "XLA Modules"; an op belongs to the module around it.

A program is named by module and number, such as "jit_step(4)". The plane "/host:metadata" has the
optimized HLO under the same name (`wire.py`), unless the program was loaded (`identity.py`). Planes
of GPU and TPU were tested on traces made by hand, not on hardware.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from . import _private
from .host import read_host
from .identity import TracedExecutable, modules_of
from .runs import OpRun, ProgramRun, Trace
from .wire import EventPlane, alone, hlo_modules_of, planes_of

_DEVICE = re.compile(r"/device:(\w+):(\d+)")
_OP = re.compile(r"%?([\w.\-]+)")
_COPIES = ("Memcpy", "Memset")


def read_trace(xspace: bytes, loaded: Collection[str] = ()) -> Trace:
    """The events of a serialised XSpace.

    Args:
        xspace: of jaxlib's profiler.
        loaded: the names of modules that came from the persistent cache.

    Raises:
        ValueError: the data is truncated, or no XSpace.
    """
    trace = Trace(modules=hlo_modules_of(xspace), bytes=len(xspace))
    for name, plane in planes_of(xspace):
        device = _DEVICE.match(name)
        if name == "/host:CPU":
            read_host(EventPlane(plane), trace)
        elif device:
            _read_device(_data_of(plane), f"{device[1].lower()}:{device[2]}", trace)
        elif name == "Task Environment":
            stats = dict(_data_of(plane).stats)
            trace.started = int(stats.get("profile_start_time", 0))
        elif "error" in name.lower():
            trace.notes += [str(value) for _, value in _data_of(plane).stats]
    trace.steps.sort(key=lambda step: step.start)
    _find_modules(trace, loaded)
    return trace


def _data_of(plane: memoryview) -> Any:
    """A plane as jax reads it."""
    from jax.profiler import ProfileData

    return next(iter(ProfileData.from_serialized_xspace(alone(plane)).planes))


def _find_modules(trace: Trace, loaded: Collection[str]) -> None:
    """Name each program as its HLO is named in `trace.modules`."""
    programs: dict[str, TracedExecutable] = {}
    starts, _, numbers = trace.ops.columns
    firsts = np.full(len(trace.ops.keys), np.iinfo(np.int64).max)
    np.minimum.at(firsts, numbers, starts)
    for (_, program, op), start in zip(trace.ops.keys, firsts.tolist(), strict=True):
        traced = programs.setdefault(program, TracedExecutable(start))
        traced.started = min(traced.started, start)
        traced.ops.add(op)
    renamed, ambiguous = modules_of(programs, _Texts(trace.modules), loaded)
    if renamed:
        trace.ops.rename(renamed)
        trace.work.rename(renamed)
        trace.runs = [
            run._replace(program=renamed.get(run.program, run.program)) for run in trace.runs
        ]
    if ambiguous:
        trace.notes.append(
            f"several HLO modules called {', '.join(ambiguous)} fit the programs that ran: jxc "
            "assigned them in the order in which they were loaded"
        )


class _Texts(Mapping[str, str]):
    """The text of each HLO module, made when it is asked for."""

    def __init__(self, modules: Mapping[str, bytes]) -> None:
        self._modules = modules

    def __getitem__(self, name: str) -> str:
        return _private.hlo_text(self._modules[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


# Accelerators


def _read_device(plane: Any, device: str, trace: Trace) -> None:
    lines = {line.name: line for line in plane.lines}
    modules = [ProgramRun(device, *each) for each in _plain(lines.get("XLA Modules"))]
    modules.sort(key=lambda run: run.start)
    if "XLA Ops" in lines:
        found = list(_ops_of_line(lines["XLA Ops"], device, modules, trace))
    else:
        streams = [line for name, line in lines.items() if name.startswith("Stream")]
        found = [op for line in streams for op in _ops_of_line(line, device, modules, trace)]
    trace.ops.extend(OpRun(*op[:5]) for op in found)
    if modules:
        trace.runs += modules
    else:
        _add_module_runs([op for op in found if op[1]], trace)


def _plain(line: Any) -> Iterator[tuple[str, int, int]]:
    for event in line.events if line is not None else ():
        yield event.name, int(event.start_ns), int(event.end_ns)


def _ops_of_line(
    line: Any, device: str, modules: list[ProgramRun], trace: Trace
) -> Iterator[tuple[str, str, str, int, int, int]]:
    starts = [run.start for run in modules]
    for event in line.events:
        trace.events += 1
        stats = dict(event.stats)
        start, end = int(event.start_ns), int(event.end_ns)
        program = _program_of(stats) if "hlo_module" in stats else ""
        if program not in trace.modules:
            program = _around(modules, starts, start) or program
        if program or event.name.startswith(_COPIES):
            op = _OP.match(str(stats.get("hlo_op", event.name)))
            yield device, program, op[1] if op else event.name, start, end, 0


def _program_of(stats: dict[str, Any]) -> str:
    module, number = stats.get("hlo_module", ""), stats.get("program_id")
    return f"{module}({number})" if number is not None else str(module)


def _around(modules: list[ProgramRun], starts: list[int], time: int) -> str:
    at = bisect.bisect_right(starts, time) - 1
    return modules[at].program if at >= 0 and time < modules[at].end else ""


def _add_module_runs(ops: list[tuple[str, str, str, int, int, int]], trace: Trace) -> None:
    """Add the runs of programs on a device without "XLA Modules": the first op begins a run."""
    first: dict[str, str] = {}
    open_runs: dict[tuple[str, str], list[int]] = {}
    for device, program, op, start, end, _ in sorted(ops, key=lambda each: each[3]):
        key = (device, program)
        if first.setdefault(program, op) == op and key in open_runs:
            trace.runs.append(ProgramRun(*key, *open_runs.pop(key)))
        span = open_runs.setdefault(key, [start, end])
        span[1] = max(span[1], end)
    trace.runs += [ProgramRun(*key, *span) for key, span in open_runs.items()]
