"""What the verbs share that run a user's program: `jxc explain` and `jxc profile`."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TextIO

import click

from ..errors import JxcError, UsageError
from ..events.script import UserProgram, flush, when_imported
from ..files import json_text, require_file, write_json
from . import print_error


def absolute(_context: click.Context, _option: click.Parameter, file: str | None) -> str | None:
    """The absolute path of an output file, since the program may change the directory.

    Raises:
        UsageError: the file cannot be written.
    """
    if not file or file == "-":
        return file
    require_file(file)
    return os.path.abspath(file)


def absolute_file(context: click.Context, option: click.Parameter, file: str | None) -> str | None:
    """As `absolute`, for an option that does not write to stdout.

    Raises:
        UsageError: the file cannot be written, or is "-".
    """
    if file == "-":
        raise UsageError(f"{option.opts[0]} -: expected the name of a file; --json can be '-'")
    return absolute(context, option, file)


def require_distinct(files: Mapping[str, str | None]) -> None:
    """Check that no two options name the same file, before the program runs.

    Args:
        files: the absolute path of each option, or "-" for stdout; None if it is not given.

    Raises:
        UsageError: two of them are one file, and no device such as /dev/null.
    """
    options: dict[str, str] = {}
    for option, file in files.items():
        if not file or file == "-" or (os.path.exists(file) and not os.path.isfile(file)):
            continue
        first = options.setdefault(os.path.realpath(file), option)
        if first != option:
            raise UsageError(f"{first} and {option} name the same file, {file}: expected two files")


def run_program(
    program: UserProgram, listen: Callable[[], object], json_file: str | None
) -> tuple[int, int | None]:
    """Run a program, listening from the moment at which it has imported jax.

    Returns:
        The program's exit code and, where the file of --json is "-", a descriptor of the real
        stdout: the output of the program and its children goes to stderr.

    Raises:
        UsageError: the program is a module that was not found in its packages.
    """
    own_stdout = None
    if json_file == "-":
        flush()
        own_stdout = os.dup(1)
        os.dup2(2, 1)
    process = os.getpid()
    with when_imported("jax", lambda: _listen(program, listen)):
        code = program.run()
    if os.getpid() != process:  # a process that the program forked: only the first one reports
        sys.exit(code)
    return code, own_stdout


def _listen(program: UserProgram, listen: Callable[[], object]) -> None:
    """Start to listen; if this version of jax does not allow it, warn and run the program."""
    from ..source import is_user_file, user_folders

    if not is_user_file(program.file):  # installed: its package counts as the user's code
        user_folders.append(os.path.dirname(program.file))
    try:
        listen()
    except JxcError as error:
        print_error(error)


@contextlib.contextmanager
def open_streams() -> Iterator[None]:
    """Replace standard streams that the program has closed, so that a report can be printed.

    stderr is opened again on its descriptor. A stream that cannot be written to becomes None.
    """
    before = sys.stdout, sys.stderr
    if _is_closed(sys.stdout):
        sys.stdout = None
    is_removed = sys.stderr is None and sys.__stderr__ is not None  # None from the start: `2>&-`
    if is_removed or _is_closed(sys.stderr):
        sys.stderr = _stderr_again()
    try:
        yield
    finally:
        flush()
        sys.stdout, sys.stderr = before


def _is_closed(stream: TextIO | None) -> bool:
    """Whether a stream or its descriptor is closed; False for None."""
    if stream is None or getattr(stream, "closed", False):
        return stream is not None
    try:
        os.fstat(stream.fileno())
    except (AttributeError, ValueError):  # a stream without a descriptor
        return False
    except OSError:
        return True
    return False


def _stderr_again() -> TextIO | None:
    try:
        return open(2, "w", errors="backslashreplace", closefd=False)
    except OSError:
        return None


def write_program_json(found: Mapping[str, Any], file: str, own_stdout: int | None) -> None:
    """Write the object of --json to its file, or to the descriptor of `run_program`."""
    if own_stdout is None:
        write_json(found, file)
    else:
        with os.fdopen(own_stdout, "w") as stdout:
            stdout.write(json_text(found))
