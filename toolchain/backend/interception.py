"""Running functions of jxc around JAX's own functions that trace, lower and compile programs.

Every program that JAX compiles passes through the functions of `_private.POINTS`. Calls that hit
JAX's C++ caches reach none of them. An interceptor is a function
`intercept(proceed, *args, **kwargs)`: it calls `proceed` with the arguments of JAX's function, or
with others, and returns a result of the same type.

The rewriter (`hook`), the recorder of `jxc explain`, and `compiled_by` use interceptors. Each of
JAX's functions is replaced when its first interceptor is installed, and restored when the last is
removed. The interceptor that was installed last runs outermost.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from . import _private
from .xla_options import with_backend_options, without_attribute

Interceptor = Callable[..., Any]
"""Called as `intercept(proceed, *args, **kwargs)`, on the thread that compiles."""

_private.hide_from_tracebacks(__file__)


class _Point:
    """One function of JAX's, and the interceptors around it, the outermost last."""

    def __init__(self, name: str) -> None:
        self.module, self.attribute = _private.point(name)
        self.interceptors: tuple[Interceptor, ...] = ()
        self.original: Any = None
        self.replacement: Any = None

    def set(self, interceptors: tuple[Interceptor, ...]) -> None:
        """Run these interceptors around JAX's function from now on; without any, restore it."""
        if self.replacement is None:
            self.original = getattr(self.module, self.attribute)
        self.interceptors, composed = interceptors, self.original
        for interceptor in interceptors:
            composed = partial(interceptor, composed)
        self.composed = composed
        if self.replacement is None:

            def replacement(*args: Any, **kwargs: Any) -> Any:
                return self.composed(*args, **kwargs)

            self.replacement = replacement
            setattr(self.module, self.attribute, replacement)
        # If another package has wrapped our replacement, it stays and passes calls through.
        is_ours = getattr(self.module, self.attribute) is self.replacement
        if is_ours and not interceptors:
            setattr(self.module, self.attribute, self.original)
            self.replacement = None


_points: dict[str, _Point] = {}
_lock = threading.Lock()


def install(interceptors: Mapping[str, Interceptor]) -> None:
    """Run functions around JAX's own from now on, on every thread.

    JAX leaves the frames of jxc's files out of tracebacks, and out of the locations in modules.

    Args:
        interceptors: by the key of `_private.POINTS`.

    Raises:
        JxcError: the installed jax lacks one of the functions; none is intercepted then.
    """
    with _lock:
        for name in interceptors.keys() - _points.keys():
            _points[name] = _Point(name)
        for name, interceptor in interceptors.items():
            if interceptor.__module__.startswith("jxc."):
                _private.hide_from_tracebacks(inspect.getfile(interceptor))
            _points[name].set((*_points[name].interceptors, interceptor))


def uninstall(interceptors: Mapping[str, Interceptor]) -> None:
    """Undo `install`; JAX's own functions are back once no interceptor is left."""
    with _lock:
        for name, interceptor in interceptors.items():
            left = (i for i in _points[name].interceptors if i is not interceptor)
            _points[name].set(tuple(left))


@contextlib.contextmanager
def compiled_by(module: Any, compile_: Callable[[Callable[[], Any]], Any]) -> Iterator[None]:
    """Within the block, JAX gets its executable of `module` from `compile_(plain)`.

    Args:
        module: the object that JAX will compile; other modules are not affected.
        compile_: returns jaxlib's executable. Its argument `plain()` compiles the module as JAX
            does, without the persistent cache.
    """

    def intercept(proceed: Callable[..., Any], *args: Any) -> Any:
        backend, computation, _, options, callbacks, devices, *_ = args
        if computation is not module:
            return proceed(*args)
        return compile_(
            lambda: _private.compile_uncached(backend, computation, devices, options, callbacks)
        )

    install({"compile": intercept})
    try:
        yield
    finally:
        uninstall({"compile": intercept})


@contextlib.contextmanager
def backend_options() -> Iterator[None]:
    """Within the block, JAX takes `xla_options.BACKEND_OPTIONS` and options of modules too."""

    def intercept(proceed: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        backend, computation, devices, options, *rest = args
        module, chosen = without_attribute(computation, options)
        return proceed(backend, module, devices, with_backend_options(chosen), *rest, **kwargs)

    install({"compile": intercept})
    try:
        yield
    finally:
        uninstall({"compile": intercept})
