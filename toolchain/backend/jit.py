"""`jxc.jit`: `jax.jit`, with a pipeline between lowering and XLA.

A `Jitted` wraps the result of `jax.jit`, and sets JAX's user context to its pipeline around each
call: programs that JAX lowers meanwhile are stamped with it (`hook`), and calls that hit JAX's
cache run at JAX's speed. This includes calls under transformations that run eagerly (vmap, jvp,
grad), but not calls that are traced into another program.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import jax

from ..pipeline import PipelineLike
from ..source import warn_user
from . import _private, hook, registered

P = ParamSpec("P")
Rest = ParamSpec("Rest")
R = TypeVar("R", covariant=True)
Self_ = TypeVar("Self_")

_private.hide_from_tracebacks(__file__)

_is_outermost_trace = _private.is_outermost_trace


class Jitted(Generic[P, R]):
    """A jitted function whose programs go through a pipeline. Made by `jxc.jit`.

    It has what the result of `jax.jit` has: `lower`, `trace`, `eval_shape`, `clear_cache`, and the
    function's name, docstring and signature. As a method it binds as a function does, so that
    `obj.method.lower(obj, ...)` takes `obj` explicitly, as JAX's does.
    """

    __wrapped__: Callable[P, R]
    __name__: str

    def __init__(
        self,
        jitted: Any,
        pipeline: PipelineLike | None,
        strict: bool,
        assume: str | Sequence[str],
    ) -> None:
        functools.update_wrapper(self, jitted)
        self.__wrapped__ = getattr(jitted, "__wrapped__", jitted)
        self._jitted = jitted
        self._run: Callable[P, R] = jitted
        self._options = (pipeline, strict, assume)
        self._pipeline = hook.context_value(
            pipeline, strict=strict, assume=assume, any_program=True
        )
        self._swap, self._set = _private.swap_and_set(registered.user_context())
        self._warned = False

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it, and compile it first if JAX has not done so."""
        if not _is_outermost_trace() and not self._applies_under_transformations():
            return self._run(*args, **kwargs)
        previous = self._swap(self._pipeline)
        try:
            return self._run(*args, **kwargs)
        finally:
            self._set(previous)

    def lower(self, *args: Any, **kwargs: Any) -> jax.stages.Lowered:
        """`jax.jit(fn).lower(...)`, whose `compile()` runs the pipeline."""
        with registered.context(self._pipeline or None):
            return self._jitted.lower(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> jax.stages.Traced:
        """`jax.jit(fn).trace(...)`; call its `lower()` under `jxc.use` to keep the pipeline."""
        with registered.context(self._pipeline or None):
            return self._jitted.trace(*args, **kwargs)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The types of the results, a pytree of `jax.ShapeDtypeStruct`, without compiling."""
        return self._jitted.eval_shape(*args, **kwargs)

    def clear_cache(self) -> None:
        """Delete all compiled programs of this function."""
        self._jitted.clear_cache()

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: Any = None) -> Jitted[P, R]: ...
        @overload
        def __get__(
            self: Jitted[Concatenate[Self_, Rest], R], instance: Self_, owner: Any = None
        ) -> Jitted[Rest, R]: ...

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    if not TYPE_CHECKING:  # a misspelt attribute is an error for type checkers

        def __getattr__(self, name: str) -> Any:
            if name == "_jitted":  # not set yet, while a copy is made
                raise AttributeError(name)
            return getattr(self._jitted, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._jitted)})

    def __copy__(self) -> Jitted[P, R]:
        return self  # as a function

    def __deepcopy__(self, memo: object) -> Jitted[P, R]:
        return self

    def __reduce__(self) -> Any:
        return Jitted, (self._jitted, *self._options)

    def __repr__(self) -> str:
        return f"<jxc.jit of {self.__wrapped__!r}, pipeline {self._pipeline or None!r}>"

    def _applies_under_transformations(self) -> bool:
        """Whether the pipeline applies under the active transformation; warns if only in part.

        Under `vmap` and `jvp` without `jit`, this call makes one program. So does the forward half
        of `grad`; the backward half runs after this call, under the caller's pipeline. Inside `jit`
        or `scan` this call is a part of the outer program.
        """
        active = _private.eager_transformations()
        if registered.effective_pipeline():
            return active is not None  # else the pipeline of the outer program applies
        if active is None:
            self._warn(
                "a function made by jxc.jit is called inside another jit, scan or the like and "
                "becomes a part of that program: its pipeline does not apply there. Put the whole "
                'step under `with jxc.use("O2"):`, or make the outermost jit a jxc.jit.'
            )
        elif not active <= {"JVPTrace", "BatchTrace"}:
            self._warn(
                "jax.grad of a function made by jxc.jit runs its pipeline on the forward half "
                "alone: JAX compiles the backward half outside of it. Write "
                "`jxc.jit(jax.grad(fn))`, or put the call under `with jxc.use(...):`."
            )
        return active is not None

    def _warn(self, message: str) -> None:
        if self._pipeline and not self._warned:
            self._warned = True
            warn_user(message)


@overload
def jit(
    fn: Callable[P, R],
    /,
    *,
    pipeline: PipelineLike | None = "O2",
    strict: bool = False,
    assume: str | Sequence[str] = (),
    **jit_kwargs: Any,
) -> Jitted[P, R]: ...


@overload
def jit(
    fn: None = None,
    /,
    *,
    pipeline: PipelineLike | None = "O2",
    strict: bool = False,
    assume: str | Sequence[str] = (),
    **jit_kwargs: Any,
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...


def jit(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    pipeline: PipelineLike | None = "O2",
    strict: bool = False,
    assume: str | Sequence[str] = (),
    **jit_kwargs: Any,
) -> Any:
    """Compile `fn` as `jax.jit` does, with a pipeline between lowering and XLA.

    It can also be used as a decorator, with or without options. The pipeline applies to each
    program that XLA compiles. `jax.vmap` and `jax.jvp` of the result keep the pipeline. `jax.grad`
    keeps it for the forward half only: write `jxc.jit(jax.grad(fn))`. Inside another `jit` or
    `scan` the outer program's pipeline applies. A warning names the line in both cases.

    A built-in level ("O1", "O2", "O3") skips programs of up to 8 ops, unless one of these ops
    gains alone. Passes and rules that you name run on every program.

    "O3" measures: the first call times several pipelines on its arguments, within a time budget,
    and uses the fastest, also in later processes (`jxc tune --help`).

    Args:
        fn: the function; None when called as `@jxc.jit(pipeline=...)`.
        pipeline: a level, a textual pipeline, or passes and rules; None for plain JAX.
        strict: raise if a pass fails, instead of warning and compiling the original.
        assume: promises such as "no-nans".
        jit_kwargs: passed to `jax.jit`: static_argnames, donate_argnums, in_shardings, ...

    Raises:
        UsageError: a pass, option or promise is unknown.
    """
    if fn is None:
        return functools.partial(jit, pipeline=pipeline, strict=strict, assume=assume, **jit_kwargs)
    return Jitted(jax.jit(fn, **jit_kwargs), pipeline, strict, assume)
