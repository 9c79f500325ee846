"""Checks around tracing: arguments and devices before it, leaks after it.

JAX reports each of these late, in its own terms, or not at all; here they raise an error that names
the user's line and what to do.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from ..errors import UsageError, did_you_mean
from ..source import definition_line, home_of
from . import _private
from .constants import user_line_of_equation
from .diagnose import LEAKED, ArgumentError, Explanation, TracedCall, trace_error
from .transform import Transform, TransformStep

# Before tracing


def check_arguments(call: TracedCall) -> None:
    """Check that the arguments fit the signature.

    Raises:
        ArgumentError: an argument is missing, superfluous or unknown.
    """
    try:
        signature = inspect.signature(call.traced)
    except (TypeError, ValueError):  # a builtin, which has none
        return
    try:
        signature.bind(*call.args, **call.kwargs)
    except TypeError as error:
        names, reason = list(signature.parameters), str(error)
        unknown = [name for name in call.kwargs if name not in names]
        if unknown and "unexpected" not in reason:
            reason = f"got an unexpected keyword argument '{unknown[0]}'"
        head = f"{call.name}{signature} does not take these arguments: {reason}"
        if unknown and (offer := did_you_mean(unknown[0], names)):
            head += f".{offer}"
        place = definition_line(call.function)
        lines = [f"{place}: {head}" if place else head, f"  found {call}"]
        if names[:1] == ["self"]:
            lines.append(
                "  It is a method: name an instance of its class, as in file.py:model.method"
            )
        elif "missing" in reason:
            lines.append("  Give each argument a spec, in order or as name=SPEC, e.g. f32[8,128]")
        raise ArgumentError("\n".join(lines)) from error


def check_devices(transform: Transform | None, args: tuple[Any, ...]) -> None:
    """Check that an outermost pmap has a device for each index of the axis that it maps over.

    Raises:
        UsageError: there are fewer devices; JAX's own message is about an axis to squeeze.
    """
    import jax

    if transform is None or transform.steps[0] != TransformStep("pmap"):
        return
    shapes = [getattr(leaf, "shape", ()) for leaf in jax.tree.leaves(args)]
    mapped = next((shape[0] for shape in shapes if shape), None)
    if isinstance(mapped, int) and mapped > jax.device_count():
        raise UsageError(
            f"pmap maps over {mapped}, more than the devices here: {_device_names()}."
            f"\n  JAX_NUM_CPU_DEVICES={mapped} splits the CPU into as many."
        )


def _device_names() -> str:
    import jax

    return ", ".join(f"{device.platform}:{device.id}" for device in jax.devices())


# After tracing


def check_leaks(traced: Any, call: TracedCall) -> None:
    """Check that a function uses no traced value of another trace, which JAX from 0.10 on accepts.

    Raises:
        TraceError: it does; the message names the line that uses the value.
    """
    count = _private.captured_tracers(traced)
    foreign = set(_private.inputs_of(traced.jaxpr)[:count])
    for equation in _private.equations_of(traced.jaxpr) if count else ():
        if any(not hasattr(operand, "val") and operand in foreign for operand in equation.invars):
            raise _error_at(equation, LEAKED, call)


CALLBACKS = ("pure_callback", "io_callback", "debug_callback", "debug_print")
"""JAX's primitives that call back into Python."""


def calls_python(traced: Any) -> bool:
    """Whether a traced function calls back into Python while it runs."""
    return any(each.primitive.name in CALLBACKS for each in _all_equations(traced.jaxpr))


def _error_at(equation: Any, explanation: Explanation, call: TracedCall) -> Exception:
    """The error about an equation, at the user's line that it was traced from."""
    return trace_error(explanation, user_line_of_equation(equation, home_of(call.function)), call)


def _all_equations(jaxpr: Any) -> Iterator[Any]:
    for equation in _private.equations_of(jaxpr):
        yield equation
        for inner in _private.inner_jaxprs(equation):
            yield from _all_equations(inner)
