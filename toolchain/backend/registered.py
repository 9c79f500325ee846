"""Pipelines by name, the one that JAX's context names, and the open blocks of `jxc.use`.

The pipeline is a value of a JAX user context (`jax.make_user_context`), and so part of every cache
key. When a program is lowered, the name of its pipeline is written on the module as the attribute
`jxc.pipeline`, the stamp. When it is compiled, only the stamp counts: JAX caches an executable
together with its lowering, so the executable must not depend on where `.compile()` is called.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import jax
from jaxlib.mlir import ir

from ..cost.thresholds import is_tiny
from ..errors import UsageError
from ..ir.module import module_name
from ..pipeline import Pipeline, PipelineLike, make_pipeline
from ..pipeline.levels import level_of
from ..rewrite import promises
from ..source import first_time, warn_user
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


def register(
    pipeline: PipelineLike, strict: bool, assume: str | Sequence[str], any_program: bool = False
) -> str:
    """Name a pipeline: the text as the user wrote it, numbered if that name is taken.

    With `any_program`, a plan counts as made for each program that is lowered under the name.
    """
    passes, is_level = late_pipeline(pipeline), level_of(pipeline) is not None
    if any_program and not isinstance(passes, str):
        passes = replace(passes, steps=tuple(replace(s, made_for="") for s in passes.steps))
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
    return user_context()(value_of(name))


def value_of(name: str | None) -> str | None:
    """The value of JAX's context for a registered name, or for plain JAX."""
    return _PLAIN if name is None and _process_default is not None else name


def effective_pipeline() -> str | None:
    """The name under which this thread lowers programs now; None or empty for plain JAX."""
    value = None if _user_context is None else _user_context.value
    return _process_default if value is None else value


def set_default(value: str | None) -> None:
    """Make a context value the process's own, which needs no user context."""
    global _process_default
    _process_default = value


@dataclass(eq=False)
class Block:
    """An open `with jxc.use(...)`: its value, the one it replaced, its thread and its log."""

    value: str | None
    previous: Any
    thread: int
    log: RewriteLog


blocks: list[Block] = []
"""Of all threads, the innermost of each last."""


class _ThreadChoice(threading.local):
    is_made = False


thread_choice = _ThreadChoice()
"""Whether this thread has opened a block, and so chooses its pipelines itself."""

block_of_task: ContextVar[Block | None] = ContextVar("jxc.use", default=None)
"""The block that this asyncio task opened last."""


def blocks_of_thread() -> list[Block]:
    """The open blocks of this thread, the innermost last."""
    return [block for block in list(blocks) if block.thread == threading.get_ident()]


def warn_of_other_thread(module: ir.Module) -> None:
    """Warn once of each open block if this thread compiles a program under plain JAX beside it."""
    block = next((each for each in reversed(list(blocks)) if each.value), None)
    if block is None or thread_choice.is_made:
        return
    is_skipped = find_registered(block.value or "").is_level and is_tiny(module)
    if is_skipped or not first_time((id(block), "thread")):
        return
    names = {each.ident: each.name for each in threading.enumerate()}
    opener = names.get(block.thread, str(block.thread))
    warn_user(
        f"jxc.use({block.value!r}) is open in thread {opener!r}, and "
        f"does not apply to thread {threading.current_thread().name!r}, which compiles "
        f"{module_name(module)!r} with plain JAX. Use jxc.enable, which applies to all threads, or "
        "open the block in this one."
    )


def warn_of_other_task() -> None:
    """Warn if the innermost block was opened by another asyncio task."""
    block = next(reversed(blocks_of_thread()), None)
    if block and block.value and block_of_task.get() is not block and first_time(id(block)):
        warn_user(
            f"jxc.use({block.value!r}) is open in another asyncio task, and applies to this one "
            "too: JAX keeps the pipeline for each thread. Do not await inside the block, or use "
            "jxc.jit."
        )
