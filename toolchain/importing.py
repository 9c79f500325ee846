"""Importing the Python files that a user names: functions to lower, passes, replacements."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from .errors import JxcError, UsageError
from .source import short_path, user_line_of_traceback


class ImportFailure(JxcError):
    """Importing the user's file failed; the message names the line."""


def import_file(path: Path, *, isolated: bool = False) -> ModuleType:
    """The module of a Python file.

    A file inside a package is imported as its module, so that relative imports work. The folder of
    the package, or of another file, becomes importable, as in `python file.py`.

    Args:
        path: an existing file.
        isolated: hide no module by a file outside of packages or by those beside it: its module
            gets a name that no import statement has, and its folder is first on the path while it
            is imported only, and last from then on.

    Raises:
        UsageError: the file is not Python source.
        ImportFailure: importing it failed; the message names the line.
    """
    path = path.resolve()
    root, name = _package_root(path)
    is_member = root != path.parent
    if isolated and not is_member:
        with _importable_first(str(root)), naming_the_line(path):
            return _execute(path, f"jxc_loaded_{name}")
    make_importable(str(root))
    if str(path.parent) not in sys.path:  # in a package: last, to shadow no other module
        sys.path.append(str(path.parent))
    with naming_the_line(path):
        return importlib.import_module(name) if is_member else _execute(path, name)


@contextmanager
def _importable_first(folder: str) -> Iterator[None]:
    """Put a folder first on the path for the block, and last from then on."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)


def make_importable(folder: str) -> None:
    """Put a folder first on the path."""
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)


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
        raise UsageError(f"{short_path(str(path))} is not Python source")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def naming_the_line(path: Path | None) -> Iterator[None]:
    """Turn what importing a file raises into a message that names the line.

    Raises:
        ImportFailure: the import failed.
    """
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
