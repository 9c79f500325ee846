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
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from . import _private, threads
from .identity import Numbering, TracedExecutable, modules_of
from .wire import hlo_modules_of

HOST_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("compilation", ("backend_compile_and_load", "lower_sharding_computation", "trace_to_jaxpr")),
    (
        "transfers",
        (
            "DevicePut",
            "np.asarray",
            "batched_device_put",
            "batched_copy_array",
            "BufferFromHost",
            "TransferTo",
            "CopyTo",
            "copy_to_host",
        ),
    ),
    ("dispatch", ("PjitFunction", "ExecuteReplicated", "CommonPjRtLoadedExecutable::Execute")),
)
"""Kinds of host events, by how their names begin; the first that matches counts."""

_DEVICE = re.compile(r"/device:(\w+):(\d+)")
_OP = re.compile(r"%?([\w.\-]+)")
_COPIES = ("Memcpy", "Memset")


class OpRun(NamedTuple):
    """One run of a kernel, in nanoseconds since the session began.

    Attributes:
        device: such as "cpu:0".
        program: such as "jit_step(4)"; empty for a copy that belongs to no program.
        op: the HLO instruction, or the name of the copy.
        start, end: of the run.
    """

    device: str
    program: str
    op: str
    start: int
    end: int


class HostSpan(NamedTuple):
    """Something that a thread of the host did; see `HOST_KINDS`."""

    kind: str
    name: str
    start: int
    end: int


class ProgramRun(NamedTuple):
    """One run of a program on a device, from its first kernel to its last."""

    device: str
    program: str
    start: int
    end: int


_Run = TypeVar("_Run", OpRun, ProgramRun)


class StepSpan(NamedTuple):
    """A step marked by `jax.profiler.StepTraceAnnotation`."""

    name: str
    number: int
    start: int
    end: int


@dataclass
class Trace:
    """The events of one session.

    Attributes:
        started: nanoseconds since 1970.
        ops: runs of kernels.
        work: times in which a thread of the host computed a kernel; empty for other devices.
        runs: runs of programs.
        host: what the host did.
        steps: marked steps, in order.
        modules: serialised optimized HLO by program.
        events: how many events the trace has.
        bytes: its size.
        notes: for the user, such as that events were dropped.
    """

    started: int = 0
    ops: list[OpRun] = field(default_factory=list)
    work: list[OpRun] = field(default_factory=list)
    runs: list[ProgramRun] = field(default_factory=list)
    host: list[HostSpan] = field(default_factory=list)
    steps: list[StepSpan] = field(default_factory=list)
    modules: dict[str, bytes] = field(default_factory=dict)
    events: int = 0
    bytes: int = 0
    notes: list[str] = field(default_factory=list)


def read_trace(xspace: bytes, loaded: Collection[str] = ()) -> Trace:
    """The events of a serialised XSpace.

    Args:
        xspace: of jaxlib's profiler.
        loaded: the names of modules that came from the persistent cache.

    Raises:
        ValueError: the data is truncated, or no XSpace.
    """
    from jax.profiler import ProfileData

    trace = Trace(modules=hlo_modules_of(xspace), bytes=len(xspace))
    for plane in ProfileData.from_serialized_xspace(xspace).planes:
        device = _DEVICE.match(plane.name)
        if plane.name == "/host:CPU":
            _read_host(plane, trace)
        elif device:
            _read_device(plane, f"{device[1].lower()}:{device[2]}", trace)
        elif plane.name == "Task Environment":
            trace.started = int(dict(plane.stats).get("profile_start_time", 0))
        elif "error" in plane.name.lower():
            trace.notes += [str(value) for _, value in plane.stats]
    trace.steps.sort(key=lambda step: step.start)
    _find_modules(trace, loaded)
    return trace


def _find_modules(trace: Trace, loaded: Collection[str]) -> None:
    """Name each program as its HLO is named in `trace.modules`."""
    programs: dict[str, TracedExecutable] = {}
    for op in trace.ops:
        if (traced := programs.get(op.program)) is None:
            traced = programs[op.program] = TracedExecutable(op.start)
        traced.started = min(traced.started, op.start)
        traced.ops.add(op.op)
    renamed, ambiguous = modules_of(programs, _Texts(trace.modules), loaded)
    if renamed:

        def named(each: _Run) -> _Run:
            return each._replace(program=renamed.get(each.program, each.program))

        trace.ops = [named(each) for each in trace.ops]
        trace.work = [named(each) for each in trace.work]
        trace.runs = [named(each) for each in trace.runs]
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


# The host, with the kernels of XLA:CPU


def _read_host(plane: Any, trace: Trace) -> None:
    ops: dict[int, tuple[str, str, str, int, int, int]] = {}
    alone: list[tuple[str, str, str, int, int, int]] = []
    ends: dict[int, int] = {}
    kinds: dict[str, str | None] = {}
    all_threads: list[threads.Thread] = []
    numbering = Numbering()
    for line in plane.lines:
        thread: threads.Thread = []
        all_threads.append(thread)
        regions = threads.Regions(thread)
        for event in line.events:
            trace.events += 1
            name = event.name
            kind = kinds.get(name, "")
            if kind is None:
                continue
            if kind:
                trace.host.append(HostSpan(kind, name, int(event.start_ns), int(event.end_ns)))
            elif name.startswith("end: "):
                stats = dict(event.stats)
                ends[stats.get("_c", 0)] = int(event.start_ns)
            elif name.startswith(threads.LISTENER):
                regions.add(name, int(event.start_ns), dict(event.stats))
            else:
                stats = dict(event.stats)
                start, end = int(event.start_ns), int(event.end_ns)
                if "hlo_op" in stats:
                    run = int(stats.get("run_id", 0))
                    program = numbering.name(_program_of(stats), run)
                    device = f"cpu:{stats.get('device_ordinal', 0)}"
                    made = (device, program, str(stats["hlo_op"]), start, end, run)
                    thread.append(threads.Kernel(start, end, made[:3], stats.get("_p")))
                    if "_p" in stats:
                        ops[stats["_p"]] = made
                    else:
                        alone.append(made)
                elif "_r" in stats or "step_num" in stats:  # `_r`: the root of what it contains
                    number = int(stats.get("step_num", len(trace.steps)))
                    trace.steps.append(StepSpan(name, number, start, end))
                else:
                    kinds[name] = found = _kind_of(name)
                    if found:
                        trace.host.append(HostSpan(found, name, start, end))
    finished = [(*op[:4], max(op[4], ends.get(key, 0)), op[5]) for key, op in ops.items()]
    _add_runs([*finished, *alone], trace)
    for work in threads.work_of(all_threads, ends):
        trace.work.append(OpRun(*work.key, work.start, work.end))


def _program_of(stats: dict[str, Any]) -> str:
    module, number = stats.get("hlo_module", ""), stats.get("program_id")
    return f"{module}({number})" if number is not None else str(module)


def _kind_of(name: str) -> str | None:
    return next((kind for kind, starts in HOST_KINDS if name.startswith(starts)), None)


def _add_runs(found: Iterable[tuple[str, str, str, int, int, int]], trace: Trace) -> None:
    """Add kernels, and the runs of programs that they are part of."""
    spans: dict[tuple[str, str, int], tuple[int, int]] = {}
    for device, program, op, start, end, run in found:
        trace.ops.append(OpRun(device, program, op, start, end))
        first, last = spans.get((device, program, run), (start, end))
        spans[device, program, run] = (min(first, start), max(last, end))
    trace.runs += [ProgramRun(*key[:2], *span) for key, span in spans.items()]


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
    trace.ops += [OpRun(*op[:5]) for op in found]
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
