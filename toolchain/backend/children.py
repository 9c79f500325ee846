"""What the child processes of a program compile, for `jxc explain`, which records one process.

A child inherits the folder in an environment variable. It appends a line for each program that it
compiles to a file of its own there, so that nothing is lost when it is killed. A forked child has
the interceptor from its parent; others install it when JAX sets up its backends (`autoload`).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import mkdtemp
from time import perf_counter
from typing import Any

from ..files import from_json, parse_json

VARIABLE = "_JXC_CHILDREN"
"""The environment variable: the number of the process that reads, a colon, and the folder."""

_MOST_CHARACTERS = 80  # of a command


@dataclass(frozen=True)
class ChildProcess:
    """A child process that compiled programs.

    Attributes:
        process: its number in the system.
        command: its arguments, or its name in `multiprocessing`.
        programs: how often it compiled each program, by name.
        seconds: for which it compiled.
    """

    process: int
    command: str
    programs: Mapping[str, int]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """The process as an object."""
        return asdict(self)


@dataclass(frozen=True)
class _Line:
    command: str
    program: str
    seconds: float


@contextmanager
def following() -> Iterator[Callable[[], list[ChildProcess]]]:
    """Follow the processes that this one starts in the block.

    Yields:
        A function that returns those that have compiled something so far.
    """
    folder, process = mkdtemp(prefix="jxc-children-"), os.getpid()
    os.environ[VARIABLE] = f"{process}:{folder}"
    try:
        yield lambda: [_read(each) for each in sorted(Path(folder).iterdir())]
    finally:
        os.environ.pop(VARIABLE, None)
        if os.getpid() == process:  # and not one that the program forked
            shutil.rmtree(folder, ignore_errors=True)


def write_compilations() -> None:
    """Let this process, and those it forks, write what they compile, if `following` says so."""
    if VARIABLE in os.environ:
        from . import interception  # imports jax

        interception.install({"compile": _compile})


def _compile(
    proceed: Callable[..., Any], backend: Any, module: Any, *args: Any, **kwargs: Any
) -> Any:
    start = perf_counter()
    executable = proceed(backend, module, *args, **kwargs)
    reader, _, folder = os.environ.get(VARIABLE, "").partition(":")
    if folder and reader != str(os.getpid()):
        from ..ir.module import module_name

        line = _Line(_command(), module_name(module), perf_counter() - start)
        with suppress(OSError), open(os.path.join(folder, str(os.getpid())), "a") as file:
            file.write(json.dumps(asdict(line)) + "\n")
    return executable


def _command() -> str:
    multiprocessing = sys.modules.get("multiprocessing.process")
    if multiprocessing is not None and multiprocessing.parent_process() is not None:
        return str(multiprocessing.current_process().name)
    words = " ".join(sys.argv)
    return words if len(words) <= _MOST_CHARACTERS else f"{words[: _MOST_CHARACTERS - 1]}…"


def _read(file: Path) -> ChildProcess:
    command, programs, seconds = "", dict[str, int](), 0.0
    for text in file.read_bytes().splitlines():
        with suppress(ValueError):  # the last line of a process that was killed
            line: _Line = from_json(_Line, parse_json(text))
            command, seconds = line.command, seconds + line.seconds
            programs[line.program] = programs.get(line.program, 0) + 1
    return ChildProcess(int(file.name), command, programs, seconds)
