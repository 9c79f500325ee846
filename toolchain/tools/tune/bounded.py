"""Calls with a time limit, which XLA's compiler and executables do not have themselves."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

import jax

T = TypeVar("T")

EXIT_SECONDS = 60.0
"""How long the end of the process waits for an abandoned call.

XLA is not interrupted, and before Python 3.13 a thread that returns to Python while the process
ends aborts it."""


class TookTooLong(Exception):
    """A call did not end within its limit. Its thread goes on."""


def bounded(call: Callable[[], T], seconds: float) -> T:
    """The result of a call that may take so many seconds.

    The call runs on a thread of its own with this thread's settings of JAX's element types. Python
    handles Ctrl-C meanwhile, which it does not while it waits for XLA.

    Raises:
        TookTooLong: it took longer.
        BaseException: what the call raised.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    has_x64 = bool(jax.config.jax_enable_x64)

    def run() -> None:
        try:
            with jax.enable_x64(has_x64):
                results.append(call())
        except BaseException as error:
            errors.append(error)

    context: Any = copy_context()
    thread = threading.Thread(target=context.run, args=(run,), daemon=True, name="jxc-tune")
    thread.start()
    try:
        thread.join(max(seconds, 0.001))
    finally:
        if thread.is_alive():
            atexit.register(thread.join, EXIT_SECONDS)
    if thread.is_alive():
        raise TookTooLong
    if errors:
        raise errors[0]
    return results[0]
