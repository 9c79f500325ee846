"""Pipelines inside JAX: chosen while a program is lowered, run before XLA compiles it.

The pipeline is a value of a JAX user context (`jax.make_user_context`), and so part of every cache
key. When a program is lowered, the name of its pipeline is written on the module as the attribute
`jxc.pipeline`, the stamp. When it is compiled, only the stamp counts: JAX caches an executable
together with its lowering, so the executable must not depend on where `.compile()` is called.
`rewriting` has the functions that stamp and compile.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
from jaxlib.mlir import ir

from ..errors import UsageError
from ..pipeline import Pipeline, PipelineLike, make_pipeline
from ..pipeline.levels import level_of
from ..rewrite import promises
from ..source import first_time, warn_user
from . import _private, interception
from .log import RewriteLog
from .verdicts import TUNED

STAMP = "jxc.pipeline"
"""The module attribute that names the pipeline a program was lowered under."""


# Pipelines by name: JAX's cache keys and the stamps hold short strings


@dataclass(frozen=True)
class Registered:
    """A pipeline under a name, and how it is run.

    Attributes:
        pipeline: the passes; the name of a level, whose passes are imported when they run.
        strict: whether a failing pass raises; otherwise the program is compiled unchanged.
        assume: the user's promises.
        is_level: whether it is a built-in level alone, which skips tiny programs.
        is_tuned: whether it is O3 alone, whose pipeline is measured (`tuning`).
    """

    pipeline: Pipeline | str
    strict: bool = False
    assume: frozenset[str] = frozenset()
    is_level: bool = False
    is_tuned: bool = False


_registered: dict[str, Registered] = {}
lock = threading.RLock()
"""Held while pipelines are named and while passes run: MLIR contexts are not thread-safe."""


def _register(pipeline: PipelineLike, strict: bool, assume: str | Sequence[str]) -> str:
    """Name a pipeline: the text as the user wrote it, numbered if that name is taken."""
    passes, is_level = late_pipeline(pipeline), level_of(pipeline) is not None
    made = Registered(passes, strict, promises(assume), is_level, is_tuned(pipeline))
    steps = () if isinstance(passes, str) else passes.steps
    for step in steps:
        if step.python is not None and step.python.adds_results:
            raise UsageError(
                f"{step.name} adds results to a program, and JAX fixes their number before "
                "jxc.use, jxc.enable, jxc.jit or JXC_PIPELINE apply. Use "
                f"jxc.lower(fn, ...).opt({str(step)!r}).compile() or `jxc compile --run`; "
                "jxc.locate_nans(fn) finds NaNs"
            )
    label = pipeline if isinstance(pipeline, str) else ",".join(map(str, steps))
    label = " ".join([label, *sorted(made.assume), *(["strict"] if strict else [])])
    with lock:
        number, name = 1, label
        while _registered.setdefault(name, made) != made:
            number, name = number + 1, f"{label} #{number + 1}"
    return name


def late_pipeline(pipeline: PipelineLike) -> Pipeline | str:
    """The passes, or the name of a level, whose passes are imported when they run."""
    return level_of(pipeline) or make_pipeline(pipeline)


def is_tuned(pipeline: object) -> bool:
    """Whether a pipeline is O3 alone, which measures."""
    return level_of(pipeline) == TUNED


def find_registered(name: str) -> Registered:
    """The pipeline of a name; a name from another process (by jax.export) is read as text."""
    return _registered.get(name) or Registered(
        late_pipeline(name), is_level=level_of(name) is not None, is_tuned=is_tuned(name)
    )


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
    with lock:
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
    with lock:
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
        with lock:
            _blocks.append(block)
        self._open.append(block)
        _block_of_task.set(block)
        return block.log

    def __exit__(self, *exc: object) -> None:
        block = self._open.pop()
        with lock:
            inner = [b for b in _blocks[_blocks.index(block) + 1 :] if b.thread == block.thread]
            _blocks.remove(block)
        _block_of_task.set(next(reversed(blocks_of_thread()), None))
        if inner:  # a suspended task or generator left this block before one inside it
            inner[0].previous = block.previous
        elif block.thread == threading.get_ident():
            _private.swap_and_set(user_context())[1](block.previous)

    def __repr__(self) -> str:
        return f"<jxc.use, pipeline {self._value or None!r}>"


def blocks_of_thread() -> list[_Block]:
    return [block for block in list(_blocks) if block.thread == threading.get_ident()]


def warn_of_other_task() -> None:
    block = next(reversed(blocks_of_thread()), None)
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


def kind_of_platform(platform: str) -> str:
    """The target that rules know a JAX platform as: "cpu", "gpu" or "tpu"."""
    return "gpu" if platform in ("cuda", "rocm") else platform


def name_of(module: ir.Module) -> str:
    """The module's name, such as "jit_step"; "module" if it has none."""
    name = module.operation.attributes.get("sym_name")
    return "module" if name is None else str(ir.StringAttr(name).value)


@cache
def install() -> None:
    """Start to intercept lowering and compilation; programs without a stamp are not changed.

    Raises:
        JxcError: the installed jax lacks the functions to intercept.
    """
    from .rewriting import lower_and_stamp, rewrite_and_compile

    interception.install({"lower": lower_and_stamp, "compile": rewrite_and_compile})
