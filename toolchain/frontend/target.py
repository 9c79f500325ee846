"""Finding the function that a user names: `file.py:fn`, `pkg.mod:fn`, `mod:Model.apply`."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
import re
import sys
import textwrap
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import JxcError, UsageError, did_you_mean
from ..source import short_path, user_line_of_traceback

_EXPECTED = "expected file.py:function or package.module:function"


class TargetError(UsageError):
    """A target names no function; the message lists the functions there are."""


class ImportFailure(JxcError):
    """Importing the user's file failed; the message names the line."""


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
    _make_importable(os.getcwd())
    if where.endswith(".py") or os.sep in where or Path(where).is_file():
        return _load_file(Path(where))
    if not all(part.isidentifier() for part in where.split(".")):
        raise TargetError(f"{_EXPECTED}, found '{where}', which is neither")
    with _naming_the_line(None):
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


def _make_importable(folder: str) -> None:
    """Put a folder first on the path."""
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "no such file"
        stems = [entry.stem for entry in path.parent.glob("*.py")] if path.parent.is_dir() else []
        offer = re.sub(r"'( or |\?)", r".py'\1", did_you_mean(path.stem, stems))
        raise TargetError(f"{path}: {what}; {_EXPECTED}.{offer}")
    path = path.resolve()
    root, name = _package_root(path)
    _make_importable(str(root))
    if str(path.parent) not in sys.path:  # in a package: last, so that it shadows no other module
        sys.path.append(str(path.parent))
    with _naming_the_line(path):
        if root != path.parent:
            return importlib.import_module(name)
        return _execute(path, name)


def _package_root(path: Path) -> tuple[Path, str]:
    """The folder to import a file from, and its dotted name there."""
    root, parts = path.parent, [path.stem]
    if not path.stem.isidentifier():  # no import statement can name it
        return root, path.stem
    while (root / "__init__.py").is_file() and root.name.isidentifier():
        parts.insert(0, root.name)
        root = root.parent
    return root, ".".join(parts)


def _execute(path: Path, name: str) -> ModuleType:
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    # A file with the name of a loaded module (types.py, jax.py) must not replace it.
    name = f"_target_{name}" if known is not None else name
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{short_path(str(path))} is not Python source; {_EXPECTED}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def _naming_the_line(path: Path | None) -> Any:
    try:
        yield
    except JxcError:
        raise
    except SyntaxError as error:
        raise _syntax_failure(error) from error
    except SystemExit as error:
        raise _import_failure(error, path, _MAIN_GUARD) from error
    except ModuleNotFoundError as error:
        remedy = f"Install what provides '{error.name}' for the Python that runs jxc"
        raise _import_failure(error, path, f"{remedy}: {sys.executable}") from error
    except Exception as error:
        raise _import_failure(error, path, _shadowed_modules(path)) from error


_MAIN_GUARD = (
    "Importing the file exits the program: move what only a script should do\n"
    '  under `if __name__ == "__main__":`'
)


def _shadowed_modules(path: Path | None) -> str:
    """A hint at files that hide a module of the standard library by their name."""
    beside = sorted(path.parent.glob("*.py")) if path else []
    names = [file.name for file in beside if file.stem in sys.stdlib_module_names]
    if not names:
        return ""
    hides = f"{names[0]} beside it hides" if len(names) == 1 else f"{', '.join(names)} hide"
    return f"{hides} Python's own module of that name: rename it, if that is the cause"


def _syntax_failure(error: SyntaxError) -> ImportFailure:
    line = (error.text or "").rstrip()
    indent = len(line) - len(line.lstrip())
    caret = " " * max((error.offset or 1) - 1 - indent, 0) + "^"
    quote = f"\n    {line.lstrip()}\n    {caret}" if line else ""
    place = f"{short_path(error.filename or '<unknown>')}:{error.lineno}:{error.offset or 1}"
    return ImportFailure(f"{place}: {type(error).__name__}: {error.msg}{quote}")


def _import_failure(error: BaseException, path: Path | None, remedy: str) -> ImportFailure:
    place = user_line_of_traceback(error.__traceback__, str(path.parent) if path else None)
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    if place is None:
        where = f"{short_path(str(path))}: " if path else ""
        return ImportFailure(f"{where}cannot be imported: {what}")
    lines = [f"{place}: cannot be imported: {what}", place.quote(), remedy and f"  {remedy}"]
    return ImportFailure("\n".join(filter(None, lines)))
