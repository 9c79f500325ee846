"""Side effects of tracing, and traces that failed.

A side effect in a traced function happens at each trace, not at each call. Such effects are found
by comparing the variables that the function can reach before and after the trace, and by replacing
`print`. `frontend.diagnose` words errors about traced values, as it does for `jxc lower`.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import dis
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

import jax

from ...events.listener import is_tracing
from ...frontend import diagnose
from ...source import SourceLine, owner_of
from .functions import code_of, is_users, unwrapped, with_inner


@dataclass
class SideEffect:
    """Something that Python did while a function was traced.

    Attributes:
        kind: "print"; "grew" or "shrank", of a list, dict or set; "changed", of a variable;
            "stale", of a variable that was changed after the trace.
        function: the name of the traced function.
        name: of the variable, such as "self.count"; for "print", that.
        place: the user's line.
        times: the number of traces.
        holds_tracer: whether a traced value was stored, which is invalid after the trace.
        values: of a stale variable, at the trace and now, as text.
    """

    kind: str
    function: str
    name: str
    place: SourceLine | None
    times: int = 1
    holds_tracer: bool = False
    values: tuple[str, str] = ("", "")

    @property
    def sentence(self) -> str:
        """What happened."""
        if self.kind == "stale":
            before, now = self.values
            return (
                f"{self.name} was {before} when {self.function} was traced and is "
                f"{'another' if now == before else now} now, but the compiled program still uses "
                "the old value"
            )
        times = "once" if self.times == 1 else f"{self.times} times"
        stored = ". It stores a traced value, which raises an error when it is used"
        return (
            f"{_DONE[self.kind].format(self.name)} while {self.function} was traced ({times}); "
            "this is not repeated when the compiled program runs"
            f"{stored if self.holds_tracer else ''}"
        )

    @property
    def fix(self) -> str:
        """What the user can do about it."""
        return _FIXES[self.kind].format(name=self.name, function=self.function)

    def as_json(self) -> dict[str, Any]:
        fields = {name: value for name, value in vars(self).items() if name != "values"}
        place = str(self.place) if self.place else None
        return fields | {"place": place, "sentence": self.sentence, "fix": self.fix}


_DONE = {
    "print": "{}() ran",
    "grew": "{} got new items",
    "shrank": "{} lost items",
    "changed": "{} was assigned",
}
_RETURN = "Return the value from {function}, and "
_FIXES = {
    "print": "Use jax.debug.print to print in each call.",
    "stale": "Pass {name} to {function} as an argument.",
    "grew": f"{_RETURN}add it to {{name}} in the code that calls it.",
    "shrank": f"{_RETURN}remove it from {{name}} in the code that calls it.",
    "changed": f"{_RETURN}assign {{name}} in the code that calls it.",
}


@contextlib.contextmanager
def watching_prints(printed: Callable[[SourceLine], None]) -> Iterator[None]:
    """Call `printed` with the line of each `print` of the user's while a function is traced."""
    plain = builtins.print

    def watched_print(*args: Any, **kwargs: Any) -> None:
        if is_tracing():
            frame = sys._getframe(1)
            code = frame.f_code
            if owner_of(code.co_filename) in ("user", "typed"):
                printed(SourceLine(code.co_filename, frame.f_lineno, code.co_name))
        plain(*args, **kwargs)

    builtins.print = watched_print
    try:
        yield
    finally:
        if builtins.print is watched_print:
            builtins.print = plain


# Variables that a traced function may change


@dataclass(frozen=True)
class WatchedVariable:
    """A variable that a function may change, and its value before the trace.

    Attributes:
        name: such as "losses" or "self.count".
        read: returns its value now.
        mark: a token of its value before the trace.
        code: the function that names it.
    """

    name: str
    read: Callable[[], Any]
    mark: Hashable
    code: CodeType


_CONTAINERS = (list, dict, set, collections.deque)
_MAX_FUNCTIONS = 50  # that are searched for variables
_Readers = Iterator[tuple[str, Callable[[], Any]]]


def variables_of(function: Any, static: Mapping[str, Any]) -> list[WatchedVariable]:
    """The variables outside of a function that are named in it, or in functions that it calls.

    Args:
        function: the traced function.
        static: its static arguments, by name; `self` of a method may be one.
    """
    found: dict[str, WatchedVariable] = {}
    for inner, code in _reachable(function):
        for name, read in _variables(inner, code):
            if name not in found:
                with contextlib.suppress(Exception):  # the variable no longer exists
                    found[name] = WatchedVariable(name, read, _mark(read()), code)
    owners = {"self": getattr(function, "__self__", None), **static}
    own_code = code_of(unwrapped(function))
    attributes = [
        WatchedVariable(name, read, _mark(read()), each)
        for each in (with_inner(own_code) if own_code else ())
        for owner_name, owner in owners.items()
        for name, read in _attributes(owner_name, owner, each)
    ]
    return [*found.values(), *attributes]


def changes(function: str, variables: Iterable[WatchedVariable]) -> Iterator[SideEffect]:
    """The variables that changed since, as side effects of tracing the function of that name."""
    for variable in variables:
        try:
            value = variable.read()
        except Exception:  # deleted meanwhile
            continue
        if (mark := _mark(value)) != variable.mark:
            match variable.mark, mark:
                case ("items", was, int(old_length)), ("items", now, int(length)) if was == now:
                    kind = "grew" if length > old_length else "shrank"
                case _:
                    kind = "changed"
            line = _changing_line(variable)
            yield SideEffect(kind, function, variable.name, line, holds_tracer=_holds_tracer(value))


def _reachable(function: Any) -> Iterator[tuple[Any, CodeType]]:
    """The function and the user's functions that it names, with the code of inner functions."""
    todo, visited = [unwrapped(function)], set[CodeType]()
    while todo and len(visited) < _MAX_FUNCTIONS:
        inner = todo.pop()
        code = code_of(inner)
        if code is None or code in visited or owner_of(code.co_filename) == "compiler":
            continue
        visited.add(code)
        for each in with_inner(code):
            yield inner, each
        named = (getattr(inner, "__globals__", {}).get(name) for name in code.co_names)
        todo.extend(each for each in named if code_of(each) is not None and is_users(each))


def _variables(function: Any, code: CodeType) -> _Readers:
    scope = getattr(function, "__globals__", {})
    for name in code.co_names:
        if name in scope and not _is_definition(scope[name]):
            yield name, lambda name=name: scope[name]  # type: ignore[misc]
    free = getattr(code_of(function), "co_freevars", ())
    for name, cell in zip(free, getattr(function, "__closure__", None) or (), strict=False):
        with contextlib.suppress(ValueError):  # an empty cell
            if not _is_definition(cell.cell_contents):
                yield name, lambda cell=cell: cell.cell_contents  # type: ignore[misc]
            yield from _attributes(name, cell.cell_contents, code)


def _attributes(name: str, owner: Any, code: CodeType) -> _Readers:
    """The attributes that the code names of a plain object."""
    held = getattr(owner, "__dict__", None)
    if not isinstance(held, dict) or isinstance(owner, ModuleType | type) or callable(owner):
        return
    for attribute in code.co_names:
        if attribute in held and not _is_definition(held[attribute]):
            yield f"{name}.{attribute}", lambda attribute=attribute: held[attribute]  # type: ignore[misc]


def _is_definition(value: Any) -> bool:
    return isinstance(value, ModuleType | type) or code_of(value) is not None


def _mark(value: Any) -> Hashable:
    if isinstance(value, _CONTAINERS):
        return ("items", id(value), len(value))
    if isinstance(value, str | bytes):
        return (type(value), hash(value))
    if value is None or isinstance(value, bool | int | float | complex):
        return (type(value), repr(value))
    return id(value)


def _holds_tracer(value: Any) -> bool:
    if isinstance(value, jax.core.Tracer):
        return True
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, _CONTAINERS) and any(isinstance(i, jax.core.Tracer) for i in items)


def _changing_line(variable: WatchedVariable) -> SourceLine:
    """The line on which the code assigns the variable, or else names it first."""
    code, last = variable.code, variable.name.rpartition(".")[2]
    named = [each for each in dis.get_instructions(code) if each.argval == last]
    stores = [each for each in named if each.opname.startswith("STORE")]
    positions = (each.positions for each in (stores or named)[:1])
    line = next((each.lineno for each in positions if each and each.lineno), code.co_firstlineno)
    return SourceLine(code.co_filename, line, code.co_name)


# Errors about traced values

_ERRORS = (
    jax.errors.ConcretizationTypeError,  # includes TracerBoolConversionError
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.UnexpectedTracerError,
)
_TYPE_ERRORS = (  # parts of JAX's other messages about traced values
    "Shapes must be 1D sequences of concrete values",
    "problematic value is of type",
    "not a valid JAX type",
)


@dataclass(frozen=True)
class FailedTrace:
    """A trace that ended in an error about a traced value.

    Attributes:
        function: the name of the traced function.
        place: the user's line that raised it.
        sentence: what the line needs that a traced value does not have.
        fix: what the user can do about it.
    """

    function: str
    place: SourceLine | None
    sentence: str
    fix: str

    def as_json(self) -> dict[str, Any]:
        return vars(self) | {"place": str(self.place) if self.place else None}


def failure_of(
    error: BaseException,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> FailedTrace | None:
    """Explain an error that tracing raised; None if it is not about a traced value."""
    is_known = isinstance(error, _ERRORS) or (
        isinstance(error, TypeError) and any(text in str(error) for text in _TYPE_ERRORS)
    )
    if not is_known or not isinstance(error, Exception):
        return None
    call = diagnose.TracedCall(function, function, args, kwargs)
    line, (sentence, advice) = diagnose.problem(error, call)
    # In a script, arguments of `jax.jit` do what options of the command line do.
    fix = re.sub(r"--static (\w+)=VALUE", r"jax.jit(..., static_argnames='\1')", " ".join(advice))
    return FailedTrace(call.name, line, sentence, fix)
