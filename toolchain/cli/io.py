"""Files and standard streams of the command line: read whole, written whole or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ..errors import UsageError


def read_input(file: str) -> bytes:
    """The bytes of a file, or of standard input for "-".

    Raises:
        UsageError: there is no such file, or standard input is a terminal.
    """
    if file == "-":
        if sys.stdin is None or sys.stdin.isatty():
            found = "none" if sys.stdin is None else "a terminal"
            raise UsageError(f"expected a module on standard input, or a FILE; found {found}")
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None


def write_output(data: str | bytes, file: str) -> None:
    """Write to a file, or to standard output for "-".

    A file is replaced only once all of it is written, so that a failure loses nothing.

    Raises:
        UsageError: the file cannot be written, or bytes would go to a terminal.
    """
    raw = data.encode() if isinstance(data, str) else data
    if file != "-":
        _replace_file(Path(file), raw)
        return
    if sys.stdout is None:
        raise UsageError("standard output is closed: use -o FILE")
    if isinstance(data, bytes) and sys.stdout.isatty():
        raise UsageError("not writing bytecode to a terminal: use -o FILE, or a pipe")
    sys.stdout.flush()
    sys.stdout.buffer.write(raw)
    sys.stdout.buffer.flush()


def _replace_file(path: Path, raw: bytes) -> None:
    import tempfile  # 8 ms, for -o only

    path = Path(os.path.realpath(path))  # a link stays one: what it points to is replaced
    try:
        if path.exists() and not path.is_file():  # /dev/null, a named pipe: written in place
            path.write_bytes(raw)
            return
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as temporary:
            temporary.write(raw)
        os.chmod(temporary.name, mode)
        os.replace(temporary.name, path)
    except OSError as error:
        raise UsageError(f"{path}: cannot write: {error.strerror}") from None


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
