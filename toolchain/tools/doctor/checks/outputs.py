"""Outputs that tell the caller nothing that it does not know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..equations import CALLS, flow_of, inner_of, is_variable, open_jaxpr
from ..finding import Cost, Finding
from ..program import Leaf, Program
from ..registry import check
from ..thresholds import LEAST_DEAD


@check
def dead_output(program: Program) -> Iterator[Finding]:
    """Outputs that are constants, equal to another output, or an argument handed back.

    Each is written at every call, from 64 KiB on worth leaving out. An argument that is donated
    costs nothing, since its memory is the output's.
    """
    if not program.arguments:
        return
    kinds = _kinds(program)
    if all(kind == "constant" for kind in kinds):
        return  # what makes a state, say: there is nothing else
    for kind, (what, fix) in _WORDS.items():
        leaves = [leaf for leaf, each in zip(program.results, kinds, strict=True) if each == kind]
        if leaves:
            yield _finding(program, leaves, what, fix)


_WORDS = {
    "constant": (
        "depends on no argument: the same values are written at every call",
        "Make it once, outside of the function.",
    ),
    "duplicate": (
        "is equal to an earlier output: it is written twice at every call",
        "Return it once.",
    ),
    "argument": (
        "is an argument as it was: it is copied at every call",
        "Do not return what the caller has, or donate the argument (donate_argnames), so that "
        "nothing is copied.",
    ),
}


def _finding(program: Program, leaves: Sequence[Leaf], what: str, fix: str) -> Finding:
    shown = ", ".join(leaf.name for leaf in leaves[:3])
    more = f" and {len(leaves) - 3} more: each" if len(leaves) > 3 else ""
    each = ": each" if 1 < len(leaves) <= 3 else ""
    size = sum(leaf.bytes for leaf in leaves)
    cost = Cost(bytes=size, seconds=program.seconds_of(size), how="written in each call")
    return Finding(program.returned, f"{shown}{more}{each} {what}", fix, cost)


def _kinds(program: Program) -> list[str]:
    """For each result what it is: "constant", "duplicate", "argument", or empty."""
    jaxpr = open_jaxpr(program.jaxpr)
    moving = _moving(jaxpr)
    seen: set[tuple[int, ...]] = set()
    kinds = []
    for leaf, variable in zip(program.results, jaxpr.outvars, strict=True):
        origin = through_calls(jaxpr, variable)
        is_moving = is_variable(variable) and variable in moving
        kinds.append(_kind(program, leaf, origin, is_moving, seen) if _is_large(leaf) else "")
        seen.add(origin.key)
    return kinds


def _is_large(leaf: Leaf) -> bool:
    return leaf.bytes >= LEAST_DEAD


def _kind(
    program: Program, leaf: Leaf, origin: Origin, is_moving: bool, seen: set[tuple[int, ...]]
) -> str:
    if not is_moving or not is_variable(origin.variable):
        return "constant"
    inputs = open_jaxpr(program.jaxpr).invars
    number = next((n for n, each in enumerate(inputs) if each is origin.variable), None)
    if number is not None:
        return "" if program.arguments[number].donated else "argument"
    return "duplicate" if origin.key in seen else ""


class Origin(NamedTuple):
    """Where a variable is computed.

    Attributes:
        jaxpr: not closed; the outermost, or one that is called.
        variable: its name there; a literal where it is a number of the text.
        calls: the equations that lead there: one jaxpr may be called several times.
    """

    jaxpr: Any
    variable: Any
    calls: tuple[Any, ...] = ()

    @property
    def key(self) -> tuple[int, ...]:
        """The same for what is one value."""
        return (id(self.variable), *map(id, self.calls))


def through_calls(jaxpr: Any, variable: Any, calls: tuple[Any, ...] = ()) -> Origin:
    """Where a variable of a jaxpr is computed, seen through what JAX outlined."""
    maker = flow_of(jaxpr).makers.get(variable) if is_variable(variable) else None
    if maker is not None and maker.primitive.name in CALLS:
        return _of_call(Origin(jaxpr, variable, calls), maker)
    return Origin(jaxpr, variable, calls)


def _of_call(result: Origin, equation: Any) -> Origin:
    """What a call gives for a result: an operand of its, or a variable of its own."""
    inner = next(inner_of(equation))
    outcome = inner.outvars[equation.outvars.index(result.variable)]
    found = through_calls(inner, outcome, (*result.calls, equation))
    if is_variable(found.variable) and found.variable in inner.invars:
        operand = equation.invars[inner.invars.index(found.variable)]
        return through_calls(result.jaxpr, operand, result.calls)
    return found


def _moving(jaxpr: Any) -> set[Any]:
    """The variables that depend on an argument, or on what the world does."""
    found = set(jaxpr.invars)
    for equation in jaxpr.eqns:
        depends = any(is_variable(each) and each in found for each in equation.invars)
        if depends or equation.effects:
            found.update(equation.outvars)
    return found
