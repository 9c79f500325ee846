"""The plane "/host:CPU" of a trace: the kernels of XLA:CPU, and what the host does.

The kernels are read as columns (`wire.Events`); the events of the host, of which there are fewer,
one by one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .identity import ExecutableNames
from .runs import HostSpan, ProgramRun, StepSpan, Trace
from .threads import LISTENER, Column, Regions, Spans, Thread, no_spans, work_of
from .wire import EventPlane, Events

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


_END, _TASK, _OTHER = "end", "task", ""
_ALONE = -1  # no "end:" event consumes what the kernel produced


class _Host:
    """What is known while the lines of the plane are read: kernels, and when they ended."""

    def __init__(self, plane: EventPlane, trace: Trace) -> None:
        self.texts, self.trace = plane.texts, trace
        self.kinds = {number: _kind_of(name) for number, name in plane.names.items()}
        self.names = plane.names
        self.executables = ExecutableNames()
        self.kernels: list[Column] = []  # rows: start, end, key, run, produced
        self.ends: list[Column] = []  # rows: consumed, time
        self.count = 0


def read_host(plane: EventPlane, trace: Trace) -> None:
    """Add the events of the plane to a trace."""
    host = _Host(plane, trace)
    threads = [_read_line(line, host) for line in plane.lines()]
    if not host.count:
        return
    start, end, key, run, produced = np.concatenate(host.kernels, axis=1)
    end = np.maximum(end, _ended(produced, host.ends))
    trace.ops.add(Spans(start, end, key))
    _add_runs(Spans(start, end, key), run, trace)
    work = work_of(threads, end)
    numbers = np.array([trace.work.number(each) for each in trace.ops.keys], dtype=np.int64)
    trace.work.add(work._replace(key=numbers[key[work.key]]))


def _read_line(line: Iterable[Events], host: _Host) -> Thread:
    thread, first = Thread(), host.count
    regions, parts = Regions(thread), []
    for events in line:
        host.trace.events += len(events.name)
        rows = events.stats.get("hlo_op", (no_spans().key,))[0]
        if len(rows):
            found = _kernels(events, rows, host)
            host.kernels.append(found)
            host.count += len(rows)
            parts.append(found[:2])
        others = np.ones(len(events.name), dtype=bool)
        others[rows] = False
        _read_others(events, np.flatnonzero(others), host, regions)
    if parts:
        start, end = np.concatenate(parts, axis=1)
        thread.kernels = Spans(start, end, np.arange(first, host.count))
    return thread


# Kernels


def _kernels(events: Events, rows: Column, host: _Host) -> Column:
    """The starts, ends, keys, runs and products of kernels, as rows of an array."""
    run = events.stat("run_id", 0)[rows]
    module, program = events.stat("hlo_module")[rows], events.stat("program_id")[rows]
    names: list[str] = []
    executables, which = _distinct(module, program, run)
    for module_text, number, run_id in executables:
        text = host.texts.get(module_text, "")
        name = f"{text}({number})" if number >= 0 else text
        names.append(host.executables.name(name, run_id))
    program_names = list(dict.fromkeys(names))
    numbers = np.array([program_names.index(name) for name in names])
    device = events.stat("device_ordinal", 0)[rows]
    distinct, key = _distinct(device, numbers[which], events.stat("hlo_op")[rows])
    keys = [
        host.trace.ops.number((f"cpu:{ordinal}", program_names[n], host.texts.get(op, "")))
        for ordinal, n, op in distinct
    ]
    produced = events.stat("_p", _ALONE)[rows]
    return np.stack([events.start[rows], events.end[rows], np.array(keys)[key], run, produced])


def _distinct(*columns: Column) -> tuple[list[list[int]], Column]:
    """The distinct rows, in the order of their first occurrence, and which of them each row is."""
    order = np.lexsort(columns[::-1])
    table = np.stack(columns, axis=1)[order]
    is_new = np.concatenate([[True], (np.diff(table, axis=0) != 0).any(axis=1)])
    first, group = order[is_new], np.cumsum(is_new) - 1  # lexsort keeps the order of equal rows
    rank = np.argsort(np.argsort(first))
    which = np.empty(len(order), dtype=np.int64)
    which[order] = rank[group]
    return np.stack(columns, axis=1)[np.sort(first)].tolist(), which


def _ended(produced: Column, ends: list[Column]) -> Column:
    """When what each kernel produced was consumed; 0 where no event says it."""
    found = np.zeros(len(produced), dtype=np.int64)
    consumed, time = np.concatenate([np.zeros((2, 0), dtype=np.int64), *ends], axis=1)
    if not len(consumed):
        return found
    order = np.argsort(consumed, kind="stable")
    consumed, time = consumed[order], time[order]
    at = np.minimum(np.searchsorted(consumed, produced), len(consumed) - 1)
    is_found = (consumed[at] == produced) & (produced != _ALONE)
    found[is_found] = time[at[is_found]]
    return found


def _add_runs(kernels: Spans, run: Column, trace: Trace) -> None:
    """Add the runs of programs that the kernels are part of."""
    programs = [key[:2] for key in trace.ops.keys]
    distinct = list(dict.fromkeys(programs))
    numbers = np.array([distinct.index(each) for each in programs])
    rows, which = _distinct(numbers[kernels.key], run)
    first = np.full(len(rows), np.iinfo(np.int64).max)
    last = np.zeros(len(rows), dtype=np.int64)
    np.minimum.at(first, which, kernels.start)
    np.maximum.at(last, which, kernels.end)
    for (number, _), start, end in zip(rows, first.tolist(), last.tolist(), strict=True):
        trace.runs.append(ProgramRun(*distinct[number], start, end))


# Other events


def _kind_of(name: str) -> str:
    if name.startswith("end: "):
        return _END
    if name.startswith(LISTENER):
        return _TASK
    return next((kind for kind, starts in HOST_KINDS if name.startswith(starts)), _OTHER)


def _read_others(events: Events, rows: Column, host: _Host, regions: Regions) -> None:
    """Read events other than kernels.

    An event with `_r`, the root of what it contains, or `step_num` is a step. Most are "end:", and
    of no kind that counts.
    """
    kinds = [*{*host.kinds.values()}]
    number_of = {number: kinds.index(kind) for number, kind in host.kinds.items()}
    names, which = np.unique(events.name[rows], return_inverse=True)
    kind = np.array([number_of.get(name, -1) for name in names.tolist()], dtype=np.int64)[which]
    is_step = np.zeros(len(events.name), dtype=bool)
    for stat in ("_r", "step_num"):
        is_step[events.stats.get(stat, (rows[:0],))[0]] = True
    is_end = kind == (kinds.index(_END) if _END in kinds else -2)
    ends = rows[is_end]
    host.ends.append(np.stack([events.stat("_c", 0)[ends], events.start[ends]]))
    is_other = kind == (kinds.index(_OTHER) if _OTHER in kinds else -2)
    for at in rows[~is_end & (~is_other | is_step[rows])].tolist():
        _read_one(events, at, host, regions, is_step=bool(is_step[at]))


def _read_one(events: Events, at: int, host: _Host, regions: Regions, *, is_step: bool) -> None:
    number, start, end = (int(column[at]) for column in events[:3])
    name, trace = host.names.get(number, ""), host.trace
    kind = host.kinds.get(number, _OTHER)
    if kind == _TASK:
        regions.add(name, start, events.row(at))
    elif is_step:
        stats = events.row(at)
        trace.steps.append(StepSpan(name, stats.get("step_num", len(trace.steps)), start, end))
    elif kind:
        trace.host.append(HostSpan(kind, name, start, end))
