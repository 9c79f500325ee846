"""Source locations: the line of Python behind a frame or an op, and the owner of its file.

Stack frames, tracebacks, MLIR locations and the metadata of HLO all name files and lines; the rooms
that read them make `SourceLine`s. This module decides who owns each file, from the folders of jax,
jxc, Python and installed packages, and picks the line that a message should name.

Sequences of lines run as in a traceback: the outermost call first, the innermost last.
Nothing here imports jax.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import linecache
import os
import re
import site
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType
from typing import Any, Literal


@dataclass(frozen=True)
class SourceLine:
    """A line of Python source.

    Attributes:
        file: the path, or a name such as "<stdin>", as Python gives it.
        line: counted from 1; 0 where it is not known.
        function: the function around the line; empty where it is not known.
    """

    file: str
    line: int
    function: str = ""

    @property
    def text(self) -> str:
        """The text of the line without its indentation; empty where the file cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        """`file:line`, the file relative to the current directory when it lies below it."""
        return f"{short_path(self.file)}:{self.line}" if self.line else short_path(self.file)

    def quote(self) -> str:
        """The text of the line after its number, indented, as compilers quote source."""
        return f"  {self.line} |   {self.text}" if self.text else ""


def short_path(file: str) -> str:
    """A path relative to the current directory when it lies below it, else unchanged.

    The file of a notebook's cell is named as in the notebook: "In[3]".
    """
    if cell := _cell_name(file):
        return cell
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return file if relative.startswith(os.pardir) else relative


def _cell_name(file: str) -> str:
    """The name of a cell of IPython, such as "In[3]"; empty for other files."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    found = shell.compile.format_code_name(file) if shell is not None else None
    return str(found[1]) if found else ""


def short_line(line: object) -> str:
    """A `SourceLine`, or its text, without the folder of a file that is not below the current one.

    Empty for None.
    """
    text = "" if line is None else str(line)
    return os.path.basename(text) if os.path.isabs(text) else text


# Whose code a file is

Owner = Literal["user", "typed", "compiler", "library"]
"""Whose code a file holds.

"user": the user's own, a cell of a notebook or a line at a prompt included. "typed": code without
a file, such as the string of `python -c`. "compiler": jax, jaxlib or jxc. "library": the standard
library or another installed package.
"""

user_folders: list[str] = []
"""Folders of installed packages that count as the user's own: `jxc explain -m` adds one."""

_PROMPTS = ("<stdin>", "<python-input-", "<ipython-input-", "<console>")
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\](\w*)")


def owner_of(file: str, home: str | None = None) -> Owner:
    """Whose code a file holds.

    Args:
        file: a path, of this machine or of another, or a name such as "<stdin>".
        home: a folder whose files are the user's even if it is an installed package.
    """
    return _owner(file, (*user_folders, home) if home else tuple(user_folders))


def is_user_file(file: str, home: str | None = None) -> bool:
    """Whether a file is the user's own; see `owner_of`."""
    return owner_of(file, home) == "user"


def is_compiler_file(file: str) -> bool:
    """Whether a file is one of jax, jaxlib or jxc."""
    return owner_of(file) == "compiler"


@functools.cache
def is_jxc_file(file: str) -> bool:
    """Whether a file is one of jxc."""
    return os.path.realpath(file).startswith(_folders_of_packages("jxc", "jxc.passes"))


@functools.cache
def is_standard_library(file: str) -> bool:
    """Whether a file belongs to Python itself."""
    is_installed = _INSTALLED.search(file) is not None
    return not is_installed and os.path.realpath(file).startswith(_standard_library())


@functools.cache
def _owner(file: str, homes: tuple[str, ...]) -> Owner:
    if file.startswith(_PROMPTS):
        return "user"
    if file.startswith("<"):
        return "compiler" if file.startswith("<frozen") else "typed"
    path = os.path.realpath(file)
    if path.startswith(_folders_of_packages("jax", "jaxlib", "jxc", "jxc.passes")):
        return "compiler"
    if path.startswith(tuple(homes)):
        return "user"
    if path.startswith(_library_folders()):
        return "library"
    installed = _INSTALLED.search(path)  # on the machine that a dump comes from
    if installed is None:
        return "user"
    return "compiler" if installed[1] in ("jax", "jaxlib", "jxc") else "library"


@functools.cache
def _folders_of_packages(*names: str) -> tuple[str, ...]:
    specs = [importlib.util.find_spec(name) for name in names]
    return _as_prefixes(
        folder for spec in specs if spec for folder in spec.submodule_search_locations or ()
    )


@functools.cache
def _library_folders() -> tuple[str, ...]:
    """The standard library and every site-packages, the longest paths first."""
    paths = sysconfig.get_paths()
    folders = [paths["purelib"], paths["platlib"], *site.getsitepackages()]
    folders += [site.getusersitepackages(), os.path.dirname(os.__file__)]
    prefixes = {*_as_prefixes(folders), *_standard_library()}
    return tuple(sorted(prefixes, key=len, reverse=True))


@functools.cache
def _standard_library() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return _as_prefixes(paths[key] for key in ("stdlib", "platstdlib"))


def _as_prefixes(folders: Iterable[str]) -> tuple[str, ...]:
    """Paths that end in a separator, so that `jax/` is no prefix of `jaxtyping/`."""
    return tuple({os.path.join(os.path.realpath(folder), "") for folder in folders})


# Which line a message names


def innermost_user_line(lines: Iterable[SourceLine], home: str | None = None) -> SourceLine | None:
    """The last of `lines`, outermost first, that is the user's; `home` is as in `owner_of`."""
    return next((each for each in reversed([*lines]) if is_user_file(each.file, home)), None)


def line_of_stack(stack: Iterable[Sequence[Any]]) -> SourceLine | None:
    """The user's line among frames, the innermost first; if there is none, the innermost."""
    lines = [SourceLine(file, line, function) for file, line, function in stack]
    return innermost_user_line(reversed(lines)) or (lines[0] if lines else None)


def innermost_library_line(lines: Iterable[SourceLine], home: str | None = None) -> str:
    """Where in a library something happens, as "flax/linen/linear.py:210", or as "<string>:3".

    Empty if the last of `lines`, without those of jax and jxc, is the user's. `lines` start with
    the outermost; `home` is as in `owner_of`.
    """
    last = next((each for each in reversed([*lines]) if not is_compiler_file(each.file)), None)
    if last is None or is_user_file(last.file, home):
        return ""
    if last.file.startswith("<"):  # code without a file, such as a string of `exec`
        return f"{last.file}:{last.line}"
    path = os.path.realpath(last.file)
    if installed := _INSTALLED.search(path):  # of another environment too, added by a .pth file
        return f"{path[installed.start(1) :]}:{last.line}"
    folder = next((each for each in _library_folders() if path.startswith(each)), "")
    return f"{path.removeprefix(folder)}:{last.line}"


def user_line_of_traceback(
    trace: TracebackType | None, home: str | None = None
) -> SourceLine | None:
    """The innermost line of a traceback that is the user's, or None; `home` as in `owner_of`."""
    frames = traceback.extract_tb(trace)
    return innermost_user_line(
        (SourceLine(f.filename, f.lineno or 0, f.name) for f in frames), home
    )


def current_user_line() -> SourceLine | None:
    """The innermost line on this thread's stack that is the user's.

    If there is none, the innermost that was typed in, else the innermost of a library; None if the
    stack has only frames of jax and jxc.
    """
    frame: FrameType | None = sys._getframe(1)
    others: dict[Owner, FrameType] = {}
    while frame is not None:
        owner = owner_of(frame.f_code.co_filename)
        if owner == "user":
            return _line_of_frame(frame)
        others.setdefault(owner, frame)
        frame = frame.f_back
    found = others.get("typed") or others.get("library")
    return _line_of_frame(found) if found else None


def _line_of_frame(frame: FrameType) -> SourceLine:
    return SourceLine(frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name)


# Where a function is defined


def definition_line(fn: Any) -> SourceLine | None:
    """The line of the `def` of a callable, looking through decorators and partial functions."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    try:
        fn = inspect.unwrap(fn)
    except ValueError:  # a cycle of __wrapped__
        return None
    fn = getattr(fn, "__func__", fn)
    method = vars(type(fn)).get("__call__")  # an object that can be called
    code = getattr(fn, "__code__", None) or getattr(method, "__code__", None)
    return SourceLine(code.co_filename, _def_line(code), code.co_name) if code else None


def _def_line(code: CodeType) -> int:
    """The line of `def`: the code of a decorated function starts at its first decorator."""
    first = code.co_firstlineno
    lines = [linecache.getline(code.co_filename, first + at).lstrip() for at in range(40)]
    starts = (at for at, text in enumerate(lines) if text.startswith(("def ", "async def ")))
    return first + next(starts, 0) if lines[0].startswith("@") else first


def home_of(fn: Callable[..., Any]) -> str | None:
    """The folder of the installed package that defines `fn`; None for a file of the user's."""
    defined = definition_line(fn)
    if defined is None:
        return None
    path = os.path.realpath(defined.file)
    folder = next((each for each in _library_folders() if path.startswith(each)), None)
    own = path.removeprefix(folder or "").split(os.sep)[0]
    return os.path.join(folder, own) if folder else None


# Warnings


class JxcWarning(UserWarning):
    """jxc could not do what was requested; the program runs without it."""


_warned: set[Hashable] = set()


def first_time(key: Hashable) -> bool:
    """Whether this is the first call with `key` in this process."""
    is_new = key not in _warned
    _warned.add(key)
    return is_new


def warn_user(message: str) -> None:
    """Issue a `JxcWarning` at the user's line."""
    line = current_user_line() or SourceLine("<unknown>", 0)
    warnings.warn_explicit(message, JxcWarning, line.file, line.line)
