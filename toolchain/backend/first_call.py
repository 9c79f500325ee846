"""Replacing the executable of a program at its first call, before JAX's C++ dispatch has copied it.

It sets attributes of JAX's `MeshExecutable` and `ExecuteReplicated`. Checked on jax 0.10.2 to
0.12.0.1.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any


def replace_at_first_call(
    executable: Any,
    choose: Callable[[Sequence[Any], Sequence[Any]], tuple[Any, list[Any] | None]],
) -> None:
    """Let the first call of a `MeshExecutable` choose jaxlib's executable that runs from then on.

    Other threads that call the program meanwhile wait. JAX's C++ dispatch copies the executable
    after the first call, so later calls have no overhead.

    Args:
        executable: what `UnloadedMeshExecutable.load` returned.
        choose: called with the arrays of the first call, as jaxlib's executable takes them, and
            the handlers of its results; returns jaxlib's executable, and the results of the call
            if it has them. If it raises, the program keeps its executable.
    """
    build = executable.build_unsafe_call

    def build_replaced() -> Any:
        executable.build_unsafe_call = build  # so that `choose` is freed after the first call
        run = build()
        if not (run.ordered_effects or run.has_unordered_effects or run.has_host_callbacks):
            run.xla_executable = _FirstCall(executable, run, choose)
        return run

    executable.build_unsafe_call = build_replaced


class _FirstCall:
    """Stands for jaxlib's executable of a program until the first call has ended."""

    def __init__(self, mesh_executable: Any, run: Any, choose: Callable[..., Any]) -> None:
        self._owners = (mesh_executable, run)
        self._chosen, self._choose = run.xla_executable, choose
        self._is_due, self._lock = True, threading.RLock()

    def execute_sharded(self, arrays: Sequence[Any], **options: Any) -> Any:
        results = None
        with self._lock:
            if self._is_due:
                self._is_due = False  # also for a call made by `choose`
                handlers = self._owners[1].out_handler.handlers
                try:
                    self._chosen, results = self._choose(arrays, handlers)
                finally:
                    for owner in self._owners:
                        owner.xla_executable = self._chosen
        if results is not None:
            return _Results(results)
        return self._chosen.execute_sharded(arrays, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chosen, name)


class _Results:
    """Stands for jaxlib's results of a call that has run."""

    def __init__(self, arrays: list[Any]) -> None:
        self._arrays = arrays

    def consume_with_handlers(self, handlers: Sequence[Any], **options: Any) -> list[Any]:
        return self._arrays
