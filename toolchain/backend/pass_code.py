"""Keys of the code that a pipeline runs: two equal keys stand for the same rewrites.

jxc's own code counts by the contents of its files, so that an editable installation never gets
stale results. A function of the user counts by its code and by all values that it refers to. Where
that is impossible, as for a function that reads a file, there is no key.
"""

from __future__ import annotations

import dis
import hashlib
import importlib.util
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import astuple
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from ..pipeline import LEVELS, Pipeline
from ..rewrite import Contract, File, Pass, Rule

_STARTED = time.time()

_ROOMS = ("cost", "ir", "patterns", "pipeline", "rewrite")
"""The rooms of jxc whose code passes run, apart from `jxc.passes`."""


@cache
def own_code() -> str | None:
    """A digest of jxc's code for passes; None if it changed after this process loaded it."""
    digest = hashlib.sha256()
    files = list(_own_files())
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest() if files and is_own_code_unchanged() else None


def is_own_code_unchanged() -> bool:
    """Whether jxc's files for passes are older than this process."""
    return all(file.stat().st_mtime < _STARTED for file in _own_files())


def _own_files() -> Iterator[Path]:
    # find_spec does not import the package itself
    toolchain = Path(__file__).parent.parent
    spec: ModuleSpec | None = importlib.util.find_spec("jxc.passes")
    passes = list(spec.submodule_search_locations or ()) if spec else []
    for folder in [*passes, *(str(toolchain / room) for room in _ROOMS)]:
        for parent, folders, names in os.walk(folder):
            folders.sort()
            yield from (Path(parent, name) for name in sorted(names) if name.endswith(".py"))


class NoKey(Exception):
    """The value has no key; the message says which value."""


def is_empty(pipeline: Pipeline | str) -> bool:
    """Whether a pipeline, or the level of that name, has no steps."""
    return not (LEVELS[pipeline] if isinstance(pipeline, str) else pipeline.steps)


def pipeline_key(pipeline: Pipeline | str) -> str:
    """A text for the steps of a pipeline, or for those of the level of that name.

    Raises:
        NoKey: a pass of the user depends on something that is not part of its code.
    """
    if isinstance(pipeline, str):
        return f"level {LEVELS[pipeline]}"
    parts = [str(pipeline)]
    for step in pipeline.steps:
        parts += [] if step.python is None else [_key(step.python)]
        parts += [each.read() for each in step.options.values() if isinstance(each, File)]
    return "\n".join(parts)


_SIMPLE = (type(None), bool, int, float, complex, str, bytes, type(...))

_PURE = {
    *("jax", "jaxlib", "jxc", "numpy"),
    *("__future__", "abc", "builtins", "collections", "contextlib", "dataclasses", "enum"),
    *("fractions", "functools", "itertools", "math", "operator", "re", "types", "typing"),
}
"""Packages whose functions depend on their arguments and their version alone."""

_IMPURE = {"__import__", "compile", "eval", "exec", "globals", "input", "locals", "open", "vars"}


def _key(value: Any, open_: tuple[int, ...] = ()) -> str:
    """A text for a value, and for all that the value refers to."""
    if id(value) in open_:
        return "recursive"
    open_ = (*open_, id(value))
    if isinstance(value, _SIMPLE):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(_key(each, open_) for each in value)})"
    if isinstance(value, set | frozenset):
        return f"set({', '.join(sorted(_key(each, open_) for each in value))})"
    if isinstance(value, dict):
        return _key([tuple(each) for each in value.items()], open_)
    if isinstance(value, Pass):
        return f"pass {value.name} {sorted(value.needs)} " + _key(
            value.rules or value.source, open_
        )
    if isinstance(value, Rule):
        parts = (value.function, value.producer, value.parts)
        return f"rule {value.terms} {value.roots} " + _key(parts, open_)
    if isinstance(value, Contract):
        return repr(astuple(value))
    if isinstance(value, FunctionType) and not _is_pure(value.__module__):
        return _function_key(value, open_)
    if isinstance(value, ModuleType) and _is_pure(value.__name__):
        return value.__name__
    is_named = isinstance(value, FunctionType | BuiltinFunctionType | type)
    if is_named and _is_pure(value.__module__) and value.__name__ not in _IMPURE:
        return f"{value.__module__}.{value.__qualname__}"
    raise NoKey(f"{type(value).__name__} {getattr(value, '__name__', value)}")


def _is_pure(module: str | None) -> bool:
    """Whether a module is from one of the packages that count by their version."""
    name = (module or "").partition(".")[0].removeprefix("_")
    return name in _PURE or module == "__future__"


def _function_key(function: FunctionType, open_: tuple[int, ...]) -> str:
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    parts = [_key(each, open_) for each in (function.__defaults__, function.__kwdefaults__, cells)]
    for code in _codes(function.__code__):
        used = [getattr(code, each) for each in ("co_code", "co_names", "co_varnames", "co_flags")]
        parts.append(repr((used, code.co_freevars, code.co_cellvars, code.co_exceptiontable)))
        parts += [_key(each, open_) for each in code.co_consts if not isinstance(each, CodeType)]
        parts += [_key(each, open_) for each in _globals_of(code, function)]
    return f"function({'; '.join(parts)})"


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of the functions and comprehensions inside it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _globals_of(code: CodeType, function: FunctionType) -> list[Any]:
    """The values of the names that the code looks up outside of its function."""
    values = []
    for instruction in dis.get_instructions(code):
        name = str(instruction.argval)
        if instruction.opname == "IMPORT_NAME" and not _is_pure(name or function.__module__):
            raise NoKey(f"import of {name}")
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            builtins = vars(sys.modules["builtins"])
            values.append(function.__globals__.get(name, builtins.get(name, name)))
    return values
