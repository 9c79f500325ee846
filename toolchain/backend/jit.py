"""`jxc.jit`: `jax.jit`, with a pipeline between lowering and XLA."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax

from ..pipeline import PipelineLike
from ..source import warn_user
from . import _private, hook

_is_outermost_trace = _private.is_outermost_trace


class Jitted:
    """A jitted function whose programs go through a pipeline. Made by `jxc.jit`.

    Behaves as what `jax.jit` returns: `lower`, `trace`, `eval_shape`, `clear_cache` are there.
    """

    def __init__(self, jitted: Any, pipeline: str | None) -> None:
        functools.update_wrapper(self, jitted)
        self._jitted = jitted
        self._swap, self._set = _private.swap_and_set(hook.user_context())
        self._pipeline = pipeline
        self._warned = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not _is_outermost_trace():
            self._warn_traced()
            return self._jitted(*args, **kwargs)
        previous = self._swap(self._pipeline)
        try:
            return self._jitted(*args, **kwargs)
        finally:
            self._set(previous)

    def lower(self, *args: Any, **kwargs: Any) -> jax.stages.Lowered:
        """`jax.jit(fn).lower(...)`, whose `compile()` runs the pipeline."""
        with hook.context(self._pipeline or None):
            return self._jitted.lower(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> jax.stages.Traced:
        """`jax.jit(fn).trace(...)`; call its `lower()` under `jxc.use` to keep the pipeline."""
        with hook.context(self._pipeline or None):
            return self._jitted.trace(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name == "_jitted":  # not set yet: while unpickling, say
            raise AttributeError(name)
        return getattr(self._jitted, name)

    def __repr__(self) -> str:
        return f"<jxc.jit of {self.__wrapped__!r}, pipeline {self._pipeline!r}>"

    def _warn_traced(self) -> None:
        if self._warned or hook.effective_pipeline():
            return
        self._warned = True
        warn_user(
            "a function made by jxc.jit is called under another trace (jit, grad, "
            "vmap, scan), which takes it in as part of the outer program: its pipeline does not "
            'apply there. Put the whole step under `with jxc.use("O2"):`, or make the outermost '
            "jit a jxc.jit."
        )


def jit(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    pipeline: PipelineLike | None = "O2",
    strict: bool = False,
    assume: str | Sequence[str] = (),
    **jit_kwargs: Any,
) -> Any:
    """Compile `fn` as `jax.jit` does, through a pipeline. A decorator too, with or without options.

    Args:
        fn: the function; None when called as `@jxc.jit(pipeline=...)`.
        pipeline: a level, a textual pipeline, or passes and rules; None for plain JAX.
        strict: raise where a pass fails, instead of warning and compiling the original.
        assume: promises such as "no-nans".
        jit_kwargs: passed to `jax.jit`: static_argnames, donate_argnums, in_shardings, ...

    Raises:
        UsageError: the pipeline names an unknown pass or option.
    """
    if fn is None:
        return functools.partial(jit, pipeline=pipeline, strict=strict, assume=assume, **jit_kwargs)
    name = hook.context_value(pipeline, strict=strict, assume=assume)
    return Jitted(jax.jit(fn, **jit_kwargs), name)
