"""Private names of jax used by this room. Checked on jax 0.10.2 to 0.12.0.1.

`jax.profiler.start_trace` writes two files and converts the trace to JSON when it stops. The
session below it returns the serialised trace.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
from jax._src.lib import _profiler
from jaxlib import _hlo

_SESSION: Any = _profiler.ProfilerSession


def start_session() -> Any:
    """A running session of jaxlib's profiler; its `stop()` returns a serialised XSpace.

    The backend must exist, or else its devices are not recorded. Python's functions are not traced:
    that would slow down the program.

    Raises:
        RuntimeError: another session is open in this process.
    """
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.raise_error_on_start_failure = True
    return _SESSION(options)


@contextlib.contextmanager
def before_other_sessions(then: Callable[[], None]) -> Iterator[None]:
    """Call `then` before the program starts a session of its own; a process can have only one."""

    def session(*args: Any) -> Any:
        then()
        return _SESSION(*args)

    _profiler.ProfilerSession = session
    try:
        yield
    finally:
        _profiler.ProfilerSession = _SESSION


def hlo_text(proto: bytes) -> str:
    """A serialised `HloModuleProto` as text, large constants elided."""
    options = _hlo.HloPrintOptions()
    options.print_large_constants = False
    return str(_hlo.HloModule.from_serialized_hlo_module_proto(proto).to_string(options))
