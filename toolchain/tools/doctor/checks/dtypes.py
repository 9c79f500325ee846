"""Element types that are wider than necessary, and weak types.

JAX promotes the operands of a call inside of that call: the conversion and the op have the same
Python frames. This distinguishes a promotion from a conversion that the user wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jax import numpy as jnp

from ....frontend.jaxprs import frames_of
from ....source import SourceLine
from ..finding import Finding, FindingCost, check
from ..jaxpr import (
    DefUse,
    TracedEquation,
    def_use_of,
    is_variable,
    open_inner_jaxprs,
    open_jaxpr,
    place_of,
    show_aval,
)
from ..program import ExaminedProgram, NamedArray
from ..thresholds import MIN_WIDENED_BYTES

_MAX_EQUATIONS = 16  # that a search follows


@check
def f64(program: ExaminedProgram) -> Iterator[Finding]:
    """Values that become f64 (or c128) in a program whose arguments are all narrower.

    With jax_enable_x64, numpy's types and JAX's defaults are 64 bits wide. Such a value, and what
    is computed with it, is twice as large and at most half as fast; TPUs emulate it in software.
    """
    if any(_is_double(array.aval) for array in program.arguments):
        return
    doubles = sum(any(map(_is_double, each.results)) for each in program.equations)
    for each in program.equations:
        wide = [aval for aval in each.results if _is_double(aval)]
        size = sum(map(each.bytes_in_one_run, wide))
        if size < MIN_WIDENED_BYTES or not _begins_double(each):
            continue
        yield Finding(
            each.place,
            f"{show_aval(wide[0])} begins here, though no argument is f64; {doubles} equations "
            "compute in f64",
            "Give it a type: dtype=jnp.float32, or .astype(x.dtype).",
            FindingCost(bytes=size / 2, how=f"by the shapes: half of the value{_times(each)}"),
        )


def _times(each: TracedEquation) -> str:
    count = each.iterations or 1
    return f", in {count} iterations" if count > 1 else ""


def _is_double(aval: Any) -> bool:
    return str(getattr(aval, "dtype", "")) in ("float64", "complex128")


def _begins_double(each: TracedEquation) -> bool:
    """Whether no operand is f64 yet, and none causes a promotion.

    An f64 constant begins where it is used.
    """
    if any(open_inner_jaxprs(each.equation)):
        return False
    operands = filter(is_variable, each.equation.invars)
    if any(_is_double(operand.aval) for operand in operands):
        return False
    return each.name != "convert_element_type" or _wide_partner(each) is None


@check
def implicit_upcast(program: ExaminedProgram) -> Iterator[Finding]:
    """Arrays of floats that are converted to a wider type because the other operand is wider.

    Examples are bf16 with f32, or f32 with numpy's f64. Nobody wrote the conversion, and everything
    computed from it is as wide. A value that is narrowed again at once is left alone: that is how
    one accumulates.
    """
    for each in program.equations:
        if each.name != "convert_element_type":
            continue
        before, after = each.equation.invars[0].aval, each.results[0]
        wide = each.bytes_in_one_run(after)
        if not _is_widening(before, after) or wide < MIN_WIDENED_BYTES:
            continue
        other = _wide_partner(each)
        if other is None or _is_narrowed(each.jaxpr, each.equation.outvars[0], before):
            continue
        size = wide - each.bytes_in_one_run(before)
        yield Finding(
            each.place,
            f"{show_aval(before)} becomes {show_aval(after)}, because the other operand is "
            f"{show_aval(other)}",
            f"Convert the other operand, .astype(jnp.{before.dtype}), or write the conversion "
            "out, if it is meant.",
            FindingCost(bytes=size, how=f"by the shapes{_times(each)}"),
        )


def _is_widening(before: Any, after: Any) -> bool:
    families = (jnp.floating, jnp.complexfloating)
    is_of_one = any(all(jnp.issubdtype(a.dtype, f) for a in (before, after)) for f in families)
    return is_of_one and before.dtype.itemsize < after.dtype.itemsize


def _wide_partner(conversion: TracedEquation) -> Any:
    """The type of the operand that caused a promotion; None if the conversion was written.

    That operand comes from outside of the call, and already has the wide type.
    """
    flow = def_use_of(conversion.jaxpr)
    widened = conversion.equation.outvars[0]
    for user in flow.users.get(widened, ()):
        if frames_of(user) != conversion.frames:
            continue
        for operand in user.invars:
            origin = _origin_outside(operand, flow, conversion.frames)
            if operand is widened or origin is conversion.equation.invars[0]:
                continue
            dtype = getattr(origin.aval, "dtype", None)
            is_number = getattr(origin.aval, "weak_type", False)  # Python's promote nothing
            is_inexact = dtype is not None and jnp.issubdtype(dtype, jnp.inexact)
            if dtype == widened.aval.dtype and is_inexact and not is_number:
                return origin.aval
    return None


def _origin_outside(operand: Any, flow: DefUse, frames: Any) -> Any:
    """The value from outside of a call that an operand is a moved or converted copy of."""
    for _ in range(_MAX_EQUATIONS):
        maker = flow.makers.get(operand) if is_variable(operand) else None
        if maker is None or len(maker.invars) != 1 or frames_of(maker) != frames:
            return operand
        operand = maker.invars[0]
    return operand


def _is_narrowed(jaxpr: Any, widened: Any, before: Any) -> bool:
    """Whether everything made of a value is soon converted back to a type as narrow."""
    flow = def_use_of(jaxpr)
    pending: list[Any] = [widened]
    visited: set[int] = set()
    while pending:
        variable = pending.pop()
        if variable in jaxpr.outvars or len(visited) > _MAX_EQUATIONS:
            return False
        for equation in flow.users.get(variable, ()):
            if not equation.outvars:
                return False
            if id(equation) not in visited:
                visited.add(id(equation))
                for each in equation.outvars:
                    dtype = getattr(each.aval, "dtype", None)
                    if dtype is not None and dtype.itemsize > before.dtype.itemsize:
                        pending.append(each)
    return True


@check
def weak_type(program: ExaminedProgram) -> Iterator[Finding]:
    """Results that are passed back as arguments with another weak type than before.

    A value made of Python numbers alone has a weak type. JAX compiles for types including weakness,
    so the second iteration of a Python loop around the function compiles it again.
    """
    for carried in program.carried:
        changed = [
            (program.arguments[argument].name, result)
            for argument, result in carried.pairs
            if _is_weak(program.arguments[argument]) != _is_weak(program.results[result])
        ]
        if not changed:
            continue
        names = ", ".join(name for name, _ in changed[:3])
        result = changed[0][1]
        is_weak = _is_weak(program.results[result])
        change = "comes back with a" if is_weak else "loses its"
        which = "the result" if is_weak else "the argument, in place of a Python number"
        dtype = program.results[result].aval.dtype
        seconds = sum(program.lowered.seconds.values()) + (program.compile_seconds or 0.0)
        stages = "tracing, lowering, XLA" if program.may_compile else "tracing and lowering"
        yield Finding(
            _maker_place(program, result) if is_weak else program.returned,
            f"{names} {change} weak type: passing the result to the next call compiles again",
            f"Give {which} a type: jnp.asarray(value, jnp.{dtype}).",
            FindingCost(compile_seconds=seconds, how=f"once more: {stages}"),
        )


def _is_weak(array: NamedArray) -> bool:
    return bool(getattr(array.aval, "weak_type", False))


def _maker_place(program: ExaminedProgram, result: int) -> SourceLine | None:
    """The line that computes a result; the line of the `return` if it is a literal."""
    jaxpr = open_jaxpr(program.jaxpr)
    maker = def_use_of(jaxpr).makers.get(jaxpr.outvars[result])
    return (place_of(maker, program.home) if maker else None) or program.returned
