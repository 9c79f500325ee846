"""Finding the function that a user names: `file.py:fn`, `pkg.mod:fn`, `mod:Model.apply`."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import UsageError, did_you_mean
from ..importing import import_file, make_importable, naming_the_line
from ..source import short_path

_EXPECTED = "expected file.py:function or package.module:function"


class TargetError(UsageError):
    """A target names no function; the message lists the functions there are."""


@dataclass(frozen=True)
class FunctionTarget:
    """A function, the user's name for it, and its module."""

    spelling: str
    function: Callable[..., Any]
    module: ModuleType


def resolve_target(spelling: str) -> FunctionTarget:
    """Import the module and return the function that `spelling` names.

    The current directory becomes importable, and the folder of a file too, as in `python file.py`.
    A file inside a package is imported as its module, so that relative imports work.

    Raises:
        TargetError: there is no such file, module or function, or it is not callable.
        ImportFailure: the user's code raised while it was imported.
    """
    module, value, chain = _resolve(spelling)
    if inspect.isclass(value):
        problem = f"{chain} is a class; expected a function"
        raise TargetError(f"{problem}.{_candidates(value, f'{chain}.')}")
    if not callable(value):
        found = f"{chain} of {_name(module)} is of type {type(value).__name__}"
        raise TargetError(f"{found}; expected a function.{_candidates(module)}")
    return FunctionTarget(spelling, value, module)


def resolve_value(spelling: str) -> Any:
    """The value that `spelling` names, callable or not; otherwise as `resolve_target`."""
    return _resolve(spelling)[1]


def _resolve(spelling: str) -> tuple[ModuleType, Any, str]:
    where, colon, chain = spelling.rpartition(":")
    if not colon or not where or not chain:
        path = Path(where or chain)
        offer = _listing(_defined_names(path)) if path.is_file() else " Write e.g. model.py:predict"
        raise TargetError(f"{_EXPECTED}, found '{spelling}'.{offer}")
    module = load_module(where)
    value: Any = module
    names = chain.split(".")
    for depth, name in enumerate(names):
        found = getattr(value, name, _MISSING)
        if found is _MISSING:
            owner = ".".join(names[:depth])
            close = did_you_mean(name, public_callables(value))
            holder = f"{owner} of {_name(module)}" if owner else _name(module)
            offer = _candidates(value, f"{owner}." if owner else "")
            raise TargetError(f"no '{name}' in {holder}.{close}{offer}")
        value = found
    return module, value, chain


def _defined_names(path: Path) -> list[str]:
    """The public functions of a file, read without running it."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return []
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    names = [node.name for node in tree.body if isinstance(node, functions)]
    return [name for name in names if not name.startswith("_")]


_MISSING = object()


def _name(module: ModuleType) -> str:
    file = getattr(module, "__file__", None)
    return short_path(file) if file else module.__name__


def _candidates(owner: Any, prefix: str = "") -> str:
    return _listing([f"{prefix}{name}" for name in public_callables(owner)])


def _listing(names: list[str], limit: int = 24) -> str:
    """A list of functions, on lines of its own."""
    if not names:
        return " It defines no public function."
    more = [f"and {len(names) - limit} more"] if len(names) > limit else []
    text = ", ".join(names[:limit] + more)
    return "\n" + textwrap.fill(f"It has {text}", 78, initial_indent="  ", subsequent_indent="  ")


def public_callables(owner: Any) -> list[str]:
    """The names of the callables that a module defines (imports left out), or an object has."""
    module = owner.__name__ if isinstance(owner, ModuleType) else None
    names = vars(owner) if module else dir(owner)
    found = {name: getattr(owner, name, None) for name in names if not name.startswith("_")}
    return [
        name
        for name, value in found.items()
        if callable(value) and module in (None, getattr(value, "__module__", None))
    ]


# Importing


def load_module(where: str) -> ModuleType:
    """Import the module that a path to a `.py` file or a dotted name means.

    Raises:
        TargetError: there is no such file or module.
        ImportFailure: importing it raised an exception.
    """
    make_importable(os.getcwd())
    if where.endswith(".py") or os.sep in where or Path(where).is_file():
        return _load_file(Path(where))
    if not all(part.isidentifier() for part in where.split(".")):
        raise TargetError(f"{_EXPECTED}, found '{where}', which is neither")
    with naming_the_line(None):
        try:
            return importlib.import_module(where)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{where}.".startswith(f"{error.name}."):
                raise
            path = where.replace(".", os.sep) + ".py"
            hint = f" There is a file {path}: write {path}:function" * Path(path).is_file()
            raise TargetError(
                f"no module '{error.name}' in the current directory and this Python's packages "
                f"({sys.executable}).{hint}"
            ) from None


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "no such file"
        stems = [entry.stem for entry in path.parent.glob("*.py")] if path.parent.is_dir() else []
        offer = re.sub(r"'( or |\?)", r".py'\1", did_you_mean(path.stem, stems))
        raise TargetError(f"{path}: {what}; {_EXPECTED}.{offer}")
    return import_file(path)
