"""Private names of jax and jaxlib used by this room. Checked on jax 0.10.2 to 0.12.0.1."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any


def serialize_portable_mixed(module: Any, version: str) -> bytes:
    """A portable artifact in which dialects beside StableHLO (Shardy's) stay as they are.

    `jax.export` writes its modules the same way.
    """
    from jaxlib import _jax

    return _jax.mlir.serialize_portable_artifact(module, version, True)


def constants_of(jaxpr: Any) -> list[tuple[Any, Any]]:
    """The pairs (variable, value) of a jaxpr's captured constants, closed jaxpr or not."""
    values = list(getattr(jaxpr, "consts", ()) or ())
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    return list(zip(inner.constvars, values, strict=False))


def captured_tracers(traced: Any) -> int:
    """How many of a `jax.stages.Traced`'s first inputs are values of other traces.

    JAX takes such a value for one more input, and lowers a module that nobody can call.
    """
    import jax

    return sum(isinstance(value, jax.core.Tracer) for value in getattr(traced, "_consts", ()))


def inputs_of(jaxpr: Any) -> list[Any]:
    """The input variables of a jaxpr, closed or not."""
    return getattr(jaxpr, "jaxpr", jaxpr).invars


def equations_of(jaxpr: Any) -> list[Any]:
    """The equations of a jaxpr, closed or not."""
    return getattr(jaxpr, "jaxpr", jaxpr).eqns


def inner_jaxprs(equation: Any) -> Iterator[Any]:
    """The jaxprs that an equation holds: the bodies of a loop, a branch, a nested jit."""
    for value in equation.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if hasattr(item, "eqns"):
                yield item


def argument_names(jaxpr: Any) -> list[str]:
    """The names of a jaxpr's inputs as the user knows them: `params['w']`; empty if unknown."""
    info = getattr(getattr(jaxpr, "jaxpr", jaxpr), "debug_info", None)
    return list(getattr(info, "arg_names", None) or ())


def frames_of(equation: Any) -> list[tuple[str, int, str]]:
    """Where an equation was traced, as (file, line, function), the outermost frame first."""
    trace = getattr(equation.source_info, "traceback", None)
    frames = trace.frames if trace is not None else []
    return [(frame.file_name, frame.line_num, frame.function_name) for frame in reversed(frames)]


def print_numbered(jaxpr: Any) -> tuple[str, list[Any]]:
    """A jaxpr's text, in which each equation ends in `# @N@`, and the N-th equation's frames.

    The frames are as `frames_of` gives them. JAX prints the innermost user's line there; which
    equation it printed is not to be had otherwise. Other threads print as ever meanwhile.
    """
    from jax._src import source_info_util

    plain, here = source_info_util.summarize, threading.get_ident()
    infos: list[Any] = []

    def number(source_info: Any, *args: Any, **kwargs: Any) -> str:
        if threading.get_ident() != here:
            return plain(source_info, *args, **kwargs)
        infos.append(source_info)
        return f"@{len(infos) - 1}@"

    source_info_util.summarize = number
    try:
        text = jaxpr.pretty_print(source_info=True, use_color=False)
    finally:
        source_info_util.summarize = plain
    return text, [frames_of(_Equation(info)) for info in infos]


class _Equation:
    """What `frames_of` reads of an equation."""

    def __init__(self, source_info: Any) -> None:
        self.source_info = source_info


def traced_file(jaxpr: Any) -> str:
    """The file of the function that a jaxpr was traced from; empty where it is not known."""
    info = getattr(getattr(jaxpr, "jaxpr", jaxpr), "debug_info", None)
    return str(getattr(info, "func_src_info", None) or "").partition(" at ")[2].rpartition(":")[0]


def has_own_shardings(fn: Any) -> bool:
    """Whether `fn`, or the method that it is, was jitted with `in_shardings`."""
    info = getattr(getattr(fn, "__func__", fn), "_jit_info", None)
    return bool(getattr(info, "user_specified_in_shardings", False))
