"""The way into `jax.jit`: a pipeline chosen while a program is lowered, run before XLA sees it.

JAX's own context decides, so the choice is part of every cache key of JAX's. It is written on the
module at lowering (`jxc.pipeline = "O2"`), because an executable is cached with its lowering: what
is compiled must not depend on where `.compile()` is called. The module that JAX keeps and prints is
never changed; a rewritten copy goes to XLA.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from time import perf_counter
from typing import Any

import jax
from jaxlib.mlir import ir

from ..cost.thresholds import is_tiny
from ..errors import JxcError
from ..ir import clone_module, count_ops, write_text
from ..pipeline import PassError, PipelineLike, run_pipeline
from ..pipeline.reproducer import write_reproducer
from ..rewrite import PassContext
from ..source import JxcWarning, first_time, warn_user
from . import interception, log, registry
from .log import Compilation, Log

STAMP = "jxc.pipeline"
"""The module attribute that says which pipeline a lowered program was lowered under."""

_PLAIN = ""  # the context's value for "no pipeline" where the process has one by default
_user_context: Any = None
_process_default: str | None = None
_lock = threading.RLock()  # Python passes share one interpreter lock anyway; contexts stay safe


def user_context() -> Any:
    """JAX's context that holds the choice; made on first need.

    Not sooner: it is a part of JAX's cache keys from then on. JAX loads its plugins in the middle
    of a program's first call, whose key must still be the same at the second.
    """
    global _user_context
    with _lock:
        if _user_context is None:
            _user_context = jax.make_user_context(None)
    return _user_context


def context(name: str | None) -> Any:
    """JAX's context manager under which programs are lowered for a registered name, or for none."""
    return user_context()(_value_of(name))


def context_value(
    pipeline: PipelineLike | None, *, strict: bool = False, assume: str | Sequence[str] = ()
) -> str | None:
    """What JAX's context holds for a pipeline, or for plain JAX; installs the way in.

    Raises:
        UsageError: the pipeline names an unknown pass or option, or a promise is unknown.
    """
    install()
    if pipeline is None:
        return _value_of(None)
    return registry.register(pipeline, strict=strict, assume=assume)


def _value_of(name: str | None) -> str | None:
    return _PLAIN if name is None and _process_default is not None else name


def effective_pipeline() -> str | None:
    """The name under which a program would be lowered here and now; None or empty for plain JAX."""
    value = None if _user_context is None else _user_context.value
    return _process_default if value is None else value


def set_process_default(pipeline: PipelineLike, *, strict: bool = False) -> None:
    """`enable`, before the process has lowered anything, and with no part in JAX's cache keys."""
    global _process_default
    _process_default = context_value(pipeline, strict=strict)


class use:
    """Every program that JAX compiles inside the block, on this thread, goes through a pipeline.

        with jxc.use("O2") as log:
            model.fit(...)
        print(log.hits)

    Args:
        pipeline: a level, a textual pipeline, or passes and rules; None for plain JAX.
        strict: raise where a pass fails, instead of warning and compiling the original.
        assume: promises such as "no-nans".
    """

    def __init__(
        self,
        pipeline: PipelineLike | None = "O2",
        *,
        strict: bool = False,
        assume: str | Sequence[str] = (),
    ) -> None:
        self._value = context_value(pipeline, strict=strict, assume=assume)
        self._open: list[tuple[Any, Log]] = []

    def __enter__(self) -> Log:
        entered, heard = user_context()(self._value), Log()
        entered.__enter__()
        log.start(heard)
        self._open.append((entered, heard))
        return heard

    def __exit__(self, *exc: Any) -> None:
        entered, heard = self._open.pop()
        log.stop(heard)
        entered.__exit__(*exc)


def enable(
    pipeline: PipelineLike | None = "O2",
    *,
    strict: bool = False,
    assume: str | Sequence[str] = (),
) -> None:
    """Every program that this process compiles from now on, on any thread, goes through a pipeline.

    Args:
        pipeline: a level, a textual pipeline, or passes and rules; None to stop.
        strict: raise where a pass fails, instead of warning and compiling the original.
        assume: promises such as "no-nans".
    """
    user_context().set_global(context_value(pipeline, strict=strict, assume=assume))


@cache
def install() -> None:
    """Start to intercept what JAX lowers and compiles; programs without a stamp stay as they are.

    Raises:
        JxcError: the installed jax has not the functions to intercept.
    """
    interception.install({"lower": _lower_and_stamp, "compile": _rewrite_and_compile})


def _lower_and_stamp(lower: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    result = lower(*args, **kwargs)
    name = effective_pipeline()
    if name:
        with result.module.context:
            result.module.operation.attributes[STAMP] = ir.StringAttr.get(name)
    return result


def _rewrite_and_compile(
    compile_: Callable[..., Any], backend: Any, computation: ir.Module, *args: Any, **kwargs: Any
) -> Any:
    stamp = computation.operation.attributes.get(STAMP)
    if stamp is None:
        return compile_(backend, computation, *args, **kwargs)
    name = ir.StringAttr(stamp).value
    passes, start = log.Passes(), perf_counter()
    try:
        plain = _unstamped(computation)
        module = _rewritten(plain, name, kind_of_platform(backend.platform), passes)
    finally:
        if tell := log.passes_heard.tell:
            passes.seconds = perf_counter() - start - passes.seconds_writing
            tell(passes)
    try:
        return compile_(backend, module, *args, **kwargs)
    except Exception as error:
        if module is plain or registry.find(name).strict:
            raise
        executable = compile_(backend, plain, *args, **kwargs)  # raises what is not our fault
        _report_failure(error, plain, "XLA does not compile what the pipeline made: ")
        return executable


def kind_of_platform(platform: str) -> str:
    """The target that rules know a JAX platform as: "cpu", "gpu" or "tpu"."""
    return "gpu" if platform in ("cuda", "rocm") else platform


def _unstamped(module: ir.Module) -> ir.Module:
    copy = clone_module(module)
    del copy.operation.attributes[STAMP]
    return copy


def _rewritten(plain: ir.Module, name: str, target: str, passes: log.Passes) -> ir.Module:
    """A rewritten copy of `plain`; `plain` itself where it is tiny, or where a pass fails."""
    if is_tiny(plain):
        return plain
    is_strict = False
    with _lock:
        try:
            found = registry.find(name)
            is_strict = found.strict
            copy = clone_module(plain)
            instruments = [passes] if log.passes_heard.keep_texts else []
            pass_context = PassContext(target, found.assume)
            report = run_pipeline(copy, found.pipeline, pass_context, instruments=instruments)
        except Exception as error:  # whatever it is, it must not end somebody's training run
            if is_strict:
                raise
            _report_failure(error, plain)
            return plain
        log.tell(Compilation(_name_of(plain), name, report, count_ops(plain), count_ops(copy)))
    return copy


def _name_of(module: ir.Module) -> str:
    return ir.StringAttr(module.operation.attributes["sym_name"]).value


def _report_failure(error: Exception, original: ir.Module, what: str = "") -> None:
    step = error.step.name if isinstance(error, PassError) else what
    program = _name_of(original)
    if not first_time((step, program)):
        return
    saved = ""
    if isinstance(error, PassError):
        try:
            saved = f" Reproducer: {write_reproducer(write_text(original), error)}"
        except OSError as cannot:
            saved = f" No reproducer was written: {cannot}"
        error.add_note(saved.strip())
    message = str(error) if isinstance(error, JxcError) else f"{type(error).__name__}: {error}"
    warn_user(f"{what}{message}\nProgram {program!r} is compiled as if jxc were not there.{saved}")


__all__ = ["Compilation", "JxcWarning", "Log", "enable", "use"]
