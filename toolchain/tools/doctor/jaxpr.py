"""The equations of a jaxpr, those in loops and branches included.

`traced_equations` yields each equation with the number of times it runs, the loops around it and
the user's line. `origin_of` follows a variable through functions that JAX outlined.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from ...frontend import jaxprs
from ...ir.dtypes import short_dtype
from ...source import SourceLine, innermost_library_line, innermost_user_line, is_user_file

Frame = tuple[str, int, str]
"""File, line from 1, function."""

CALLS = frozenset(["jit", "pjit", "closed_call"])
"""The primitives that only call a function that JAX outlined."""


@dataclass(frozen=True)
class TracedEquation:
    """An equation and its surroundings.

    Attributes:
        equation: JAX's own object.
        jaxpr: the open jaxpr that the equation belongs to.
        home: a folder whose files are the user's, see `jxc.source`.
        loops: the loops around it, the outermost first.
        iterations: how often these loops run it; None if a `while` loop is among them.
        is_guarded: whether it is in a branch inside of the innermost loop.
        outer: the equation that contains this one.
        is_of_library: whether it is in a jitted function of a library, such as jnp.where. JAX
            traces that function once and records the line of the first call only.
    """

    equation: Any = field(repr=False)
    jaxpr: Any = field(repr=False)
    home: str | None
    loops: tuple[Any, ...] = field(default=(), repr=False)
    iterations: int | None = 1
    is_guarded: bool = False
    outer: TracedEquation | None = field(default=None, repr=False)
    is_of_library: bool = False

    @property
    def name(self) -> str:
        """The name of the primitive."""
        return str(self.equation.primitive.name)

    @property
    def results(self) -> list[Any]:
        """The types of the results."""
        return [variable.aval for variable in self.equation.outvars]

    @cached_property
    def frames(self) -> list[Frame]:
        """The Python frames in which it was traced, the outermost first."""
        return jaxprs.frames_of(self.equation)

    @cached_property
    def place(self) -> SourceLine | None:
        """The user's innermost line."""
        own = None if self.is_of_library else place_of(self.equation, self.home)
        return own or (self.outer.place if self.outer else None)

    def bytes_in_one_run(self, aval: Any) -> int:
        """The bytes of a value of this equation, times the iterations of the loops around it.

        Loops of unknown trip count count as one iteration. A single element counts once in any
        case: it does not need memory.
        """
        is_array = math.prod(getattr(aval, "shape", ())) > 1
        return bytes_of(aval) * ((self.iterations or 1) if is_array else 1)


def library_line(places: Iterable[SourceLine], home: str | None) -> str:
    """See `innermost_library_line`: as " (in flax/linen/linear.py:210)", or empty."""
    found = innermost_library_line(places, home)
    return f" (in {found})" if found else ""


def place_of(equation: Any, home: str | None) -> SourceLine | None:
    """The user's innermost line of an equation."""
    return innermost(jaxprs.frames_of(equation), home)


def innermost(frames: Sequence[Frame], home: str | None) -> SourceLine | None:
    """The last of some frames, the outermost first, that is in the user's code, or None."""
    return innermost_user_line((SourceLine(*frame) for frame in frames), home)


def traced_equations(jaxpr: Any, home: str | None = None) -> Iterator[TracedEquation]:
    """Every equation; an equation comes before those that it contains."""
    inner = open_jaxpr(jaxpr)
    for equation in inner.eqns:
        yield from _with_inner(TracedEquation(equation, inner, home))


def _with_inner(outer: TracedEquation) -> Iterator[TracedEquation]:
    yield outer
    for jaxpr in open_inner_jaxprs(outer.equation):
        file = outer.name in CALLS and jaxprs.traced_file(jaxpr)
        is_of_library = bool(file and not is_user_file(file, outer.home))
        template = replace(
            _inside(outer), outer=outer, is_of_library=outer.is_of_library or is_of_library
        )
        for equation in jaxpr.eqns:
            yield from _with_inner(replace(template, equation=equation, jaxpr=jaxpr))


def _inside(outer: TracedEquation) -> TracedEquation:
    """`outer` with the loops and branches that hold for the equations that it contains."""
    if outer.name in ("cond", "switch"):
        return replace(outer, is_guarded=True)
    if outer.name not in ("scan", "while"):
        return outer
    length = outer.equation.params["length"] if outer.name == "scan" else None
    is_counted = length is not None and outer.iterations is not None
    iterations = outer.iterations * int(length) if is_counted else None  # type: ignore[operator, arg-type]
    loops = (*outer.loops, outer.equation)
    return replace(outer, loops=loops, iterations=iterations, is_guarded=False)


def open_inner_jaxprs(equation: Any) -> Iterator[Any]:
    """The open jaxprs that an equation contains."""
    return map(open_jaxpr, jaxprs.inner_jaxprs(equation))


def open_jaxpr(jaxpr: Any) -> Any:
    """The jaxpr within a closed one; an open one as it is."""
    return getattr(jaxpr, "jaxpr", jaxpr)


class DefUse(NamedTuple):
    """The equations of a jaxpr by variable: the one that defines it, and those that read it."""

    makers: dict[Any, Any]
    users: dict[Any, list[Any]]


@functools.lru_cache(maxsize=64)
def def_use_of(jaxpr: Any) -> DefUse:
    """The definitions and uses of the variables of an open jaxpr."""
    found = DefUse({}, {})
    for equation in jaxpr.eqns:
        found.makers.update(dict.fromkeys(equation.outvars, equation))
        for operand in filter(is_variable, equation.invars):
            found.users.setdefault(operand, []).append(equation)
    return found


class ValueOrigin(NamedTuple):
    """Where a variable is computed, once calls of outlined functions are followed.

    Attributes:
        jaxpr: an open jaxpr: the outermost one, or one that is called.
        variable: its name there; a literal if the value is a constant of the text.
        calls: the equations that lead there. One jaxpr may be called several times.
    """

    jaxpr: Any
    variable: Any
    calls: tuple[Any, ...] = ()

    @property
    def key(self) -> tuple[int, ...]:
        """Equal for origins of the same value."""
        return (id(self.variable), *map(id, self.calls))


def origin_of(jaxpr: Any, variable: Any, calls: tuple[Any, ...] = ()) -> ValueOrigin:
    """Where a variable of an open jaxpr is computed."""
    maker = def_use_of(jaxpr).makers.get(variable) if is_variable(variable) else None
    if maker is None or maker.primitive.name not in CALLS:
        return ValueOrigin(jaxpr, variable, calls)
    inner = next(open_inner_jaxprs(maker))
    result = inner.outvars[maker.outvars.index(variable)]
    found = origin_of(inner, result, (*calls, maker))
    if is_variable(found.variable) and found.variable in inner.invars:
        return origin_of(jaxpr, maker.invars[inner.invars.index(found.variable)], calls)
    return found


def is_variable(operand: Any) -> bool:
    """Whether an operand is a variable, not a literal."""
    return not hasattr(operand, "val")


def bytes_of(aval: Any) -> int:
    """The size of a value in bytes; 0 if it is not an array, or has a symbolic dimension."""
    shape, dtype = getattr(aval, "shape", None), getattr(aval, "dtype", None)
    if shape is None or not all(isinstance(dim, int) for dim in shape):
        return 0
    return int(math.prod(shape) * getattr(dtype, "itemsize", 0))


def count_equations(jaxpr: Any) -> int:
    """The number of equations, without those that only contain others."""
    return sum(1 for each in traced_equations(jaxpr) if not any(open_inner_jaxprs(each.equation)))


def show_aval(aval: Any) -> str:
    """A type as text: "f32[8,128]"."""
    return f"{short_dtype(aval.dtype)}[{','.join(map(str, aval.shape))}]"
