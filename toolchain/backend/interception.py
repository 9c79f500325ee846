"""The one mechanism by which jxc stands between JAX and XLA.

Every program that JAX compiles passes through the functions of `_private.POINTS`: traced, lowered
to a module, compiled or read from the persistent cache. Calls that hit JAX's C++ caches reach none
of them. An interceptor is a function `intercept(proceed, *args, **kwargs)`: it calls `proceed` with
the arguments of JAX's function, or others, and returns what JAX's function would.

Three parts of jxc use it: the rewriter (`hook`), the recorder of `jxc explain`, and whatever gives
JAX an executable of its own for one module (`compiled_by`). JAX's function is replaced once for all
of them, from the first interceptor until the last is removed. An interceptor that was installed
later runs outside of those installed before it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from . import _private

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

    def add(self, interceptor: Interceptor) -> None:
        if self.replacement is None:
            original = self.original = getattr(self.module, self.attribute)

            def replacement(*args: Any, **kwargs: Any) -> Any:
                return _call(original, self.interceptors, *args, **kwargs)

            self.replacement = replacement
            setattr(self.module, self.attribute, replacement)
        self.interceptors = (*self.interceptors, interceptor)

    def remove(self, interceptor: Interceptor) -> None:
        self.interceptors = tuple(i for i in self.interceptors if i is not interceptor)
        # Where another package has wrapped our replacement, it stays and passes calls through.
        is_ours = getattr(self.module, self.attribute) is self.replacement
        if is_ours and not self.interceptors:
            setattr(self.module, self.attribute, self.original)
            self.replacement = None


def _call(
    original: Callable[..., Any], interceptors: tuple[Interceptor, ...], *args: Any, **kwargs: Any
) -> Any:
    if not interceptors:
        return original(*args, **kwargs)
    *inner, outermost = interceptors
    return outermost(partial(_call, original, tuple(inner)), *args, **kwargs)


_points: dict[str, _Point] = {}
_lock = threading.Lock()


def install(interceptors: Mapping[str, Interceptor]) -> None:
    """Run functions around JAX's own from now on, on every thread.

    Args:
        interceptors: by the key of `_private.POINTS`.

    Raises:
        JxcError: the installed jax lacks one of the functions; none is intercepted then.
    """
    with _lock:
        for name in interceptors.keys() - _points.keys():
            _points[name] = _Point(name)
        for name, interceptor in interceptors.items():
            _points[name].add(interceptor)


def uninstall(interceptors: Mapping[str, Interceptor]) -> None:
    """Undo `install`; JAX's own functions are back once no interceptor is left."""
    with _lock:
        for name, interceptor in interceptors.items():
            _points[name].remove(interceptor)


@contextlib.contextmanager
def compiled_by(module: Any, compile_: Callable[[Callable[[], Any]], Any]) -> Iterator[None]:
    """Within the block, JAX gets its executable of `module` from `compile_(plain)`.

    Args:
        module: the object that JAX will compile; other modules are compiled as ever.
        compile_: returns jaxlib's executable. It is given `plain()`, which compiles the module as
            JAX does, without the persistent cache.
    """

    def intercept(
        proceed: Callable[..., Any],
        backend: Any,
        computation: Any,
        devices: Any,
        options: Any,
        callbacks: Any,
        *rest: Any,
    ) -> Any:
        if computation is not module:
            return proceed(backend, computation, devices, options, callbacks, *rest)
        return compile_(
            lambda: _private.compile_uncached(backend, computation, rest[0], options, callbacks)
        )

    install({"compile": intercept})
    try:
        yield
    finally:
        uninstall({"compile": intercept})
