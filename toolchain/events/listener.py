"""Events for every trace, lowering and compilation of JAX, while there is a listener.

The functions of JAX that every program passes through are intercepted (`backend.interception`) as
long as something listens. Calls that hit JAX's C++ caches reach none of them and have no overhead.

The functions nest: lowering one program may trace another, and code that is traced may compile and
run a third. Each thread therefore keeps a stack of the calls it is in, and the time of a program
that another one interrupted is subtracted from the interrupted one.
"""

from __future__ import annotations

import contextlib
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

from jaxlib.mlir import ir

from ..backend import hook, interception, jax_state, log
from ..source import JxcWarning, SourceLine, current_user_line


@dataclass(eq=False)
class TraceEvent:
    """A function that JAX traces to a jaxpr.

    Attributes:
        function: the argument of `jax.jit`, or a function that JAX itself jits, such as `jnp.add`.
        options: the options of `jax.jit`, as JAX stores them.
        mesh: the mesh in context.
        names: of the array arguments, such as "batch['x']".
        source: the function as JAX's messages name it.
        avals: abstract values of the array arguments.
        args, kwargs: the arguments of the call, static ones included. Do not keep them alive.
        called: the user's line; None if the trace is part of an outer one.
        is_own: whether the trace begins a program, rather than being part of an outer trace.
        seconds: without programs that were compiled meanwhile; set at the end, like the next two.
        jaxpr: JAX's value; None if tracing failed.
        error: the exception that tracing raised.
    """

    function: Any
    options: Any
    mesh: Any
    names: Sequence[str]
    source: str
    avals: Sequence[Any]
    args: Sequence[Any]
    kwargs: dict[str, Any]
    called: SourceLine | None
    is_own: bool
    seconds: float = 0.0
    jaxpr: Any = None
    error: BaseException | None = None


@dataclass(eq=False)
class LoweringEvent:
    """A jaxpr that JAX lowered to a module.

    Attributes:
        name: of the module, such as "jit(step)".
        jaxpr: JAX's value.
        source: the function as JAX's messages name it.
        avals: abstract values of the arguments.
        layout: what else the program depends on, as text by name: the names of the arguments (empty
            where JAX has none), shardings, donation, platforms.
        module: the result.
        called: the user's line.
        seconds: of the lowering.
    """

    name: str
    jaxpr: Any
    source: str
    avals: Sequence[Any]
    layout: dict[str, tuple[str, ...]]
    module: ir.Module
    called: SourceLine | None
    seconds: float


@dataclass(eq=False)
class CompileEvent:
    """A module for which JAX got an executable, from XLA or from the persistent cache.

    Attributes:
        module: as it was lowered.
        executable: jaxlib's.
        called: the user's line.
        seconds: without jxc's passes.
        passes: what jxc's passes did; None if there were none.
        key: of the persistent cache; empty if that is off.
        is_loaded: whether the executable came from the persistent cache.
    """

    module: ir.Module
    executable: Any
    called: SourceLine | None
    seconds: float
    passes: log.PassTexts | None
    key: str
    is_loaded: bool


class EventListener(Protocol):
    """Receives the events of all threads. An exception that it raises ends its subscription."""

    keep_texts: bool
    """Whether it needs the text of the module after each of jxc's passes."""

    def trace_begins(self, event: TraceEvent) -> None: ...

    def trace_ends(self, event: TraceEvent) -> None: ...

    def lowered(self, event: LoweringEvent) -> None: ...

    def compiled(self, event: CompileEvent) -> None: ...


_listeners: tuple[EventListener, ...] = ()
_lock = threading.Lock()


@contextlib.contextmanager
def listening(listener: EventListener) -> Iterator[None]:
    """Send events to `listener` until the block ends.

    Raises:
        JxcError: this version of jax lacks a function that must be intercepted.
    """
    hook.install()  # first, so that the rewriter runs inside and is timed apart from XLA
    with _lock:
        if not _listeners:
            interception.install(_INTERCEPTORS)
        _set_listeners((*_listeners, listener))
    try:
        yield
    finally:
        _remove(listener)


def _remove(listener: EventListener) -> None:
    with _lock:
        if listener not in _listeners:
            return
        _set_listeners(tuple(each for each in _listeners if each is not listener))
        if not _listeners:
            interception.uninstall(_INTERCEPTORS)


def _set_listeners(listeners: tuple[EventListener, ...]) -> None:
    global _listeners
    _listeners = listeners
    log.pass_observer.notify = _note_passes if listeners else None
    log.pass_observer.keep_texts = any(each.keep_texts for each in listeners)


def _send(send: Callable[[EventListener], None]) -> None:
    for listener in _listeners:
        try:
            send(listener)
        except Exception as error:  # a bug of jxc must not stop the user's program
            _remove(listener)
            where = traceback.extract_tb(error.__traceback__)[-1]
            warnings.warn(
                f"jxc stopped recording at {where.name}:{where.lineno}: "
                f"{type(error).__name__}: {error}. This is a bug in jxc; your program continues.",
                JxcWarning,
                stacklevel=2,
            )


@dataclass
class _JaxCall:
    """A call of an intercepted function. While it is entered, it is on its thread's stack.

    Attributes:
        kind: "trace", "lower" or "compile".
        seconds: without those that other programs took; set on exit.
        other_seconds: seconds within the call that other programs took.
        jaxpr: in a lowering, the traced jaxpr.
        lowering: in a lowering, its event.
        passes: in a compilation, what jxc's passes did.
        key, is_loaded: in a compilation, the key in the persistent cache and whether it was found.
    """

    kind: str
    seconds: float = 0.0
    other_seconds: float = 0.0
    jaxpr: Any = None
    lowering: LoweringEvent | None = None
    passes: log.PassTexts | None = None
    key: str = ""
    is_loaded: bool = False

    def __enter__(self) -> None:
        _stack.calls.append(self)
        self.seconds = -perf_counter()

    def __exit__(self, *exc: object) -> None:
        self.seconds += perf_counter() - self.other_seconds
        _stack.calls.pop()


class _CallStack(threading.local):
    def __init__(self) -> None:
        self.calls: list[_JaxCall] = []

    def innermost(self, kind: str = "") -> _JaxCall | None:
        """The innermost call; with `kind`, None if that is of another kind."""
        found = self.calls[-1] if self.calls else None
        return found if found and kind in ("", found.kind) else None


_stack = _CallStack()


def is_tracing() -> bool:
    """Whether this thread is tracing a jitted function."""
    return any(call.kind == "trace" for call in _stack.calls)


def _subtract_from_outer(seconds: float) -> None:
    if outer := _stack.innermost():
        outer.other_seconds += seconds


# Interceptors: each receives the function of JAX that it stands for, and that function's arguments.


def _trace(proceed: Callable[..., Any], *given: Any) -> Any:
    start = perf_counter()
    event = _trace_event(*given)
    _send(lambda listener: listener.trace_begins(event))
    call = _JaxCall("trace")
    try:
        with call:
            result = proceed(*given)
        event.jaxpr = result.params["jaxpr"]
        return result
    except BaseException as error:
        event.error = error
        raise
    finally:
        event.seconds = call.seconds
        _send(lambda listener: listener.trace_ends(event))
        # A trace within a trace belongs to the outer program: only what it interrupted it for is
        # passed on.
        _subtract_from_outer(perf_counter() - start if event.is_own else call.other_seconds)


def _trace_event(
    function: Any, options: Any, mesh: Any, debug: Any, avals: Any, args: Any, kwargs: Any
) -> TraceEvent:
    outer = _stack.innermost()
    is_own = outer is None or (outer.kind == "trace" and jax_state.is_outermost_trace())
    names, source = debug.safe_arg_names(len(avals)), debug.func_src_info or ""
    called = current_user_line() if is_own else None
    return TraceEvent(function, options, mesh, names, source, avals, args, kwargs, called, is_own)


def _lower_traced(proceed: Callable[..., Any], jaxpr: Any, *args: Any, **kwargs: Any) -> Any:
    """From a traced jaxpr to a module, by way of `_lower_jaxpr` unless JAX has the module."""
    start, call = perf_counter(), _JaxCall("lower", jaxpr=jaxpr)
    with call:
        result = proceed(jaxpr, *args, **kwargs)
    if (event := call.lowering) is not None:
        event.seconds = call.seconds
        _send(lambda listener: listener.lowered(event))
    _subtract_from_outer(perf_counter() - start)
    return result


def _lower_jaxpr(
    proceed: Callable[..., Any], name: str, jaxpr: Any, *args: Any, **kwargs: Any
) -> Any:
    start = perf_counter()
    result = proceed(name, jaxpr, *args, **kwargs)
    seconds = perf_counter() - start
    outer = _stack.innermost("lower")
    if outer is not None and outer.lowering is None:
        outer.lowering = _lowering_event(name, outer.jaxpr, kwargs, result.module, seconds)
    else:  # called directly, as jax.export does
        event = _lowering_event(name, jaxpr, kwargs, result.module, seconds)
        _send(lambda listener: listener.lowered(event))
        _subtract_from_outer(perf_counter() - start)
    return result


_ARGUMENT_LAYOUT = ("arg_names", "arg_shardings", "donated_args", "in_layouts")


def _lowering_event(
    name: str, jaxpr: Any, given: dict[str, Any], module: ir.Module, seconds: float
) -> LoweringEvent:
    own = slice(given.get("num_const_args") or 0, None)  # captured arrays come first
    layout = {key: tuple(map(str, given.get(key) or ()))[own] for key in _ARGUMENT_LAYOUT}
    for key in ("result_shardings", "platforms"):
        layout[key] = tuple(map(str, given.get(key) or ()))
    source = getattr(getattr(jaxpr, "debug_info", None), "func_src_info", None) or ""
    avals = tuple(given.get("in_avals") or ())[own]
    called = current_user_line()
    return LoweringEvent(name, jaxpr, source, avals, layout, module, called, seconds)


def _compile(
    proceed: Callable[..., Any], backend: Any, module: ir.Module, *args: Any, **kwargs: Any
) -> Any:
    start, call = perf_counter(), _JaxCall("compile")
    with call:
        executable = proceed(backend, module, *args, **kwargs)
    seconds = call.seconds
    if call.passes:
        seconds -= call.passes.seconds + call.passes.seconds_writing
    event = CompileEvent(
        module, executable, current_user_line(), seconds, call.passes, call.key, call.is_loaded
    )
    _send(lambda listener: listener.compiled(event))
    _subtract_from_outer(perf_counter() - start)
    return executable


def _read_cache(proceed: Callable[..., Any], name: str, key: str, *args: Any, **kwargs: Any) -> Any:
    found = proceed(name, key, *args, **kwargs)
    if call := _stack.innermost("compile"):
        call.key, call.is_loaded = key, found[0] is not None
    return found


def _note_passes(passes: log.PassTexts) -> None:
    if call := _stack.innermost("compile"):
        call.passes = passes


_INTERCEPTORS: dict[str, interception.Interceptor] = {
    "trace": _trace,
    "resolve": _lower_traced,
    "lower": _lower_jaxpr,
    "compile": _compile,
    "read": _read_cache,
}
