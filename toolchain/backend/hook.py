"""Pipelines inside JAX: chosen while a program is lowered, run before XLA compiles it.

The pipeline is a value of a JAX user context (`jax.make_user_context`), and so part of every cache
key. When a program is lowered, the name of its pipeline is written on the module as the attribute
`jxc.pipeline`, the stamp. When it is compiled, only the stamp counts: JAX caches an executable
together with its lowering, so the executable must not depend on where `.compile()` is called. The
module that JAX keeps and prints is never changed; a rewritten copy goes to XLA.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Any

import jax
from jaxlib.mlir import ir

from ..cost.thresholds import is_tiny
from ..errors import JxcError, UsageError
from ..ir import clone_module, count_ops, write_text
from ..pipeline import LEVELS, PassError, Pipeline, PipelineLike, make_pipeline, run_pipeline
from ..pipeline.run import write_reproducer
from ..rewrite import PassContext, promises
from ..source import first_time, warn_user
from . import _private, interception, log
from .log import RewriteLog, RewrittenProgram

STAMP = "jxc.pipeline"
"""The module attribute that names the pipeline a program was lowered under."""


# Pipelines by name: JAX's cache keys and the stamps hold short strings


@dataclass(frozen=True)
class _Registered:
    """A pipeline under a name, and how it is run.

    Attributes:
        pipeline: the passes.
        strict: whether a failing pass raises; otherwise the program is compiled unchanged.
        assume: the user's promises.
        is_level: whether it is a built-in level alone, which skips tiny programs.
    """

    pipeline: Pipeline
    strict: bool = False
    assume: frozenset[str] = frozenset()
    is_level: bool = False


_registered: dict[str, _Registered] = {}
_lock = threading.RLock()  # also while passes run: MLIR contexts are not thread-safe


def _register(pipeline: PipelineLike, strict: bool, assume: str | Sequence[str]) -> str:
    """Name a pipeline: the text as the user wrote it, numbered if that name is taken."""
    made = _Registered(make_pipeline(pipeline), strict, promises(assume), _is_level(pipeline))
    for step in made.pipeline.steps:
        if step.python is not None and step.python.adds_results:
            raise UsageError(
                f"{step.name} adds results to a program, and JAX fixes their number before "
                "jxc.use, jxc.enable, jxc.jit or JXC_PIPELINE apply. Use "
                f"jxc.lower(fn, ...).opt({str(step)!r}).compile() or `jxc compile --run`; "
                "jxc.locate_nans(fn) finds NaNs"
            )
    label = pipeline if isinstance(pipeline, str) else ",".join(map(str, made.pipeline.steps))
    label = " ".join([label, *sorted(made.assume), *(["strict"] if strict else [])])
    with _lock:
        number, name = 1, label
        while _registered.setdefault(name, made) != made:
            number, name = number + 1, f"{label} #{number + 1}"
    return name


def _is_level(pipeline: PipelineLike) -> bool:
    return isinstance(pipeline, str) and pipeline.strip().removeprefix("-") in LEVELS


def _find(name: str) -> _Registered:
    """The pipeline of a name; a name from another process (by jax.export) is read as text."""
    return _registered.get(name) or _Registered(make_pipeline(name), is_level=_is_level(name))


# The pipeline in JAX's context

_PLAIN = ""  # the context's value for "no pipeline" if the process has one by default
_user_context: Any = None
_process_default: str | None = None


def user_context() -> Any:
    """JAX's context with the name of the pipeline; created on first use.

    From then on it is part of JAX's cache keys, so it must not be created earlier: JAX loads its
    plugins during a program's first call, whose key must be the same at the second call.
    """
    global _user_context
    with _lock:
        if _user_context is None:
            _user_context = jax.make_user_context(None)
    return _user_context


def context(name: str | None) -> Any:
    """JAX's context manager for a registered name, or for plain JAX."""
    return user_context()(_value_of(name))


def context_value(
    pipeline: PipelineLike | None, *, strict: bool = False, assume: str | Sequence[str] = ()
) -> str | None:
    """The value of JAX's context for a pipeline, or for plain JAX; starts intercepting JAX.

    Raises:
        UsageError: a pass, option or promise is unknown, or a pass adds results.
    """
    install()
    return _value_of(None if pipeline is None else _register(pipeline, strict, assume))


def _value_of(name: str | None) -> str | None:
    return _PLAIN if name is None and _process_default is not None else name


def effective_pipeline() -> str | None:
    """The name under which this thread lowers programs now; None or empty for plain JAX."""
    value = None if _user_context is None else _user_context.value
    return _process_default if value is None else value


def set_process_default(pipeline: PipelineLike, *, strict: bool = False) -> None:
    """`enable` before the process has lowered anything, without becoming part of cache keys."""
    global _process_default
    _process_default = context_value(pipeline, strict=strict)


@dataclass(eq=False)
class _Block:
    """An open `with jxc.use(...)`: its value, the one it replaced, its thread and its log."""

    value: str | None
    previous: Any
    thread: int
    log: RewriteLog


_blocks: list[_Block] = []  # of all threads, the innermost of each last
_block_of_task: ContextVar[_Block | None] = ContextVar("jxc.use", default=None)


def start_log() -> RewriteLog:
    """A log of the programs that this thread compiles from now on, without a `with jxc.use`."""
    block = _Block(None, None, threading.get_ident(), RewriteLog())
    with _lock:
        _blocks.append(block)
    return block.log


class use:
    """Run a pipeline on every program that JAX compiles inside the block, on this thread.

        with jxc.use("O2") as log:
            model.fit(...)
        print(log)

    A built-in level ("O1", "O2", "O3") skips programs of up to 8 ops, unless one of these ops
    gains alone: JAX compiles such a program for each operation outside of `jit`. Passes and rules
    that you name run on every program.

    JAX keeps the pipeline for each thread, not for each asyncio task or generator. Do not `await`
    or `yield` inside the block: programs that other tasks compile meanwhile go through its pipeline
    too, with a warning. Open the block around the calls only, or use `jxc.jit`, which has no block.

    Args:
        pipeline: a level, a textual pipeline, or passes and rules; None for plain JAX.
        strict: raise if a pass fails, instead of warning and compiling the original.
        assume: promises such as "no-nans".

    Raises:
        UsageError: a pass, option or promise is unknown.
    """

    def __init__(
        self,
        pipeline: PipelineLike | None = "O2",
        *,
        strict: bool = False,
        assume: str | Sequence[str] = (),
    ) -> None:
        self._value = context_value(pipeline, strict=strict, assume=assume)
        self._open: list[_Block] = []

    def __enter__(self) -> RewriteLog:
        swap, _ = _private.swap_and_set(user_context())
        block = _Block(self._value, swap(self._value), threading.get_ident(), RewriteLog())
        with _lock:
            _blocks.append(block)
        self._open.append(block)
        _block_of_task.set(block)
        return block.log

    def __exit__(self, *exc: object) -> None:
        block = self._open.pop()
        with _lock:
            inner = [b for b in _blocks[_blocks.index(block) + 1 :] if b.thread == block.thread]
            _blocks.remove(block)
        _block_of_task.set(next(reversed(_blocks_of_thread()), None))
        if inner:  # a suspended task or generator left this block before one inside it
            inner[0].previous = block.previous
        elif block.thread == threading.get_ident():
            _private.swap_and_set(user_context())[1](block.previous)

    def __repr__(self) -> str:
        return f"<jxc.use, pipeline {self._value or None!r}>"


def _blocks_of_thread() -> list[_Block]:
    return [block for block in list(_blocks) if block.thread == threading.get_ident()]


def _warn_of_other_task() -> None:
    block = next(reversed(_blocks_of_thread()), None)
    if block and block.value and _block_of_task.get() is not block and first_time(id(block)):
        warn_user(
            f"jxc.use({block.value!r}) is open in another asyncio task, and applies to this one "
            "too: JAX keeps the pipeline for each thread. Do not await inside the block, or use "
            "jxc.jit."
        )


def enable(
    pipeline: PipelineLike | None = "O2",
    *,
    strict: bool = False,
    assume: str | Sequence[str] = (),
) -> None:
    """Run a pipeline on every program that this process compiles from now on, on any thread.

    `JXC_PIPELINE=O2` in the environment does the same without a change of the code. As for
    `jxc.use`, a built-in level skips tiny programs.

    Args:
        pipeline: a level, a textual pipeline, or passes and rules; None to stop.
        strict: raise if a pass fails, instead of warning and compiling the original.
        assume: promises such as "no-nans".

    Raises:
        UsageError: a pass, option or promise is unknown.
    """
    user_context().set_global(context_value(pipeline, strict=strict, assume=assume))


# What runs between JAX and XLA


@cache
def install() -> None:
    """Start to intercept lowering and compilation; programs without a stamp are not changed.

    Raises:
        JxcError: the installed jax lacks the functions to intercept.
    """
    interception.install({"lower": _lower_and_stamp, "compile": _rewrite_and_compile})


def _lower_and_stamp(lower: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    result = lower(*args, **kwargs)
    if name := effective_pipeline():
        _warn_of_other_task()
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
    passes, start = log.PassTexts(), perf_counter()
    try:
        plain = clone_module(computation)
        del plain.operation.attributes[STAMP]
        module = _rewritten(plain, name, kind_of_platform(backend.platform), passes)
    finally:
        if notify := log.pass_observer.notify:
            passes.seconds = perf_counter() - start - passes.seconds_writing
            notify(passes)
    try:
        return compile_(backend, module, *args, **kwargs)
    except Exception as error:
        if module is plain or _find(name).strict:
            raise
        executable = compile_(backend, plain, *args, **kwargs)  # raises if the program is wrong
        _report_failure(error, plain, "XLA does not compile what the pipeline made: ")
        return executable


def kind_of_platform(platform: str) -> str:
    """The target that rules know a JAX platform as: "cpu", "gpu" or "tpu"."""
    return "gpu" if platform in ("cuda", "rocm") else platform


def _rewritten(plain: ir.Module, name: str, target: str, passes: log.PassTexts) -> ir.Module:
    """A rewritten copy of `plain`; `plain` itself if a level skips it or a pass fails."""
    is_strict = False
    with _lock:
        try:
            found = _find(name)
            is_strict = found.strict
            if found.is_level and is_tiny(plain):
                for block in _blocks_of_thread():
                    block.log.skipped += 1
                return plain
            copy = clone_module(plain)
            instruments = [passes] if log.pass_observer.keep_texts else []
            pass_context = PassContext(target, found.assume)
            report = run_pipeline(copy, found.pipeline, pass_context, instruments=instruments)
        except Exception as error:  # a bug of jxc must not end the user's program
            if is_strict:
                raise
            _report_failure(error, plain)
            return plain
        before, after = count_ops(plain), count_ops(copy)
        program = RewrittenProgram(name_of(plain), name, report, before, after)
        for block in _blocks_of_thread():
            block.log.compilations.append(program)
    return copy


def name_of(module: ir.Module) -> str:
    """The module's name, such as "jit_step"; "module" if it has none."""
    name = module.operation.attributes.get("sym_name")
    return "module" if name is None else str(ir.StringAttr(name).value)


def _report_failure(error: Exception, original: ir.Module, what: str = "") -> None:
    step = error.step.name if isinstance(error, PassError) else what
    program = name_of(original)
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
    warn_user(f"{what}{message}\nProgram {program!r} is compiled without the pipeline.{saved}")
