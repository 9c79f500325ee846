"""Reading and writing whole files and standard streams, with errors that name the file.

A file may be damaged, or made to do harm. `parse_json` and `from_json` are the only readers of JSON
that another program wrote: they raise nothing but a `ValueError` that says what is wrong.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import IO, Any, get_args, get_origin, get_type_hints

from .errors import UsageError, did_you_mean


def read_input(file: str) -> bytes:
    """The bytes of a file, or of standard input for "-".

    Raises:
        UsageError: there is no such file, or standard input is a terminal.
    """
    if file == "-":
        if sys.stdin is None or sys.stdin.isatty():
            found = "closed" if sys.stdin is None else "a terminal"
            raise UsageError(f"expected a FILE or a module on standard input, which is {found}")
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None


MOST_DEPTH = 500
"""Levels of nesting that JSON may have: half of Python's limit on recursion, so that functions that
call themselves for each level do not reach it."""


def read_json(file: str | Path) -> Any:
    """The value in a JSON file.

    Raises:
        UsageError: the file cannot be read, or is not JSON.
    """
    try:
        return parse_json(Path(file).read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(f"{file} is not JSON: {error}") from None


MOST_DIGITS = 18
"""Digits of a number that a user writes for a size or a position: such numbers fit into 64 bits.
Python refuses to convert more than some thousands of digits."""


def whole_number(text: str) -> int | None:
    """The number that a text of digits states; None for other text, and for too many digits."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS
    return int(text) if is_number else None


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text, which may come from anywhere.

    Raises:
        ValueError: it is not JSON, is not UTF-8, nests more than `MOST_DEPTH` levels, or has an
            integer of more digits than Python converts.
    """
    import json

    try:
        value = json.loads(text if isinstance(text, str) else text.decode())
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError:
        raise
    except ValueError:
        most = sys.get_int_max_str_digits()
        raise ValueError(f"an integer has more than {most} digits") from None
    level = [value]
    for _ in range(MOST_DEPTH):
        level = [each for whole in level for each in _parts(whole)]
        if not level:
            return value
    raise ValueError(_TOO_DEEP)


_TOO_DEEP = f"it nests more than {MOST_DEPTH} levels"


def _parts(value: Any) -> Iterable[Any]:
    """The lists and objects directly inside a value of JSON."""
    if not isinstance(value, (dict, list)):
        return ()
    inside = value.values() if isinstance(value, dict) else value
    return [each for each in inside if isinstance(each, (dict, list))]


def from_json(kind: Any, value: Any, where: str = "") -> Any:
    """A value of parsed JSON as a value of a type.

    Args:
        kind: a dataclass, whose fields are the keys of an object; `tuple[X, ...]`, `tuple[X, Y]`
            or `Mapping[str, X]` of such types, `X | Y`, str, int, float, bool, None, or Any.
        value: of `parse_json`. An object may have more keys than the dataclass has fields.
        where: the position of `value`, for messages.

    Raises:
        ValueError: the value is of another type; the message says where, and what was expected.
    """
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin is UnionType:
        for each in inside:
            with suppress(ValueError):
                return from_json(each, value, where)
    if is_dataclass(kind) and type(value) is dict:
        return _record(kind, value, where)
    if origin is tuple and type(value) is list:
        kinds = inside[:1] * len(value) if inside[1:] == (...,) else inside
        if len(kinds) != len(value):
            raise ValueError(f"expected {len(kinds)} values{_at(where)}, found {len(value)}")
        pairs = enumerate(zip(kinds, value, strict=True))
        return tuple(from_json(each, part, f"{where}[{i}]") for i, (each, part) in pairs)
    if origin is Mapping and type(value) is dict:
        return {key: from_json(inside[1], each, f"{where}.{key}") for key, each in value.items()}
    if kind is float and type(value) is int and abs(value) < sys.float_info.max:
        return float(value)
    if type(value) is not kind:
        raise ValueError(f"expected {_named(kind)}{_at(where)}, found {_named(type(value))}")
    return value


def _record(kind: Any, value: dict[str, Any], where: str) -> Any:
    """A dataclass from an object of JSON."""
    kinds = get_type_hints(kind)
    for each in fields(kind):
        is_needed = each.default is MISSING and each.default_factory is MISSING
        if each.name not in value and is_needed:
            raise ValueError(f"expected the key {each.name!r}{_at(where)}, found none")
    given = {each.name: value[each.name] for each in fields(kind) if each.name in value}
    made = {name: from_json(kinds[name], v, f"{where}.{name}") for name, v in given.items()}
    return kind(**made)


def _at(where: str) -> str:
    return f" at {where.removeprefix('.')[:80]}" if where else ""


def _named(kind: Any) -> str:
    """The word of JSON for a type of Python."""
    words: dict[Any, str] = {
        dict: "an object",
        Mapping: "an object",
        list: "an array",
        tuple: "an array",
    }
    words |= {str: "a string", int: "an integer", float: "a number", bool: "true or false"}
    if get_origin(kind) is UnionType:
        return " or ".join(map(_named, get_args(kind)))
    return "an object" if is_dataclass(kind) else words.get(get_origin(kind) or kind, "null")


def read_arrays(file: str | Path, member: str | None = None) -> Any:
    """The array in an `.npy` file, or the arrays by name in an `.npz` file.

    Every read is bounded by the size of the file, so that a damaged header allocates nothing.

    Args:
        file: a path.
        member: the name of the only array to read from an `.npz` file.

    Returns:
        A numpy array, or a dict of arrays where the file is an `.npz` and no member is named.

    Raises:
        UsageError: the file cannot be read, is damaged, or has no such member.
    """
    import zipfile

    try:
        if not zipfile.is_zipfile(file):
            return _parse_npy(Path(file).read_bytes())
        with zipfile.ZipFile(file) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            if member is not None and member not in names:
                offer = did_you_mean(member, names) or f" It has {', '.join(names)}."
                raise UsageError(f"{file} has no array '{member}'.{offer}")
            chosen = names if member is None else [member]
            infos = dict(zip(names, archive.infolist(), strict=True))
            arrays = {name: _parse_npy(archive.read(infos[name])) for name in chosen}
    except UsageError:
        raise
    except Exception as error:  # numpy, zipfile and zlib raise a dozen kinds on damaged files
        found = getattr(error, "strerror", None)
        if found is None:
            reason = str(error).partition("\n")[0] or type(error).__name__
            found = f"expected an .npy or .npz file that holds arrays of numbers: {reason}"
        raise UsageError(f"{file}: {found}") from error
    return arrays if member is None else arrays[member]


def _parse_npy(data: bytes) -> Any:
    """The array in the bytes of an `.npy` file; any exception where they are damaged."""
    import io

    import numpy as np
    from numpy.lib import format as npy

    stream = io.BytesIO(data)
    version = npy.read_magic(stream)
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, is_fortran, dtype = read_header(stream)
    if dtype.hasobject or dtype.itemsize == 0:
        raise ValueError(f"it holds elements of type {dtype}")
    stored, expected = len(data) - stream.tell(), math.prod(shape) * dtype.itemsize
    if stored != expected:
        raise ValueError(f"its header promises {expected} bytes of data, and it has {stored}")
    flat = np.frombuffer(data, dtype, offset=stream.tell()).copy()
    return flat.reshape(shape, order="F" if is_fortran else "C")


def input_name(file: str) -> str:
    """The name of an input file as messages show it."""
    return "<stdin>" if file == "-" else file


def write_output(data: str | bytes, file: str) -> None:
    """Write to a file, or to standard output for "-".

    A file is replaced once all of the new content is on disk: a failure keeps the old content.

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
        raise UsageError("bytecode is not written to a terminal: use -o FILE, or a pipe")
    sys.stdout.flush()
    sys.stdout.buffer.write(raw)
    sys.stdout.buffer.flush()


def write_json(value: Any, file: str) -> None:
    """Write an object as `json_text`, by `write_output`."""
    write_output(json_text(value), file)


def json_text(value: Any) -> str:
    """An object as JSON; NaN and infinities, which JSON lacks, become null."""
    import json

    return json.dumps(_finite(value), indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def require_file(file: str) -> None:
    """Check that a file can be written, before the work whose result it will hold begins.

    Raises:
        UsageError: the file is a folder, or its folder is missing or cannot be written to.
    """
    path = Path(os.path.realpath(file))
    if file == "-":
        return
    if path.is_dir():
        raise UsageError(f"{file}: cannot write: it is a folder")
    if not path.parent.is_dir():
        raise UsageError(f"{file}: cannot write: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{file}: cannot write: permission denied")


def require_folder(folder: str) -> None:
    """Check that files can be written to a folder, which is created later if it is missing.

    Raises:
        UsageError: the folder cannot be created or written to.
    """
    path = Path(os.path.realpath(folder))
    existing = next(each for each in (path, *path.parents) if each.exists())
    if not existing.is_dir():
        raise UsageError(f"{folder}: cannot create this folder: {existing} is a file")
    if not os.access(existing, os.W_OK):
        raise UsageError(f"{folder}: cannot create this folder: permission denied")


_NEW = ".jxc-new"  # the content of a file before it is renamed


def _replace_file(path: Path, raw: bytes) -> None:
    path = Path(os.path.realpath(path))  # the target of a link is replaced, the link stays
    try:
        if path.exists() and not path.is_file():  # /dev/null, a named pipe: written in place
            path.write_bytes(raw)
            return
        os.umask(umask := os.umask(0))  # the only way to read it
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~umask
        with _new_file(path.parent) as file:
            try:
                file.write(raw)
                file.flush()
                os.chmod(file.name, mode)
                if os.name == "nt":  # which renames no open file
                    file.close()
                os.replace(file.name, path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise UsageError(f"{path}: cannot write: {error.strerror}") from None


def _new_file(folder: Path) -> IO[bytes]:
    """An empty file in a folder, to be renamed.

    It has the same name in each process, so that the file of a process that was killed is used by
    the next one. A lock, which the system releases when a process ends, protects it. The name is a
    random one where another process holds the lock, or the file system has no locks.
    """
    import tempfile  # takes 8 ms

    path = str(folder / _NEW)
    with suppress(ImportError, OSError):
        import fcntl

        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        file = open(path, "wb", opener=lambda name, _: os.open(name, flags, 0o600))  # noqa: SIM115
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found, here = os.fstat(file.fileno()), os.lstat(path)
            if (found.st_ino, found.st_uid, found.st_nlink) == (here.st_ino, os.geteuid(), 1):
                file.truncate()
                return file
        except OSError:
            file.close()
            raise
        file.close()
    return tempfile.NamedTemporaryFile(dir=folder, prefix=f"{_NEW}-", delete=False)
