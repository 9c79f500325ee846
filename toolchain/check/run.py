"""Run a module: on StableHLO's reference interpreter in a child process, or on XLA.

Both engines take numpy arrays and return results as arrays of numpy's own types, see `widen`.
"""

from __future__ import annotations

import atexit
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxlib.mlir import ir

from ..ir import write_bytecode
from ..units import show_bytes
from .inputs import CannotRun, is_float
from .worker import read_message, write_message

if TYPE_CHECKING:
    from ..backend.lowered import Executable

MEMORY_LIMIT = 8 << 30
"""The most bytes of temporaries and results of a module that is run on XLA."""

_WALL_CLOCK_FACTOR = 10  # a run may take so many times its processor-time limit by the clock


class Interpreter:
    """StableHLO's reference interpreter in a child process, started again after a crash.

    Args:
        limit_s: the most seconds for one run: of processor time where the system measures it, so
            that the load of the machine does not decide.
    """

    def __init__(self, limit_s: float = 20.0) -> None:
        self.limit_s = limit_s
        self._child: subprocess.Popen[bytes] | None = None
        self._errors: Any = None
        self._fatal: dict[bytes, str] = {}  # modules that ended a child, and how

    def run(self, module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """@main's results, widened (see `widen`).

        Raises:
            CannotRun: it crashed, failed or took too long; the message says which.
        """
        code = write_bytecode(module)
        if code in self._fatal:
            raise CannotRun(self._fatal[code])
        child = self._started()
        assert child.stdin is not None and child.stdout is not None
        wire = [part for array in inputs for part in widen(array)]
        try:
            write_message(child.stdin, (code, wire))
            self._wait(child)
            status, answer = read_message(child.stdout)
        except (EOFError, BrokenPipeError):
            raise self._lost(code, f"the interpreter died: {self._cause_of_death()}") from None
        except TimeoutError:
            reason = f"the interpreter took more than {self.limit_s:g} s"
            raise self._lost(code, reason) from None
        if status == "failed":
            raise CannotRun(f"the interpreter refused: {answer}")
        results: list[np.ndarray] = answer
        return results

    def _lost(self, code: bytes, reason: str) -> CannotRun:
        """Record a module that ended a child: starting another takes long, so it is not retried."""
        self._fatal[code] = reason
        return CannotRun(reason)

    def close(self) -> None:
        """End the child, if there is one."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None or self._child.poll() is not None:
            self.close()
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
            self._child = subprocess.Popen(
                [sys.executable, "-c", "from jxc.check.worker import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )
        return self._child

    def _wait(self, child: subprocess.Popen[bytes]) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
            start, used = perf_counter(), _processor_seconds(child.pid)
            while not selector.select(self.limit_s / 4):
                waited = perf_counter() - start
                now = _processor_seconds(child.pid)
                spent = waited if now is None or used is None else now - used
                if spent > self.limit_s or waited > _WALL_CLOCK_FACTOR * self.limit_s:
                    self.close()
                    raise TimeoutError

    def _cause_of_death(self) -> str:
        """How the child ended: the signal, and the first line of its error output."""
        assert self._child is not None
        code = self._child.wait()
        self.close()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        errors = [line for line in lines if "ERROR" in line or "Unsupported" in line] or lines
        cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return ": ".join([cause, *errors[:1]])[:300]


@cache
def shared_interpreter() -> Interpreter:
    """One interpreter for the whole process."""
    interpreter = Interpreter()
    atexit.register(interpreter.close)
    return interpreter


def _processor_seconds(pid: int) -> float | None:
    """The processor time that a process has used; None where the system does not say."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    user, system = fields[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class XlaProgram:
    """A module on XLA for the CPU, compiled at the first call.

    A module that needs more than `MEMORY_LIMIT` is not run: XLA ends the process if it gets less.

    Args:
        module: for one device, static shapes; is not to change.
        options: XLA's options by name.
    """

    def __init__(self, module: ir.Module, options: Mapping[str, Any] | None = None) -> None:
        self._module, self._options = module, options

    def __call__(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """@main's results, widened (see `widen`). Imports jax.

        Raises:
            CannotRun: the module cannot be compiled, or not called from this process, or needs too
                much memory.
        """
        import jax

        try:
            with jax.enable_x64(True):
                memory = self._compiled.memory()
                if (needed := memory["temp"] + memory["output"]) > MEMORY_LIMIT:
                    raise CannotRun(f"it needs {show_bytes(needed)} of memory")
                results = self._compiled(*inputs)
        except CannotRun:
            raise
        except Exception as error:
            reason = str(error).strip().splitlines()[0][:300]
            raise CannotRun(f"XLA refused: {reason}") from error
        return [part for result in results for part in widen(np.asarray(result))]

    @cached_property
    def _compiled(self) -> Executable:
        from ..backend.from_module import lowered_from_module

        return lowered_from_module(self._module).compile(xla_options=self._options)


def run_xla(
    module: ir.Module, inputs: Sequence[np.ndarray], options: Mapping[str, Any] | None = None
) -> list[np.ndarray]:
    """The results of an `XlaProgram` that is called once.

    Raises:
        CannotRun: the module cannot be compiled, or not called from this process.
    """
    return XlaProgram(module, options)(inputs)


def widen(array: np.ndarray) -> list[np.ndarray]:
    """The array in numpy's own types, without loss: one array, or two for complex numbers."""
    if array.dtype.kind == "c":
        return [np.asarray(array.real), np.asarray(array.imag)]
    if array.dtype.type.__module__ == "numpy":
        return [array]
    if is_float(array.dtype):
        return [array.astype(np.float32)]
    return [array.astype(np.uint32 if array.dtype.name.startswith("u") else np.int32)]
