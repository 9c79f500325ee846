"""Which line of Python the program is on while no kernel runs: samples of its stack.

Tracing every function would slow the program down, so a thread looks at the stack of the main
thread every few milliseconds. A sample stands for the time since the one before it.

A frame must not be read while its thread runs: CPython 3.11 then returns freed memory. Under the
GIL, the interpreter lets another thread run only where it calls something or jumps backward.
`_walk`, which reads a stack, is therefore written out without calls and loops. An audit hook in
Python (`sys.addaudithook`) is called there all the same.
"""

from __future__ import annotations

import gc
import operator
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Any, NamedTuple, TypeAlias

from ..source import (
    SourceLine,
    innermost_library_line,
    is_compiler_file,
    is_standard_library,
    owner_of,
)

INTERVAL = 0.004
"""Seconds between samples. One takes about 20 µs, so that sampling costs half a percent."""

_MOST_FRAMES = 500
"""How many frames of a stack are read, the innermost first."""

_SWITCH_INTERVAL = INTERVAL / 8
"""Seconds for which the sampler waits until the main thread has to release the GIL.

With the 5 ms of CPython, most samples are of lines that release it anyway, such as those that wait.
"""

_IMPORTS = "<frozen importlib._bootstrap>"
_GENERATOR = 0x20  # CO_GENERATOR of code objects
_NEXT = {"__next__", "__getitem__", "__getitems__", "get_next"}
_RUNNERS = {"run": os.path.join("events", "script.py")}
"""The function whose frames are around those of a program that jxc runs, with its file."""
_COMMAND = {"profile_command": os.path.join("cli", "profile.py")}
_IDLE = (
    "threading.py",
    "queue.py",
    "selectors.py",
    "socketserver.py",
    os.path.join("concurrent", "futures", "thread.py"),
    os.path.join("multiprocessing", "connection.py"),
    os.path.join("multiprocessing", "popen_fork.py"),
    os.path.join("multiprocessing", "queues.py"),
)
"""Files whose functions wait for other threads and processes."""


_Described: TypeAlias = "tuple[str, SourceLine | None, str]"
_Stack: TypeAlias = "tuple[tuple[CodeType, int], ...]"  # codes and lines, the innermost first


class Sample(NamedTuple):
    """What the main thread did at a time.

    Attributes:
        time: nanoseconds since 1970.
        kind: "imports", "input pipeline" (the next batch is being made), or "Python".
        line: the user's innermost line; where it waits, that of a thread that runs the user's code.
        library: where in a library it was called, such as "keras/src/trainers/trainer.py:412".
        own: the user's innermost line on the main thread.
    """

    time: int
    kind: str
    line: SourceLine | None
    library: str
    own: SourceLine | None = None


class StackSampler:
    """Samples the stack of the main thread from `start` to `stop`."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self.is_sampling = False
        self._known: dict[tuple[tuple[int, int], ...], _Described] = {}
        self._stacks: list[_Stack] = []  # kept, so that addresses of codes are not used again
        self._own = sys.argv[0]  # the command jxc, which is no file of the user's
        self._end = threading.Event()
        self._before = self._during = 0.0  # seconds of the switch interval
        self._thread = threading.Thread(target=self._run, name="jxc-profile", daemon=True)

    def start(self) -> None:
        """Start sampling, if this Python can."""
        self.is_sampling = can_sample()
        if self.is_sampling:
            self._before = sys.getswitchinterval()
            sys.setswitchinterval(min(self._before, _SWITCH_INTERVAL))
            self._during = sys.getswitchinterval()
            self._thread.start()

    def stop(self) -> None:
        """Stop sampling; a last sample stands for the time since the one before."""
        if not self._end.is_set() and self.is_sampling:
            self._end.set()
            self._thread.join(timeout=5)
            if sys.getswitchinterval() == self._during:  # else the program has set its own
                sys.setswitchinterval(self._before)

    def _run(self) -> None:
        while not self._end.wait(INTERVAL):
            self._take()

    def _take(self) -> None:
        now = time.time_ns()
        main = threading.main_thread().ident or 0
        if not (stack := _stack_of(main)):
            return
        kind, own, library = self._describe(_of_program(stack))
        line = own
        if _is_idle(stack):
            # It may wait for a thread that runs the user's code.
            others = [*_threads.frames]
            others = [each for each in others if each not in (main, threading.get_ident())]
            stacks = [each for ident in others if (each := _stack_of(ident))]
            found = (self._describe(each) for each in stacks if not _is_idle(each))
            _, line, library = next((each for each in found if each[1]), (kind, line, library))
        self.samples.append(Sample(now, kind, line, library, own))

    def _describe(self, stack: _Stack) -> _Described:
        key = tuple((id(code), line) for code, line in stack)
        if key not in self._known:
            self._stacks.append(stack)
            self._known[key] = _description(stack, self._own)
        return self._known[key]


class _Threads:
    """The innermost frame of each thread, which an attribute returns without a call."""

    _current_frames = sys._current_frames  # a C function, and so no method
    frames: dict[int, FrameType] = property(  # type: ignore[assignment]
        operator.methodcaller("_current_frames")
    )


_threads = _Threads()


def _written_out() -> Callable[[_Threads, int, list[Any], list[Any]], int]:
    """A function that reads the codes and lines of a thread's stack, and returns how many."""
    lines = ["def walk(threads, ident, codes, lines):", "    frame = threads.frames[ident]"]
    for n in range(_MOST_FRAMES):
        lines += [
            f"    codes[{n}] = frame.f_code",
            f"    lines[{n}] = frame.f_lineno",
            "    frame = frame.f_back",
            "    if frame is None:",
            f"        return {n + 1}",
        ]
    names: dict[str, Any] = {}
    exec("\n".join([*lines, f"    return {_MOST_FRAMES}"]), names)
    found: Callable[[_Threads, int, list[Any], list[Any]], int] = names["walk"]
    return found


_walk = _written_out()


def can_sample() -> bool:
    """Whether Python has the GIL, without which frames of other threads cannot be read."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def _stack_of(ident: int) -> _Stack:
    """The stack of a thread; empty if it runs no Python."""
    codes: list[Any] = [None] * _MOST_FRAMES
    lines: list[Any] = [None] * _MOST_FRAMES
    collects = sys.version_info < (3, 12) and gc.isenabled()
    if collects:
        gc.disable()  # it runs where an object is made, and calls anything; later between calls
    try:
        count = _walk(_threads, ident, codes, lines)
    except KeyError:
        return ()
    finally:
        if collects:
            gc.enable()
    return tuple((codes[n], lines[n] or 0) for n in range(count))


def _of_program(stack: _Stack) -> _Stack:
    """The frames of the program that jxc runs; empty where jxc itself runs."""
    runners = [n for n, (code, _) in enumerate(stack) if _is_one_of(code, _RUNNERS)]
    is_command = any(_is_one_of(code, _COMMAND) for code, _ in stack)
    return stack[: max(runners, default=0 if is_command else len(stack))]


def _is_one_of(code: CodeType, functions: Mapping[str, str]) -> bool:
    file = functions.get(code.co_name)
    return file is not None and code.co_filename.endswith(file)


def _is_idle(stack: _Stack) -> bool:
    return stack[0][0].co_filename.endswith(_IDLE)


def _description(stack: _Stack, own: str) -> _Described:
    """The kind, the user's line and the library's line of a stack, the innermost frame first."""
    lines = [
        SourceLine(code.co_filename, line, code.co_name)
        for code, line in stack
        if code.co_filename != own
    ]
    owned = [(line, owner_of(line.file)) for line in lines]
    user = next((line for line, owner in owned if owner == "user"), None)
    typed = next((line for line, owner in owned if owner == "typed"), None)
    return _kind(stack), user or typed, innermost_library_line(reversed(lines))


def _kind(stack: _Stack) -> str:
    names = {code.co_filename for code, _ in stack}
    if _IMPORTS in names:
        return "imports"
    return "input pipeline" if any(_makes_batches(code) for code, _ in stack) else "Python"


def _makes_batches(code: CodeType) -> bool:
    """Whether a frame with this code makes the next item: a generator, or `__next__`."""
    if code.co_name.startswith("<") or code.co_filename.endswith("contextlib.py"):
        return False
    if not (code.co_flags & _GENERATOR or code.co_name in _NEXT):
        return False
    file = code.co_filename
    return not is_compiler_file(file) and not is_standard_library(file)
