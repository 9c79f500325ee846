"""Private names of jax and jaxlib used by this room. Checked on jax 0.10.2 to 0.12.0.1."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any


def serialize_portable_mixed(module: Any, version: str) -> bytes:
    """A portable artifact that keeps ops of other dialects (Shardy's), as `jax.export` does."""
    from jaxlib import _jax

    data: bytes = _jax.mlir.serialize_portable_artifact(module, version, True)
    return data


def constants_of(jaxpr: Any) -> list[tuple[Any, Any]]:
    """The pairs (variable, value) of a jaxpr's captured constants, closed jaxpr or not."""
    values = list(getattr(jaxpr, "consts", ()) or ())
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    return list(zip(inner.constvars, values, strict=False))


def captured_tracers(traced: Any) -> int:
    """The number of leading inputs of a `jax.stages.Traced` that are values of other traces.

    JAX makes each such value an extra input, and the lowered module cannot be called.
    """
    import jax

    return sum(isinstance(value, jax.core.Tracer) for value in getattr(traced, "_consts", ()))


def inputs_of(jaxpr: Any) -> list[Any]:
    """The input variables of a jaxpr, closed or not."""
    return list(getattr(jaxpr, "jaxpr", jaxpr).invars)


def equations_of(jaxpr: Any) -> list[Any]:
    """The equations of a jaxpr, closed or not."""
    return list(getattr(jaxpr, "jaxpr", jaxpr).eqns)


def inner_jaxprs(equation: Any) -> Iterator[Any]:
    """The jaxprs inside an equation: the bodies of a loop, a branch or a nested jit."""
    for value in equation.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if hasattr(item, "eqns"):
                yield item


def argument_names(jaxpr: Any) -> list[str]:
    """The names of a jaxpr's inputs as the user wrote them: `params['w']`; empty if unknown."""
    info = getattr(getattr(jaxpr, "jaxpr", jaxpr), "debug_info", None)
    return list(getattr(info, "arg_names", None) or ())


def frames_of(equation: Any) -> list[tuple[str, int, str]]:
    """Where an equation was traced, as (file, line, function), the outermost frame first."""
    trace = getattr(equation.source_info, "traceback", None)
    frames = trace.frames if trace is not None else []
    return [(frame.file_name, frame.line_num, frame.function_name) for frame in reversed(frames)]


def print_numbered(jaxpr: Any) -> tuple[str, list[Any]]:
    """A jaxpr's text, in which each equation ends in `# @N@`, and the N-th equation's frames.

    The frames are as in `frames_of`. The number takes the place of the line that JAX prints there:
    JAX offers no other way to learn which equation a line of text is. Other threads are unaffected.
    """
    from jax._src import source_info_util

    plain, this_thread = source_info_util.summarize, threading.get_ident()
    infos: list[Any] = []

    def number(source_info: Any, *args: Any, **kwargs: Any) -> str:
        if threading.get_ident() != this_thread:
            return str(plain(source_info, *args, **kwargs))
        infos.append(source_info)
        return f"@{len(infos) - 1}@"

    source_info_util.summarize = number
    try:
        text: str = jaxpr.pretty_print(source_info=True, use_color=False)
    finally:
        source_info_util.summarize = plain
    return text, [frames_of(SimpleNamespace(source_info=info)) for info in infos]


@contextmanager
def callbacks_of_absent_hardware() -> Iterator[None]:
    """Within the block, this thread can lower calls back into Python for hardware that is not here.

    JAX refuses them because it has no backend for that hardware. It asks that only for a handle of
    the Python function, which is no part of the module.
    """
    from jax._src import xla_bridge
    from jax._src.interpreters import mlir

    plain, this_thread = mlir.ModuleContext.get_backend, threading.get_ident()
    absent = SimpleNamespace(make_python_callback_from_host_send_and_recv=lambda *_: None)

    def get_backend(context: Any, optional: bool = False) -> Any:
        try:
            return plain(context, optional)
        except (ValueError, RuntimeError):
            if threading.get_ident() != this_thread:
                raise
        try:
            return xla_bridge.get_backend(context.platforms[0])  # present, but not the default
        except RuntimeError:
            return absent

    mlir.ModuleContext.get_backend = get_backend
    try:
        yield
    finally:
        mlir.ModuleContext.get_backend = plain


def traced_file(jaxpr: Any) -> str:
    """The file of the function that a jaxpr was traced from; empty if unknown."""
    info = getattr(getattr(jaxpr, "jaxpr", jaxpr), "debug_info", None)
    return str(getattr(info, "func_src_info", None) or "").partition(" at ")[2].rpartition(":")[0]


def has_own_shardings(fn: Any) -> bool:
    """Whether a function or method was jitted with `in_shardings`."""
    info = getattr(getattr(fn, "__func__", fn), "_jit_info", None)
    return bool(getattr(info, "user_specified_in_shardings", False))


def with_vjp(exported: Any, vjp: Any) -> Any:
    """A `jax.export.Exported` with another exported gradient, or with none."""
    return replace(exported, _get_vjp=None if vjp is None else lambda _: vjp)
