"""Messages for exceptions that the user's code or JAX raises while a function is traced.

Each explainer below recognizes one kind of exception and returns a problem and its remedies, or
None; the first that recognizes it wins, and the exception's own text is the fallback. The message
begins with the innermost line of the user's in the traceback.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..errors import JxcError, UsageError
from ..ir.dtypes import canonical_dtype
from ..source import SourceLine, definition_line, home_of, user_line_of_traceback
from .arguments import describe_call


class TraceError(JxcError):
    """The user's function cannot be traced or lowered; `place` is the line that caused it."""

    place: SourceLine | None = None


class ArgumentError(UsageError):
    """The number, names or types of the arguments do not fit the function."""


@dataclass(frozen=True)
class TracedCall:
    """A function being traced: the user's, the transformed one, and its arguments."""

    function: Callable[..., Any]
    traced: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def name(self) -> str:
        """The name of the function in messages."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def argument(self, name: str) -> Any:
        """The value of the parameter `name`; None if unknown."""
        try:
            bound = inspect.signature(self.traced).bind(*self.args, **self.kwargs)
        except (TypeError, ValueError):
            return None
        return bound.arguments.get(name)

    def __str__(self) -> str:
        return describe_call(self.name, self.args, self.kwargs)


Explanation = tuple[str, list[str]]
"""The problem in a sentence, and the remedies, one a line."""


@contextmanager
def explaining(call: TracedCall) -> Iterator[None]:
    """Raise exceptions of the block as `TraceError`s, with the original as the cause."""
    try:
        yield
    except JxcError:
        raise
    except Exception as error:
        raise explain(error, call) from error


def explain(error: Exception, call: TracedCall) -> TraceError:
    """The message for an exception that tracing or lowering `call` raised."""
    place, explained = problem(error, call)
    return trace_error(explained, place, call)


def problem(error: Exception, call: TracedCall) -> tuple[SourceLine | None, Explanation]:
    """The line, the problem and the remedies of an exception from tracing or lowering `call`."""
    home = home_of(call.function)
    place = user_line_of_traceback(error.__traceback__, home) or definition_line(call.function)
    failure = _Failure(error, place, call)
    for explainer in (_needs_value, _bad_result, _untraceable, _leaked, _incomparable, _known_text):
        if explained := explainer(failure):
            return place, explained
    return place, _own_message(failure)


def trace_error(explained: Explanation, place: SourceLine | None, call: TracedCall) -> TraceError:
    """The error that reports a problem of `call` at a line of the user's."""
    problem, remedy = explained
    lines = [f"{place}: {problem}" if place else problem]
    if place and place.text:
        lines.append(place.quote())
    error = TraceError(
        "\n".join([*lines, *(f"  {line}" for line in remedy), f"  while tracing {call}"])
    )
    error.place = place
    return error


@dataclass(frozen=True)
class _Failure:
    """An exception, the user's line that raised it, and the call that was being traced."""

    error: Exception
    place: SourceLine | None
    call: TracedCall

    @property
    def text(self) -> str:
        return str(self.error)

    def find(self, pattern: str) -> str:
        """The first group of `pattern` in the exception's message, or an empty string."""
        found = re.search(pattern, self.text)
        return found[1] if found else ""


def _own_message(failure: _Failure) -> Explanation:
    """The first eight lines of the exception's message, without JAX's links and advice."""
    text = re.split(r"\n?-{20}|See https?://|For simplicity, JAX", failure.text)[0]
    first, *rest = [line.rstrip() for line in text.splitlines() if line.strip()] or [""]
    return f"{type(failure.error).__name__}: {first}".rstrip(": "), rest[:7]


# Python needs a value that tracing does not have


def _needs_value(failure: _Failure) -> Explanation | None:
    from jax import errors

    kinds = {
        errors.NonConcreteBooleanIndexError: _boolean_index,
        errors.TracerBoolConversionError: _control_flow,
        errors.TracerIntegerConversionError: _integer,
        errors.TracerArrayConversionError: _numpy,
        errors.ConcretizationTypeError: _number,
    }
    explain = next((kinds[each] for each in kinds if isinstance(failure.error, each)), None)
    if explain is not None:
        problem, remedy = explain(failure)
    elif "Shapes must be 1D sequences of concrete values" in failure.text:
        problem, remedy = "a shape depends on the value of a traced array", _SHAPES
    else:
        return None
    found = failure.find(r"depends on the values? of the arguments? ([^\n]*?)\.(?=\s|$)")
    names = re.findall(r"[^\s,]+", found.replace(" and ", " "))
    unknown = "While tracing, an array has a shape and a dtype but no value."
    because = f"It depends on {' and '.join(names)}. {unknown}" if names else unknown
    remedies = [because, remedy]
    if len(names) == 1 and getattr(failure.call.argument(names[0]), "shape", ()) == ():
        static = _as_static(names[0])
        remedies.append(f"Or fix it, if it is a setting rather than data: {static}.")
    return problem, remedies


def _traced_type(failure: _Failure, pattern: str = r"with shape (\w+\[[^\]]*\])") -> str:
    """`a traced f32[8]`, which JAX writes as float32[8]."""
    dtype, bracket, dims = failure.find(pattern).partition("[")
    return f"a traced {canonical_dtype(dtype) or dtype}{bracket}{dims}".replace("  ", " value")


def _control_flow(failure: _Failure) -> tuple[str, str]:
    word = re.match(r"\w*", failure.place.text if failure.place else "")
    statement = word[0] if word else ""
    asks = f"'{statement}' asks" if statement in _INSTEAD else "Python asks"
    remedy = _INSTEAD.get(statement, _INSTEAD["if"])
    return f"{asks} whether {_traced_type(failure)} is true", remedy


_INSTEAD = {
    "if": "Use jnp.where or jax.lax.cond in place of 'if'.",
    "elif": "Use jnp.where or jax.lax.switch in place of 'elif'.",
    "while": "Use jax.lax.while_loop in place of 'while'.",
    "assert": "Use jax.experimental.checkify.check in place of 'assert', or leave it out.",
}


def _integer(failure: _Failure) -> tuple[str, str]:
    problem = f"Python needs {_traced_type(failure)} as an integer"
    if failure.place and "range(" in failure.place.text:
        return problem, "Use jax.lax.fori_loop or jax.lax.scan in place of 'for'."
    return problem, "For an index, use jnp.take or jax.lax.dynamic_slice."


_SHAPES = "Compute shapes from x.shape."


def _number(failure: _Failure) -> tuple[str, str]:
    value = _traced_type(failure)
    if caller := failure.find(r"size argument of (jnp\.\w+)"):
        remedy = "State an upper bound with size=N, or use jnp.where(mask, x, other)."
        return f"the number of results of {caller} depends on {value}", remedy
    if argument := failure.find(r"arose in the (jnp\.\w+ argument '\w+')"):
        return f"{argument} needs the value of {value}", _SHAPES
    function = failure.find(r"arose with the `(\w+)` function")
    method = failure.find(r"occurred in the (\w+)\(\) method")
    asks = f"{function}()" if function else f".{method}()" if method else "Python"
    remedy = "Keep it an array: x.astype(dtype) converts, jax.debug.print prints."
    return f"{asks} needs the value of {value}", remedy


def _numpy(failure: _Failure) -> tuple[str, str]:
    remedy = "Use jax.numpy in place of numpy; jax.pure_callback where it has no such function."
    return f"numpy needs the value of {_traced_type(failure)}", remedy


def _boolean_index(failure: _Failure) -> tuple[str, str]:
    mask = _traced_type(failure, r"got (\w+\[[^\]]*\])")
    remedy = "Use jnp.where(mask, x, other), or index with jnp.nonzero(mask, size=N)."
    return f"the shape of the result depends on the values of the index, {mask}", remedy


def _as_static(name: str) -> str:
    return f"--static {name}=VALUE, or static_argnames='{name}' of jax.jit"


# Other errors of JAX


def _bad_result(failure: _Failure) -> Explanation | None:
    found = failure.find(r"returned a value of type <class '(.*?)'>")
    if not found or "not a valid JAX type" not in failure.text:
        return None
    where = failure.find(r"at output component (.+?), which")
    result = f"the result of {failure.call.name}{f' at {where}' if where else ''}"
    remedy = "Return arrays and numbers, or dicts, lists and tuples of them."
    return f"{result} is of type {found}, which is no array", [remedy]


def _untraceable(failure: _Failure) -> Explanation | None:
    kind = failure.find(r"problematic value is of type <class '(.*?)'>")
    if not kind:
        return None
    path = failure.find(r"was passed to the function at path (\S+?)\.?\s")
    problem = f"argument {path} is of type {kind}, which cannot be traced"
    if hasattr(failure.call.traced, "trace"):
        remedy = "Mark it static where the function is jitted: jax.jit(..., static_argnames=...)."
    else:
        remedy = f"Fix its value while tracing: {_as_static(re.split(r'[.[]', path)[0])}."
    if kind == "str":
        return problem, [remedy]
    return problem, [remedy, "Or register its class: jax.tree_util.register_dataclass."]


LEAKED: Explanation = (
    "a traced value left the function that made it",
    [
        "It was kept in a global, an attribute or a list, and used after that trace had ended.",
        "Return it from the function instead. (JAX_CHECK_TRACER_LEAKS=1 finds where it left.)",
    ],
)


def _leaked(failure: _Failure) -> Explanation | None:
    from jax import errors

    return LEAKED if isinstance(failure.error, errors.UnexpectedTracerError) else None


def _incomparable(failure: _Failure) -> Explanation | None:
    if type(failure.error).__name__ != "InconclusiveDimensionOperation":
        return None
    problem, more = _own_message(failure)
    return problem, [*more, "Write a number in place of the dimension's name."]


_KNOWN = {
    r"requires real- or complex-valued inputs|grad requires.*inputs": (
        "Give it float arguments, or choose others with argnums: grad(argnums=1)."
    ),
    "Gradient only defined for scalar-output functions": (
        "Return a scalar such as a loss (jnp.mean), or use jacrev, or vjp with a cotangent."
    ),
    r"requires \d+ .*devices": (
        "Ask for as many CPU devices as the mapped axis is long: JAX_NUM_CPU_DEVICES=N."
    ),
    r"vmap (in_axes|got inconsistent sizes|was requested)": (
        "in_axes has one entry for each argument: an axis, or None for what is not mapped."
    ),
    "context mesh .* should match the mesh": (
        "The function brings a mesh of its own: leave --mesh out. It is lowered over that one."
    ),
    "does not match the device assignment size|incompatible devices": (
        "The function is jitted over devices of its own: give --mesh as many, or leave it out."
    ),
    "can only be used outside of `jax.jit`": (
        "Leave the mesh out of the function: --mesh sets it for the whole of it."
    ),
    r"Resource axis: .* is not found in mesh": (
        "Name an axis of --mesh, or add one: --mesh data=4,model=2."
    ),
    "non-empty mesh": "Name the axes: --mesh data=4,model=2.",
    "unbound axis name": (
        "Name the axis: --transform \"vmap(axis_name='i')\", or pmap for devices."
    ),
}


def _known_text(failure: _Failure) -> Explanation | None:
    for pattern, remedy in _KNOWN.items():
        if re.search(pattern, failure.text):
            problem, more = _own_message(failure)
            return problem, [*more, remedy]
    return None
