"""The way into `jax.jit`: a pipeline chosen while a program is lowered, run before XLA sees it.

JAX's own context decides, so the choice is part of every cache key of JAX's. It is written on the
module at lowering (`jxc.pipeline = "O2"`), because an executable is cached with its lowering: what
is compiled must not depend on where `.compile()` is called. The module that JAX keeps and prints is
never changed; a rewritten copy goes to XLA.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import jax
from jaxlib.mlir import ir

from ..cost.thresholds import is_tiny
from ..errors import JxcError
from ..ir import clone_module, count_ops, write_text
from ..pipeline import PassError, Pipeline, PipelineLike, Report, make_pipeline, run_pipeline
from ..pipeline.reproducer import write_reproducer
from ..rewrite import Facts
from . import _private
from .callers import JxcWarning, first_time, warn_user

STAMP = "jxc.pipeline"
"""The module attribute that says which pipeline a lowered program was lowered under."""

_PLAIN = ""  # the context's value for "no pipeline" where the process has one by default
_chosen = jax.make_user_context(None)
swap_chosen, set_chosen = _private.swap_and_set(_chosen)
_process_default: str | None = None
_registered: dict[str, _Registered] = {}
_lock = threading.RLock()  # Python passes share one interpreter lock anyway; contexts stay safe
_listeners: list[Log] = []


@dataclass(frozen=True)
class _Registered:
    """What a stamp stands for."""

    pipeline: Pipeline
    strict: bool


@dataclass(frozen=True)
class Compilation:
    """One program that a pipeline rewrote on its way to XLA.

    Attributes:
        name: the module's, such as "jit_step".
        pipeline: the stamp under which it was lowered.
        report: what each pass did.
        ops_before: ops in the module that JAX lowered.
        ops_after: ops in the one that XLA got.
    """

    name: str
    pipeline: str
    report: Report
    ops_before: int
    ops_after: int


@dataclass
class Log:
    """The programs compiled while a `use` block was open, in order."""

    compilations: list[Compilation] = field(default_factory=list)

    @property
    def hits(self) -> Counter[str]:
        """How often each rule fired, over all programs."""
        return sum((Counter(c.report.hits) for c in self.compilations), Counter())


def register(pipeline: PipelineLike, *, strict: bool = False) -> str:
    """Give a pipeline the short name by which JAX's caches and the stamp know it.

    Returns:
        The level or text as the user wrote it, with a number where that is taken.

    Raises:
        UsageError: the pipeline names an unknown pass or option.
    """
    install()
    made = _Registered(make_pipeline(pipeline), strict)
    label = pipeline if isinstance(pipeline, str) else ",".join(map(str, made.pipeline.steps))
    label += " strict" if strict else ""
    with _lock:
        number, name = 1, label
        while _registered.setdefault(name, made) != made:
            number, name = number + 1, f"{label} #{number + 1}"
    return name


def context(name: str | None) -> Any:
    """JAX's context manager under which programs are lowered for the pipeline `name`, or None."""
    return _chosen(_context_value(name))


def _context_value(name: str | None) -> str | None:
    return _PLAIN if name is None and _process_default is not None else name


def set_process_default(pipeline: PipelineLike, *, strict: bool = False) -> None:
    """`enable`, before the process has lowered anything: no program is then compiled twice.

    JAX loads its plugins between the first trace and the first lowering. A change of its context
    there would not be in that first program's cache key, and its second call would compile again.
    """
    global _process_default
    _process_default = register(pipeline, strict=strict)


class use:
    """Every program that JAX compiles inside the block, on this thread, goes through a pipeline.

        with jxc.use("O2") as log:
            model.fit(...)
        print(log.hits)

    Args:
        pipeline: a level, a textual pipeline, or passes and rules; None for plain JAX.
        strict: raise where a pass fails, instead of warning and compiling the original.
    """

    def __init__(self, pipeline: PipelineLike | None = "O2", *, strict: bool = False) -> None:
        self._name = None if pipeline is None else register(pipeline, strict=strict)
        self._open: list[tuple[Any, Log]] = []

    def __enter__(self) -> Log:
        entered, log = context(self._name), Log()
        entered.__enter__()
        _listeners.append(log)
        self._open.append((entered, log))
        return log

    def __exit__(self, *exc: Any) -> None:
        entered, log = self._open.pop()
        _listeners[:] = [each for each in _listeners if each is not log]
        entered.__exit__(*exc)


def enable(pipeline: PipelineLike | None = "O2", *, strict: bool = False) -> None:
    """Every program that this process compiles from now on, on any thread, goes through a pipeline.

    Args:
        pipeline: a level, a textual pipeline, or passes and rules; None to stop.
        strict: raise where a pass fails, instead of warning and compiling the original.
    """
    name = None if pipeline is None else register(pipeline, strict=strict)
    _chosen.set_global(_context_value(name))


@cache
def install() -> None:
    """Put ourselves between JAX's lowering and XLA, once a process. Does nothing by itself."""
    _private.wrap_lowering(_stamping)
    _private.wrap_compilation(_rewriting)


def _stamping(lower: Any) -> Any:
    def lower_and_stamp(*args: Any, **kwargs: Any) -> Any:
        result = lower(*args, **kwargs)
        value = _chosen.value
        name = _process_default if value is None else value
        if name:
            with result.module.context:
                result.module.operation.attributes[STAMP] = ir.StringAttr.get(name)
        return result

    return lower_and_stamp


def _rewriting(compile_: Any) -> Any:
    def rewrite_and_compile(backend: Any, computation: ir.Module, *args: Any, **kwargs: Any) -> Any:
        module = rewritten(computation, kind_of_platform(backend.platform))
        return compile_(backend, module, *args, **kwargs)

    return rewrite_and_compile


def kind_of_platform(platform: str) -> str:
    """The target that rules know a JAX platform as: "cpu", "gpu" or "tpu"."""
    return "gpu" if platform in ("cuda", "rocm") else platform


def rewritten(module: ir.Module, target: str) -> ir.Module:
    """The module that XLA gets for `module`: a rewritten copy if it is stamped, else itself."""
    stamp = module.operation.attributes.get(STAMP)
    if stamp is None:
        return module
    name = ir.StringAttr(stamp).value
    with _lock:
        copy = _unstamped(module)
        return copy if is_tiny(module) else _run(copy, name, Facts(target))


def _unstamped(module: ir.Module) -> ir.Module:
    copy = clone_module(module)
    del copy.operation.attributes[STAMP]
    return copy


def _run(copy: ir.Module, name: str, facts: Facts) -> ir.Module:
    program = ir.StringAttr(copy.operation.attributes["sym_name"]).value
    original = clone_module(copy)
    ops_before = count_ops(copy)
    registered = _registered.get(name)
    try:
        # A stamp that is not registered was set in another process, and came with jax.export.
        pipeline = registered.pipeline if registered else make_pipeline(name)
        report = run_pipeline(copy, pipeline, facts)
    except Exception as error:  # whatever it is, it must not end somebody's training run
        if registered and registered.strict:
            raise
        _report_failure(error, original, program)
        return original
    for log in list(_listeners):
        done = Compilation(program, name, report, ops_before, count_ops(copy))
        log.compilations.append(done)
    return copy


def _report_failure(error: Exception, original: ir.Module, program: str) -> None:
    step = error.step.name if isinstance(error, PassError) else ""
    if not first_time((step, program)):
        return
    saved = ""
    if isinstance(error, PassError):
        try:
            saved = f" Reproducer: {write_reproducer(write_text(original), error)}"
        except OSError as cannot:
            saved = f" No reproducer was written: {cannot}"
        error.add_note(saved.strip())
    what = error if isinstance(error, JxcError) else f"{type(error).__name__}: {error}"
    warn_user(f"{what}\nProgram {program!r} is compiled as if jxc were not there.{saved}")


__all__ = ["Compilation", "JxcWarning", "Log", "enable", "use"]
