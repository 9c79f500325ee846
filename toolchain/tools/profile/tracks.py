"""What ran when, as tracks of events: steps, programs and kernels of each device, host gaps.

`page.py` draws them as a timeline, `perfetto.py` writes them as a trace. Events of one track do not
overlap: kernels that run at the same time are on tracks of their own.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...source import SourceLine
from .profile import Piece, Profile
from .programs import KernelCost
from .spans import OwnedSpans

MAX_TRACKS = 8
"""The most tracks of kernels for a device; kernels for which none is free are left out."""


class TrackEvent(NamedTuple):
    """Something that was active from `start` to `end`, in nanoseconds since 1970.

    Attributes:
        name: of the step, the program, the kernel, or the part of the wall clock.
        part: of the wall clock, see `profile.PARTS`; "step" or "program" for these.
        line: the user's line; None if unknown.
        key: the program and the kernel; empty for other events.
    """

    start: int
    end: int
    name: str
    part: str
    line: SourceLine | None = None
    key: tuple[str, str] = ("", "")

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end - self.start) * 1e-9


@dataclass(frozen=True)
class Track:
    """A line of events in order of time, which do not overlap.

    Attributes:
        process: "steps", "host" or a device such as "cpu:0".
        name: such as "kernels 2".
        events: in order.
        left_out: how many events had no room.
    """

    process: str
    name: str
    events: Sequence[TrackEvent]
    left_out: int = 0


class ProfileTracks:
    """The tracks of a profile that kept its spans.

    Args:
        profile: the measured time.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile, self._trace = profile, profile.trace
        self._spans = profile.spans or OwnedSpans(0, 0)
        self.started, self.ended = self._spans.limits

    @cached_property
    def pieces(self) -> dict[tuple[str, str], Piece]:
        """The piece of each kernel, by program and name, with most of its time."""
        found: dict[tuple[str, str], Piece] = {}
        for each in self._profile.pieces:
            if each.kernel is not None:
                key = (each.program, each.kernel.name)
                if key not in found or found[key].fraction < each.fraction:
                    found[key] = each
        return found

    def cost_of(self, key: tuple[str, str]) -> KernelCost | None:
        """The cost of a kernel."""
        return self.pieces[key].kernel if key in self.pieces else None

    @cached_property
    def steps(self) -> list[Track]:
        """A track for each name of marked steps."""
        found: dict[str, list[TrackEvent]] = {}
        for each in self._trace.steps:
            event = self._event(each.start, each.end, f"{each.name} {each.number}", "step")
            found.setdefault(each.name, []).append(event)
        return [
            Track("steps", name, packed)
            for name, events in found.items()
            for packed in _packed(events)[0]
        ]

    @cached_property
    def programs(self) -> list[Track]:
        """The runs of programs, by device."""
        called = {each.name: each.called for each in self._profile.programs}
        found: dict[str, list[TrackEvent]] = {}
        for run in self._trace.runs:
            line = called.get(run.program)
            event = self._event(run.start, run.end, run.program, "program", line)
            found.setdefault(run.device, []).append(event)
        return [
            Track(device, f"programs {number}" if number > 1 else "programs", events)
            for device, every in sorted(found.items())
            for number, events in enumerate(_packed(every)[0], 1)
        ]

    @cached_property
    def kernels(self) -> list[Track]:
        """The kernels of each device; loops and calls around other kernels are not among them."""
        found: dict[str, list[TrackEvent]] = {}
        for run in self._trace.ops:
            piece = self.pieces.get((run.program, run.op))
            if piece is None or (piece.kernel and piece.kernel.kind == "control"):
                continue
            key = (run.program, run.op)
            event = self._event(run.start, run.end, run.op, piece.part, piece.origin.line, key)
            found.setdefault(run.device, []).append(event)
        return [
            Track(device, f"kernels {number}", events, left_out if number == 1 else 0)
            for device, every in sorted(found.items())
            for tracks, left_out in [_packed(every)]
            for number, events in enumerate(tracks, 1)
        ]

    @cached_property
    def gaps(self) -> Track:
        """What the host did while no kernel ran, by the part of the wall clock and the line."""
        return Track("host", "gaps", list(self._gaps()))

    def _gaps(self) -> Iterator[TrackEvent]:
        parts = [self._part_of(owner) for owner in self._spans.owners]
        for start, end, number in _topmost(self._spans):
            part, line = parts[number]
            if part != "device work":
                yield TrackEvent(start, end, part, part, line)

    def _part_of(self, owner: object) -> tuple[str, SourceLine | None]:
        match owner:
            case ("kernel", str(program), str(op)):
                piece = self.pieces.get((program, op))
                return (piece.part if piece else "device work"), None
            case ("between kernels", _):
                return "between kernels", None
            case ("host" | "sample", str(kind), line, *_):
                return kind, line if isinstance(line, SourceLine) else None
        return "Python", None

    def _event(self, start: int, end: int, *rest: object) -> TrackEvent:
        base = self._trace.started
        return TrackEvent(base + start, base + end, *rest)  # type: ignore[arg-type]


def _packed(events: Iterable[TrackEvent]) -> tuple[list[list[TrackEvent]], int]:
    """Tracks without overlaps, and how many events had no room in `MAX_TRACKS`."""
    tracks: list[list[TrackEvent]] = []
    free: list[int] = []  # tracks without an event, the first one first
    busy: list[tuple[int, int]] = []  # the end of a track's last event, and its number
    left_out = 0
    for each in sorted(events, key=lambda event: event[:2]):
        while busy and busy[0][0] <= each.start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            number = heapq.heappop(free)
        elif len(tracks) < MAX_TRACKS:
            number = len(tracks)
            tracks.append([])
        else:
            left_out += 1
            continue
        tracks[number].append(each)
        heapq.heappush(busy, (each.end, number))
    return tracks, left_out


def _topmost(spans: OwnedSpans) -> Iterator[tuple[int, int, int]]:
    """Start, end and owner of what is active at the highest level, in order, neighbours merged.

    Of several at one level, the last to begin counts.
    """
    begin, end, level, number = spans.columns
    times = np.unique(np.concatenate([begin, end]))
    if len(times) < 2:
        return
    owners = np.full(len(times) - 1, -1)
    first, last = np.searchsorted(times, begin), np.searchsorted(times, end)
    for index in np.lexsort((begin, level)).tolist():
        owners[first[index] : last[index]] = number[index]
    changes = np.flatnonzero(np.diff(owners)) + 1
    starts = np.concatenate([[0], changes])
    ends = np.concatenate([changes, [len(owners)]])
    rows = zip(times[starts].tolist(), times[ends].tolist(), owners[starts].tolist(), strict=True)
    yield from (row for row in rows if row[2] >= 0)
