"""`jxc.locate_nans`: `jax.jit`, and the first NaN is located."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import jax

from ...backend import _private
from ...backend.lowered import lower
from ...errors import UsageError
from ...pipeline import make_pipeline
from ...source import warn_user
from .executable import Instrumented
from .finding import NanError
from .signature import Signature

_WHAT_THEN = ("raise", "warn")


class Located:
    """A jitted function that says where its first NaN comes from. Made by `jxc.locate_nans`.

    Attributes:
        calls: how often it was called.
    """

    def __init__(self, jitted: Any, pipeline: str, on_nan: str) -> None:
        functools.update_wrapper(self, jitted)
        self._jitted = jitted
        self._pipeline = pipeline
        self._on_nan = on_nan
        self._signature = Signature(jitted)
        self._programs: dict[Hashable, Instrumented] = {}
        self._is_done = False
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._is_done or not _private.is_outermost_trace():
            return self._jitted(*args, **kwargs)
        call, self.calls = self.calls, self.calls + 1
        key, given, named = self._signature.split(args, kwargs)
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = self._compiled(args, kwargs)
        outputs, seen = program.run(*given, **named)
        if seen.nans:
            self._tell(NanError(replace(seen.nans, call=call), outputs))
        return outputs

    def _compiled(self, args: Any, kwargs: Any) -> Instrumented:
        compiled = lower(self._jitted, *args, **kwargs).opt(self._pipeline).compile()
        assert isinstance(compiled, Instrumented)
        return compiled

    def _tell(self, error: NanError) -> None:
        if self._on_nan == "raise":
            raise error
        self._is_done = True
        warn_user(str(error))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<jxc.locate_nans of {self._jitted!r}>"


def locate_nans(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    infs: bool = False,
    watch: str = "results",
    on_nan: str = "raise",
    pipeline: str = "",
    **jit_kwargs: Any,
) -> Any:
    """Compile `fn` as `jax.jit` does, and say where the first NaN comes from. A decorator too.

    What is returned is looked at on each call. Once there is a NaN in it, the same call runs again
    in a program in which every value is looked at, and the op is named that made the first one: its
    line, the iteration of the loops around it, what it was given. Each call waits until it is done,
    and donated arguments stay: it is for finding the NaN, not for training on.

    Called under another transformation (jit, grad, vmap, scan) it is `fn` itself.

    Args:
        fn: a function, or what `jax.jit` made of one; None when called as
            `@jxc.locate_nans(infs=True)`.
        infs: look for infinities too.
        watch: "results"; or "values", to look at every value on every call; or "masked", to report
            those too that never reach a result. See `jxc opt --help-pass locate-nans`.
        on_nan: "raise" an error; or "warn" once, and not look from then on.
        pipeline: passes to run before, such as "O2".
        jit_kwargs: passed to `jax.jit`: static_argnames, donate_argnums, in_shardings, ...

    Raises:
        NanError: by the call that made one; `error.finding` says where, `error.outputs` is what
            the call returned. Calls are counted from 0.
        UsageError: an option is unknown.
    """
    if fn is None:
        return functools.partial(
            locate_nans, infs=infs, watch=watch, on_nan=on_nan, pipeline=pipeline, **jit_kwargs
        )
    if on_nan not in _WHAT_THEN:
        raise UsageError(f"locate_nans: on_nan={on_nan!r}: expected {' or '.join(_WHAT_THEN)}")
    ours = f"locate-nans{{watch={watch} infs={str(infs).lower()}}}"
    text = ",".join(filter(None, [pipeline, ours]))
    make_pipeline(text)
    is_jitted = hasattr(fn, "lower") and not jit_kwargs
    return Located(fn if is_jitted else jax.jit(fn, **jit_kwargs), text, on_nan)
