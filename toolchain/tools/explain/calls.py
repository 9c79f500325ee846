"""A call as JAX's caches see it: all that decides whether a known program fits."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax

from ...backend import _private, hook
from ...source import SourceLine
from .events import Lowering, Tracing
from .functions import Function, Known, describe, describe_function

PIPELINE = "jxc's pipeline"
"""What the pipeline that programs go through is called in a call's context."""


@dataclass(frozen=True)
class Leaf:
    """An array argument, or an array in one.

    Attributes:
        name: such as "batch['x']".
        text: such as "f32[8,128]", with the axes of an explicit sharding.
        shape: its extents.
        dtype: such as "float32".
        weak: whether its type gives way to others', as a Python number's does.
        python: the Python type where the caller gave a number: "float".
    """

    name: str
    text: str
    shape: tuple[Any, ...]
    dtype: str
    weak: bool
    python: str = ""

    @property
    def words(self) -> str:
        """The type as messages give it."""
        if self.python:
            return f"a Python {self.python}"
        return f"{self.text} of weak type" if self.weak else self.text


@dataclass
class Call:
    """All that decides whether a known program fits a call.

    Attributes:
        function: the one that is called.
        leaves: its array arguments, flat.
        trees: the pytree of each argument, by the argument's name.
        by_keyword: the arguments that were given by keyword.
        static: the values of the static arguments given, by name.
        options: what `jax.jit` was told.
        context: JAX's configuration at the call, by name.
        mesh: the one in context.
        layout: shardings, donation and platforms, once it was lowered.
        part: None for the function itself; of a program that a transformation outside of jit made
            of it, such as its derivative, how many results it has, and each argument's rank.
        site: the user's line, for functions of jax's own: each line has programs of its own.
    """

    function: Function
    leaves: tuple[Leaf, ...]
    trees: Mapping[str, Any] = field(default_factory=dict)
    by_keyword: frozenset[str] = frozenset()
    static: Mapping[str, Known] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    mesh: str = ""
    layout: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    part: tuple[int, ...] | None = None
    site: SourceLine | None = None

    def is_given(self, name: str) -> bool:
        """Whether an argument was given, static or not."""
        return name in self.trees or (name in self.static and self.static[name].token != _DEFAULT)

    @property
    def key(self) -> Hashable:
        """The same for calls that one program might have served."""
        return (self.function.key, self.part, self.site)


def call_of(tracing: Tracing) -> Call:
    """The call that makes JAX trace a function."""
    options = tracing.options
    bound = _bind(options.fun_signature, tracing.args, tracing.kwargs)
    names = _static_names(options, bound)
    arrays = {name: value for name, value in bound.items() if name not in names}
    function = describe_function(tracing.function)
    return Call(
        function=function,
        leaves=_leaves(tracing.names, tracing.avals, _values(tracing)),
        trees={name: jax.tree.structure(value) for name, value in arrays.items()},
        by_keyword=frozenset(tracing.kwargs),
        static=_defaults(options)
        | {name: describe(bound[name], by_identity=True) for name in names},
        options=_options(options),
        context=_context(),
        mesh="" if getattr(tracing.mesh, "empty", True) else str(tracing.mesh),
        site=tracing.called if function.owner == "compiler" else None,
    )


def static_values(tracing: Tracing) -> dict[str, Any]:
    """The static arguments themselves, by name. Not to be kept."""
    bound = _bind(tracing.options.fun_signature, tracing.args, tracing.kwargs)
    return {name: bound[name] for name in _static_names(tracing.options, bound)}


def derived_call(lowering: Lowering, call: Call) -> Call:
    """The call of a program that JAX made out of a jitted function: its derivative, say."""
    names = _names(lowering, call)
    leaves = _leaves(names, lowering.avals, ())
    part = (len(lowering.layout["result_shardings"]), *(len(leaf.shape) for leaf in leaves))
    return replace(call, leaves=leaves, trees={}, layout=lowering.layout, part=part)


def lowered_call(lowering: Lowering, function: Function) -> Call:
    """The call of a function that was not seen traced."""
    site = lowering.called if function.owner == "compiler" else None
    leaves = _leaves(_names(lowering, None), lowering.avals, ())
    return Call(function, leaves, context=_context(), layout=lowering.layout, site=site)


def _names(lowering: Lowering, call: Call | None) -> Sequence[str]:
    if any(lowering.names):
        return lowering.names
    if call is not None and len(call.leaves) == len(lowering.avals):
        return [leaf.name for leaf in call.leaves]
    return [f"argument {index}" for index in range(len(lowering.avals))]


def _bind(
    signature: inspect.Signature | None, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments by name; those of `*args` and `**kwargs` have each their own."""
    parameters = list(signature.parameters.values()) if signature else []
    positional = [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    extra = [f"{rest}[{index}]" for index in range(len(args) - len(positional))]
    return dict(zip([*positional, *extra], args, strict=False)) | dict(kwargs)


def _static_names(options: Any, bound: Mapping[str, Any]) -> frozenset[str]:
    order = list(bound)
    by_position = {order[i] for i in options.static_argnums if i < len(order)}
    return frozenset(by_position | (set(options.static_argnames) & set(order)))


def _defaults(options: Any) -> dict[str, Known]:
    """The static arguments as they are when left out, which is another call to JAX."""
    parameters = options.fun_signature.parameters if options.fun_signature else {}
    found = {
        name: parameters[name].default for name in options.static_argnames if name in parameters
    }
    return {
        name: Known(f"{describe(value).words} by default", _DEFAULT)
        for name, value in found.items()
        if value is not inspect.Parameter.empty
    }


_DEFAULT = ("by default",)
"""The token of static arguments that were left out."""


def _values(tracing: Tracing) -> Sequence[Any]:
    """The array arguments themselves, flat, where they can be told apart from static ones."""
    static = tracing.options
    positional = [a for i, a in enumerate(tracing.args) if i not in static.static_argnums]
    named = {k: v for k, v in tracing.kwargs.items() if k not in static.static_argnames}
    values = jax.tree.leaves((positional, named))
    return values if len(values) == len(tracing.avals) else ()


def _leaves(names: Sequence[str], avals: Sequence[Any], values: Sequence[Any]) -> tuple[Leaf, ...]:
    values = values or (None,) * len(avals)
    return tuple(
        Leaf(
            name=name,
            text=_short_type(aval),
            shape=tuple(getattr(aval, "shape", ())),
            dtype=str(getattr(aval, "dtype", "")),
            weak=bool(getattr(aval, "weak_type", False)),
            python=type(value).__name__ if type(value) in _NUMBERS else "",
        )
        for name, aval, value in zip(names, avals, values, strict=False)
    )


_NUMBERS = (bool, int, float, complex)


def _short_type(aval: Any) -> str:
    try:
        return aval.str_short(short_dtypes=True)
    except Exception:  # an abstract value of some other kind
        return str(aval)


_OPTIONS = {
    "in_shardings_leaves": "in_shardings",
    "out_shardings_leaves": "out_shardings",
    "donate_argnums": "donate_argnums",
    "donate_argnames": "donate_argnames",
    "static_argnums": "static_argnums",
    "static_argnames": "static_argnames",
    "keep_unused": "keep_unused",
    "inline": "inline",
    "compiler_options_kvs": "compiler_options",
    "backend": "backend",
    "device": "device",
}


def _options(options: Any) -> dict[str, str]:
    return {name: str(getattr(options, field, "")) for field, name in _OPTIONS.items()}


_known_contexts: dict[tuple[Any, ...], dict[str, Any]] = {}


def _context() -> Mapping[str, Any]:
    """JAX's configuration by name; one value for all calls under the same one."""
    key = _private.trace_context()
    if key not in _known_contexts:
        pipeline = hook.effective_pipeline()
        _known_contexts[key] = {**_private.config_values(), PIPELINE: pipeline, "": key}
    return _known_contexts[key]
