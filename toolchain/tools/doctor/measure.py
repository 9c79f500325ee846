"""Timing a program without our passes and with them, on this machine."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from time import perf_counter
from typing import Any

import jax

from ...backend.artifacts.loading import callable_here
from ...backend.timing import interleave
from ...errors import JxcError
from .program import Program
from .thresholds import LEAST_GAIN

_PATIENCE = 2.0  # seconds that timing may take, but for three calls of each
_MOST_ROUNDS, _LEAST_ROUNDS = 5, 2
_COPIES = 4  # of what a program holds at its peak: two programs, and the arguments they donate


def measured(program: Program) -> tuple[float, float, str] | None:
    """Seconds of a run of both, and how they are known.

    None where the program talks to the world, cannot run here, or where ours does not gain in every
    round. Nor is run what would take this machine's memory or time: a linter is no training. It
    runs on the arguments that were given, random ones where these are only types.
    """
    from ...check.fill import fill

    if program.jaxpr.effects or any("callback" in step.name for step in program.steps):
        return None
    if _COPIES * program.compiled.memory.peak > _free_memory() / 2:
        return None
    if program.compiled.roofline_seconds > _PATIENCE:
        return None
    plain = program.lowered
    try:
        args, kwargs = fill(_arguments(program), "random")
        both = {
            "plain": callable_here(plain, program.compiled.build),
            "ours": plain.opt("O2").compile(),
        }
    except (JxcError, TypeError, ValueError):
        return None
    is_donating = any(leaf.donated for leaf in program.arguments)
    calls = [_caller(made, args, kwargs, is_donating) for made in both.values()]
    before, after = _times(*calls)
    if any(each > (1 - LEAST_GAIN) * other for each, other in zip(after, before, strict=True)):
        return None  # what does not show in every round may be what else the machine does
    known = "on the arguments given" if program.given else "on random arguments"
    return statistics.median(before), statistics.median(after), f"measured {known}"


def _free_memory() -> int:
    """Bytes that this machine has left, or has where it does not tell."""
    pages = "SC_AVPHYS_PAGES" if "SC_AVPHYS_PAGES" in os.sysconf_names else "SC_PHYS_PAGES"
    return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")


def _arguments(program: Program) -> Any:
    """What was given, where that is arrays; their types elsewhere."""
    info = program.lowered.jax_lowered.args_info
    return program.given or jax.tree.map(
        lambda each: jax.ShapeDtypeStruct(each.shape, each.dtype), info
    )


def _times(plain: Callable[[], Any], ours: Callable[[], Any]) -> tuple[list[float], list[float]]:
    """Seconds a call of both, in turn: as many rounds as there is patience for, and two at least.

    The first call of each is left out: it sets up much that no other does.
    """
    for call in (plain, ours):
        jax.block_until_ready(call())
    start = perf_counter()
    jax.block_until_ready((plain(), ours()))
    rounds = int(_PATIENCE / max(perf_counter() - start, 1e-9))
    seconds = interleave(
        {"plain": plain, "ours": ours}, min(_MOST_ROUNDS, max(_LEAST_ROUNDS, rounds))
    )
    return seconds["plain"], seconds["ours"]


def _caller(made: Any, args: Any, kwargs: Any, is_donating: bool) -> Callable[[], Any]:
    args, kwargs = jax.device_put((args, kwargs))
    if not is_donating:
        return lambda: made(*args, **kwargs)
    return lambda: made(*jax.tree.map(jax.numpy.copy, args), **jax.tree.map(jax.numpy.copy, kwargs))
