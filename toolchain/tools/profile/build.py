"""From a recording to a `Profile`: how the wall clock is divided.

Everything that was active is a span with a level and an owner (`spans.py`). The levels, from the
highest, are the threads that compute a kernel, kernels, loops, and what the host does.
`events.wall.shares` gives each moment to the active spans of the highest level. Samples of
Python's stack are spans of the lowest level over the whole time, so that the parts add up to the
wall clock.
"""

from __future__ import annotations

import bisect
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...events import session
from ...events.recorded import Recorded
from ...events.runs import HostSpan, OpRuns, Trace
from ...events.sampler import INTERVAL, Sample
from ...source import SourceLine
from .profile import Piece, Profile, ProfiledProgram, ProfiledStep
from .programs import RecordedProgram
from .spans import OwnedSpans
from .unlabelled import Origin

if TYPE_CHECKING:
    from ...cost.device import Device

_WORK, _KERNEL, _LOOP = 1001, 1000, 500  # levels; a loop's is above it by its depth
_HOST_LEVELS = {"compilation": 50, "transfers": 40, "between kernels": 30, "dispatch": 20}
_SAMPLE = 0
_HALF = int(1e9 * INTERVAL) // 2  # nanoseconds for which a sample stands after its time

_MAX_STEPS = 200  # whose seconds are kept

_CALL = re.compile(r"PjitFunction\((.*)\)$")


def build(recorded: Recorded, device: Device) -> Profile:
    """The profile of a recorded run.

    Args:
        recorded: the run.
        device: for rooflines.
    """
    trace = recorded.trace
    programs = _programs(recorded, device)
    spans = OwnedSpans(recorded.started, recorded.ended)
    runs = Counter(run.program for run in trace.runs)
    counts = _add_kernels(spans, trace, programs)
    for (program, op), count in counts.items():  # a sort is two events: a copy, and the sort
        if not programs[program].is_repeated(op):
            count.runs = min(count.runs, runs[program])
    _add_host(spans, recorded)
    steps = _steps(recorded)
    pieces = list(_pieces(spans.seconds(), _by_step(spans, recorded, steps), counts, programs))
    parts: dict[str, float] = defaultdict(float)
    for piece in pieces:
        parts[piece.part] += piece.seconds
    seconds = (recorded.ended - recorded.started) * 1e-9
    return Profile(
        name=recorded.name,
        seconds=seconds,
        parts=dict(parts),
        pieces=pieces,
        programs=[
            ProfiledProgram(name, count, recorded.called.get(name.partition("(")[0]))
            for name, count in runs.most_common()
            if name
        ],
        steps=steps,
        compiled=recorded.compiled,
        device=device.name,
        notes=[*recorded.notes, *trace.notes],
        trace=trace,
        spans=spans,
    )


def _programs(recorded: Recorded, device: Device) -> dict[str, RecordedProgram]:
    trace = recorded.trace
    ops: dict[str, set[str]] = defaultdict(set)
    for _, program, op in trace.ops.keys:
        ops[program].add(op)
    return {
        name: _program(name, _text(trace.modules.get(name)), names, device, recorded)
        for name, names in ops.items()
    }


def _program(
    name: str, hlo: str, ops: set[str], device: Device, recorded: Recorded
) -> RecordedProgram:
    return RecordedProgram(name, hlo, frozenset(ops), device, lambda: recorded.lowered(name, hlo))


def _text(proto: bytes | None) -> str:
    return session.hlo_text(proto) if proto else ""


@dataclass
class _KernelRuns:
    """How often a kernel ran, and for how long on accelerators: 0 s on the CPU."""

    runs: int = 0
    busy_seconds: float = 0.0


def _add_kernels(
    spans: OwnedSpans, trace: Trace, programs: Mapping[str, RecordedProgram]
) -> dict[tuple[str, str], _KernelRuns]:
    """Add the kernels, and the runs of programs around them; returns the runs of each kernel."""
    counts: dict[tuple[str, str], _KernelRuns] = defaultdict(_KernelRuns)
    depths: dict[tuple[str, str], int | None] = {}
    base = trace.started
    starts, ends, numbers = trace.ops.columns
    for _, *key in trace.ops.keys:
        depths[key[0], key[1]] = programs[key[0]].depth_of_control(key[1])
    found = [depths[key[1:]] for key in trace.ops.keys]
    levels = np.array([_KERNEL if each is None else _LOOP + each for each in found], dtype=np.int64)
    owners = _owners(spans, trace.ops)
    spans.add_columns(base + starts, base + ends, levels[numbers], owners[numbers])
    runs = np.bincount(numbers, minlength=len(found))
    busy = np.bincount(numbers, ends - starts, minlength=len(found)) * 1e-9
    for (device, *name), count, seconds in zip(trace.ops.keys, runs, busy, strict=True):
        total = counts[name[0], name[1]]
        total.runs += int(count)
        total.busy_seconds += 0.0 if device.startswith("cpu") else float(seconds)
    starts, ends, numbers = trace.work.columns
    is_kernel = np.array([depths.get(key[1:], 0) is None for key in trace.work.keys], dtype=bool)
    chosen = np.flatnonzero(is_kernel[numbers]) if len(numbers) else numbers
    starts, ends, numbers = starts[chosen], ends[chosen], numbers[chosen]
    owners = _owners(spans, trace.work)
    spans.add_columns(base + starts, base + ends, np.full_like(starts, _WORK), owners[numbers])
    level = _HOST_LEVELS["between kernels"]
    for each in trace.runs:
        owner = ("between kernels", each.program)
        spans.add(base + each.start, base + each.end, level, owner)
    return counts


def _owners(spans: OwnedSpans, runs: OpRuns) -> NDArray[np.int64]:
    """The number of the owner of each key."""
    return np.array([spans.number(("kernel", *key[1:])) for key in runs.keys], dtype=np.int64)


def _add_host(spans: OwnedSpans, recorded: Recorded) -> None:
    base = recorded.trace.started
    times = [sample.time for sample in recorded.samples]
    compiled = sorted(span.start for span in recorded.compiling)
    for each in recorded.trace.host:
        if each.kind == "dispatch" and _has_any(compiled, base + each.start, base + each.end):
            level = _HOST_LEVELS["dispatch"]  # what a call does before and after compiling
            spans.add(base + each.start, base + each.end, level, ("host", "compilation", None))
            continue
        line = _caller(each, recorded.called)  # above the events in it, which have no line
        level = _HOST_LEVELS[each.kind] + (line is not None)
        line = line or _sampled(base + each.start, times, recorded.samples)
        spans.add(base + each.start, base + each.end, level, ("host", each.kind, line))
    for compiling in recorded.compiling:
        level = _HOST_LEVELS["compilation"]
        spans.add(compiling.start, compiling.end, level, ("host", "compilation", None))
    for start, end, sample in _intervals(recorded):
        owner = ("sample", sample.kind, sample.line, sample.library)
        spans.add(start, end, _SAMPLE, owner)
    ends = (recorded.samples[-1].time if recorded.samples else recorded.started, recorded.ended)
    spans.add(*ends, _SAMPLE, ("sample", "Python", None, ""))


def _has_any(times: Sequence[int], start: int, end: int) -> bool:
    """Whether any of some times, in order, is from `start` to `end`."""
    at = bisect.bisect_left(times, start)
    return at < len(times) and times[at] <= end


def _intervals(recorded: Recorded) -> Iterator[tuple[int, int, Sample]]:
    """The time that each sample stands for: half an interval before and after it.

    If a sample is late, a C function kept the sampler from running, which began half an interval
    after the sample before on average. It is on the stack of the late sample, which stands for all
    of it.
    """
    before = recorded.started
    for sample, after in pairwise([*recorded.samples, None]):
        if sample is None:
            return
        end = min(sample.time + _HALF, (sample.time + after.time) // 2) if after else sample.time
        yield before, end, sample
        before = end


def _caller(span: HostSpan, called: Mapping[str, SourceLine | None]) -> SourceLine | None:
    """The user's line that calls a program, by an event such as "PjitFunction(step)"."""
    found = _CALL.match(span.name)
    return called.get(f"jit_{found[1]}") if found else None


def _sampled(time: int, times: list[int], samples: Sequence[Sample]) -> SourceLine | None:
    """The main thread's line in the first sample after a time, or in the last one."""
    at = min(bisect.bisect_left(times, time), len(times) - 1)
    return samples[at].own if samples else None


def _by_step(
    spans: OwnedSpans, recorded: Recorded, steps: Sequence[ProfiledStep]
) -> Mapping[object, tuple[float, ...]]:
    """The seconds of each owner in each step that is no warm-up, and before it since the last.

    They are of the steps whose name has most of the time, and at most `_MAX_STEPS` of them.
    """
    totals: Counter[str] = Counter()
    for each in steps:
        totals[each.name] += each.seconds  # type: ignore[assignment]
    if not totals:
        return {}
    name = totals.most_common(1)[0][0]
    base = recorded.trace.started
    pairs = zip(steps, recorded.trace.steps, strict=True)
    chosen = [(step, base + span.end) for step, span in pairs if step.name == name]
    warm = [number for number, (step, _) in enumerate(chosen) if not step.is_warm_up]
    warm = warm[:: -(-len(warm) // _MAX_STEPS) or 1]
    table = spans.seconds_until([end for _, end in chosen])
    return {owner: tuple(row[warm].tolist()) for owner, row in table.items()}


def _pieces(
    seconds: Mapping[object, float],
    by_step: Mapping[object, tuple[float, ...]],
    counts: Mapping[tuple[str, str], _KernelRuns],
    programs: Mapping[str, RecordedProgram],
) -> Iterator[Piece]:
    for owner, given in seconds.items():
        steps = by_step.get(owner, ())
        match owner:
            case ("kernel", str(program), str(op)):
                yield from _of_kernel(programs[program], op, given, counts[program, op], steps)
            case ("between kernels", str(program)):
                yield Piece("between kernels", _NOWHERE, given, program=program, by_step=steps)
            case ("host", str(kind), line):
                yield Piece(kind, _at(line), given, by_step=steps)
            case ("sample", str(kind), line, str(library)):
                yield Piece(kind, _at(line, library), given, by_step=steps)


def _at(line: object, library: str = "") -> Origin:
    return Origin(line if isinstance(line, SourceLine) else None, library, ())


_NOWHERE = _at(None)
_PART_OF_KIND = {"callback": "callbacks", "control": "between kernels", "transfer": "transfers"}


def _of_kernel(
    program: RecordedProgram, op: str, seconds: float, count: _KernelRuns, steps: Sequence[float]
) -> Iterator[Piece]:
    cost = program.cost_of(op)
    busy = count.busy_seconds or seconds
    is_copy = not program.name and cost.kind == "copy"
    part = "transfers" if is_copy else _PART_OF_KIND.get(cost.kind, "device work")
    for origin, fraction in cost.parts:
        own = seconds * fraction
        shown = tuple(each * fraction for each in steps)
        yield Piece(
            part,
            origin,
            own,
            busy_seconds=busy * fraction,
            program=program.name,
            kernel=cost,
            calls=count.runs,
            fraction=fraction,
            by_step=shown,
        )


def _steps(recorded: Recorded) -> list[ProfiledStep]:
    base = recorded.trace.started
    waits = [
        (start, end) for start, end, each in _intervals(recorded) if each.kind == "input pipeline"
    ]
    compiling = [(each.start, each.end) for each in recorded.compiling]
    compiling += [
        (base + each.start, base + each.end)
        for each in recorded.trace.host
        if each.kind == "compilation"
    ]
    steps: list[ProfiledStep] = []
    known: dict[str, int] = {}
    names = Counter(each.name for each in recorded.trace.steps)
    for each in recorded.trace.steps:
        start, end = base + each.start, base + each.end
        since = known.get(each.name, start)
        is_warm_up = any(a < end and start < b for a, b in compiling)
        is_warm_up |= each.name not in known and names[each.name] > 1
        waited = sum(min(b, end) - max(a, since) for a, b in waits if a < end and since < b)
        seconds = (end - start) * 1e-9
        steps.append(ProfiledStep(each.name, each.number, seconds, waited * 1e-9, is_warm_up))
        known[each.name] = end
    return steps
