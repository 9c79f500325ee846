"""Calls back into Python, in a program for hardware that is not here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..source import SourceLine, home_of, innermost_user_line
from . import _private
from .diagnose import Call, trace_error
from .mesh import platform_of

_CALLBACKS = {
    "pure_callback": "jax.pure_callback",
    "io_callback": "io_callback",
    "debug_callback": "jax.debug.callback",
    "debug_print": "jax.debug.print",
}


def check_callbacks(traced: Any, platform: str, call: Call) -> None:
    """Say where a program that could not be lowered for a platform calls back into Python.

    JAX writes such a call for hardware that is here alone.

    Raises:
        TraceError: it does, and the platform is not that of this machine.
    """
    import jax

    if platform_of(jax.devices()[0]) == platform:
        return
    for equation in _all_equations(traced.jaxpr):
        if name := _CALLBACKS.get(equation.primitive.name):
            frames = (SourceLine(*frame) for frame in _private.frames_of(equation))
            problem = (
                f"{name} calls back into Python, and JAX writes such calls only for hardware that "
                f"is here, which {platform} is not"
            )
            remedy = [f"Leave it out of what is lowered for {platform}."]
            place = innermost_user_line(frames, home_of(call.function))
            raise trace_error((problem, remedy), place, call)


def _all_equations(jaxpr: Any) -> Iterator[Any]:
    for equation in _private.equations_of(jaxpr):
        yield equation
        for inner in _private.inner_jaxprs(equation):
            yield from _all_equations(inner)
