"""Where in the user's own code something happened: a file, a line, and its text."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import linecache
import os
import site
import sysconfig
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Place:
    """A line of Python source: `file` as Python knows it, `line` from 1, 0 when unknown."""

    file: str
    line: int
    function: str = ""

    @property
    def text(self) -> str:
        """The source line without its indentation; empty when the source is not to be had."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        """`file:line`, the file relative to the current directory when it lies below it."""
        return f"{short_path(self.file)}:{self.line}" if self.line else short_path(self.file)

    def quote(self) -> str:
        """The source line with its number, indented, as compilers quote it."""
        return f"  {self.line} |   {self.text}" if self.text else ""


def short_path(file: str) -> str:
    """A path relative to the current directory when it lies below it, else as it is."""
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return file if relative.startswith(os.pardir) else relative


def innermost_user_place(trace: TracebackType | None, home: str | None = None) -> Place | None:
    """The deepest frame of a traceback that lies in the user's code.

    Args:
        trace: an exception's `__traceback__`.
        home: a folder whose files are the user's even when it is an installed package.
    """
    frames = traceback.extract_tb(trace)
    return innermost_of((Place(f.filename, f.lineno or 0, f.name) for f in frames), home)


def innermost_of(places: Iterable[Place], home: str | None = None) -> Place | None:
    """The last of `places` (outermost first) that lies in the user's code, or None."""
    found = None
    for place in places:
        if is_user_file(place.file, home):
            found = place
    return found


def library_place(places: Iterable[Place], home: str | None = None) -> str:
    """Where in a library something happens, as "flax/linen/linear.py:210", from its folder on.

    Empty where the user's own code comes last, and jax's.

    Args:
        places: the outermost first.
        home: a folder whose files are the user's.
    """
    last = None
    for place in places:
        if not _is_compiler_file(place.file):
            last = place
    if last is None or is_user_file(last.file, home):
        return ""
    path = os.path.realpath(last.file)
    root = next((root for root in _library_folders() if path.startswith(root)), "")
    return f"{path.removeprefix(root)}:{last.line}"


def is_user_file(file: str, home: str | None = None) -> bool:
    """Whether a file is the user's own: not jax's, jxc's, Python's, or another library's."""
    if file.startswith("<"):
        return False
    path = os.path.realpath(file)
    if path.startswith(_compiler_folders()):
        return False
    if home and path.startswith(home):
        return True
    return not path.startswith(_library_folders())


def is_compiler_file(file: str) -> bool:
    """Whether a file is jax's, jaxlib's or jxc's."""
    return os.path.realpath(file).startswith(_compiler_folders())


def home_of(fn: Callable[..., Any]) -> str | None:
    """The folder of the installed package that `fn` comes from; None for a user's own file."""
    place = definition_place(fn)
    if place is None:
        return None
    path = os.path.realpath(place.file)
    for root in _library_folders():
        if path.startswith(root):
            return os.path.join(root, path[len(root) :].split(os.sep)[0])
    return None


def definition_place(fn: Any) -> Place | None:
    """Where a callable is defined: the line of its `def`, decorators looked through."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    try:
        fn = inspect.unwrap(fn)
    except ValueError:  # a cycle of __wrapped__
        return None
    fn = getattr(fn, "__func__", fn)
    method = vars(type(fn)).get("__call__")  # an object that can be called
    code = getattr(fn, "__code__", None) or getattr(method, "__code__", None)
    return Place(code.co_filename, _def_line(code), code.co_name) if code else None


def _def_line(code: Any) -> int:
    """The line of `def`: a decorated function's code starts at its first decorator."""
    if not linecache.getline(code.co_filename, code.co_firstlineno).lstrip().startswith("@"):
        return code.co_firstlineno
    for line in range(code.co_firstlineno, code.co_firstlineno + 40):
        text = linecache.getline(code.co_filename, line).lstrip()
        if text.startswith(("def ", "async def ")):
            return line
    return code.co_firstlineno


_is_compiler_file = functools.cache(is_compiler_file)  # which asks the file system


@functools.cache
def _compiler_folders() -> tuple[str, ...]:
    """Where jax and jxc live, each path ending in a separator."""
    packages = ("jax", "jaxlib", "jxc", "jxc.passes")
    found = [importlib.util.find_spec(name) for name in packages]
    folders = [list(spec.submodule_search_locations or ()) for spec in found if spec]
    return _as_prefixes(folder for group in folders for folder in group)


@functools.cache
def _library_folders() -> tuple[str, ...]:
    """The standard library and every site-packages, the longest paths first."""
    paths = sysconfig.get_paths()
    folders = [paths[key] for key in ("purelib", "platlib", "stdlib", "platstdlib")]
    folders += [*site.getsitepackages(), site.getusersitepackages(), os.path.dirname(os.__file__)]
    return tuple(sorted(_as_prefixes(folders), key=len, reverse=True))


def _as_prefixes(folders: Iterable[str]) -> tuple[str, ...]:
    return tuple({os.path.join(os.path.realpath(Path(folder)), "") for folder in folders})
