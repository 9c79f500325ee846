"""`Trace`: which kernel ran when, on which device, and what the host did meanwhile.

A program with small kernels leaves millions of runs: they are columns of numbers (`OpRuns`), whose
rows are made when somebody iterates.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np

from .threads import Spans

Key = tuple[str, str, str]
"""The device, the program and the instruction of a kernel."""


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
    """Something that a thread of the host did; see `trace.HOST_KINDS`."""

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


class StepSpan(NamedTuple):
    """A step marked by `jax.profiler.StepTraceAnnotation`."""

    name: str
    number: int
    start: int
    end: int


class OpRuns:
    """Runs of kernels as columns, 24 bytes each; iteration gives `OpRun`s."""

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self._numbers: dict[Key, int] = {}
        self._columns = array("q"), array("q"), array("q")

    def number(self, key: Key) -> int:
        """The number that stands for a key in the columns."""
        found = self._numbers.setdefault(key, len(self.keys))
        if found == len(self.keys):
            self.keys.append(key)
        return found

    def append(self, run: OpRun) -> None:
        """Add one run."""
        for column, value in zip(
            self._columns, (run.start, run.end, self.number(run[:3])), strict=True
        ):
            column.append(value)

    def extend(self, runs: Iterable[OpRun]) -> None:
        """Add runs."""
        for run in runs:
            self.append(run)

    def add(self, spans: Spans) -> None:
        """Add runs whose keys are those that `number` gave."""
        for column, values in zip(self._columns, spans, strict=True):
            column.frombytes(np.ascontiguousarray(values, dtype=np.int64).tobytes())

    def rename(self, programs: Mapping[str, str]) -> None:
        """Give programs other names."""
        self.keys = [(device, programs.get(name, name), op) for device, name, op in self.keys]
        self._numbers = {key: number for number, key in enumerate(self.keys)}

    @property
    def columns(self) -> Spans:
        """Starts, ends and the indices of `keys`."""
        return Spans(*(np.array(column, dtype=np.int64) for column in self._columns))

    def __len__(self) -> int:
        return len(self._columns[0])

    def __iter__(self) -> Iterator[OpRun]:
        for start, end, number in zip(*self._columns, strict=True):
            yield OpRun(*self.keys[number], start, end)


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
    ops: OpRuns = field(default_factory=OpRuns)
    work: OpRuns = field(default_factory=OpRuns)
    runs: list[ProgramRun] = field(default_factory=list)
    host: list[HostSpan] = field(default_factory=list)
    steps: list[StepSpan] = field(default_factory=list)
    modules: dict[str, bytes] = field(default_factory=dict)
    events: int = 0
    bytes: int = 0
    notes: list[str] = field(default_factory=list)

    def join(self, other: Trace) -> None:
        """Add the events of a session that began after this one."""
        if not self.started:
            self.started = other.started
        later = other.started - self.started
        for own, added in ((self.ops, other.ops), (self.work, other.work)):
            start, end, key = added.columns
            numbers = np.array([own.number(each) for each in added.keys], dtype=np.int64)
            own.add(Spans(start + later, end + later, numbers[key]))
        self.runs += [_shifted(run, later) for run in other.runs]
        self.host += [_shifted(span, later) for span in other.host]
        self.steps += [_shifted(step, later) for step in other.steps]
        self.modules |= other.modules
        self.events += other.events
        self.bytes += other.bytes
        self.notes += [note for note in other.notes if note not in self.notes]


_Span = TypeVar("_Span", HostSpan, ProgramRun, StepSpan)


def _shifted(span: _Span, later: int) -> _Span:
    return span._replace(start=span.start + later, end=span.end + later)
