"""A profile as Chrome trace events in JSON, which ui.perfetto.dev and chrome://tracing read.

Each process of `tracks.py` (steps, host, a device) is a process of the trace, and each track a
thread. Times are in microseconds since recording began.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, cast

from ...errors import UsageError
from .profile import Profile
from .tracks import ProfileTracks, Track, TrackEvent


def write_perfetto(path: str | Path, profile: Profile) -> None:
    """Write a profile for ui.perfetto.dev; compressed if the name ends with ".gz".

    About 250 bytes for each kernel, and 10 compressed.

    Raises:
        UsageError: the file cannot be written.
    """
    name = str(path)
    try:
        if name.endswith(".gz"):
            with gzip.open(name, "wt", compresslevel=3, encoding="utf-8") as file:
                _write(cast("TextIO", file), profile)
        else:
            with open(name, "w", encoding="utf-8") as file:
                _write(file, profile)
    except OSError as error:
        raise UsageError(f"cannot write {name}: {error.strerror or error}") from error


def _write(file: TextIO, profile: Profile) -> None:
    file.write('{"displayTimeUnit": "ms", "traceEvents": [')
    for number, event in enumerate(_trace_events(profile)):
        file.write(f"{',' if number else ''}\n{event}")
    file.write("\n]}\n")


def _trace_events(profile: Profile) -> Iterator[str]:
    """The events as JSON: names of processes and threads, then complete events ("X")."""
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


def _named(what: str, process: int, thread: int, **args: Any) -> str:
    event = {"ph": "M", "name": what, "pid": process, "tid": thread, "args": args}
    return json.dumps(event)


def _events(tracks: ProfileTracks, track: Track, process: int, thread: int) -> Iterator[str]:
    known: dict[object, str] = {}  # all but the times: there can be millions of events
    for event in track.events:
        kind = event.key if event.key[1] else event[2:]
        if kind not in known:
            fields = {
                "ph": "X",
                "name": event.name,
                "cat": event.part,
                "pid": process,
                "tid": thread,
                "args": _args_of_kernel(tracks, event.key) if event.key[1] else _args(event),
            }
            known[kind] = json.dumps(fields)[:-1]
        start, length = event.start - tracks.started, event.end - event.start
        yield f'{known[kind]}, "ts": {start / 1000:.3f}, "dur": {length / 1000:.3f}}}'


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
