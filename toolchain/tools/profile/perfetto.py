"""A profile as Chrome trace events in JSON, which ui.perfetto.dev and chrome://tracing read.

Each process of `tracks.py` (steps, host, a device) is a process of the trace, and each track a
thread. Times are in microseconds since recording began.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import UsageError
from .profile import Profile
from .tracks import ProfileTracks, Track, TrackEvent


def write_perfetto(path: str | Path, profile: Profile) -> None:
    """Write a profile for ui.perfetto.dev; compressed if the name ends with ".gz".

    About 300 bytes for each kernel, and 20 compressed.

    Raises:
        UsageError: the file cannot be written.
    """
    name = str(path)
    try:
        with (gzip.open if name.endswith(".gz") else open)(name, "wt", encoding="utf-8") as file:
            file.write('{"displayTimeUnit": "ms", "traceEvents": [\n')
            for number, event in enumerate(trace_events(profile)):
                file.write(f"{',' if number else ''}{json.dumps(event)}\n")
            file.write("]}\n")
    except OSError as error:
        raise UsageError(f"cannot write {name}: {error.strerror or error}") from error


def trace_events(profile: Profile) -> Iterator[dict[str, Any]]:
    """The events: names of processes and threads, then complete events ("X")."""
    tracks = ProfileTracks(profile)
    processes: dict[str, int] = {}
    threads = [*tracks.steps, tracks.gaps, *tracks.programs, *tracks.kernels]
    for thread, track in enumerate(threads, 1):
        if track.process not in processes:
            number = processes[track.process] = len(processes) + 1
            yield _named("process_name", number, 0, name=track.process)
            yield _named("process_sort_index", number, 0, sort_index=number)
        process = processes[track.process]
        yield _named("thread_name", process, thread, name=track.name)
        yield _named("thread_sort_index", process, thread, sort_index=thread)
        yield from _events(tracks, track, process, thread)


def _named(what: str, process: int, thread: int, **args: Any) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": args}


def _events(
    tracks: ProfileTracks, track: Track, process: int, thread: int
) -> Iterator[dict[str, Any]]:
    known: dict[tuple[str, str], dict[str, Any]] = {}
    for event in track.events:
        if event.key[1] and event.key not in known:
            known[event.key] = _args_of_kernel(tracks, event.key)
        yield {
            "ph": "X",
            "name": event.name,
            "cat": event.part,
            "pid": process,
            "tid": thread,
            "ts": (event.start - tracks.started) / 1000,
            "dur": (event.end - event.start) / 1000,
            "args": known[event.key] if event.key[1] else _args(event),
        }


def _args(event: TrackEvent) -> dict[str, Any]:
    return {"line": str(event.line)} if event.line else {}


def _args_of_kernel(tracks: ProfileTracks, key: tuple[str, str]) -> dict[str, Any]:
    """The program, line, layer, flops and bytes of a kernel, and its least time in microseconds."""
    piece, cost = tracks.pieces[key], tracks.cost_of(key)
    args: dict[str, Any] = {
        "program": key[0],
        "line": str(piece.origin.line or piece.origin.library or ""),
        "layer": "/".join(piece.origin.scopes),
    }
    if cost is not None:
        args |= {"what": cost.what, "flops": cost.flops, "bytes": cost.bytes}
        if cost.least_seconds is not None:
            args["least_us"] = cost.least_seconds * 1e6
    return args
