"""Run a module: on StableHLO's reference interpreter in a child process, or on XLA.

Both engines take numpy arrays and return results as arrays of numpy's own types, see `widen`.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxlib.mlir import ir

from ..child import Child, ChildLost
from ..ir import write_bytecode
from ..units import show_bytes
from .inputs import CannotRun, is_float

if TYPE_CHECKING:
    from ..backend.lowered import Executable

AS_SPECIFIED = {
    "xla_cpu_experimental_ynn_fusion_type": "",  # its fusions: sum(maximum(x, 0)) drops NaNs
    "xla_allow_excess_precision": False,
}
"""XLA's options with which it keeps the NaNs and the roundings that StableHLO specifies.

XLA:CPU leaves out roundings to 16 bits within a fusion. A program that is computed almost without
them would be no measure of the rounding of one in which other ops are fused."""

MEMORY_LIMIT = 8 << 30
"""The most bytes of temporaries and results of a module that is run on XLA."""


class Interpreter:
    """StableHLO's reference interpreter in a child process, started again after a crash.

    Args:
        limit_s: the most seconds for one run: of processor time where the system measures it, so
            that the load of the machine does not decide.

    Attributes:
        spent_s: processor seconds of all runs so far, without the start of the child.
    """

    spent_s = 0.0

    def __init__(self, limit_s: float = 20.0) -> None:
        self._limit_s = limit_s
        self._child = Child("jxc.check.worker", limit_s)
        self._fatal: dict[bytes, str] = {}  # modules that ended a child, and how

    def run(self, module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """@main's results, widened (see `widen`).

        Raises:
            CannotRun: it crashed, failed or took too long; the message says which.
        """
        code = write_bytecode(module)
        if code in self._fatal:  # starting another child takes long, so it is not retried
            raise CannotRun(self._fatal[code])
        wire = [part for array in inputs for part in widen(array)]
        try:
            status, answer, seconds = self._child.ask((code, wire))
        except ChildLost as lost:
            self.spent_s += self._child.limit_s
            reason = f"the interpreter {lost}"
            if self._child.limit_s == self._limit_s:
                self._fatal[code] = reason
            raise CannotRun(reason) from None
        self.spent_s += seconds
        if status == "failed":
            raise CannotRun(f"the interpreter refused: {answer}")
        results: list[np.ndarray] = answer
        return results

    @contextmanager
    def limited(self, limit_s: float) -> Iterator[None]:
        """Allow each run inside so many seconds at most, as `limit_s` of this class."""
        self._child.limit_s = min(self._limit_s, limit_s)
        try:
            yield
        finally:
            self._child.limit_s = self._limit_s

    def close(self) -> None:
        """End the child, if there is one."""
        self._child.close()


@cache
def shared_interpreter() -> Interpreter:
    """One interpreter for the whole process."""
    interpreter = Interpreter()
    atexit.register(interpreter.close)
    return interpreter


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
            raise _refused(error) from error
        return [part for result in results for part in widen(np.asarray(result))]

    def compile(self) -> None:
        """Compile the module now.

        Raises:
            CannotRun: the module cannot be compiled.
        """
        try:
            _ = self._compiled
        except Exception as error:
            raise _refused(error) from error

    @cached_property
    def _compiled(self) -> Executable:
        from ..backend.from_module import lowered_from_module

        return lowered_from_module(self._module).compile(xla_options=self._options)


def _refused(error: Exception) -> CannotRun:
    return CannotRun(f"XLA refused: {str(error).strip().splitlines()[0][:300]}")


def as_specified(module: ir.Module) -> XlaProgram:
    """The module on XLA, where results have the NaNs and roundings that StableHLO specifies."""
    return XlaProgram(module, AS_SPECIFIED)


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
