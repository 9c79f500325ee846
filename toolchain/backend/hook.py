"""Pipelines inside JAX: chosen while a program is lowered, run before XLA compiles it.

`registered` has the pipelines and what JAX's context says of them, `rewriting` the functions that
stamp programs and compile them.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Sequence
from functools import cache

from ..pipeline import PipelineLike
from ..source import JxcWarning, SourceLine, current_user_line
from . import _private, interception
from .log import RewriteLog
from .registered import (
    Block,
    block_of_task,
    blocks,
    blocks_of_thread,
    lock,
    register,
    set_default,
    thread_choice,
    user_context,
    value_of,
)


def context_value(
    pipeline: PipelineLike | None,
    *,
    strict: bool = False,
    assume: str | Sequence[str] = (),
    any_program: bool = False,
) -> str | None:
    """The value of JAX's context for a pipeline, or for plain JAX; starts intercepting JAX.

    With `any_program`, a plan counts as made for each program that is lowered with the value.

    Raises:
        UsageError: a pass, option or promise is unknown, or a pass adds results.
    """
    install()
    if pipeline is None:
        return value_of(None)
    return value_of(register(pipeline, strict, assume, any_program))


def set_process_default(pipeline: PipelineLike, *, strict: bool = False) -> None:
    """`enable` before the process has lowered anything, without becoming part of cache keys."""
    set_default(context_value(pipeline, strict=strict))


def start_log() -> RewriteLog:
    """A log of the programs that this thread compiles from now on, without a `with jxc.use`."""
    block = Block(None, None, threading.get_ident(), RewriteLog())
    with lock:
        blocks.append(block)
    return block.log


class use:
    """Run a pipeline on every program that JAX compiles inside the block, on this thread.

        with jxc.use("O2") as log:
            model.fit(...)
        print(log)

    A built-in level ("O1", "O2", "O3") skips programs of up to 8 ops, unless one of these ops
    gains alone: JAX compiles such a program for each operation outside of `jit`. Passes and rules
    that you name run on every program.

    A function that was compiled in the block is compiled again, by plain JAX, when it is called
    after the block. `jxc.jit` and `jxc.enable` stay in effect.

    Programs that other threads compile meanwhile keep plain JAX, with a warning; `jxc.enable`
    applies to all threads.

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
        self._open: list[Block] = []
        self._made_at = current_user_line()

    _made_at: SourceLine | None = None
    """The line of a block that is not entered yet."""

    def __del__(self) -> None:
        if self._made_at is not None and not sys.is_finalizing():
            warnings.warn_explicit(
                f"jxc.use({self._value or None!r}) was not entered, and has no effect: write "
                "`with jxc.use(...):`, or jxc.enable(...) for all programs from here on.",
                JxcWarning,
                self._made_at.file,
                self._made_at.line,
            )

    def __enter__(self) -> RewriteLog:
        self._made_at = None
        swap, _ = _private.swap_and_set(user_context())
        block = Block(self._value, swap(self._value), threading.get_ident(), RewriteLog())
        with lock:
            blocks.append(block)
        self._open.append(block)
        block_of_task.set(block)
        thread_choice.is_made = True
        return block.log

    def __exit__(self, *exc: object) -> None:
        block = self._open.pop()
        with lock:
            inner = [b for b in blocks[blocks.index(block) + 1 :] if b.thread == block.thread]
            blocks.remove(block)
        block_of_task.set(next(reversed(blocks_of_thread()), None))
        if inner:  # a suspended task or generator left this block before one inside it
            inner[0].previous = block.previous
        elif block.thread == threading.get_ident():
            _private.swap_and_set(user_context())[1](block.previous)

    def __repr__(self) -> str:
        return f"<jxc.use, pipeline {self._value or None!r}>"


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
        pipeline: a level, a textual pipeline, or passes and rules; None to stop, as
            `jxc.disable()`.
        strict: raise if a pass fails, instead of warning and compiling the original.
        assume: promises such as "no-nans".

    Raises:
        UsageError: a pass, option or promise is unknown.
    """
    user_context().set_global(context_value(pipeline, strict=strict, assume=assume))


def disable() -> None:
    """End `jxc.enable` and JXC_PIPELINE: programs that are compiled from now on keep plain JAX.

    Programs that are compiled already stay as they are, and so do open blocks of `jxc.use`.
    """
    enable(None)


@cache
def install() -> None:
    """Start to intercept lowering and compilation; programs without a stamp are not changed.

    Raises:
        JxcError: the installed jax lacks the functions to intercept.
    """
    from .job import announce
    from .rewriting import lower_and_stamp, rewrite_and_compile

    interception.install({"lower": lower_and_stamp, "compile": rewrite_and_compile})
    announce()
