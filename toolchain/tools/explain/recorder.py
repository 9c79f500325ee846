"""Hearing of every trace, lowering and compilation of JAX's while somebody listens.

JAX's functions that a program passes through are intercepted (`backend.interception`) for as long
as there is a listener. Calls that hit JAX's C++ caches reach none of them.
"""

from __future__ import annotations

import contextlib
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from jaxlib.mlir import ir

from ...backend import _private, hook, interception, log
from ...source import JxcWarning, current_user_line
from .events import Compiling, Listener, Lowering, Tracing

_private.hide_from_tracebacks(__file__)


_listeners: tuple[Listener, ...] = ()
_lock = threading.Lock()


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell `listener` of everything until the block ends.

    Raises:
        JxcError: this jax does not have the functions that must be wrapped.
    """
    _open(listener)
    try:
        yield
    finally:
        _close(listener)


def _open(listener: Listener) -> None:
    global _listeners
    hook.install()  # first: what wraps it later times XLA and our passes apart
    with _lock:
        if not _listeners:
            interception.install(_INTERCEPTORS)
        _set_listeners((*_listeners, listener))


def _close(listener: Listener) -> None:
    with _lock:
        if listener not in _listeners:
            return
        _set_listeners(tuple(each for each in _listeners if each is not listener))
        if not _listeners:
            interception.uninstall(_INTERCEPTORS)


def _set_listeners(listeners: tuple[Listener, ...]) -> None:
    global _listeners
    _listeners = listeners
    log.pass_observer.notify = _hear_passes if listeners else None
    log.pass_observer.keep_texts = any(each.keep_texts for each in listeners)


def _tell(tell: Callable[[Listener], None]) -> None:
    for listener in _listeners:
        try:
            tell(listener)
        except Exception as error:  # the program is not ours to stop
            _close(listener)
            where = traceback.extract_tb(error.__traceback__)[-1]
            warnings.warn(
                f"jxc stopped recording at {where.name}:{where.lineno}: "
                f"{type(error).__name__}: {error}. This is a bug of jxc; the program runs on.",
                JxcWarning,
                stacklevel=2,
            )


# What a thread is doing


@dataclass
class _Stage:
    """One of JAX's functions that a thread is in.

    Attributes:
        kind: "trace", "lower" or "compile".
        others: seconds in it that belong to other programs.
        jaxpr: the one as it was traced, in a lowering.
        lowering: what came of it.
        passes: ours, in a compilation.
        key: of the persistent cache, in a compilation.
        is_loaded: whether it had the executable.
    """

    kind: str
    others: float = 0.0
    jaxpr: Any = None
    lowering: Lowering | None = None
    passes: log.PassTexts | None = None
    key: str = ""
    is_loaded: bool = False


class _Thread(threading.local):
    def __init__(self) -> None:
        self.stages: list[_Stage] = []


_here = _Thread()


def is_tracing() -> bool:
    """Whether a jitted function is being traced on this thread."""
    return any(stage.kind == "trace" for stage in _here.stages)


def _timed(stage: _Stage, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The function's result, and the seconds it took but for programs of others within it."""
    _here.stages.append(stage)
    start = perf_counter()
    try:
        return function(*args, **kwargs), perf_counter() - start - stage.others
    finally:
        _here.stages.pop()


def _charge(start: float) -> None:
    """The time since `start` went to a program of its own: not to what it interrupted."""
    if _here.stages:
        _here.stages[-1].others += perf_counter() - start


def _tracing(original: Callable[..., Any], *given: Any) -> Any:
    start = perf_counter()
    tracing = _as_tracing(*given)
    _tell(lambda listener: listener.begins(tracing))
    stage = _Stage("trace")
    began = perf_counter()
    try:
        result, tracing.seconds = _timed(stage, original, *given)
        tracing.jaxpr = result.params["jaxpr"]
        return result
    except BaseException as error:
        tracing.seconds = perf_counter() - began - stage.others
        tracing.error = error
        raise
    finally:
        _tell(lambda listener: listener.ends(tracing))
        if tracing.is_own:
            _charge(start)
        elif _here.stages:
            _here.stages[-1].others += stage.others


def _as_tracing(
    function: Any, options: Any, mesh: Any, debug: Any, avals: Any, args: Any, kwargs: Any
) -> Tracing:
    is_own = not _here.stages or (
        _here.stages[-1].kind == "trace" and _private.is_outermost_trace()
    )
    names, source = debug.safe_arg_names(len(avals)), debug.func_src_info or ""
    called = current_user_line() if is_own else None
    return Tracing(function, options, mesh, names, source, avals, args, kwargs, called, is_own)


def _resolving(original: Callable[..., Any], jaxpr: Any, *args: Any, **kwargs: Any) -> Any:
    start, stage = perf_counter(), _Stage("lower", jaxpr=jaxpr)
    result, seconds = _timed(stage, original, jaxpr, *args, **kwargs)
    if (lowering := stage.lowering) is not None:  # else JAX had the module
        lowering.seconds = seconds
        _tell(lambda listener: listener.lowered(lowering))
    _charge(start)
    return result


def _lowering(
    original: Callable[..., Any], name: str, jaxpr: Any, *args: Any, **kwargs: Any
) -> Any:
    start = perf_counter()
    result = original(name, jaxpr, *args, **kwargs)
    outer = _here.stages[-1] if _here.stages else None
    seconds = perf_counter() - start
    if outer is not None and outer.kind == "lower" and outer.lowering is None:
        outer.lowering = _as_lowering(name, outer.jaxpr, kwargs, result.module, seconds)
    else:  # by somebody who calls it alone, as jax.export may
        alone = _as_lowering(name, jaxpr, kwargs, result.module, seconds)
        _tell(lambda listener: listener.lowered(alone))
        _charge(start)
    return result


def _as_lowering(
    name: str, jaxpr: Any, given: dict[str, Any], module: ir.Module, seconds: float
) -> Lowering:
    own = slice(given.get("num_const_args") or 0, None)  # what is captured comes first
    layout = {key: tuple(map(str, given.get(key) or ())) for key in _LAYOUT}
    layout |= {key: values[own] for key, values in layout.items() if key in _OF_ARGUMENTS}
    debug = getattr(jaxpr, "debug_info", None)
    source = getattr(debug, "func_src_info", None) or ""
    avals = tuple(given.get("in_avals") or ())[own]
    names = layout["arg_names"]
    return Lowering(name, jaxpr, source, names, avals, layout, module, current_user_line(), seconds)


_OF_ARGUMENTS = ("arg_names", "arg_shardings", "donated_args", "in_layouts")
_LAYOUT = (*_OF_ARGUMENTS, "result_shardings", "platforms")


def _compiling(
    original: Callable[..., Any], backend: Any, module: ir.Module, *args: Any, **kwargs: Any
) -> Any:
    start, stage = perf_counter(), _Stage("compile")
    executable, seconds = _timed(stage, original, backend, module, *args, **kwargs)
    if stage.passes:
        seconds -= stage.passes.seconds + stage.passes.seconds_writing
    compiling = Compiling(
        module, executable, current_user_line(), seconds, stage.passes, stage.key, stage.is_loaded
    )
    _tell(lambda listener: listener.compiled(compiling))
    _charge(start)
    return executable


def _reading(original: Callable[..., Any], name: str, key: str, *args: Any, **kwargs: Any) -> Any:
    found = original(name, key, *args, **kwargs)
    if _here.stages and _here.stages[-1].kind == "compile":
        _here.stages[-1].key = key
        _here.stages[-1].is_loaded = found[0] is not None
    return found


def _hear_passes(passes: log.PassTexts) -> None:
    if _here.stages and _here.stages[-1].kind == "compile":
        _here.stages[-1].passes = passes


_INTERCEPTORS: dict[str, interception.Interceptor] = {
    "trace": _tracing,
    "resolve": _resolving,
    "lower": _lowering,
    "compile": _compiling,
    "read": _reading,
}
