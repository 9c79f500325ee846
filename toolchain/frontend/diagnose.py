"""Turning what JAX or the user's code raised into a message about the user's own line."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..errors import JxcError, UsageError
from .arguments import describe_call
from .places import Place, definition_place, home_of, innermost_user_place


class TraceError(JxcError):
    """The user's function cannot be traced or lowered; `place` is the line that is to blame."""

    place: Place | None = None


class ArgumentError(UsageError):
    """The arguments do not fit the function: their number, their names or their types."""


@dataclass(frozen=True)
class Call:
    """What is being traced: the user's function, what is made of it, and its arguments."""

    function: Callable[..., Any]
    traced: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def name(self) -> str:
        """The function's name, as messages give it."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __str__(self) -> str:
        return describe_call(self.name, self.args, self.kwargs)


@contextmanager
def explaining(call: Call) -> Iterator[None]:
    """Turn whatever the block raises into a `TraceError`, the original being its cause."""
    try:
        yield
    except JxcError:
        raise
    except Exception as error:
        raise explain(error, call) from error


def explain(error: Exception, call: Call) -> TraceError:
    """The message for an exception that tracing or lowering `call` raised."""
    home = home_of(call.function)
    place = innermost_user_place(error.__traceback__, home) or definition_place(call.function)
    problem, remedy = _problem(error, place)
    lines = [f"{place}: {problem}" if place else problem]
    if place and place.text:
        lines.append(place.quote())
    explained = TraceError("\n".join([*lines, *_indent(remedy), f"  while tracing {call}"]))
    explained.place = place
    return explained


def _indent(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _problem(error: Exception, place: Place | None) -> tuple[str, list[str]]:
    """What went wrong in a sentence, and what to do about it in lines."""
    for explainer in (_needs_value, _leaked, _incomparable, _known_text):
        if explained := explainer(error, place):
            return explained
    return _first_paragraph(error), []


def _first_paragraph(error: Exception) -> str:
    """The error's own words, up to JAX's blank line or link; at most eight lines."""
    text = re.sub(r"\n*(--------------------|See https?://\S+|For simplicity,).*", "", str(error))
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return f"{type(error).__name__}: " + "\n  ".join(lines[:8])


# Python wanted a value


def _needs_value(error: Exception, place: Place | None) -> tuple[str, list[str]] | None:
    kind = _kind_of_need(error)
    if kind is None:
        return None
    problem, remedies = kind(error, place)
    names = _arguments_to_blame(error)
    unknown = "While tracing, an array has a shape and a dtype but no value."
    because = f"It depends on {' and '.join(names)}. {unknown}" if names else unknown
    return problem, [because, *remedies, *([_static(names)] if kind is not _numpy else [])]


def _kind_of_need(error: Exception) -> Callable[..., tuple[str, list[str]]] | None:
    from jax import errors

    kinds = {
        errors.NonConcreteBooleanIndexError: _boolean_index,
        errors.TracerBoolConversionError: _control_flow,
        errors.TracerIntegerConversionError: _integer,
        errors.TracerArrayConversionError: _numpy,
        errors.ConcretizationTypeError: _number,
    }
    for error_type, kind in kinds.items():
        if isinstance(error, error_type):
            return kind
    text = str(error)
    return _integer if "Shapes must be 1D sequences of concrete values" in text else None


def _control_flow(error: Exception, place: Place | None) -> tuple[str, list[str]]:
    word = re.match(r"\w*", place.text if place else "")
    statement = word[0] if word else ""
    found = f"'{statement}' asks" if statement in _INSTEAD else "Python asks"
    remedy = _INSTEAD.get(statement, _INSTEAD["if"])
    return f"{found} whether {_traced_type(error)} is true", [remedy]


_INSTEAD = {
    "if": "Use jnp.where or jax.lax.cond in place of 'if'.",
    "elif": "Use jnp.where or jax.lax.switch in place of 'elif'.",
    "while": "Use jax.lax.while_loop in place of 'while'.",
    "assert": "Use jax.experimental.checkify.check in place of 'assert', or leave it out.",
}


def _traced_type(error: Exception) -> str:
    found = re.search(r"with shape (\w+\[[^\]]*\])", str(error))
    return f"a traced {found[1]}" if found else "a traced value"


def _integer(error: Exception, place: Place | None) -> tuple[str, list[str]]:
    remedies = ["A loop count: use jax.lax.fori_loop or jax.lax.scan. An index: use jnp.take."]
    if place and not place.text.startswith("for "):
        remedies = ["A shape must be known while tracing; for an index into a list, use jnp.take."]
    return f"Python needs {_traced_type(error)} as an integer", remedies


def _number(error: Exception, place: Place | None) -> tuple[str, list[str]]:
    function = re.search(r"arose with the `(\w+)` function", str(error))
    method = re.search(r"occurred in the (\w+)\(\) method", str(error))
    argument = re.search(r"arose in the (jnp\.\w+) argument '(\w+)'", str(error))
    size = re.search(r"size argument of (jnp\.\w+)", str(error))
    if size:
        return f"how many results {size[1]} has depends on {_traced_type(error)}", [_SIZE]
    if argument:
        problem = f"{argument[1]} needs the value of '{argument[2]}', {_traced_type(error)}"
        return problem, ["A shape must be known while tracing."]
    asks = f"{function[1]}()" if function else f".{method[1]}()" if method else "Python"
    remedy = "Keep it an array: x.astype(dtype) converts; jax.debug.print prints."
    return f"{asks} needs the value of {_traced_type(error)}", [remedy]


_SIZE = "Give the most results there can be with size=N, or use jnp.where(mask, x, other)."


def _numpy(error: Exception, place: Place | None) -> tuple[str, list[str]]:
    remedies = [
        "Use jax.numpy in place of numpy on this line;",
        "jax.pure_callback calls numpy where there is no counterpart.",
    ]
    return f"numpy needs the value of {_traced_type(error)}", remedies


def _boolean_index(error: Exception, place: Place | None) -> tuple[str, list[str]]:
    found = re.search(r"got (\w+\[[^\]]*\])", str(error))
    mask = f"a traced {found[1]}" if found else "a traced mask"
    remedy = "Use jnp.where(mask, x, other), or jnp.nonzero(mask, size=N) and index with it."
    return f"the result's shape depends on the values of the index, {mask}", [remedy]


def _arguments_to_blame(error: Exception) -> list[str]:
    found = re.search(r"depends on the values? of the arguments? ([^\n]*?)\.(?=\s|$)", str(error))
    return re.findall(r"[^\s,]+", found[1].replace(" and ", " ")) if found else []


def _static(names: Sequence[str]) -> str:
    name = re.split(r"[.\[]", names[0])[0] if len(names) == 1 else "NAME"
    return f"Or make it static, if it is a setting rather than data: --static {name}=VALUE."


# Other errors that JAX raises for a reason it can be told


def _leaked(error: Exception, place: Place | None) -> tuple[str, list[str]] | None:
    from jax import errors

    if not isinstance(error, errors.UnexpectedTracerError):
        return None
    return "a traced value left the function that made it", [
        "It was kept in a global, an attribute or a list, and used after that trace had ended.",
        "Return it from the function instead. (JAX_CHECK_TRACER_LEAKS=1 finds where it left.)",
    ]


def _incomparable(error: Exception, place: Place | None) -> tuple[str, list[str]] | None:
    if type(error).__name__ != "InconclusiveDimensionOperation":
        return None
    return _first_paragraph(error), ["Write a number in place of the dimension's name."]


_KNOWN = (
    (
        r"returned a value of type (<class .*?>)(?: at output component (\S+),)?.*not a valid JAX",
        "Return arrays, numbers, or dicts, lists and tuples of them.",
    ),
    (
        r"requires real- or complex-valued inputs|grad requires.*inputs",
        "Give it float arguments, or choose others with argnums: grad(argnums=1).",
    ),
    (
        r"Gradient only defined for scalar-output functions",
        "Return a scalar such as a loss (jnp.mean), or use jacrev, or vjp with a cotangent.",
    ),
    (
        r"compiling computation that requires \d+ logical devices|requires \d+ .*devices, but only",
        "Ask for as many CPU devices as the mapped axis is long: --host-devices N.",
    ),
    (
        r"vmap (in_axes|got inconsistent sizes|was requested)",
        "in_axes has one entry for each argument: an axis, or None for what is not mapped.",
    ),
    (
        r"unbound axis name",
        "Name the axis: --transform \"vmap(axis_name='i')\", or pmap for devices.",
    ),
)


def _known_text(error: Exception, place: Place | None) -> tuple[str, list[str]] | None:
    text = str(error)
    for pattern, remedy in _KNOWN:
        if re.search(pattern, text):
            return _first_paragraph(error), [remedy]
    return None


# Arguments, before tracing


def check_arguments(call: Call) -> None:
    """See that the arguments fit the signature, before anything is traced.

    Raises:
        ArgumentError: one is missing, or too many, or unknown, or a leaf that is no array.
    """
    try:
        signature = inspect.signature(call.traced)
    except (TypeError, ValueError):  # a builtin: tracing will tell
        return
    try:
        signature.bind(*call.args, **call.kwargs)
    except TypeError as error:
        raise _misfit(call, signature, str(error)) from error
    check_leaves(call)


def _misfit(call: Call, signature: inspect.Signature, reason: str) -> ArgumentError:
    place = definition_place(call.function)
    lines = [f"{place}: " if place else ""]
    lines[0] += f"{call.name}{signature} does not take these arguments: {reason}"
    lines.append(f"  found {call}")
    if "'self'" in reason:
        lines.append("  It is a method: name an instance of its class, as file.py:model.method")
    elif "missing" in reason:
        lines.append("  Give each argument a spec, in order or as name=SPEC, e.g. f32[8,128]")
    return ArgumentError("\n".join(lines))


def check_leaves(call: Call) -> None:
    """See that every leaf of the arguments is something that JAX can trace.

    Raises:
        ArgumentError: one is not, a string for instance.
    """
    from jax import tree_util

    leaves, _ = tree_util.tree_flatten_with_path((call.args, call.kwargs))
    for path, leaf in leaves:
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")) and not _is_number(leaf):
            raise _untraceable(call, path, leaf)


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, (bool, int, float, complex)) or hasattr(leaf, "__jax_array__")


def _untraceable(call: Call, path: Any, leaf: Any) -> ArgumentError:
    keyword = path[0].idx == 1
    where = f"argument '{path[1].key}'" if keyword else f"argument {path[1].idx + 1}"
    name = path[1].key if keyword else path[1].idx
    return ArgumentError(
        f"{where} of {call.name} is {leaf!r}, of type {type(leaf).__name__}, which cannot be "
        f"traced.\n  Make it static: --static {name}={leaf}"
    )
