"""The process that a verb runs in: its environment, and the child that does native work.

Some inputs crash MLIR or XLA (a quantised type with bounds, for example), and Python cannot catch
that. Verbs therefore fork before MLIR is loaded, which takes a millisecond; the parent reports the
crash and saves the input. A fork after MLIR has made threads, for a context, would deadlock.
"""

from __future__ import annotations

import atexit
import mmap
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from ..errors import JxcError

_STAGE_BYTES = 4096
_ENDED_BY_OTHERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)


class CrashError(JxcError):
    """MLIR or XLA crashed: a bug of theirs or of jxc (exit code 4)."""

    exit_code = 4


class ChildStage:
    """What the child is doing, in memory that the parent can read after a crash.

    It is an instrument of a pipeline too, and then names the pass.
    """

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, _STAGE_BYTES)
        self.enter("at the start")

    def enter(self, doing: str) -> None:
        """Record what comes next, such as "in pass 'cse'"."""
        raw = doing.encode()[: _STAGE_BYTES - 1]
        self._page[: len(raw) + 1] = raw + b"\0"

    def __str__(self) -> str:
        return self._page[:].split(b"\0", 1)[0].decode(errors="replace")

    def before(self, step: Any, module: Any) -> None:
        """Record the pass that is about to run."""
        self.enter(f"in pass {step.name!r}")

    def after(self, step: Any, module: Any, report: Any) -> None:
        """Record the pass that has run."""
        self.enter(f"after pass {step.name!r}")


def in_child(
    data: bytes | None,
    command: Callable[[Path], list[str]],
    *,
    folder: str | None = None,
) -> ChildStage:
    """Fork, and return in the child. The parent waits and exits with the child's exit code.

    Args:
        data: the input, which the parent saves in a reproducer; None to save none.
        command: the arguments of `jxc` that repeat the work on a saved file.
        folder: a temporary folder, which is removed when the child has ended, also by a signal.

    Raises:
        CrashError: in the parent, when a signal such as SIGSEGV ended the child.
    """
    stage = ChildStage()
    if not hasattr(os, "fork"):
        if folder:
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return stage
    child = os.fork()
    if child == 0:
        return stage
    for number in (signal.SIGTERM, signal.SIGHUP):  # sent to the parent alone; SIGINT goes to both
        signal.signal(number, lambda caught, _: os.kill(child, caught))
    status = _wait(child)
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    if os.WIFEXITED(status):
        leave(os.WEXITSTATUS(status))
    if os.WTERMSIG(status) in _ENDED_BY_OTHERS:
        leave(128 + os.WTERMSIG(status))
    name = signal.Signals(os.WTERMSIG(status)).name
    error = CrashError(f"native code crashed ({name}) {stage}")
    if data is not None:
        import shlex
        import tempfile  # takes 8 ms

        with tempfile.NamedTemporaryFile(prefix="jxc-crash-", suffix=".mlir", delete=False) as file:
            file.write(data)
        error.add_note(f"reproducer: {shlex.join(['jxc', *command(Path(file.name))])}")
    raise error


def _wait(child: int) -> int:
    try:
        return os.waitpid(child, 0)[1]
    except KeyboardInterrupt:  # the child received it too and cleans up
        return os.waitpid(child, 0)[1]


def leave(code: int) -> NoReturn:
    """End the process and skip interpreter teardown, which is 10 % of a short run."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # None where the shell closed it: `>&-`
            stream.flush()
    os._exit(code)


# The environment, which must be set before jax is imported


def leave_out_absent_hardware() -> None:
    """Keep JAX to the CPU where this machine has no accelerator, unless the user said otherwise.

    The plugins for accelerators would search for seconds, print warnings or take a lock.
    """
    from ..backend.targets import gpu, tpu

    if not (gpu.is_here() or tpu.is_here()):
        stay_on_cpu()


def stay_on_cpu() -> None:
    """Keep JAX in this process to the CPU: other processes compile for other hardware."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")
