"""What a function did to the world while it was traced: it is not done again at its calls."""

from __future__ import annotations

import builtins
import collections
import contextlib
import dis
import sys
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

from ...source import SourceLine, owner_of
from . import recorder
from .functions import code_of, innermost, with_inner

_VERBS = {
    "grew": "put it into {}",
    "shrank": "take it out of {}",
    "changed": "assign {}",
}


@dataclass
class Effect:
    """Something that Python did while a function was traced.

    Attributes:
        kind: "print", "grew" or "shrank" (a list, dict or set), "changed" (what a name holds), or
            "stale" (what a name held while it was traced, and no more).
        function: the traced function's name.
        name: of what was changed, such as "self.count"; "print" of that.
        place: the line.
        times: in how many traces.
        holds_tracer: whether a traced value was kept, which is of no use after the trace.
        values: of what is stale, then and now, in words.
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
        """What happened, in words."""
        if self.kind == "stale":
            before, now = self.values
            return (
                f"{self.name} was {before} when {self.function} was traced, and is "
                f"{'another' if now == before else now} now: its programs still have the first one"
            )
        times = "once" if self.times == 1 else f"{self.times} times"
        what = {
            "print": "print() ran",
            "grew": f"{self.name} got more items",
            "shrank": f"{self.name} lost items",
            "changed": f"{self.name} was assigned",
        }[self.kind]
        kept = ", and it keeps a traced value, which raises an error when it is used"
        return (
            f"{what} while {self.function} was traced ({times}): its calls do not do it again"
            f"{kept if self.holds_tracer else ''}"
        )

    @property
    def fix(self) -> str:
        """What to do about it, in words."""
        if self.kind == "print":
            return "Use jax.debug.print to print at each call."
        if self.kind == "stale":
            return f"Pass {self.name} to {self.function} as an argument."
        keep = _VERBS[self.kind].format(self.name)
        return f"Return the value from {self.function}, and {keep} where that is called."

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "function": self.function,
            "name": self.name,
            "place": str(self.place) if self.place else None,
            "times": self.times,
            "holds_tracer": self.holds_tracer,
            "sentence": self.sentence,
            "fix": self.fix,
        }


class Effects:
    """The effects of all traces, each line of the user's once."""

    def __init__(self) -> None:
        self.found: dict[Hashable, Effect] = {}
        self._lock = threading.Lock()

    def add(self, effect: Effect) -> None:
        """Count one."""
        key = (effect.kind, effect.function, effect.name, effect.place)
        with self._lock:
            known = self.found.setdefault(key, effect)
            if known is not effect:
                known.times += 1
                known.holds_tracer |= effect.holds_tracer


# Printing


@contextlib.contextmanager
def hearing_prints(heard: Callable[[SourceLine], None]) -> Iterator[None]:
    """Call `heard` with the line of each `print` of the user's while a function is traced."""
    plain = builtins.print

    def heard_print(*args: Any, **kwargs: Any) -> None:
        if recorder.is_tracing():
            frame = sys._getframe(1)
            if owner_of(frame.f_code.co_filename) in ("user", "typed"):
                code = frame.f_code
                heard(SourceLine(code.co_filename, frame.f_lineno, code.co_name))
        plain(*args, **kwargs)

    builtins.print = heard_print
    try:
        yield
    finally:
        if builtins.print is heard_print:
            builtins.print = plain


# State


@dataclass(frozen=True)
class _Spot:
    """A variable that a function may change, as it was.

    Attributes:
        name: such as "losses" or "self.count".
        read: gives its value now.
        mark: tells whether that changed.
        code: the function that names it.
    """

    name: str
    read: Callable[[], Any]
    mark: Hashable
    code: CodeType


_CONTAINERS = (list, dict, set, collections.deque)
_MOST_CODES = 50


def spots_of(function: Any, static: Mapping[str, Any]) -> list[_Spot]:
    """The variables outside of a function that it names, it and the user's that it calls.

    `static` are its static arguments, by name: of a method, `self` may be one.
    """
    spots: dict[str, _Spot] = {}
    for inner, code in _reachable(function):
        for name, read in _variables(inner, code):
            if name not in spots:
                with contextlib.suppress(Exception):  # gone, or not readable
                    spots[name] = _Spot(name, read, _mark(read()), code)
    owners = {"self": getattr(function, "__self__", None), **static}
    return [*spots.values(), *_spots_of_objects(function, owners)]


def changes(function: str, spots: Iterable[_Spot]) -> Iterator[Effect]:
    """What has changed since, as effects of tracing the function of that name."""
    for spot in spots:
        try:
            value = spot.read()
        except Exception:  # deleted: that is a change too, and a rare one
            continue
        if _mark(value) != spot.mark:
            kind = _kind(spot.mark, value)
            place = _line(spot)
            yield Effect(kind, function, spot.name, place, holds_tracer=_holds_tracer(value))


def _reachable(function: Any) -> Iterator[tuple[Any, CodeType]]:
    """The function and the user's functions that it names, with the code of inner ones."""
    todo, seen = [innermost(function)], set[CodeType]()
    while todo and len(seen) < _MOST_CODES:
        inner = todo.pop()
        code = code_of(inner)
        if code is None or code in seen or owner_of(code.co_filename) == "compiler":
            continue
        seen.add(code)
        for each in with_inner(code):
            yield inner, each
        for name in code.co_names:
            other = getattr(inner, "__globals__", {}).get(name)
            if code_of(other) is not None and _is_users(code_of(other)):
                todo.append(other)


def _is_users(code: CodeType | None) -> bool:
    return code is not None and owner_of(code.co_filename) in ("user", "typed")


def _variables(function: Any, code: CodeType) -> Iterator[tuple[str, Callable[[], Any]]]:
    scope = getattr(function, "__globals__", {})
    for name in code.co_names:
        if name in scope and not _is_fixed(scope[name]):
            yield name, lambda name=name: scope[name]  # type: ignore[misc]
    free = getattr(code_of(function), "co_freevars", ())
    for name, cell in zip(free, getattr(function, "__closure__", None) or (), strict=False):
        with contextlib.suppress(ValueError):  # not filled yet
            if not _is_fixed(cell.cell_contents):
                yield name, lambda cell=cell: cell.cell_contents  # type: ignore[misc]
            yield from _attributes(name, cell.cell_contents, code)


def _attributes(name: str, owner: Any, code: CodeType) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The attributes of an object that the code names, where it is a plain object."""
    held = getattr(owner, "__dict__", None)
    if not isinstance(held, dict) or isinstance(owner, ModuleType | type) or callable(owner):
        return
    for attribute in code.co_names:
        if attribute in held and not _is_fixed(held[attribute]):
            yield f"{name}.{attribute}", lambda attribute=attribute: held[attribute]  # type: ignore[misc]


def _spots_of_objects(function: Any, owners: Mapping[str, Any]) -> list[_Spot]:
    """The attributes that a function names of the objects that it is bound to, or has as static."""
    code = code_of(innermost(function))
    if code is None:
        return []
    return [
        _Spot(name, read, _mark(read()), each)
        for each in with_inner(code)
        for of, owner in owners.items()
        for name, read in _attributes(of, owner, each)
    ]


def _is_fixed(value: Any) -> bool:
    return isinstance(value, ModuleType | type) or code_of(value) is not None


def _mark(value: Any) -> Hashable:
    if isinstance(value, _CONTAINERS):
        return ("items", id(value), len(value))
    if isinstance(value, str | bytes):
        return (type(value), hash(value))
    if value is None or isinstance(value, bool | int | float | complex):
        return (type(value), repr(value))
    return id(value)


def _kind(before: Hashable, value: Any) -> str:
    after = _mark(value)
    if not (isinstance(before, tuple) and isinstance(after, tuple) and before[:2] == after[:2]):
        return "changed"  # or it is another object altogether
    if before[0] != "items":
        return "changed"
    return "grew" if len(value) > before[2] else "shrank"


def _holds_tracer(value: Any) -> bool:
    import jax

    if isinstance(value, jax.core.Tracer):
        return True
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, _CONTAINERS) and any(isinstance(i, jax.core.Tracer) for i in items)


def _line(spot: _Spot) -> SourceLine:
    """Where the code changes the variable, or else names it first."""
    last = spot.name.rpartition(".")[2]
    named = [each for each in dis.get_instructions(spot.code) if each.argval == last]
    stores = [each for each in named if each.opname.startswith("STORE")]
    chosen = (stores or named)[:1]
    line = _line_number(spot.code, chosen[0].offset) if chosen else spot.code.co_firstlineno
    return SourceLine(spot.code.co_filename, line, spot.code.co_name)


def _line_number(code: CodeType, offset: int) -> int:
    lines = [line for start, end, line in code.co_lines() if start <= offset < end and line]
    return lines[0] if lines else code.co_firstlineno
