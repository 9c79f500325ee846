"""A child process that answers requests within a time limit, and is started again after a crash.

MLIR aborts on some inputs and never finishes on others. Rooms that pass it such inputs do so in a
child (`ir.shardy`, `check.worker`, `tools.lsp.worker`). Parent and child exchange pickled messages,
each preceded by its length in eight bytes. Nothing here imports numpy, jax or MLIR.
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from time import perf_counter
from typing import IO, Any

_WALL_CLOCK_FACTOR = 10  # a request may take so many times its processor-time limit by the clock
_LONGEST_WAIT_S = 60.0  # between two looks at the clock; the system takes no infinite time


class ChildLost(Exception):
    """The child crashed or was ended at the time limit; the message says which."""


class Child:
    """A child process, started at the first request and after each crash.

    Args:
        module: the module whose `main` calls `serve`.
        limit_s: the most seconds for one request: of processor time where the system measures it,
            so that the load of the machine does not decide.
    """

    def __init__(self, module: str, limit_s: float) -> None:
        self.limit_s = limit_s
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: Any = None
        self._in_use = threading.RLock()
        self._owner = os.getpid()

    def ask(self, request: Any) -> Any:
        """The child's answer to a request; both are pickled.

        Raises:
            ChildLost: the child crashed or took too long. The next request starts another.
        """
        if self._owner != os.getpid():  # after a fork the pipes are those of the other process
            self._process, self._in_use, self._owner = None, threading.RLock(), os.getpid()
        with self._in_use:
            process = self._started()
            assert process.stdin is not None and process.stdout is not None
            try:
                write_message(process.stdin, request)
                self._wait(process)
                return read_message(process.stdout)
            except (EOFError, BrokenPipeError):
                raise ChildLost(f"died: {self._cause_of_death(process)}") from None
            except TimeoutError:
                raise ChildLost(f"took more than {self.limit_s:g} s") from None

    def close(self) -> None:
        """End the process, if there is one, also while another thread waits for its answer."""
        process = self._process
        if process is None or self._owner != os.getpid():
            return
        process.kill()  # the thread that waits meets the end of the stream, and raises ChildLost
        with self._in_use:
            if self._process is process:
                process.communicate()
                self._errors.close()
                self._process = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
            self._process = subprocess.Popen(
                # -P: modules of the current directory must not hide those of Python and jax
                [sys.executable, "-P", "-c", f"from {self._module} import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )
        return self._process

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
            start, used = perf_counter(), _processor_seconds(process.pid)
            while not selector.select(min(self.limit_s / 4, _LONGEST_WAIT_S)):
                waited = perf_counter() - start
                now = _processor_seconds(process.pid)
                spent = waited if now is None or used is None else now - used
                if spent > self.limit_s or waited > _WALL_CLOCK_FACTOR * self.limit_s:
                    self.close()
                    raise TimeoutError

    def _cause_of_death(self, process: subprocess.Popen[bytes]) -> str:
        """How the child ended: the signal, and the first line of its error output."""
        code = process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        self.close()
        errors = [line for line in lines if "ERROR" in line or "Unsupported" in line] or lines
        cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return ": ".join([cause, *errors[:1]])[:300]


def _processor_seconds(pid: int) -> float | None:
    """The processor time that a process has used; None where the system does not say."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    user, system = fields[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


# Inside the child


def serve(answer: Callable[[Any], Any]) -> None:
    """Answer requests until the parent closes the pipe."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # `input()` in a user's code reads no requests
    os.dup2(2, 1)  # what C++ prints must not mix with the answers
    while True:
        try:
            request = read_message(requests)
        except EOFError:
            return
        write_message(answers, answer(request))


def write_message(stream: IO[bytes], message: Any) -> None:
    """Send one message."""
    data = pickle.dumps(message)
    stream.write(len(data).to_bytes(8, "little") + data)
    stream.flush()


def read_message(stream: IO[bytes]) -> Any:
    """Wait for one message; EOFError where the other process has ended."""
    size = int.from_bytes(_read(stream, 8), "little")
    return pickle.loads(_read(stream, size))


def _read(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data
