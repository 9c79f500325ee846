"""`Profile`: the measured time of a program, grouped by line, layer, kernel and program."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from ...events.runs import Trace
from ...source import SourceLine
from . import SCHEMA_VERSION
from .programs import KernelCost
from .unlabelled import Origin

if TYPE_CHECKING:
    from .spans import OwnedSpans

Grouping = Literal["line", "layer", "kernel", "program"]

WARM_UP = ("imports", "compilation")
"""The parts of the wall clock that are counted as warm-up."""

PARTS = {
    "imports": "importing modules",
    "compilation": "tracing, lowering and compiling, while no kernel ran",
    "device work": "at least one kernel ran",
    "between kernels": "XLA's runtime, within a program, while no kernel ran",
    "callbacks": "Python functions that a compiled program called",
    "transfers": "copies between the host and a device",
    "dispatch": "calls of compiled programs before their first kernel",
    "input pipeline": "Python that makes the next batch, while no kernel ran",
    "Python": "other Python, while no kernel ran",
}
"""Each part of the wall clock, in the order in which they are printed."""

UNKNOWN = "(unknown)"
"""The name of a row whose line is not known."""

_MIN_STEPS = 4  # for quartiles
_MIN_SPLIT = 0.5  # of the time: a line with more is split into the layers that it calls


@dataclass(frozen=True)
class Piece:
    """The smallest unit of measured time: a kernel's part of one line, or host work on one line.

    Attributes:
        part: of the wall clock, see `PARTS`.
        origin: the line, the library and the named scopes.
        seconds: of the wall clock.
        busy_seconds: the sum over devices; on the CPU, whose devices share its cores, `seconds`.
        program: such as "jit_step(4)"; empty for work of the host.
        kernel: the kernel; None for work of the host.
        calls: how often it ran.
        fraction: the part of the kernel's time; below 1 where a fusion has ops of several lines.
        by_step: seconds in each of up to 200 steps without warm-up, and since the step before.
    """

    part: str
    origin: Origin
    seconds: float
    busy_seconds: float = 0.0
    program: str = ""
    kernel: KernelCost | None = None
    calls: int = 0
    fraction: float = 1.0
    by_step: tuple[float, ...] = ()


@dataclass(frozen=True)
class ProfileRow:
    """The time of a line, layer, kernel or program.

    Attributes:
        name: the group: "train.py:31", "block_1/conv", "jit_step(4) fusion.3", "jit_step(4)".
        detail: the layer or the library's line where a line is split; a kernel's ops; a program's
            caller.
        part: of the wall clock, see `PARTS`.
        line: the user's line; None if there is none, or several.
        seconds: of the wall clock.
        share: of the running time, which is the wall clock without warm-up.
        calls: how often it ran: the runs of the most frequent kernel in each program, added up; 0
            for work of the host.
        flops, bytes: of all calls.
        roofline: the least seconds by the roofline, divided by the measured ones; None if unknown.
        is_estimated: whether more than a tenth of it is a part of kernels of several lines.
        o2_seconds: the time under O2, by a ratio measured on random arguments; None if that changes
            nothing, or was not measured.
        step_seconds: the first quartile, the median and the third quartile of its seconds in a
            marked step; None without at least four steps.
    """

    name: str
    detail: str
    part: str
    line: SourceLine | None
    seconds: float
    share: float
    calls: int
    flops: float
    bytes: float
    roofline: float | None
    is_estimated: bool
    o2_seconds: float | None = None
    step_seconds: tuple[float, float, float] | None = None

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        line = self.line
        place = {"file": line.file, "line": line.line, "text": line.text} if line else None
        return vars(self) | {"line": place}


@dataclass(frozen=True)
class ProfiledStep:
    """A step marked by `jax.profiler.StepTraceAnnotation`.

    Attributes:
        name, number: of the annotation.
        seconds: its length.
        waited: seconds in the input pipeline since the step before.
        is_warm_up: whether it is the first of its name, or something was compiled in it.
    """

    name: str
    number: int
    seconds: float
    waited: float
    is_warm_up: bool


@dataclass(frozen=True)
class ProfiledProgram:
    """A program that ran.

    Attributes:
        name: such as "jit_step(4)".
        runs: how often it ran.
        called: the user's line that it was compiled for; None if unknown.
    """

    name: str
    runs: int
    called: SourceLine | None


@dataclass(frozen=True, repr=False)
class Profile:
    """The measured time of a program; `presentation.as_text` prints it.

    Attributes:
        name: of the program.
        seconds: the wall clock, from the start of the program to the end of recording.
        parts: seconds of each part of the wall clock (`PARTS`); they add up to `seconds`.
        pieces: the time in its smallest units, which groups are sums of.
        programs: those that ran.
        steps: marked steps, in order.
        compiled: how many programs were compiled.
        overhead: the measured cost of recording: how many times as long as without a run of a
            program took, by its name. Programs that were not run without recording are left out.
        device: the device that rooflines are for; empty if it is not known.
        notes: what limits the result: lost events, a short recording.
        trace: the events.
        spans: everything that was active, and when; None if it was not kept.
        o2: the measured ratio of each piece's time under O2, by program and line.
    """

    name: str
    seconds: float
    parts: dict[str, float]
    pieces: Sequence[Piece]
    programs: Sequence[ProfiledProgram] = ()
    steps: Sequence[ProfiledStep] = ()
    compiled: int = 0
    overhead: Mapping[str, float] = field(default_factory=dict)
    device: str = ""
    notes: Sequence[str] = ()
    trace: Trace = field(default_factory=Trace)
    spans: OwnedSpans | None = None
    o2: dict[tuple[str, str], float] = field(default_factory=dict)

    @property
    def warm_up_seconds(self) -> float:
        """Imports and compilation."""
        return sum(self.parts.get(name, 0.0) for name in WARM_UP)

    @property
    def running_seconds(self) -> float:
        """The wall clock without warm-up."""
        return self.seconds - self.warm_up_seconds

    def rows(self, by: Grouping = "line") -> list[ProfileRow]:
        """The running time by line, layer, kernel or program, the longest first.

        A line with more than half of the time that calls into a library, such as `model.fit(x)`, is
        split into the layers, or else the lines, of the library.
        """
        pieces = [each for each in self.pieces if each.part not in WARM_UP]
        key = _KEYS[by](self, pieces)
        groups: dict[tuple[str, str], list[Piece]] = {}
        for each in pieces:
            groups.setdefault(key(each), []).append(each)
        rows = [self._row(*name, each) for name, each in groups.items()]
        return sorted(rows, key=lambda row: -row.seconds)

    def _row(self, name: str, detail: str, pieces: list[Piece]) -> ProfileRow:
        seconds = sum(each.seconds for each in pieces)
        known = [p for p in pieces if p.kernel and p.kernel.least_seconds is not None]
        busy = sum(each.busy_seconds for each in known)
        least = sum(_least(each) for each in known)
        parts: dict[str, float] = {}
        for each in pieces:
            parts[each.part] = parts.get(each.part, 0.0) + each.seconds
        lines = {str(each.origin.line): each.origin.line for each in pieces}
        divided = sum(each.seconds for each in pieces if each.fraction < 1)
        is_covered = busy > seconds / 2
        return ProfileRow(
            name=name,
            detail=detail,
            part=max(parts, key=lambda each: parts[each]),
            line=next(iter(lines.values())) if len(lines) == 1 else None,
            seconds=seconds,
            share=seconds / self.running_seconds if self.running_seconds else 0.0,
            calls=_calls(pieces),
            flops=sum(p.kernel.flops * p.calls * p.fraction for p in pieces if p.kernel),
            bytes=sum(p.kernel.bytes * p.calls * p.fraction for p in pieces if p.kernel),
            roofline=least / busy if busy and is_covered else None,
            is_estimated=divided > seconds / 10,
            o2_seconds=self._under_o2(pieces),
            step_seconds=_quartiles_of([each.by_step for each in pieces if each.by_step]),
        )

    def _under_o2(self, pieces: list[Piece]) -> float | None:
        ratios = [self.o2.get((each.program, str(each.origin.line))) for each in pieces]
        if all(ratio is None for ratio in ratios):
            return None
        pairs = zip(pieces, ratios, strict=True)
        return sum(p.seconds * (1.0 if ratio is None else ratio) for p, ratio in pairs)

    def as_json(self) -> dict[str, Any]:
        """As the object of `--json`; times in seconds, sizes in bytes."""
        groupings: tuple[Grouping, ...] = ("line", "layer", "kernel", "program")
        return {
            "schema_version": SCHEMA_VERSION,
            "program": self.name,
            "seconds": self.seconds,
            "warm_up_seconds": self.warm_up_seconds,
            "running_seconds": self.running_seconds,
            "parts": {name: self.parts.get(name, 0.0) for name in PARTS},
            "compiled": self.compiled,
            "overhead": dict(self.overhead),
            "device": self.device,
            "events": self.trace.events,
            "trace_bytes": self.trace.bytes,
            "notes": list(self.notes),
            "steps": [vars(step) for step in self.steps],
            "programs": [vars(p) | {"called": str(p.called or "")} for p in self.programs],
            "by": {by: [row.as_json() for row in self.rows(by)] for by in groupings},
        }

    def __repr__(self) -> str:
        busy = self.parts.get("device work", 0.0)
        return f"<jxc profile of {self.name}: {self.seconds:.3g} s, {busy:.3g} s of device work>"

    def with_o2(self, ratios: dict[tuple[str, str], float]) -> Profile:
        """The same with measurements of O2's effect, see `changes.py`."""
        return replace(self, o2=ratios)


def _quartiles_of(by_step: Sequence[tuple[float, ...]]) -> tuple[float, float, float] | None:
    """The quartiles of the sums over pieces of the seconds in each step."""
    sums = [sum(each) for each in zip(*by_step, strict=True)]
    if len(sums) < _MIN_STEPS:
        return None
    first, median, third = statistics.quantiles(sums, method="inclusive")
    return first, median, third


def _calls(pieces: list[Piece]) -> int:
    """The runs of the most frequent kernel in each program, added up."""
    most: dict[str, int] = {}
    for each in pieces:
        most[each.program] = max(most.get(each.program, 0), each.calls)
    return sum(most.values())


def _least(piece: Piece) -> float:
    assert piece.kernel is not None and piece.kernel.least_seconds is not None
    return piece.kernel.least_seconds * piece.calls * piece.fraction


# Groupings

_Key = Callable[[Piece], tuple[str, str]]


def _by_line(profile: Profile, pieces: list[Piece]) -> _Key:
    totals: dict[str, dict[str, float]] = {}
    for each in pieces:
        if each.kernel:
            line, detail = str(each.origin.line), _detail(each.origin)
            found = totals.setdefault(line, {})
            found[detail] = found.get(detail, 0.0) + each.seconds
    most = _MIN_SPLIT * sum(sum(found.values()) for found in totals.values())
    split = {
        line for line, found in totals.items() if sum(found.values()) > most and _is_split(found)
    }

    def key(piece: Piece) -> tuple[str, str]:
        origin = piece.origin
        line = str(origin.line) if origin.line else origin.library or UNKNOWN
        if piece.kernel is None:
            return line, piece.part
        if line == UNKNOWN:
            return line, piece.kernel.what.rpartition(": ")[2]
        return line, _detail(origin) if line in split else ""

    return key


def _is_split(details: dict[str, float]) -> bool:
    """Whether at least two layers have a tenth of a line's time."""
    total = sum(details.values())
    return sum(seconds > total / 10 for detail, seconds in details.items() if detail) > 1


def _detail(origin: Origin) -> str:
    """The layer that a library's op belongs to, or the library's line without a layer."""
    return (_layer(origin) or origin.library) if origin.library else ""


def _layer(origin: Origin) -> str:
    return "/".join(origin.scopes)


def _by_layer(profile: Profile, pieces: list[Piece]) -> _Key:
    def key(piece: Piece) -> tuple[str, str]:
        if piece.kernel is None:
            return f"({piece.part})", ""
        return _layer(piece.origin) or "(no named scope)", ""

    return key


def _by_kernel(profile: Profile, pieces: list[Piece]) -> _Key:
    def key(piece: Piece) -> tuple[str, str]:
        if piece.kernel is None:
            return f"({piece.part})", ""
        return f"{piece.program} {piece.kernel.name}".strip(), piece.kernel.what

    return key


def _by_program(profile: Profile, pieces: list[Piece]) -> _Key:
    called = {each.name: str(each.called or "") for each in profile.programs}

    def key(piece: Piece) -> tuple[str, str]:
        if not piece.program:
            return f"({piece.part})", ""
        return piece.program, called.get(piece.program, "")

    return key


_KEYS: dict[Grouping, Callable[[Profile, list[Piece]], _Key]] = {
    "line": _by_line,
    "layer": _by_layer,
    "kernel": _by_kernel,
    "program": _by_program,
}
