"""What identifies a function, and the values that it captures, to JAX and to the user.

JAX identifies a function by its object: two functions that one definition made are different
programs. Users think of the definition. A `JitFunction` records both, with a token for each
captured value, so that calls can be compared later without keeping the values alive.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import re
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import jax
import numpy as np

from ...source import SourceLine, definition_line, owner_of

_MAX_TEXT = 60  # characters of a value
_MAX_DEPTH = 3  # of functions in closures of functions, and of lists in lists
_MAX_ITEMS = 20  # of a container whose items are described
_LOCAL = re.compile(r"[\w.<>]*<locals>\.")

HIGHER_ORDER = frozenset({"scan", "while", "cond", "custom_jvp_call", "custom_vjp_call", "remat"})
"""JAX operations that call a function of the user's; they do not count as single operations."""


@dataclass(frozen=True)
class ConstantValue:
    """A value that JAX treats as a constant of the program.

    Attributes:
        text: such as "0.5", "f32[3]" or "a Config object".
        token: equal for values that JAX would treat as equal.
        by_identity: whether the value equals only itself, because its class defines no equality.
        is_data: whether it is a number, a string or an array.
        parts: the items of a tuple, list or dict.
    """

    text: str
    token: Hashable
    by_identity: bool = False
    is_data: bool = False
    parts: tuple[ConstantValue, ...] = ()


@dataclass(frozen=True)
class JitFunction:
    """A function as it was given to `jax.jit`.

    Attributes:
        name: as the user wrote it, such as "Model.loss".
        defined: the line of its definition; None if it is not written in Python.
        owner: whose code it is: "user", "typed", "compiler" or "library".
        form: "function", "lambda", "partial", "method" or "object".
        wrappers: the functions around it, such as "grad.<locals>.grad_f", outermost first.
        captured: values from outside by name: of closures, partials, defaults and `self`, and
            global numbers and arrays.
        identity: returns the object; None if it no longer exists.
    """

    name: str
    defined: SourceLine | None
    owner: str
    form: str
    wrappers: tuple[str, ...]
    captured: Mapping[str, ConstantValue]
    identity: Callable[[], Any] = field(compare=False, repr=False)

    @classmethod
    def unknown(cls, name: str) -> JitFunction:
        """A function that was not traced here; only its name is known."""
        return cls(name, None, "user", "function", (), {}, lambda: None)

    @property
    def key(self) -> Hashable:
        """Equal for all objects that one definition makes."""
        return (self.name, self.defined, self.wrappers, self.form)

    @property
    def is_operation(self) -> bool:
        """Whether it is one of JAX's own that calls no function of the user's."""
        return self.owner == "compiler" and self.name not in HIGHER_ORDER

    def is_same_object(self, other: JitFunction) -> bool:
        """Whether JAX would treat both as one function."""
        mine = self.identity()
        return mine is not None and mine is other.identity()


def describe_function(function: Any) -> JitFunction:
    """Describe the argument of a `jax.jit`."""
    layers = list(_layers(function))
    inner = layers[-1]
    defined = definition_line(inner)
    owner = owner_of(defined.file) if defined else "compiler"
    captured: dict[str, ConstantValue] = {}
    if owner != "compiler":  # messages name no variables of JAX's own functions
        for layer in layers:
            captured |= _values_of_partial(layer)
        captured |= _values_of_globals(inner) | _values_of_closure(inner)
    return JitFunction(
        name=name_of(inner),
        defined=defined,
        owner=owner,
        form=_form(layers),
        wrappers=tuple(filter(None, map(_wrapper_name, layers[:-1]))),
        captured=captured,
        identity=weakref.ref(function),
    )


def unwrapped(function: Any) -> Any:
    """The function that the user wrote, without wrappers, partials and bound methods."""
    return list(_layers(function))[-1]


def is_users(function: Any) -> bool:
    """Whether the user wrote a function: in a file, at a prompt, or in a string."""
    code = code_of(unwrapped(function))
    return code is not None and owner_of(code.co_filename) in ("user", "typed")


def _layers(function: Any) -> Iterator[Any]:
    """The function and what it wraps, outermost first."""
    for _ in range(20):  # wrappers may form a cycle
        yield function
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif getattr(function, "__wrapped__", None) is not None:
            function = function.__wrapped__
        elif code_of(function) is None and inspect.isfunction(
            call := vars(type(function)).get("__call__")
        ):
            function = call
        elif (captured := _function_within(function)) is not None:
            function = captured
        else:
            return


def _function_within(function: Any) -> Any:
    """The user's function that one of JAX's captures, as those that `jax.pmap` makes do."""
    code = code_of(function)
    if code is None or owner_of(code.co_filename) != "compiler":
        return None
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # an empty cell
            found = getattr(cell.cell_contents, "__wrapped__", cell.cell_contents)
            found = getattr(found, "f", found)  # JAX's class for functions under transformation
            inner = code_of(found)
            if inner is not None and owner_of(inner.co_filename) != "compiler":
                return found
    return None


def code_of(function: Any) -> CodeType | None:
    """The bytecode of a function written in Python, else None."""
    found = getattr(function, "__code__", None)
    return found if isinstance(found, CodeType) else None


def with_inner(code: CodeType) -> Iterator[CodeType]:
    """The bytecode of a function, and of the functions defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from with_inner(constant)


def name_of(function: Any) -> str:
    """A function's name, without the functions that it is defined in."""
    qualified: str = getattr(function, "__qualname__", "") or getattr(function, "__name__", "")
    if not qualified:
        return type(function).__name__
    name = qualified.rpartition("<locals>.")[2]
    plain: str = getattr(function, "__name__", name)  # JAX sets only the name of wrappers
    return name if name.endswith(plain) else plain


def _wrapper_name(layer: Any) -> str:
    """Such as "grad.<locals>.grad_f"."""
    code = code_of(layer)
    if code is None or inspect.ismethod(layer):
        return ""
    if not code.co_qualname.startswith("api_boundary"):
        return code.co_qualname
    for cell in layer.__closure__ or ():  # api_boundary only filters tracebacks of another
        if (inner := code_of(cell.cell_contents)) is not None:
            return inner.co_qualname
    return ""


def _form(layers: list[Any]) -> str:
    if any(isinstance(layer, functools.partial) for layer in layers):
        return "partial"
    if any(inspect.ismethod(layer) for layer in layers):
        return "method"
    if getattr(layers[-1], "__name__", "") == "<lambda>":
        return "lambda"
    return "function" if code_of(layers[0]) else "object"


# Captured values


def _values_of_partial(layer: Any) -> dict[str, ConstantValue]:
    if isinstance(layer, functools.partial):
        given = {f"argument {i} of the partial": value for i, value in enumerate(layer.args)}
        return {name: describe(value) for name, value in (given | layer.keywords).items()}
    if inspect.ismethod(layer):
        return {"self": describe(layer.__self__)}
    return {}


def _values_of_closure(function: Any, depth: int = 0) -> dict[str, ConstantValue]:
    """Values of the closure, and of arguments left out: in `lambda x, k=k: ...`, k is captured."""
    code = code_of(function)
    if code is None:
        return {}
    positional, values = code.co_varnames[: code.co_argcount], function.__defaults__ or ()
    defaults = dict(zip(positional[len(positional) - len(values) :], values, strict=True))
    defaults |= function.__kwdefaults__ or {}
    found = {name: describe(value, depth) for name, value in defaults.items()}
    cells = getattr(function, "__closure__", None) or ()
    for name, cell in zip(code.co_freevars, cells, strict=False):
        with contextlib.suppress(ValueError):  # an empty cell
            found[name] = describe(cell.cell_contents, depth)
    return found


def _values_of_globals(function: Any) -> dict[str, ConstantValue]:
    """Global numbers and arrays that the function reads; in a script, loop variables are such."""
    code, scope = code_of(function), getattr(function, "__globals__", {})
    if code is None or owner_of(code.co_filename) not in ("user", "typed"):
        return {}
    found = {name: scope[name] for name in _globals_read(code) if name in scope}
    data = (bool, int, float, complex, str)
    return {n: describe(v) for n, v in found.items() if _is_array(v) or isinstance(v, data)}


@functools.cache
def _globals_read(code: CodeType) -> tuple[str, ...]:
    """The globals that a function, or one defined in it, reads and does not assign."""
    used = [each for inner in with_inner(code) for each in dis.get_instructions(inner)]
    assigned = {each.argval for each in used if each.opname == "STORE_GLOBAL"}
    read = dict.fromkeys(each.argval for each in used if each.opname == "LOAD_GLOBAL")
    return tuple(name for name in read if name not in assigned)


def describe(value: Any, depth: int = 0, *, by_identity: bool = False) -> ConstantValue:
    """Describe a value. Keeps nothing large alive, and waits for no device.

    Args:
        value: any.
        depth: how many containers and functions the value is in.
        by_identity: whether functions with equal code are different, as static arguments of JAX.
    """
    if isinstance(value, str | bytes):
        text_token = (type(value), len(value), hash(value))
        return ConstantValue(_short(repr(value[:_MAX_TEXT])), text_token, is_data=True)
    if value is None or isinstance(value, bool | int | float | complex | np.generic):
        return ConstantValue(_short(repr(value)), (type(value), repr(value)), is_data=True)
    if isinstance(value, type):
        token = ("class", value.__module__, value.__qualname__)
        return ConstantValue(_short(value.__qualname__), token)
    if _is_array(value):
        text = type(value).__qualname__
        with contextlib.suppress(Exception):  # raised where it is not an array after all
            text = f"{value.dtype}[{','.join(map(str, value.shape))}]"
        return ConstantValue(text, ("array", text, id(value)), is_data=True)
    if isinstance(value, tuple | list | dict) and len(value) <= _MAX_ITEMS and depth < _MAX_DEPTH:
        return _describe_container(value, depth, by_identity)
    if callable(value) and code_of(unwrapped(value)) is not None:
        return _describe_callable(value, depth, by_identity)
    return _describe_hashable(value) or _describe_pytree(value) or _describe_object(value)


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _describe_container(value: Any, depth: int, by_identity: bool) -> ConstantValue:
    is_dict = isinstance(value, dict)
    items = value.values() if is_dict else value
    parts = tuple(describe(item, depth + 1, by_identity=by_identity) for item in items)
    keys = [f"{key}: " for key in value] if is_dict else [""] * len(parts)
    text = ", ".join(key + part.text for key, part in zip(keys, parts, strict=True))
    opening, closing = "()" if isinstance(value, tuple) else "{}" if is_dict else "[]"
    tokens = tuple((key, part.token) for key, part in zip(keys, parts, strict=True))
    token = ("dict" if is_dict else type(value), tokens)
    return ConstantValue(_short(f"{opening}{text}{closing}"), token, parts=parts)


def _describe_callable(value: Any, depth: int, by_identity: bool) -> ConstantValue:
    inner = unwrapped(value)
    text = f"the function {name_of(inner)}"
    if not by_identity:  # equal to others with the same code and equal captured values
        captured = _values_of_closure(inner, depth + 1) if depth < _MAX_DEPTH else {}
        tokens = tuple((name, each.token) for name, each in captured.items())
        return ConstantValue(text, ("function", (code_of(inner), tokens)))
    if inspect.ismethod(value):
        return ConstantValue(text, ("method", id(value.__self__), id(value.__func__)))
    if _is_compared_by_identity(type(value)):
        return ConstantValue(text, ("function", id(value)), by_identity=True)
    return _describe_hashable(value) or _describe_object(value)


def _describe_hashable(value: Any) -> ConstantValue | None:
    """An object whose class defines equality and a hash, and that holds no array."""
    kind = type(value)
    if _is_compared_by_identity(kind) or getattr(kind, "__hash__", None) is None:
        return None
    with contextlib.suppress(Exception):  # raised by the user's class, or by a value in it
        token = (kind.__qualname__, hash(value), repr(value)[:1000])
        return ConstantValue(_short(repr(value)), token)
    return None


def _describe_pytree(value: Any) -> ConstantValue | None:
    """A pytree: equal to those of the same class with the same leaf objects."""
    leaves, kind = jax.tree.leaves(value), type(value)
    if len(leaves) == 1 and leaves[0] is value:
        return None
    token = ("tree", kind.__qualname__, tuple(map(id, leaves)))
    return ConstantValue(_short(f"{with_article(kind)} object"), token)


def _describe_object(value: Any) -> ConstantValue:
    kind = type(value)
    text = _short(f"{with_article(kind)} object")
    return ConstantValue(text, id(value), _is_compared_by_identity(kind))


def _is_compared_by_identity(kind: type) -> bool:
    return getattr(kind, "__eq__", None) is object.__eq__


def with_article(kind: type) -> str:
    """The name of a class with its article: "an Agent"."""
    name = _LOCAL.sub("", kind.__qualname__)
    return f"{'an' if name[:1] in 'AEIOaeio' else 'a'} {name}"


def _short(text: str) -> str:
    flat = _LOCAL.sub("", " ".join(text.split()))
    return flat if len(flat) <= _MAX_TEXT else f"{flat[: _MAX_TEXT - 3]}..."
