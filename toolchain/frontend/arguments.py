"""From argument specs to the values that a function is traced with, and back to text.

`specs.py` parses; this module makes `jax.ShapeDtypeStruct`s, arrays and Python values of
the result.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..errors import UsageError
from ..files import read_arrays, whole_number
from ..ir.dtypes import NEEDS_X64, numpy_dtype
from .specs import (
    KEY_KINDS,
    ArgumentSpec,
    ArraySpec,
    FileSpec,
    KeySpec,
    SpecError,
    describe,
    parse_argument,
)


def build_arguments(specs: Sequence[ArgumentSpec]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The positional and keyword arguments that `specs` describe.

    An array becomes a `jax.ShapeDtypeStruct`, a file a numpy array; Python values stay. The name of
    a dimension stands for the same size in all arguments.

    Raises:
        SpecError: a 64-bit type without 64-bit mode, a bad symbolic dimension, an unreadable file,
            a positional argument after a keyword one, or a keyword given twice.
    """
    from jax import export

    scope = export.SymbolicScope()
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for spec in specs:
        if spec.name is None and kwargs:
            raise spec.error(1, "a positional argument follows a keyword argument")
        if spec.name in kwargs:
            raise spec.error(1, f"the keyword argument '{spec.name}' is given twice")
        value = _build(spec, spec.value, scope)
        if spec.name is None:
            args.append(value)
        else:
            kwargs[spec.name] = value
    return tuple(args), kwargs


def read_specs(
    args: tuple[Any, ...], kwargs: dict[str, Any], *, takes_strings: bool
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with each string such as "f32[8,128]" replaced by the array that it describes.

    Args:
        args: positional arguments, pytrees.
        kwargs: keyword arguments, pytrees.
        takes_strings: whether the function may take strings, as static arguments do. Those that
            describe no array then stay as they are.

    Raises:
        SpecError: as `build_arguments`; also for a string that is no spec, unless `takes_strings`.
    """
    import jax
    from jax import export

    scope = export.SymbolicScope()

    def read(leaf: Any, position: int) -> Any:
        if not isinstance(leaf, str):
            return leaf
        try:
            spec = parse_argument(leaf, position)
        except SpecError:
            if takes_strings:
                return leaf
            raise
        if spec.name is not None:
            raise spec.error(1, f"write the keyword argument as {spec.name}='...'")
        built = _build(spec, spec.value, scope)
        holds_arrays = any(hasattr(each, "shape") for each in jax.tree.leaves(built))
        return built if holds_arrays or not takes_strings else leaf

    trees = [*args, *kwargs.values()]
    built = [
        jax.tree.map(functools.partial(read, position=position), tree)
        for position, tree in enumerate(trees, start=1)
    ]
    return tuple(built[: len(args)]), dict(zip(kwargs, built[len(args) :], strict=True))


def _build(spec: ArgumentSpec, value: Any, scope: Any) -> Any:
    """The value that a part of a spec describes."""
    import jax

    match value:
        case ArraySpec():
            if value.dtype in NEEDS_X64 and not jax.config.jax_enable_x64:
                problem = (
                    f"{value.dtype} needs 64-bit mode, which is off: add --x64 (in Python, set "
                    f"jax_enable_x64), or write {replace(value, dtype=NEEDS_X64[value.dtype])}"
                )
                raise spec.error(value.column, problem)
            return jax.ShapeDtypeStruct(_shape(spec, value, scope), numpy_dtype(value.dtype))
        case KeySpec():
            key = jax.eval_shape(lambda: jax.random.key(0, impl=KEY_KINDS[value.kind]))
            return jax.ShapeDtypeStruct(_shape(spec, value, scope), key.dtype)
        case FileSpec():
            try:
                return read_arrays(value.path, value.member)
            except UsageError as error:
                raise spec.error(value.column, str(error)) from error
        case dict():
            return {key: _build(spec, item, scope) for key, item in value.items()}
        case list() | tuple():
            return type(value)(_build(spec, item, scope) for item in value)
    return value


def _shape(spec: ArgumentSpec, value: ArraySpec | KeySpec, scope: Any) -> tuple[Any, ...]:
    from jax import export

    shape: list[Any] = []
    for dim in value.dims:
        try:
            shape.append(export.symbolic_shape(dim, scope=scope)[0] if type(dim) is str else dim)
        except ValueError as error:
            reason = str(error).splitlines()[0]
            at = spec.text.find(str(dim), value.column - 1) + 1
            raise spec.error(at, f"expected a dimension, found '{dim}': {reason}") from error
    return tuple(shape)


# Arguments from a function, and static ones


def split_arguments(value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The positional and keyword arguments in what the function of `--args` returned.

    A tuple holds the positional arguments; a pair of a tuple and a dict with string keys holds
    both; anything else is the only argument.
    """
    match value:
        case (tuple() as args, dict() as kwargs) if all(isinstance(key, str) for key in kwargs):
            return args, kwargs
    return (value, {}) if type(value) is tuple else ((value,), {})


def parse_static(text: str) -> tuple[str | int, Any]:
    """The name or position and the value in `NAME=VALUE`; a value that is no literal is a string.

    Raises:
        UsageError: the text has no `=`, or no name before it.
    """
    name, equals, value = text.partition("=")
    name = name.strip()
    position = whole_number(name)
    if not equals or not (name.isidentifier() or position is not None):
        raise UsageError(f"--static: expected NAME=VALUE or POSITION=VALUE, found '{text:.80}'")
    try:
        literal = ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        literal = value
    return name if position is None else position, literal


def describe_call(name: str, args: Sequence[Any], kwargs: dict[str, Any], width: int = 400) -> str:
    """A call with specs as arguments: `predict({'w': f32[784,256]}, x=f32[8,784])`."""
    parts = [describe(value) for value in args]
    parts += [f"{key}={describe(value)}" for key, value in kwargs.items()]
    call = f"{name}({', '.join(parts)})"
    return call if len(call) <= width else call[: width - 3] + "..."
