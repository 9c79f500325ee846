"""Arrays that a function captures, which become constants of its module.

A large one slows compilation and takes memory twice; the warning names the variable that holds it
and the line that uses it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType, MethodType, ModuleType
from typing import Any

from ..ir.dtypes import short_dtype
from ..source import SourceLine, home_of, innermost_user_line, is_user_file
from . import _private

LARGE = 1 << 20
"""Size in bytes above which a captured constant is reported."""


@dataclass(frozen=True)
class CapturedConstant:
    """An array that a traced function captures.

    `name` says which variable holds it ("the global W", "the enclosing function's table") and is
    empty where none does; `place` is the first line that uses it, None if unknown.
    """

    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    name: str
    place: SourceLine | None

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def captured_constants(jaxpr: Any, fn: Callable[..., Any]) -> tuple[CapturedConstant, ...]:
    """The arrays that a traced function and the jits in it capture, the largest first.

    Args:
        jaxpr: the trace of `fn`.
        fn: the user's function, whose closure and globals are searched for the arrays.
    """
    found: dict[int, tuple[Any, SourceLine | None]] = {}
    _collect(jaxpr, home_of(fn), found)
    seen: set[int] = set()
    owners = [
        pair
        for name, value in (_outer_values(fn, set()) if found else ())
        for pair in _arrays(name, value, seen)
    ]
    captured = [
        CapturedConstant(
            shape=tuple(int(dim) for dim in value.shape),
            dtype=short_dtype(value.dtype),
            nbytes=int(getattr(value, "nbytes", 0)),
            name=next((name for name, held in owners if _same_array(value, held)), ""),
            place=place,
        )
        for value, place in found.values()
    ]
    return tuple(sorted(captured, key=lambda constant: -constant.nbytes))


def warn_large(constants: tuple[CapturedConstant, ...]) -> list[str]:
    """A warning for each constant of more than `LARGE` bytes: its size, line and remedy."""
    warnings = []
    for constant in constants:
        if constant.nbytes > LARGE:
            place = f"{constant.place}: " if constant.place else ""
            size = f"{constant.nbytes / LARGE:.1f} MiB"
            lines = [f"{place}a captured {constant} of {size} becomes part of the module"]
            if constant.place and constant.place.text:
                lines.append(constant.place.quote())
            owner = f"It is {constant.name}. " if constant.name else ""
            lines.append(f"  {owner}Pass it as an argument: one copy then serves every call.")
            warnings.append("\n".join(lines))
    return warnings


def _collect(jaxpr: Any, home: str | None, found: dict[int, tuple[Any, SourceLine | None]]) -> None:
    """Add each captured array of a jaxpr and the first line that uses it to `found`, by id."""
    constants = dict(_private.constants_of(jaxpr))
    for equation in _private.equations_of(jaxpr):
        for operand in equation.invars:
            is_literal = hasattr(operand, "val")
            value = operand.val if is_literal else constants.get(operand)
            if is_literal and not getattr(value, "shape", ()):
                continue  # a scalar of the program text
            if value is not None and id(value) not in found:
                found[id(value)] = (value, user_line_of_equation(equation, home))
        for inner in _private.inner_jaxprs(equation):
            _collect(inner, home, found)
    for value in constants.values():  # returned without being used
        found.setdefault(id(value), (value, None))


def user_line_of_equation(equation: Any, home: str | None) -> SourceLine | None:
    """The innermost line of the user's that an equation was traced from."""
    return innermost_user_line((SourceLine(*frame) for frame in _private.frames_of(equation)), home)


def _same_array(value: Any, held: Any) -> bool:
    """Whether JAX's constant is this array, or a 32-bit copy that JAX made of numpy's."""
    import numpy as np

    if value is held:
        return True
    if not isinstance(held, np.ndarray) or held.shape != value.shape:
        return False
    constant = np.asarray(value)
    if held.dtype == constant.dtype:  # JAX wraps it: the memory is the same
        return np.shares_memory(constant, held)
    return np.array_equal(constant, held.astype(constant.dtype))


# The variables in reach of a function


def _outer_values(fn: Any, seen: set[int], depth: int = 4) -> Iterator[tuple[str, Any]]:
    """What a function finds without being passed it, and what the functions it names find."""
    if isinstance(fn, functools.partial):
        yield from ((f"the partial's {name}", value) for name, value in fn.keywords.items())
        for position, value in enumerate(fn.args, start=1):
            yield f"the partial's argument {position}", value
        fn = fn.func
    fn = inspect.unwrap(fn)
    if isinstance(fn, MethodType):
        yield "self", fn.__self__
        fn = inspect.unwrap(fn.__func__)
    elif not isinstance(fn, FunctionType):
        yield "self", fn
        fn = type(fn).__call__
    code = getattr(fn, "__code__", None)
    if code is None or id(code) in seen or depth == 0:
        return
    seen.add(id(code))
    for name, value in _names_of(fn, code):
        yield name, value
        if callable(value) and hasattr(inspect.unwrap(value), "__code__"):
            yield from _outer_values(value, seen, depth - 1)


def _names_of(fn: Any, code: Any) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(code.co_freevars, fn.__closure__ or (), strict=False):
        with contextlib.suppress(ValueError):  # not assigned yet
            yield f"the enclosing function's {name}", cell.cell_contents
    names = set(code.co_names)
    for nested in code.co_consts:
        names.update(getattr(nested, "co_names", ()))
    for name in sorted(names & fn.__globals__.keys()):
        yield f"the global {name}", fn.__globals__[name]


_MOST_OBJECTS = 10_000  # a model may hold its whole framework: look around, not everywhere


def _arrays(name: str, value: Any, seen: set[int], depth: int = 4) -> Iterator[tuple[str, Any]]:
    """The arrays that `value` is or holds, each with the expression that leads to it."""
    import jax
    import numpy as np

    if isinstance(value, (np.ndarray, jax.Array)):
        yield name, value
        return
    if depth == 0 or id(value) in seen or len(seen) > _MOST_OBJECTS:
        return
    seen.add(id(value))
    for suffix, item in _parts(value):
        yield from _arrays(name + suffix, item, seen, depth - 1)


def _parts(value: Any) -> list[tuple[str, Any]]:
    """What a container, an object or a user's module holds, each with how it is reached."""
    if isinstance(value, dict):
        return [(f"[{key!r}]", item) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [(f"[{index}]", item) for index, item in enumerate(value)]
    if isinstance(value, ModuleType) and not is_user_file(getattr(value, "__file__", None) or "<"):
        return []
    if isinstance(value, (type, FunctionType)) or not hasattr(value, "__dict__"):
        return []
    return [(f".{key}", item) for key, item in vars(value).items()]
