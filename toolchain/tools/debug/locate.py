"""`jxc.locate_nans`: `jax.jit` that reports where the first NaN comes from."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

import jax

from ...backend import jax_state
from ...backend.lowered import lower
from ...backend.signature import CallSignature
from ...errors import UsageError
from ...pipeline import make_pipeline
from ...source import warn_user
from .executable import Instrumented
from .finding import NanError

P = ParamSpec("P")
Rest = ParamSpec("Rest")
R = TypeVar("R", covariant=True)
Self_ = TypeVar("Self_")

Watch = Literal["results", "values", "masked"]
OnNan = Literal["raise", "warn"]


class LocatedFunction(Generic[P, R]):
    """A jitted function that reports where its first NaN comes from. Made by `jxc.locate_nans`.

    Attributes:
        calls: the number of calls so far.
    """

    __wrapped__: Callable[P, R]
    __name__: str

    def __init__(self, jitted: Any, pipeline: str, on_nan: OnNan) -> None:
        functools.update_wrapper(self, jitted)
        self._jitted = jitted
        self._run: Callable[P, R] = jitted
        self._pipeline = pipeline
        self._on_nan = on_nan
        self._signature = CallSignature(jitted)
        self._programs: dict[Hashable, Instrumented] = {}
        self._has_warned = False
        self.calls = 0

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function.

        Raises:
            NanError: a result holds a NaN.
        """
        if self._has_warned or not jax_state.is_outermost_trace():
            return self._run(*args, **kwargs)
        call, self.calls = self.calls, self.calls + 1
        key, given, named = self._signature.split(args, kwargs)
        if key not in self._programs:
            compiled = lower(self._jitted, *args, **kwargs).opt(self._pipeline).compile()
            assert isinstance(compiled, Instrumented)
            self._programs[key] = compiled
        outputs: R
        outputs, observations = self._programs[key].run(*given, **named)
        if observations.nans:
            error = NanError(replace(observations.nans, call=call), outputs)
            if self._on_nan == "raise":
                raise error
            self._has_warned = True
            warn_user(str(error))
        return outputs

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: Any = None) -> LocatedFunction[P, R]: ...
        @overload
        def __get__(
            self: LocatedFunction[Concatenate[Self_, Rest], R], instance: Self_, owner: Any = None
        ) -> LocatedFunction[Rest, R]: ...

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        name = getattr(self, "__qualname__", repr(self._jitted))
        return f"<jxc.locate_nans of {name}, called {self.calls} times>"


@overload
def locate_nans(
    fn: Callable[P, R],
    /,
    *,
    infs: bool = False,
    watch: Watch = "results",
    on_nan: OnNan = "raise",
    pipeline: str = "",
    **jit_kwargs: Any,
) -> LocatedFunction[P, R]: ...


@overload
def locate_nans(
    fn: None = None,
    /,
    *,
    infs: bool = False,
    watch: Watch = "results",
    on_nan: OnNan = "raise",
    pipeline: str = "",
    **jit_kwargs: Any,
) -> Callable[[Callable[P, R]], LocatedFunction[P, R]]: ...


def locate_nans(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    infs: bool = False,
    watch: Watch = "results",
    on_nan: OnNan = "raise",
    pipeline: str = "",
    **jit_kwargs: Any,
) -> Any:
    """Compile `fn` as `jax.jit` does, and report where the first NaN comes from. A decorator too.

    Each call checks the results. If one holds a NaN, the same call runs again in a program that
    records every value. The error names the op that made the first NaN: its line, the iteration of
    the loops around it, and its operands.

    Use it to find a NaN, not for training: each call waits until it is done, and donated arguments
    keep their memory. Called under a JAX transformation (jit, grad, vmap, scan), it is `fn` itself.

    Args:
        fn: a function, or the result of `jax.jit`; None when called as
            `@jxc.locate_nans(infs=True)`.
        infs: report infinities too.
        watch: "results"; or "values", to record every value in each call; or "masked", to report
            also NaNs that reach no result. See `jxc opt --help-pass locate-nans`.
        on_nan: "raise" an error; or "warn" once, and stop checking.
        pipeline: passes to run before, such as "O2".
        jit_kwargs: passed to `jax.jit`: static_argnames, donate_argnums, in_shardings, ...

    Raises:
        NanError: raised by the call that made a NaN. `error.finding` says where it comes from, and
            `error.outputs` is what the call returned. Calls are counted from 0.
        UsageError: an option is unknown.
    """
    if fn is None:
        return functools.partial(
            locate_nans, infs=infs, watch=watch, on_nan=on_nan, pipeline=pipeline, **jit_kwargs
        )
    if on_nan not in ("raise", "warn"):
        raise UsageError(f"locate_nans: on_nan={on_nan!r}: expected 'raise' or 'warn'")
    text = f"locate-nans{{watch={watch} infs={str(infs).lower()}}}"
    text = ",".join(filter(None, [pipeline, text]))
    make_pipeline(text)  # refuses unknown passes and options now, not in the first call
    is_jitted = hasattr(fn, "lower") and not jit_kwargs
    return LocatedFunction(fn if is_jitted else jax.jit(fn, **jit_kwargs), text, on_nan)
