"""What a function is to JAX, which knows functions by identity, and to the user, who wrote one."""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import re
import weakref
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import jax
import numpy as np

from ...source import SourceLine, definition_line, owner_of

_LONGEST = 60  # characters of a value in words
_DEEPEST = 3  # of functions within closures of functions, and of lists within lists
_WIDEST = 20  # items of a list that is looked into
_LOCAL = re.compile(r"[\w.<>]*<locals>\.")  # what a class is defined in says little


@dataclass(frozen=True)
class Known:
    """A value that JAX takes for a constant: in words, and as a token that is equal for equal ones.

    Attributes:
        words: such as "0.5", "f32[3]" or "a Config object".
        token: what tells it from others.
        by_identity: whether it equals nothing but itself, as its class defines no equality.
        is_data: whether it is a number, a string or an array.
        parts: of a tuple, list or dict, what it holds.
    """

    words: str
    token: Hashable
    by_identity: bool = False
    is_data: bool = False
    parts: tuple[Known, ...] = ()


LOOPS = frozenset({"scan", "while", "cond", "custom_jvp_call", "custom_vjp_call", "remat"})
"""Operations of jax's that hold functions of the user's: no single ops when compiled alone."""


@dataclass(frozen=True)
class Function:
    """A function as it was given to `jax.jit`.

    Attributes:
        name: as the user wrote it, such as "Model.loss".
        defined: where; None for what is not written in Python.
        owner: whose it is: "user", "typed", "compiler" or "library".
        form: "function", "lambda", "partial", "method" or "object".
        wrappers: the functions around it, such as "grad.<locals>.grad_f", outermost first.
        closed_over: the values that it takes from outside: of closures, partials, defaults and
            `self`, and the numbers and arrays among its globals, by name.
        identity: of the very object, while it lives.
    """

    name: str
    defined: SourceLine | None
    owner: str
    form: str
    wrappers: tuple[str, ...]
    closed_over: Mapping[str, Known]
    identity: weakref.ref[Any] | int = field(compare=False, repr=False)

    @property
    def key(self) -> Hashable:
        """The same for all objects that one definition has made."""
        return (self.name, self.defined, self.wrappers, self.form)

    @property
    def is_operation(self) -> bool:
        """Whether it is jax's own, and none that holds a function of the user's."""
        return self.owner == "compiler" and self.name not in LOOPS

    def is_same_object(self, other: Function) -> bool:
        """Whether both are one object, which JAX would know again."""
        mine = _target(self.identity)
        return mine is not None and mine is _target(other.identity)

    def find(self) -> Any:
        """The very object; None where it is gone."""
        return self.identity() if isinstance(self.identity, weakref.ref) else None


def _target(identity: weakref.ref[Any] | int) -> Any:
    return identity() if isinstance(identity, weakref.ref) else identity


def describe_function(function: Any) -> Function:
    """A function in words, and what tells it from another of the same definition."""
    layers = list(_layers(function))
    inner = layers[-1]
    defined = definition_line(inner)
    owner = owner_of(defined.file) if defined else "compiler"
    closed_over: dict[str, Known] = {}
    if owner != "compiler":  # what jax's own functions close over tells users nothing
        for layer in layers:
            closed_over |= _partial_values(layer)
        closed_over |= _global_values(inner) | _closure_values(inner)
    return Function(
        name=name_of(inner),
        defined=defined,
        owner=owner,
        form=_form(layers),
        wrappers=tuple(filter(None, map(_wrapper_name, layers[:-1]))),
        closed_over=closed_over,
        identity=_identity(function),
    )


def innermost(function: Any) -> Any:
    """The function that the user wrote, out of wrappers, partials and bound methods."""
    return list(_layers(function))[-1]


def _layers(function: Any) -> Iterator[Any]:
    """The function, and what it wraps, outermost first."""
    for _ in range(20):  # of a cycle there is no end
        yield function
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif getattr(function, "__wrapped__", None) is not None:
            function = function.__wrapped__
        elif code_of(function) is None and (method := _call_method(function)) is not None:
            function = method
        elif (held := _held(function)) is not None:
            function = held
        else:
            return


def _call_method(function: Any) -> Any:
    """`__call__` of an object that can be called, where it is written in Python."""
    method = vars(type(function)).get("__call__")
    return method if inspect.isfunction(method) else None


def _held(function: Any) -> Any:
    """The user's function that one of jax's closes over, as `jax.pmap` makes them."""
    code = code_of(function)
    if code is None or owner_of(code.co_filename) != "compiler":
        return None
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # not filled yet
            held = getattr(cell.cell_contents, "__wrapped__", cell.cell_contents)
            held = getattr(held, "f", held)  # jax's own class for functions under transformation
            inner = code_of(held)
            if inner is not None and owner_of(inner.co_filename) != "compiler":
                return held
    return None


def code_of(function: Any) -> CodeType | None:
    """The bytecode of a function written in Python."""
    found = getattr(function, "__code__", None)
    return found if isinstance(found, CodeType) else None


def name_of(function: Any) -> str:
    """A function's name, as the user wrote it: without the functions that it is defined in."""
    qualified = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    if not qualified:
        return type(function).__name__
    name = qualified.rpartition("<locals>.")[2]
    plain = getattr(function, "__name__", name)  # jax gives its wrappers names, not qualnames
    return name if name.endswith(plain) else plain


def _wrapper_name(layer: Any) -> str:
    """Such as "grad.<locals>.grad_f"."""
    code = code_of(layer)
    if code is None or inspect.ismethod(layer):
        return ""
    if not code.co_qualname.startswith("api_boundary"):
        return code.co_qualname
    for cell in layer.__closure__ or ():  # it only filters tracebacks of the one that it holds
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


def _identity(function: Any) -> weakref.ref[Any] | int:
    try:
        return weakref.ref(function)
    except TypeError:
        return id(function)


def _partial_values(layer: Any) -> dict[str, Known]:
    if isinstance(layer, functools.partial):
        given = {f"argument {i} of the partial": value for i, value in enumerate(layer.args)}
        return {name: describe(value) for name, value in (given | layer.keywords).items()}
    if inspect.ismethod(layer):
        return {"self": describe(layer.__self__)}
    return {}


def _closure_values(function: Any, depth: int = 0) -> dict[str, Known]:
    code = code_of(function)
    cells = getattr(function, "__closure__", None)
    if code is None:
        return {}
    found = _defaults(function, code, depth)
    for name, cell in zip(code.co_freevars, cells or (), strict=False):
        try:
            found[name] = describe(cell.cell_contents, depth)
        except ValueError:  # not filled yet
            continue
    return found


def _global_values(function: Any) -> dict[str, Known]:
    """Numbers and arrays that the function reads from its module: in a script, loop variables."""
    code, scope = code_of(function), getattr(function, "__globals__", {})
    if code is None or owner_of(code.co_filename) not in ("user", "typed"):
        return {}
    found = {name: scope[name] for name in _globals_read(code) if name in scope}
    return {name: describe(value) for name, value in found.items() if _is_data(value)}


@functools.cache
def _globals_read(code: CodeType) -> tuple[str, ...]:
    """The globals that a function reads and does not assign, functions within it included."""
    used = [each for inner in with_inner(code) for each in dis.get_instructions(inner)]
    assigned = {each.argval for each in used if each.opname == "STORE_GLOBAL"}
    read = dict.fromkeys(each.argval for each in used if each.opname == "LOAD_GLOBAL")
    return tuple(name for name in read if name not in assigned)


def with_inner(code: CodeType) -> Iterator[CodeType]:
    """The bytecode of a function, and of those that are defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from with_inner(constant)


def _is_data(value: Any) -> bool:
    return is_array(value) or isinstance(value, bool | int | float | complex | str)


def _defaults(function: Any, code: CodeType, depth: int) -> dict[str, Known]:
    """Values of arguments left out: `lambda x, k=k: ...` carries k as a closure would."""
    positional = code.co_varnames[: code.co_argcount]
    values = function.__defaults__ or ()
    found = dict(zip(positional[len(positional) - len(values) :], values, strict=True))
    return {k: describe(v, depth) for k, v in (found | (function.__kwdefaults__ or {})).items()}


def describe(value: Any, depth: int = 0, *, by_identity: bool = False) -> Known:
    """A value in words, and what tells it from others. Keeps nothing large alive, and waits for
    no device.

    Args:
        value: any.
        depth: of values within values.
        by_identity: whether functions of the same code are others, as JAX has it of static values.
    """
    if isinstance(value, str | bytes):
        token = (type(value), len(value), hash(value))
        return Known(_short(repr(value[:_LONGEST])), token, is_data=True)
    if value is None or isinstance(value, bool | int | float | complex | np.generic):
        return Known(_short(repr(value)), (type(value), repr(value)), is_data=True)
    if isinstance(value, type):
        return Known(_short(value.__qualname__), ("class", value.__module__, value.__qualname__))
    if is_array(value):
        words = _array_words(value)
        return Known(words, ("array", words, id(value)), is_data=True)
    if isinstance(value, tuple | list | dict) and len(value) <= _WIDEST and depth < _DEEPEST:
        return _describe_container(value, depth, by_identity)
    if callable(value) and code_of(innermost(value)) is not None:
        return _describe_identity(value) if by_identity else _describe_code(value, depth)
    return _describe_value(value) or _describe_tree(value) or _describe_object(value)


def is_array(value: Any) -> bool:
    """Whether it is an array of any library's."""
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _describe_container(value: Any, depth: int, by_identity: bool) -> Known:
    inner = functools.partial(describe, depth=depth + 1, by_identity=by_identity)
    if isinstance(value, dict):
        pairs = {str(key): inner(item) for key, item in value.items()}
        words = ", ".join(f"{key}: {item.words}" for key, item in pairs.items())
        token = tuple((key, item.token) for key, item in pairs.items())
        return Known(_short(f"{{{words}}}"), ("dict", token), parts=tuple(pairs.values()))
    items = [inner(item) for item in value]
    opening, closing = "()" if isinstance(value, tuple) else "[]"
    words = f"{opening}{', '.join(item.words for item in items)}{closing}"
    tokens = tuple(item.token for item in items)
    return Known(_short(words), (type(value), tokens), parts=tuple(items))


def _describe_tree(value: Any) -> Known | None:
    """A pytree: equal to those of the same class that hold the very same leaves."""
    leaves = jax.tree.leaves(value)
    if len(leaves) == 1 and leaves[0] is value:
        return None
    kind = type(value)
    return Known(_short(f"{an(kind)} object"), ("tree", kind.__qualname__, tuple(map(id, leaves))))


def _describe_code(value: Any, depth: int) -> Known:
    """A function: equal to those of the same code that close over equal values."""
    inner = innermost(value)
    code = code_of(inner)
    cells = _closure_values(inner, depth + 1) if depth < _DEEPEST else {}
    token = (code, tuple((name, known.token) for name, known in cells.items()))
    return Known(f"the function {name_of(inner)}", ("function", token))


def _describe_identity(value: Any) -> Known:
    """A function: equal to itself alone, but for methods of one object, and classes that differ."""
    words = f"the function {name_of(innermost(value))}"
    if inspect.ismethod(value):
        return Known(words, ("method", id(value.__self__), id(value.__func__)))
    if type(value).__eq__ is object.__eq__:
        return Known(words, ("function", id(value)), by_identity=True)
    return _describe_value(value) or _describe_object(value)


def _describe_value(value: Any) -> Known | None:
    """An object whose class says what equal ones are, and which holds no array."""
    kind = type(value)
    if kind.__eq__ is object.__eq__ or kind.__hash__ is None:
        return None
    try:
        token = (kind.__qualname__, hash(value), repr(value)[:1000])
        return Known(_short(repr(value)), token)
    except Exception:  # of the user's class, or of what it holds
        return None


def _describe_object(value: Any) -> Known:
    kind = type(value)
    by_identity = kind.__eq__ is object.__eq__
    return Known(_short(f"{an(kind)} object"), id(value), by_identity)


def _array_words(value: Any) -> str:
    try:
        return f"{value.dtype}[{','.join(map(str, value.shape))}]"
    except Exception:  # not an array after all
        return type(value).__qualname__


def an(kind: type) -> str:
    """A class by its name, with its article: "an Agent"."""
    name = _LOCAL.sub("", kind.__qualname__)
    return f"{'an' if name[:1] in 'AEIOaeio' else 'a'} {name}"


def _short(text: str) -> str:
    flat = _LOCAL.sub("", " ".join(text.split()))
    return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 3]}..."
