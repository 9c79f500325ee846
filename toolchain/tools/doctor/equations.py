"""The equations of a jaxpr with what is inside them: how often each runs, and whose line it is."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from ...frontend import _private
from ...source import SourceLine, innermost_library_line, innermost_user_line, is_user_file

Frame = tuple[str, int, str]
"""File, line from 1, function."""


@dataclass(frozen=True)
class Step:
    """An equation where it stands.

    Attributes:
        equation: JAX's own.
        jaxpr: the jaxpr, not closed, that it is an equation of.
        home: a folder whose files are the user's, see `frontend.places`.
        loops: the loops around it, the outermost first.
        turns: how often they run it, None where a `while` loop is among them.
        is_guarded: whether it stands in a branch inside the innermost loop.
        outer: the equation that holds this one.
        is_of_library: whether it is in a library's function that is jitted itself, such as
            jnp.where: JAX traces that once, and what it has recorded is the first call's line.
    """

    equation: Any = field(repr=False)
    jaxpr: Any = field(repr=False)
    home: str | None
    loops: tuple[Any, ...] = field(default=(), repr=False)
    turns: int | None = 1
    is_guarded: bool = False
    outer: Step | None = field(default=None, repr=False)
    is_of_library: bool = False

    @property
    def name(self) -> str:
        """The primitive's name."""
        return self.equation.primitive.name

    @cached_property
    def frames(self) -> list[tuple[str, int, str]]:
        """The Python frames in which it was traced, the outermost first."""
        return _private.frames_of(self.equation)

    @cached_property
    def place(self) -> SourceLine | None:
        """The user's innermost line."""
        own = None if self.is_of_library else place_of(self.equation, self.home)
        return own or (self.outer.place if self.outer else None)


def library_line(places: Iterable[SourceLine], home: str | None) -> str:
    """Where in a library something happens, as " (in flax/linen/linear.py:210)".

    Args:
        places: the outermost first.
        home: a folder whose files are the user's.
    """
    found = innermost_library_line(places, home)
    return f" (in {found})" if found else ""


def place_of(equation: Any, home: str | None) -> SourceLine | None:
    """The user's innermost line of an equation."""
    return innermost(_private.frames_of(equation), home)


def innermost(frames: Sequence[Frame], home: str | None) -> SourceLine | None:
    """The last of some frames, the outermost first, that lies in the user's code, or None."""
    return innermost_user_line((SourceLine(*frame) for frame in frames), home)


def steps_of(jaxpr: Any, home: str | None = None) -> Iterator[Step]:
    """Every equation, outer ones before what is inside them."""
    inner = open_jaxpr(jaxpr)
    for equation in inner.eqns:
        yield from _steps(Step(equation, inner, home))


def _steps(step: Step) -> Iterator[Step]:
    yield step
    for jaxpr in inner_of(step.equation):
        around = replace(
            _inside(step),
            outer=step,
            is_of_library=step.is_of_library or _is_of_library(step, jaxpr),
        )
        for equation in jaxpr.eqns:
            yield from _steps(replace(around, equation=equation, jaxpr=jaxpr))


def _is_of_library(step: Step, jaxpr: Any) -> bool:
    file = _private.traced_file(jaxpr)
    return step.name in CALLS and bool(file) and not is_user_file(file, step.home)


def _inside(step: Step) -> Step:
    if step.name == "scan":
        turns = None if step.turns is None else step.turns * int(step.equation.params["length"])
        return replace(step, loops=(*step.loops, step.equation), turns=turns, is_guarded=False)
    if step.name == "while":
        return replace(step, loops=(*step.loops, step.equation), turns=None, is_guarded=False)
    if step.name in ("cond", "switch"):
        return replace(step, is_guarded=True)
    return step


CALLS = frozenset(["jit", "pjit", "closed_call"])
"""The primitives that only call what JAX outlined."""


def inner_of(equation: Any) -> Iterator[Any]:
    """The jaxprs that an equation holds, not closed."""
    return map(open_jaxpr, _private.inner_jaxprs(equation))


def open_jaxpr(jaxpr: Any) -> Any:
    """The jaxpr within a closed one; one that is open as it is."""
    return getattr(jaxpr, "jaxpr", jaxpr)


class Flow(NamedTuple):
    """Who makes each variable of a jaxpr, and who reads it."""

    makers: dict[Any, Any]
    users: dict[Any, list[Any]]


@functools.lru_cache(maxsize=64)
def flow_of(jaxpr: Any) -> Flow:
    """The equations of a jaxpr, not closed, by their variables."""
    flow = Flow({}, {})
    for equation in jaxpr.eqns:
        flow.makers.update(dict.fromkeys(equation.outvars, equation))
        for operand in filter(is_variable, equation.invars):
            flow.users.setdefault(operand, []).append(equation)
    return flow


def is_variable(operand: Any) -> bool:
    """Whether an operand is a variable, and no literal."""
    return not hasattr(operand, "val")


def bytes_of(aval: Any) -> int:
    """The size of a value in bytes; 0 for what is no array, or has a symbolic extent."""
    shape, dtype = getattr(aval, "shape", None), getattr(aval, "dtype", None)
    if shape is None or not all(isinstance(dim, int) for dim in shape):
        return 0
    return math.prod(shape) * getattr(dtype, "itemsize", 0)


def count_equations(jaxpr: Any) -> int:
    """How many equations there are, those that only hold others left out."""
    return sum(1 for step in steps_of(jaxpr) if not any(inner_of(step.equation)))


def show_aval(aval: Any) -> str:
    """A type in words: "f32[8,128]"."""
    from ...ir.dtypes import short_dtype

    return f"{short_dtype(aval.dtype)}[{','.join(map(str, aval.shape))}]"
