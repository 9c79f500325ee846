"""Layers that a Python loop unrolled, one after the other.

The equations of a jaxpr are numbered, so that equal numbers mean the same op on the same types. An
unrolled loop is a periodic stretch of numbers. `_longest_repeat` compares the sequence with itself
shifted by each possible period, and takes the stretch whose loop would leave out the most
equations; the rest is searched again. A stretch counts if each repetition reads the results of the
one before and of no earlier one. The Python frames of its equations agree down to the frame of the
loop, which gives the line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....frontend.jaxprs import frames_of
from ....ir.repetitions import longest_true
from ....source import SourceLine, is_user_file
from ..finding import Finding, FindingCost, check
from ..jaxpr import count_equations, is_variable, library_line, open_inner_jaxprs, open_jaxpr
from ..program import ExaminedProgram
from ..source_code import loop_around

_MIN_REPEATS = 4  # for fewer, a loop saves little and is harder to read
_MIN_REPEATED_EQUATIONS = 100  # that a loop would leave out; XLA:CPU compiles one in about 1.3 ms
_MAX_PERIOD = 2000  # equations in a layer

# A library's loop, which the user cannot change, is reported from these sizes on.
_MIN_LIBRARY_SHARE = 0.5  # of the program's equations
_MIN_LIBRARY_COMPILE_SECONDS = 5.0


@dataclass(frozen=True)
class Repeats:
    """The same equations several times in a row, each time on the results of the time before.

    Attributes:
        equations: all of them, in order.
        period: how many equations make one layer.
        count: the number of layers.
    """

    equations: Sequence[Any]
    period: int
    count: int

    @property
    def layer_size(self) -> int:
        """The equations of a layer, those in calls included."""
        return sum(map(_weight, self.equations[: self.period]))

    @property
    def saved(self) -> int:
        """The equations that a loop leaves out."""
        return self.layer_size * (self.count - 1)


@check
def unrolled_layers(program: ExaminedProgram) -> Iterator[Finding]:
    """The same equations four times or more in a row, each time on the result of the time before.

    Tracing writes out a Python loop over layers or time steps, and XLA compiles each iteration.
    `lax.scan` over stacked parameters compiles one. The seconds are an upper bound: the program's
    compile time for each of its equations, times the equations left out. The scan's own equations
    take some of them. A loop in a library, which the user cannot change, is reported only if it
    costs seconds.
    """
    by_place: dict[SourceLine | None, list[Repeats]] = {}
    for found in repeats_in(program.jaxpr):
        place = place_of_loop(found, program.home) or program.defined
        by_place.setdefault(place, []).append(found)
    for place, group in by_place.items():
        saved = sum(each.saved for each in group)
        if saved < _MIN_REPEATED_EQUATIONS:
            continue
        share = saved / max(count_equations(program.jaxpr), 1)
        seconds = None if program.compile_seconds is None else program.compile_seconds * share
        if any(_library(each, program.home) for each in group) and (
            share < _MIN_LIBRARY_SHARE
            or (seconds is not None and seconds < _MIN_LIBRARY_COMPILE_SECONDS)
        ):
            continue
        largest = max(group, key=lambda each: each.saved)
        library = _library(largest, program.home)
        yield Finding(
            place,
            f"a loop is written out{library}: {largest.layer_size} equations {largest.count} times "
            "in a row, each time on the last result; a loop would leave out "
            f"{share:.0%} of the program",
            _IN_A_LIBRARY if library else _STACK,
            FindingCost(
                compile_seconds=seconds,
                how="" if seconds is None else "at most: measured seconds, by equations left out",
            ),
        )


_STACK = (
    "Stack the layers' parameters (jax.tree.map(lambda *p: jnp.stack(p), *layers)) and loop with "
    "jax.lax.scan."
)
_IN_A_LIBRARY = (
    "Let the library loop with jax.lax.scan, if it can (flax.linen.scan does); or keep the "
    'compiled program for later runs: jax.config.update("jax_compilation_cache_dir", ...).'
)


def _library(found: Repeats, home: str | None) -> str:
    """The line of the loop as " (in ...)", if the loop is a library's."""
    shared = _shared_frames(found)
    if not shared or is_user_file(shared[-1].file, home):
        return ""
    loops = (loop_around(each) for each in reversed(shared) if not is_user_file(each.file, home))
    return library_line([next(filter(None, loops), shared[-1])], home)


def place_of_loop(found: Repeats, home: str | None) -> SourceLine | None:
    """The line of the Python loop that wrote the layers out, or the user's line that called it."""
    users = [place for place in _shared_frames(found) if is_user_file(place.file, home)]
    loops = (loop_around(place) for place in reversed(users))
    return next(filter(None, loops), users[-1] if users else None)


def _shared_frames(found: Repeats) -> list[SourceLine]:
    """The frames that all equations share, down to the first one in which their lines differ.

    Of that frame's lines, the most frequent: the first equations may belong to what comes before
    the loop or after it.
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


# Finding the repetitions


def repeats_in(jaxpr: Any) -> Iterator[Repeats]:
    """The repeated equations of a jaxpr and of the jaxprs that it contains."""
    signatures: dict[str, int] = {}
    yield from _repeats_in(
        open_jaxpr(jaxpr), lambda text: signatures.setdefault(text, len(signatures))
    )


def _repeats_in(jaxpr: Any, number: Callable[[str], int]) -> Iterator[Repeats]:
    equations = list(jaxpr.eqns)
    covered: set[int] = set()
    if len(equations) >= _MIN_REPEATS:
        for start, end, period in _runs(np.array([number(signature(e)) for e in equations])):
            found = _chained(equations, start, end, period)
            if found is not None:
                covered.update(range(start, end))
                yield found
    for position, equation in enumerate(equations):
        for inner in open_inner_jaxprs(equation) if position not in covered else ():
            yield from _repeats_in(inner, number)


def _runs(signatures: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Stretches (start, end, period) that repeat and do not overlap, the largest saving first."""
    pending = [(0, len(signatures))]
    while pending:
        low, high = pending.pop()
        found = _longest_repeat(signatures[low:high])
        if found is not None:
            start, end, period = found
            yield low + start, low + end, period
            pending += [(low, low + start), (low + end, high)]


def _longest_repeat(signatures: np.ndarray) -> tuple[int, int, int] | None:
    """The stretch that saves the most equations; among equals, the one of the shortest period."""
    best, most = None, 0
    size = len(signatures)
    for period in range(1, min(size // _MIN_REPEATS, _MAX_PERIOD) + 1):
        start, length = longest_true(signatures[:-period] == signatures[period:])
        count = length // period + 1
        saved = (count - 1) * period
        if count >= _MIN_REPEATS and saved > most:
            best, most = (start, start + count * period, period), saved
    return best


def _chained(equations: Sequence[Any], start: int, end: int, period: int) -> Repeats | None:
    """The stretch as layers; None unless each reads the results of the last one, all alike."""
    made = {
        variable: (position - start, index)
        for position in range(start, end)
        for index, variable in enumerate(equations[position].outvars)
    }
    count = (end - start) // period
    first, *others = (
        [
            _sources(equations[start + layer * period + offset], made, layer, period)
            for offset in range(period)
        ]
        for layer in range(1, count)
    )
    back = {source[0] for sources in first for source in sources if source is not None}
    is_chain = 1 in back and max(back) == 1  # each reads the one before, and no earlier one
    is_same = all(each == first for each in others)
    return Repeats(equations[start:end], period, count) if is_chain and is_same else None


OperandSource = tuple[int, int, int] | None
"""An operand's layer, counted backwards, the equation in it, and the result; None for outside."""


def _sources(
    equation: Any, made: dict[Any, tuple[int, int]], layer: int, period: int
) -> list[OperandSource]:
    found: list[OperandSource] = []
    for operand in equation.invars:
        at = made.get(operand) if is_variable(operand) else None
        source = at and (layer - at[0] // period, at[0] % period, at[1])
        found.append(source)
    return found


# When two equations are the same


def signature(equation: Any) -> str:
    """Equal for equations that do the same to values of the same types."""
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
    """The text of a jaxpr whose variables are numbered in order."""
    made = (variable for equation in jaxpr.eqns for variable in equation.outvars)
    numbers = {v: number for number, v in enumerate((*jaxpr.constvars, *jaxpr.invars, *made))}
    lines = []
    for equation in jaxpr.eqns:
        operands = [numbers.get(e, "?") if is_variable(e) else str(e) for e in equation.invars]
        lines.append(f"{signature(equation)}<-{operands}")
    return "{" + "|".join(lines) + "}"


def _weight(equation: Any) -> int:
    inner = list(open_inner_jaxprs(equation))
    return sum(map(count_equations, inner)) if inner else 1
