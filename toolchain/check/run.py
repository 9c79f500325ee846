"""Running a module: on StableHLO's reference interpreter in a child process, or through XLA."""

from __future__ import annotations

import atexit
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from time import perf_counter
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from ..ir import write_bytecode
from .inputs import CannotRun, is_float
from .worker import read_message, write_message

_PATIENCE = 10  # times the limit that a run may take by the clock


class Interpreter:
    """StableHLO's reference interpreter in a child process, started again after a crash.

    Args:
        limit_s: how long one run may take, in the child's own processor time where the system
            tells it: what else a machine does must not decide.
    """

    def __init__(self, limit_s: float = 20.0) -> None:
        self.limit_s = limit_s
        self._child: subprocess.Popen[bytes] | None = None
        self._errors: Any = None
        self._hopeless: dict[bytes, str] = {}  # modules that ended a child, and how

    def run(self, module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """@main's results, widened (see `widen`).

        Raises:
            CannotRun: it crashed, failed or took too long; the message says which.
        """
        code = write_bytecode(module)
        if code in self._hopeless:
            raise CannotRun(self._hopeless[code])
        child = self._started()
        assert child.stdin is not None and child.stdout is not None
        wire = [part for array in inputs for part in widen(array)]
        try:
            write_message(child.stdin, (code, wire))
            self._wait(child)
            verdict, answer = read_message(child.stdout)
        except (EOFError, BrokenPipeError):
            raise self._lost(code, f"the interpreter died: {self._last_words()}") from None
        except TimeoutError:
            reason = f"the interpreter took more than {self.limit_s:g} s"
            raise self._lost(code, reason) from None
        if verdict == "failed":
            raise CannotRun(f"the interpreter refused: {answer}")
        return answer

    def _lost(self, code: bytes, reason: str) -> CannotRun:
        """A child is dear: a module that ended one is not tried again."""
        self._hopeless[code] = reason
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
                if spent > self.limit_s or waited > _PATIENCE * self.limit_s:
                    self.close()
                    raise TimeoutError

    def _last_words(self) -> str:
        """How the child ended: by which signal, and what it said."""
        assert self._child is not None
        code = self._child.wait()
        self.close()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        told = [line for line in lines if "ERROR" in line or "Unsupported" in line] or lines
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return ": ".join([how, *told[:1]])[:300]


@cache
def shared_interpreter() -> Interpreter:
    """One interpreter for the whole process."""
    interpreter = Interpreter()
    atexit.register(interpreter.close)
    return interpreter


def _processor_seconds(pid: int) -> float | None:
    """What a process has used of the processor; None where the system does not tell."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    user, system = fields[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class XlaProgram:
    """A module to run through XLA on the CPU; compiled once, when it is first called.

    Args:
        module: for one device, static shapes; is not to change.
        options: XLA's options by name.
    """

    def __init__(self, module: ir.Module, options: Mapping[str, Any] | None = None) -> None:
        self._module, self._options = module, options

    def __call__(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """@main's results, widened (see `widen`). Imports jax.

        Raises:
            CannotRun: the module cannot be compiled or called from here.
        """
        import jax

        try:
            with jax.enable_x64(True):
                results = self._compiled(*inputs)
        except Exception as error:
            reason = str(error).strip().splitlines()[0][:300]
            raise CannotRun(f"XLA refused: {reason}") from error
        return [part for result in results for part in widen(np.asarray(result))]

    @cached_property
    def _compiled(self) -> Callable[..., Sequence[Any]]:
        from ..backend.from_module import lowered_from_module

        return lowered_from_module(self._module).compile(xla_options=self._options)


def run_xla(
    module: ir.Module, inputs: Sequence[np.ndarray], options: Mapping[str, Any] | None = None
) -> list[np.ndarray]:
    """An `XlaProgram` that is called once.

    Raises:
        CannotRun: the module cannot be compiled or called from here.
    """
    return XlaProgram(module, options)(inputs)


def widen(array: np.ndarray) -> list[np.ndarray]:
    """The array as types that numpy itself has, without loss: one, or two for complex numbers."""
    if array.dtype.kind == "c":
        return [np.asarray(array.real), np.asarray(array.imag)]
    if array.dtype.type.__module__ == "numpy":
        return [array]
    if is_float(array.dtype):
        return [array.astype(np.float32)]
    return [array.astype(np.uint32 if array.dtype.name.startswith("u") else np.int32)]
