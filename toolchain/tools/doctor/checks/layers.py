"""Layers that a Python loop wrote out one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....frontend._private import frames_of
from ....source import SourceLine, is_user_file
from ..equations import count_equations, inner_of, is_variable, library_line, open_jaxpr
from ..finding import Cost, Finding
from ..program import Program
from ..registry import check
from ..syntax import loop_around
from ..thresholds import (
    LEAST_REPEATED,
    LEAST_REPEATS,
    LEAST_SECONDS_OF_LIBRARY,
    LEAST_SHARE_OF_LIBRARY,
)


@dataclass(frozen=True)
class Repeats:
    """The same equations several times in a row, each time on what the time before gave.

    Attributes:
        equations: all of them, in order.
        period: how many make one layer.
        count: how often they are repeated.
    """

    equations: Sequence[Any]
    period: int
    count: int

    @property
    def in_a_layer(self) -> int:
        """How many equations a layer has, those in calls counted."""
        return sum(map(_weight, self.equations[: self.period]))

    @property
    def saved(self) -> int:
        """How many equations a loop leaves out."""
        return self.in_a_layer * (self.count - 1)


@check
def unrolled_layers(program: Program) -> Iterator[Finding]:
    """The same equations four times and more in a row, each on the result of the one before.

    A Python loop over layers or time steps is written out when it is traced, and XLA compiles each
    turn anew. `lax.scan` over stacked parameters compiles one. The seconds are the most that is
    saved: this program's seconds of compiling for each of its equations, times the equations left
    out; the scan's own take some of them. A library's loop, which is not the user's to change, is
    told of where it takes seconds.
    """
    by_place: dict[SourceLine | None, list[Repeats]] = {}
    for found in repeats_in(program.jaxpr):
        place = place_of_loop(found, program.home) or program.defined
        by_place.setdefault(place, []).append(found)
    for place, group in by_place.items():
        saved = sum(each.saved for each in group)
        is_of_library = any(_library(each, program.home) for each in group)
        if saved >= LEAST_REPEATED and not (is_of_library and _is_small(program, saved)):
            yield _finding(program, place, max(group, key=lambda each: each.saved), saved)


def _is_small(program: Program, saved: int) -> bool:
    """Whether what a library's loop repeats is not worth a word."""
    if saved < LEAST_SHARE_OF_LIBRARY * program.equations:
        return True
    seconds = program.compile_seconds
    return seconds is not None and seconds * saved < LEAST_SECONDS_OF_LIBRARY * program.equations


def _finding(program: Program, place: SourceLine | None, largest: Repeats, saved: int) -> Finding:
    share = saved / max(program.equations, 1)
    seconds = program.compile_seconds
    library = _library(largest, program.home)
    return Finding(
        place,
        f"a loop is written out{library}: {largest.in_a_layer} equations {largest.count} times in "
        f"a row, each on the last one's result; {share:.0%} of the program could be left out",
        _IN_A_LIBRARY if library else _STACK,
        Cost(
            compile_seconds=None if seconds is None else seconds * share,
            how="" if seconds is None else "at most: measured seconds by equations left out",
        ),
    )


_STACK = (
    "Stack the layers' parameters (jax.tree.map(lambda *p: jnp.stack(p), *layers)) and loop by "
    "jax.lax.scan."
)
_IN_A_LIBRARY = (
    "Let the library loop by jax.lax.scan, if it can (flax.linen.scan does); or keep what is "
    'compiled for the next time: jax.config.update("jax_compilation_cache_dir", ...).'
)


def _library(found: Repeats, home: str | None) -> str:
    """Where the loop is, if it is a library's."""
    shared = _shared_frames(found)
    if not shared or is_user_file(shared[-1].file, home):
        return ""
    loops = (loop_around(each) for each in reversed(shared) if not is_user_file(each.file, home))
    return library_line([next(filter(None, loops), shared[-1])], home)


def place_of_loop(found: Repeats, home: str | None) -> SourceLine | None:
    """The line of the Python loop that wrote the layers out, or the user's that called it.

    All equations have the frames above the loop in common, and the loop's own but for the line.
    """
    users = [place for place in _shared_frames(found) if is_user_file(place.file, home)]
    loops = (loop_around(place) for place in reversed(users))
    return next(filter(None, loops), users[-1] if users else None)


def _shared_frames(found: Repeats) -> list[SourceLine]:
    """The frames that all equations have, down to the one in which they have other lines.

    Of these the most frequent: the first equations may be of what comes before the loop or after.
    """
    stacks = [frames_of(each) for each in found.equations]
    shared: list[SourceLine] = []
    for frames in zip(*stacks, strict=False):
        if len({(file, function) for file, _, function in frames}) > 1:
            break
        shared.append(SourceLine(*Counter(frames).most_common(1)[0][0]))
        if len(set(frames)) > 1:
            break
    return shared


def repeats_in(jaxpr: Any) -> Iterator[Repeats]:
    """The repeated equations of a jaxpr and of those in it."""
    signatures: dict[str, int] = {}
    yield from _repeats_in(
        open_jaxpr(jaxpr), lambda text: signatures.setdefault(text, len(signatures))
    )


def _repeats_in(jaxpr: Any, number: Callable[[str], int]) -> Iterator[Repeats]:
    equations = list(jaxpr.eqns)
    covered: set[int] = set()
    if len(equations) >= LEAST_REPEATS:
        for start, end, period in _runs(np.array([number(signature(e)) for e in equations])):
            found = _chained(equations, start, end, period)
            if found is not None:
                covered.update(range(start, end))
                yield found
    for position, equation in enumerate(equations):
        for inner in inner_of(equation) if position not in covered else ():
            yield from _repeats_in(inner, number)


def _runs(signatures: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Stretches (start, end, period) that repeat, those that save the most first; none overlap."""
    pending = [(0, len(signatures))]
    while pending:
        low, high = pending.pop()
        found = _longest(signatures[low:high])
        if found is not None:
            start, end, period = found
            yield low + start, low + end, period
            pending += [(low, low + start), (low + end, high)]


_LONGEST_PERIOD = 2000  # equations in a layer


def _longest(signatures: np.ndarray) -> tuple[int, int, int] | None:
    """The stretch that saves the most equations; of those alike the one of the shortest period."""
    best, most = None, 0
    size = len(signatures)
    for period in range(1, min(size // LEAST_REPEATS, _LONGEST_PERIOD) + 1):
        start, length = _longest_true(signatures[:-period] == signatures[period:])
        count = length // period + 1
        saved = (count - 1) * period
        if count >= LEAST_REPEATS and saved > most:
            best, most = (start, start + count * period, period), saved
    return best


def _longest_true(flags: np.ndarray) -> tuple[int, int]:
    """Where the longest stretch of true begins, and how long it is."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.view(np.int8), [0]))))
    if not len(edges):
        return 0, 0
    starts, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - starts))
    return int(starts[longest]), int(ends[longest] - starts[longest])


def _chained(equations: Sequence[Any], start: int, end: int, period: int) -> Repeats | None:
    """The stretch as layers, where each reads what the last one gave, in the same way."""
    made = {
        variable: (position - start, index)
        for position in range(start, end)
        for index, variable in enumerate(equations[position].outvars)
    }
    count = (end - start) // period
    layers = [
        [
            _sources(equations[start + layer * period + offset], made, layer, period)
            for offset in range(period)
        ]
        for layer in range(count)
    ]
    inner = layers[1:]
    if any(each != inner[0] for each in inner) or not _is_chain(inner[0]):
        return None
    return Repeats(equations[start:end], period, count)


Source = tuple[int, int, int] | None
"""How many layers back, which equation of that layer, which of its results; None from outside."""


def _sources(
    equation: Any, made: dict[Any, tuple[int, int]], layer: int, period: int
) -> list[Source]:
    found: list[Source] = []
    for operand in equation.invars:
        at = made.get(operand) if is_variable(operand) else None
        if at is None:
            found.append(None)
        else:
            position, index = at
            found.append((layer - position // period, position % period, index))
    return found


def _is_chain(layer: list[list[Source]]) -> bool:
    """Whether a layer reads the one before, and none further back."""
    back = [source[0] for sources in layer for source in sources if source is not None]
    return 1 in back and max(back) == 1


# What makes two equations the same


def signature(equation: Any) -> str:
    """The same for equations that do the same to values of the same types."""
    parts = [equation.primitive.name]
    parts += [str(each.aval) for each in (*equation.invars, *equation.outvars)]
    parts += [f"{key}={_of_parameter(value)}" for key, value in sorted(equation.params.items())]
    return ";".join(parts)


def _of_parameter(value: Any) -> str:
    if hasattr(value, "eqns"):
        return _of_jaxpr(open_jaxpr(value))
    if isinstance(value, (tuple, list)):
        return f"({','.join(map(_of_parameter, value))})"
    text = type(value).__name__ if callable(value) else str(value)
    return type(value).__name__ if " at 0x" in text else text


def _of_jaxpr(jaxpr: Any) -> str:
    """A jaxpr with its variables numbered in order."""
    numbers: dict[Any, int] = {}
    for variable in (*jaxpr.constvars, *jaxpr.invars):
        numbers[variable] = len(numbers)
    lines = []
    for equation in jaxpr.eqns:
        operands = [numbers.get(e, "?") if is_variable(e) else str(e) for e in equation.invars]
        lines.append(f"{signature(equation)}<-{operands}")
        for variable in equation.outvars:
            numbers[variable] = len(numbers)
    return "{" + "|".join(lines) + "}"


def _weight(equation: Any) -> int:
    inner = list(inner_of(equation))
    return sum(map(count_equations, inner)) if inner else 1
