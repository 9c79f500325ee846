"""A call of a jitted function as JAX's caches see it: everything that its program depends on.

A `JitCall` keeps types, pytree structures, static values, options and configuration, but no arrays:
two of them can be compared after the program has ended (`differences.py`).
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax

from ...backend import jax_state, registered
from ...events.listener import LoweringEvent, TraceEvent
from ...source import SourceLine, owner_of
from .functions import ConstantValue, JitFunction, describe, describe_function

PIPELINE = "jxc's pipeline"
"""The name of the active pipeline in `JitCall.context`."""

JAX_KEY = ""
"""The name of JAX's own cache key for its configuration in `JitCall.context`."""


@dataclass(frozen=True)
class ArrayArgument:
    """An array argument, or an array within one.

    Attributes:
        name: such as "batch['x']".
        text: the type, such as "f32[8,128]"; with explicit shardings, also the mesh axes.
        shape: its dimensions.
        dtype: such as "float32".
        weak: whether it has a weak type, which gives way to other dtypes.
        python: the Python type of an argument that is a number: "float".
    """

    name: str
    text: str
    shape: tuple[Any, ...]
    dtype: str
    weak: bool
    python: str = ""

    @property
    def description(self) -> str:
        """The type as messages give it."""
        if self.python:
            return f"a Python {self.python}"
        return f"{self.text} of weak type" if self.weak else self.text


@dataclass
class JitCall:
    """Everything that decides whether a compiled program serves a call.

    Only calls that made JAX trace or compile are recorded: calls that hit JAX's cache have no
    record, so it is unknown how often a program ran.

    Attributes:
        function: the called function.
        leaves: its array arguments, flattened.
        trees: the pytree of each argument that is not static, by its name.
        by_keyword: the arguments given by keyword.
        static: the values of static arguments, by name.
        options: of `jax.jit`, as text.
        context: JAX's configuration at the call, by name.
        mesh: the mesh in context, as text; empty if there is none.
        layout: shardings, donation and platforms; empty until it is lowered.
        part: None for the function itself. For a program that a transformation outside of jit made
            of it, such as its derivative: the number of results, and the rank of each argument.
        site: the user's line, for JAX's own functions: each line has programs of its own.
    """

    function: JitFunction
    leaves: tuple[ArrayArgument, ...]
    trees: Mapping[str, Any] = field(default_factory=dict)
    by_keyword: frozenset[str] = frozenset()
    static: Mapping[str, ConstantValue] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    mesh: str = ""
    layout: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    part: tuple[int, ...] | None = None
    site: SourceLine | None = None

    def is_given(self, name: str) -> bool:
        """Whether an argument was given rather than left to its default."""
        return name in self.trees or (name in self.static and self.static[name].token != _DEFAULT)

    @property
    def key(self) -> Hashable:
        """Equal for calls that could have shared a program."""
        return (self.function.key, self.part, self.site)


def call_of(event: TraceEvent) -> JitCall:
    """The call for which JAX traces a function."""
    options = event.options
    static = static_values(event)
    given = _bind(options.fun_signature, event.args, event.kwargs)
    function = describe_function(event.function)
    return JitCall(
        function=function,
        leaves=_array_arguments(event.names, event.avals, _array_values(event)),
        trees={name: jax.tree.structure(v) for name, v in given.items() if name not in static},
        by_keyword=frozenset(event.kwargs),
        static=_static_defaults(options)
        | {name: describe(value, by_identity=True) for name, value in static.items()},
        options={
            name.removesuffix("_leaves").removesuffix("_kvs"): str(getattr(options, name, ""))
            for name in _OPTIONS
        },
        context=_context(jax_state.trace_context()),
        mesh="" if getattr(event.mesh, "empty", True) else str(event.mesh),
        site=event.called if function.owner == "compiler" else None,
    )


_OPTIONS = (
    *("in_shardings_leaves", "out_shardings_leaves", "donate_argnums", "donate_argnames"),
    *("static_argnums", "static_argnames", "keep_unused", "inline", "compiler_options_kvs"),
    *("backend", "device"),
)
"""JAX's fields for the options of `jax.jit`: the users' names, some with a suffix."""


def static_values(event: TraceEvent) -> dict[str, Any]:
    """The static arguments themselves, by name. Do not keep them alive."""
    options = event.options
    given = _bind(options.fun_signature, event.args, event.kwargs)
    return {
        name: value
        for position, (name, value) in enumerate(given.items())
        if position in options.static_argnums or name in options.static_argnames
    }


def derived_call(event: LoweringEvent, call: JitCall) -> JitCall:
    """The call of a program that JAX made out of a jitted function, such as its derivative."""
    leaves = _array_arguments(_argument_names(event, call.leaves), event.avals, ())
    part = (len(event.layout["result_shardings"]), *(len(leaf.shape) for leaf in leaves))
    return replace(call, leaves=leaves, trees={}, layout=event.layout, part=part)


def lowered_call(event: LoweringEvent) -> JitCall:
    """The call of a function whose trace was not recorded.

    JAX's text for it gives its name and line: "step at train.py:3".
    """
    if found := re.fullmatch(r"(.+?) at (.+):(\d+)", event.source):
        line, owner = SourceLine(found[2], int(found[3]), found[1]), owner_of(found[2])
        function = replace(JitFunction.unknown(found[1]), defined=line, owner=owner)
    else:
        function = JitFunction.unknown(re.sub(r"^\w+\((.*)\)$", r"\1", event.name))
    site = event.called if function.owner == "compiler" else None
    leaves = _array_arguments(_argument_names(event, ()), event.avals, ())
    return JitCall(
        function,
        leaves,
        context=_context(jax_state.trace_context()),
        layout=event.layout,
        site=site,
    )


def _argument_names(event: LoweringEvent, leaves: Sequence[ArrayArgument]) -> Sequence[str]:
    if any(event.layout["arg_names"]):
        return event.layout["arg_names"]
    if len(leaves) == len(event.avals):
        return [leaf.name for leaf in leaves]
    return [f"argument {index}" for index in range(len(event.avals))]


def _bind(
    signature: inspect.Signature | None, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments by name; each of those in `*args` and `**kwargs` has its own."""
    parameters = list(signature.parameters.values()) if signature else []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [parameter.name for parameter in parameters if parameter.kind in kinds]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    extra = [f"{rest}[{index}]" for index in range(len(args) - len(positional))]
    return dict(zip([*positional, *extra], args, strict=False)) | dict(kwargs)


_DEFAULT = ("by default",)
"""The token of static arguments that were left out: to JAX, another call than with the default."""


def _static_defaults(options: Any) -> dict[str, ConstantValue]:
    parameters = options.fun_signature.parameters if options.fun_signature else {}
    return {
        name: ConstantValue(f"{describe(parameters[name].default).text} by default", _DEFAULT)
        for name in options.static_argnames
        if name in parameters and parameters[name].default is not inspect.Parameter.empty
    }


def _array_values(event: TraceEvent) -> Sequence[Any]:
    """The array arguments, flattened; none if they cannot be told from static ones."""
    options = event.options
    positional = [a for i, a in enumerate(event.args) if i not in options.static_argnums]
    named = {k: v for k, v in event.kwargs.items() if k not in options.static_argnames}
    values = jax.tree.leaves((positional, named))
    return values if len(values) == len(event.avals) else ()


def _array_arguments(
    names: Sequence[str], avals: Sequence[Any], values: Sequence[Any]
) -> tuple[ArrayArgument, ...]:
    values = values or (None,) * len(avals)
    return tuple(
        ArrayArgument(
            name=name,
            text=_type_text(aval),
            shape=tuple(getattr(aval, "shape", ())),
            dtype=str(getattr(aval, "dtype", "")),
            weak=bool(getattr(aval, "weak_type", False)),
            python=type(value).__name__ if type(value) in (bool, int, float, complex) else "",
        )
        for name, aval, value in zip(names, avals, values, strict=False)
    )


def _type_text(aval: Any) -> str:
    try:
        return str(aval.str_short(short_dtypes=True))
    except Exception:  # an abstract value that is not an array
        return str(aval)


@functools.cache
def _context(key: Hashable) -> Mapping[str, Any]:
    """JAX's configuration by name, now that its trace context is `key`."""
    pipeline = registered.effective_pipeline()
    return {**jax_state.config_values(), PIPELINE: pipeline, JAX_KEY: key}
