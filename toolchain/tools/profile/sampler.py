"""Which line of Python the program is on while no kernel runs: samples of its stack.

Tracing every function would slow the program down, so a thread looks at the stack of the main
thread every few milliseconds. A sample stands for the time since the one before it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from types import CodeType, FrameType
from typing import NamedTuple

from ...source import (
    SourceLine,
    innermost_library_line,
    is_compiler_file,
    is_standard_library,
    owner_of,
)

INTERVAL = 0.004
"""Seconds between samples. One takes about 20 µs, so that sampling costs half a percent."""

_IMPORTS = "<frozen importlib._bootstrap>"
_GENERATOR = 0x20  # CO_GENERATOR of code objects
_NEXT = {"__next__", "__getitem__", "__getitems__", "get_next"}
_RUNNER = os.path.join("tools", "explain", "script.py")
"""The file whose frames are around those of a program that jxc runs."""
_IDLE = ("threading.py", "queue.py", "selectors.py", "socketserver.py")


_Described = tuple[str, SourceLine | None, str]


class Sample(NamedTuple):
    """What the main thread did at a time.

    Attributes:
        time: nanoseconds since 1970.
        kind: "imports", "input pipeline" (the next batch is being made), or "Python".
        line: the user's innermost line.
        library: where in a library it was called, such as "keras/src/trainers/trainer.py:412".
    """

    time: int
    kind: str
    line: SourceLine | None
    library: str


class StackSampler:
    """Samples the stack of the main thread from `start` to `stop`."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.seconds = 0.0
        self._known: dict[tuple[tuple[int, int], ...], _Described] = {}
        self._codes: list[CodeType] = []  # kept, so that their addresses are not used again
        self._own = sys.argv[0]  # the command jxc, which is no file of the user's
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="jxc-profile", daemon=True)

    def start(self) -> None:
        """Start sampling."""
        self._thread.start()

    def stop(self) -> None:
        """Stop sampling; a last sample stands for the time since the one before."""
        if not self._end.is_set():
            self._end.set()
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._end.wait(INTERVAL):
            begun = time.thread_time()
            self._take()
            self.seconds += time.thread_time() - begun

    def _take(self) -> None:
        now = time.time_ns()
        frames = sys._current_frames()
        frame = frames.get(threading.main_thread().ident or 0)
        if frame is None or _is_idle(frame):
            own = threading.get_ident()
            others = (each for ident, each in frames.items() if ident != own)
            frame = next((each for each in others if not _is_idle(each)), frame)
        if frame is not None:
            self.samples.append(Sample(now, *self._describe(frame)))

    def _describe(self, frame: FrameType) -> _Described:
        stack: list[FrameType] = []
        current: FrameType | None = frame
        while current is not None and not current.f_code.co_filename.endswith(_RUNNER):
            stack.append(current)
            current = current.f_back
        key = tuple((id(each.f_code), each.f_lineno or 0) for each in stack)
        if key not in self._known:
            self._codes += [each.f_code for each in stack]
            self._known[key] = _description(stack, self._own)
        return self._known[key]


def _is_idle(frame: FrameType) -> bool:
    return frame.f_code.co_filename.endswith(_IDLE)


def _description(stack: list[FrameType], own: str) -> _Described:
    """The kind, the user's line and the library's line of a stack, the innermost frame first."""
    lines = [
        SourceLine(each.f_code.co_filename, each.f_lineno or 0, each.f_code.co_name)
        for each in stack
        if each.f_code.co_filename != own
    ]
    owned = [(line, owner_of(line.file)) for line in lines]
    user = next((line for line, owner in owned if owner == "user"), None)
    typed = next((line for line, owner in owned if owner == "typed"), None)
    return _kind(stack), user or typed, innermost_library_line(reversed(lines))


def _kind(stack: list[FrameType]) -> str:
    names = {each.f_code.co_filename for each in stack}
    if _IMPORTS in names:
        return "imports"
    return "input pipeline" if any(map(_makes_batches, stack)) else "Python"


def _makes_batches(frame: FrameType) -> bool:
    """Whether a frame makes the next item of an iterator: a generator, or `__next__`."""
    code = frame.f_code
    if code.co_name.startswith("<") or code.co_filename.endswith("contextlib.py"):
        return False
    if not (code.co_flags & _GENERATOR or code.co_name in _NEXT):
        return False
    file = code.co_filename
    return not is_compiler_file(file) and not is_standard_library(file)
