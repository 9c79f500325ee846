"""Work in a child process, so that a crash inside MLIR or XLA ends in a sentence, not in silence.

Some inputs kill MLIR (a quantised type with bounds, say), and nothing in Python can catch that. A
fork before MLIR is loaded costs about a millisecond; afterwards it would dead-lock.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from ..errors import JxcError

_STAGE_BYTES = 4096


_ENDED_BY_OTHERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)


class CrashError(JxcError):
    """The native code under us died. Ours to report, with what led there (exit code 4)."""

    exit_code = 4


class Stage:
    """What the child is doing, as the parent can still read it when the child is dead."""

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, _STAGE_BYTES)

    def enter(self, doing: str) -> None:
        """Say what comes next, such as "in pass 'cse'"."""
        raw = doing.encode()[: _STAGE_BYTES - 1]
        self._page[: len(raw) + 1] = raw + b"\0"

    def __str__(self) -> str:
        return self._page[:].split(b"\0", 1)[0].decode(errors="replace")

    def before(self, step: Any, module: Any) -> None:
        """As an instrument of a pipeline: a pass is about to run."""
        self.enter(f"in pass {step.name!r}")

    def after(self, step: Any, module: Any, report: Any) -> None:
        """As an instrument of a pipeline: a pass is done."""
        self.enter(f"after pass {step.name!r}")


def in_child(data: bytes | None, command: Callable[[Path], list[str]]) -> Stage:
    """Fork: returns in the child only. The parent waits, and ends as the child did.

    Args:
        data: the input, kept by the parent for a reproducer; None where there is no file to save.
        command: the arguments of `jxc` that do the same again on a file.

    Raises:
        CrashError: in the parent, when a signal ended the child; with the child's exit code, the
            parent leaves at once.
    """
    stage = Stage()
    if not hasattr(os, "fork"):
        return stage
    child = os.fork()
    if child == 0:
        return stage
    for number in (signal.SIGTERM, signal.SIGHUP):  # sent to us alone; SIGINT goes to both
        signal.signal(number, lambda caught, _: os.kill(child, caught))
    status = _wait(child)
    if os.WIFEXITED(status):
        leave(os.WEXITSTATUS(status))
    if os.WTERMSIG(status) in _ENDED_BY_OTHERS:
        leave(128 + os.WTERMSIG(status))
    raise _crash(signal.Signals(os.WTERMSIG(status)).name, str(stage), data, command)


def _wait(child: int) -> int:
    try:
        return os.waitpid(child, 0)[1]
    except KeyboardInterrupt:  # the child got it too, and cleans up after itself
        return os.waitpid(child, 0)[1]


def leave(code: int) -> NoReturn:
    """End the process without taking Python and MLIR apart, which is a tenth of a small run."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # None where the shell closed it: `>&-`
            stream.flush()
    os._exit(code)


def _crash(
    name: str, stage: str, data: bytes | None, command: Callable[[Path], list[str]]
) -> CrashError:
    import shlex
    import tempfile

    error = CrashError(f"native code crashed ({name}) {stage}")
    if data is None:
        return error
    with tempfile.NamedTemporaryFile(prefix="jxc-crash-", suffix=".mlir", delete=False) as file:
        file.write(data)
    error.add_note(f"reproducer: {shlex.join(['jxc', *command(Path(file.name))])}")
    return error
