"""Private names of jax used by this room. Checked on jax 0.10.2 to 0.12.0.1.

`jax.profiler.start_trace` writes two files and converts the trace to JSON when it stops. The
session below it returns the serialised trace.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
from jax._src import hardware_utils
from jax._src.lib import _jax, _profiler
from jaxlib import _hlo

from ..errors import JxcError

_SESSION: Any = _profiler.ProfilerSession
_REGISTER: Any = _profiler.register_plugin_profiler


def skip_absent_tpus() -> None:
    """Keep the profiler of libtpu out of sessions where there is no TPU.

    JAX loads libtpu where it is installed, and registers its profiler before it finds no TPU. Its
    start then ends the process with SIGSEGV (libtpu 0.0.52). Call this before JAX has backends.
    """

    def register(plugin: Any) -> None:
        if not _jax.pjrt_plugin_loaded("tpu"):  # libtpu is registered right after it is loaded
            _REGISTER(plugin)

    if not _has_tpu() and not _jax.pjrt_plugin_loaded("tpu"):
        _profiler.register_plugin_profiler = register


def _has_tpu() -> bool:
    chips, _ = hardware_utils.num_available_tpu_chips_and_device_id()
    return bool(chips)


def start_session() -> Any:
    """A running session of jaxlib's profiler; its `stop()` returns a serialised XSpace.

    The backend must exist, or else its devices are not recorded. Python's functions are not traced:
    that would slow down the program.

    Raises:
        JxcError: libtpu is loaded without a TPU.
        RuntimeError: another session is open in this process.
    """
    is_skipped = _profiler.register_plugin_profiler is not _REGISTER
    if _jax.pjrt_plugin_loaded("tpu") and not is_skipped and not _has_tpu():
        raise JxcError(
            "libtpu is loaded, there is no TPU, and its profiler would crash: set JAX_PLATFORMS=cpu"
        )
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
