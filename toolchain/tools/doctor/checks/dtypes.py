"""Element types that are wider than they need to be, and types that are only weakly known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jax import numpy as jnp

from ..equations import (
    Flow,
    Step,
    bytes_of,
    flow_of,
    inner_of,
    is_variable,
    open_jaxpr,
    place_of,
    show_aval,
)
from ..finding import Cost, Finding
from ..program import Carried, Program
from ..registry import check
from ..thresholds import LEAST_WIDENED

_FAR = 16  # equations that a search goes on


@check
def f64(program: Program) -> Iterator[Finding]:
    """Values that become f64 (or c128) in a program whose arguments are all narrower.

    Under jax_enable_x64 numpy's types and JAX's defaults are 64 bits wide; what such a value
    touches is twice as large, half as fast or less, and on TPUs computed by software.
    """
    if any(_is_double(leaf.aval) for leaf in program.arguments):
        return
    doubles = sum(any(map(_is_double, _results(step))) for step in program.steps)
    for step in program.steps:
        size = sum(bytes_of(aval) for aval in _results(step) if _is_double(aval))
        if size < LEAST_WIDENED or not _begins_double(step) or _is_promotion(step):
            continue
        aval = next(aval for aval in _results(step) if _is_double(aval))
        yield Finding(
            step.place,
            f"{show_aval(aval)} begins here, though no argument is f64; {doubles} equations "
            "compute in f64",
            "Give it a type: dtype=jnp.float32, or .astype(x.dtype).",
            Cost(bytes=size / 2, how="by the shapes: half of the value"),
        )


def _results(step: Step) -> list[Any]:
    return [variable.aval for variable in step.equation.outvars]


def _is_double(aval: Any) -> bool:
    return str(getattr(aval, "dtype", "")) in ("float64", "complex128")


def _begins_double(step: Step) -> bool:
    """Whether it makes f64 of what is none; constants that are f64 begin where they are used."""
    if any(inner_of(step.equation)):
        return False
    return not any(_is_double(each.aval) for each in step.equation.invars if is_variable(each))


@check
def implicit_upcast(program: Program) -> Iterator[Finding]:
    """Arrays of floats that are widened because the other operand is wider.

    bf16 with f32, or f32 with numpy's f64: nobody wrote the conversion, and all that follows is as
    wide. What is narrowed again at once is left alone: that is how one accumulates.
    """
    for step in program.steps:
        if step.name != "convert_element_type":
            continue
        before, after = step.equation.invars[0].aval, step.equation.outvars[0].aval
        if not _is_widening(before, after) or bytes_of(after) < LEAST_WIDENED:
            continue
        other = _wide_partner(step)
        if other is None or _is_narrowed(step.jaxpr, step.equation.outvars[0], before):
            continue
        yield Finding(
            step.place,
            f"{show_aval(before)} becomes {show_aval(after)}, because it meets {show_aval(other)}",
            f"Convert the other operand, .astype({_jnp_name(before)}), or write the conversion "
            "where it is meant.",
            Cost(bytes=bytes_of(after) - bytes_of(before), how="by the shapes"),
        )


def _jnp_name(aval: Any) -> str:
    return f"jnp.{aval.dtype}"


def _is_widening(before: Any, after: Any) -> bool:
    families = (jnp.floating, jnp.complexfloating)
    is_of_one = any(all(jnp.issubdtype(a.dtype, f) for a in (before, after)) for f in families)
    return is_of_one and before.dtype.itemsize < after.dtype.itemsize


def _is_promotion(step: Step) -> bool:
    return step.name == "convert_element_type" and _wide_partner(step) is not None


def _wide_partner(step: Step) -> Any:
    """The type of the operand for whose sake a value is widened; None where it was asked for.

    JAX promotes and computes within one call of its own: both equations have the same frames. The
    partner comes from outside of it, and is as wide already.
    """
    flow = flow_of(step.jaxpr)
    widened = step.equation.outvars[0]
    for user in flow.users.get(widened, ()):
        if _frames(user) != step.frames:
            continue
        for operand in user.invars:
            origin = _origin(operand, flow, step.frames)
            is_other = operand is not widened and origin is not step.equation.invars[0]
            kind = getattr(origin.aval, "dtype", None)
            if is_other and kind == widened.aval.dtype and _may_widen(origin):
                return origin.aval
    return None


def _may_widen(operand: Any) -> bool:
    """Whether an operand promotes others: a Python number does not."""
    return not getattr(operand.aval, "weak_type", False) and bool(
        jnp.issubdtype(operand.aval.dtype, jnp.inexact)
    )


def _origin(operand: Any, flow: Flow, frames: Any) -> Any:
    """What an operand is made of within one call, by moving or converting it alone."""
    for _ in range(_FAR):
        maker = flow.makers.get(operand) if is_variable(operand) else None
        if maker is None or len(maker.invars) != 1 or _frames(maker) != frames:
            return operand
        operand = maker.invars[0]
    return operand


def _frames(equation: Any) -> list[tuple[str, int, str]]:
    from ....frontend._private import frames_of

    return frames_of(equation)


def _is_narrowed(jaxpr: Any, widened: Any, before: Any) -> bool:
    """Whether all that is made of a value is soon converted to a type as narrow as it was."""
    flow = flow_of(jaxpr)
    pending: list[Any] = [widened]
    seen: set[int] = set()
    while pending:
        variable = pending.pop()
        if variable in jaxpr.outvars or len(seen) > _FAR:
            return False
        for equation in flow.users.get(variable, ()):
            if not equation.outvars:
                return False
            wide = [each for each in equation.outvars if _width(each) > before.dtype.itemsize]
            pending += wide if id(equation) not in seen else []
            seen.add(id(equation))
    return True


def _width(variable: Any) -> int:
    return getattr(getattr(variable.aval, "dtype", None), "itemsize", 0)


@check
def weak_type(program: Program) -> Iterator[Finding]:
    """Results that are passed back as arguments, and then have a weak type, or none any more.

    A value made of Python numbers alone has a weak type, which is part of what JAX compiles for:
    the second turn of a loop around the function compiles everything once more.
    """
    for carried in program.carried:
        changed = [pair for pair in carried.pairs if _changes(program, *pair)]
        if changed:
            yield _weak_finding(program, carried, changed)


def _changes(program: Program, argument: int, result: int) -> bool:
    leaves = program.arguments[argument], program.results[result]
    return len({bool(getattr(leaf.aval, "weak_type", False)) for leaf in leaves}) == 2


def _weak_finding(program: Program, carried: Carried, changed: list[tuple[int, int]]) -> Finding:
    names = ", ".join(program.arguments[argument].name for argument, _ in changed[:3])
    _, result = changed[0]
    is_weak = program.results[result].aval.weak_type
    ways = ("loses its", "comes back with a")
    place = _maker(program, result) if is_weak else program.returned
    made = _type_name(program.results[result].aval)
    return Finding(
        place,
        f"{names} {ways[is_weak]} weak type: a call with the result of the last one compiles anew",
        f"Give it a type: jnp.asarray(value, {made}) "
        + ("for the result." if is_weak else "for the argument, in place of a Python number."),
        Cost(compile_seconds=_compile_seconds(program), how=_how(program)),
    )


def _type_name(aval: Any) -> str:
    return f"jnp.{aval.dtype}"


def _how(program: Program) -> str:
    return "once more: tracing, lowering, XLA" if program.may_compile else "tracing and lowering"


def _compile_seconds(program: Program) -> float:
    return sum(program.lowered.seconds.values()) + (program.compile_seconds or 0.0)


def _maker(program: Program, result: int) -> Any:
    """The line that makes a result; the one that returns it where it is a number of the text."""
    jaxpr = open_jaxpr(program.jaxpr)
    variable = jaxpr.outvars[result]
    for equation in jaxpr.eqns:
        if variable in equation.outvars:
            return place_of(equation, program.home) or program.returned
    return program.returned
