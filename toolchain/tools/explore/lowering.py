"""The child process that runs the user's code: it imports the file, traces and lowers the function.

It is kept between edits, since importing jax takes a second. Before each edit is lowered, the
modules from the folder of the user's file are removed, so that all of them are imported anew.
"""

from __future__ import annotations

import importlib
import linecache
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from ...child import serve
from ...errors import JxcError
from ...frontend import LowerRequest
from ...source import is_user_file


@dataclass(frozen=True)
class LoweredText:
    """A lowered function without objects of JAX, so that other processes can read it.

    Attributes:
        name: of the module.
        platform: what it was lowered for, as JAX names it.
        jaxpr: its text with numbered equations, and the frames of each, from `print_numbered`.
        module: the StableHLO module with locations, as bytecode.
        sources: the text of each of the user's files, by path.
        root: the folder that they are in.
        seconds: of importing, tracing and lowering.
    """

    name: str
    platform: str
    jaxpr: tuple[str, list[Any]] = field(repr=False)
    module: bytes = field(repr=False)
    sources: dict[str, str] = field(repr=False)
    root: str
    seconds: float


@dataclass(frozen=True)
class LoweringAnswer:
    """The lowered function, or the error's message, and the files that were imported for it.

    `exit_code` is that of the error.
    """

    lowered: LoweredText | None
    error: str = ""
    files: tuple[str, ...] = ()
    exit_code: int = 1


def main() -> None:
    """Answer requests, (version of the files, request, platform), until the pipe is closed."""
    sys.dont_write_bytecode = True  # compiled files are compared by the second only
    imported = [0]

    def answer(question: tuple[int, LowerRequest, str]) -> LoweringAnswer:
        version, request, platform = question
        exit_code = 1
        root = root_of(request.target)
        if imported[0] != version:
            _remove_modules(root)
            imported[0] = version
        try:
            lowered = _lower(replace(request, platform=platform), root)
        except JxcError as error:
            message = "\n".join([str(error), *getattr(error, "__notes__", ())])
            exit_code = error.exit_code
        except (Exception, SystemExit) as error:
            message = f"{type(error).__name__}: {error}"
        else:
            return LoweringAnswer(lowered, files=tuple(_own_files(root)))
        return LoweringAnswer(None, message, tuple(_own_files(root)), exit_code)

    serve(answer)


def root_of(target: str) -> Path:
    """The folder whose modules are imported anew: that of the file, or above its package.

    It is the current directory for a function of a module that is named with dots.
    """
    file = Path(target.rpartition(":")[0])
    if file.suffix != ".py":
        return Path.cwd()
    root = file.resolve().parent
    while (root / "__init__.py").is_file():
        root = root.parent
    return root


def _lower(request: LowerRequest, root: Path) -> LoweredText:
    from ...backend.lowered import lowered_from_request
    from ...frontend.jaxprs import print_numbered

    start = perf_counter()
    lowered, _, _ = lowered_from_request(request)
    jaxpr = print_numbered(lowered.jaxpr)
    seconds = perf_counter() - start
    sources = {file: "".join(linecache.getlines(file)) for file in _own_files(root)}
    module = lowered.as_bytecode()
    return LoweredText(lowered.name, lowered.platform, jaxpr, module, sources, str(root), seconds)


def _own_modules(root: Path) -> Iterator[tuple[str, str]]:
    """The names and files of the modules below `root` that are not installed packages."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py") and is_user_file(file):
            path = os.path.realpath(file)
            if path.startswith(os.path.join(root, "")):
                yield name, file


def _own_files(root: Path) -> list[str]:
    return sorted({file for _, file in _own_modules(root)})


def _remove_modules(root: Path) -> None:
    for name, _ in _own_modules(root):
        del sys.modules[name]
    importlib.invalidate_caches()
    linecache.clearcache()
