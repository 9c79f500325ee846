"""The form of a saved executable: our header in JSON, then what XLA wrote.

    magic, 8 bytes | length of the header, 4 bytes, little-endian | header, JSON | the executable

The executable is XLA's own and says nothing of what it was made by or for: one of another jaxlib
would load in silence and do anything.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ...errors import JxcError

Spec = tuple[tuple[str, ...], ...]  # as in jxc.ir.shardings, which imports MLIR

MAGIC = b"\x89JXC\r\n\x1a\n"  # a transfer as text would change it
SCHEMA_VERSION = 3

_LENGTH = 4


class ArtifactError(JxcError):
    """A file that cannot be loaded, or a program that cannot be saved; the message says why."""


@dataclass(frozen=True)
class Leaf:
    """One array of the arguments or results.

    Attributes:
        path: where it is, such as "args[0]['w']".
        shape: its extents.
        dtype: its element type, as numpy or `ml_dtypes` names it; "key<fry>" for random keys.
        donated: whether the call consumes it.
        is_used: whether the executable takes it.
        spec: the axes of the mesh that split each dimension; none for an array that is whole.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    donated: bool = False
    is_used: bool = True
    spec: Spec = ()

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Header:
    """What stands before an executable.

    Attributes:
        versions: of jxc, jax and jaxlib.
        target: what it was compiled for, such as "tpu:v5e:2x2".
        platform: in JAX's words: "cpu", "cuda" or "tpu".
        device_kind: how the name begins that JAX gives such a device.
        machine: the processor that it was compiled for; empty for other platforms.
        devices: how many it runs on.
        mesh: the axes of the mesh that they make, and their sizes, in order; empty for one.
        libraries: what must be loaded before it runs, such as "lapack".
        arguments: the argument leaves in order.
        results: the result leaves in order.
        argument_tree, result_tree: how they nest; see `trees`.
        x64: whether it has 64-bit types, which JAX cuts down otherwise.
        name: of the program.
    """

    versions: Mapping[str, str]
    target: str
    platform: str
    device_kind: str
    machine: Mapping[str, Any]
    devices: int
    mesh: Mapping[str, int]
    libraries: tuple[str, ...]
    arguments: tuple[Leaf, ...]
    results: tuple[Leaf, ...]
    argument_tree: Any
    result_tree: Any
    x64: bool
    name: str


def write_artifact(header: Header, executable: bytes) -> bytes:
    """The bytes of a file."""
    told = {
        "schema_version": SCHEMA_VERSION,
        **asdict(header),
        "bytes": len(executable),
    }
    raw = json.dumps({**told, "sha256": checksum(told, executable)}).encode()
    return b"".join([MAGIC, len(raw).to_bytes(_LENGTH, "little"), raw, executable])


def checksum(told: Mapping[str, Any], executable: bytes) -> str:
    """SHA-256 of the header's fields, the checksum aside, and of the executable."""
    return hashlib.sha256(json.dumps(told).encode() + executable).hexdigest()


def read_header(path: str | Path) -> Header:
    """What a file says about itself.

    Raises:
        ArtifactError: as `read_artifact`.
    """
    return read_artifact(path)[0]


def read_artifact(path: str | Path) -> tuple[Header, bytes]:
    """The two parts of a file.

    Raises:
        ArtifactError: it cannot be read, is not such a file, is of another version, or is damaged.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ArtifactError(f"{path}: {error.strerror}") from None
    if not data.startswith(MAGIC):
        raise ArtifactError(
            f"{path}: expected an executable that `jxc compile --save` wrote; it does not begin "
            "like one"
        )
    start = len(MAGIC) + _LENGTH
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    told, executable = _parsed(data[start:end], path), data[end:]
    if told.get("bytes") != len(executable):
        raise ArtifactError(
            f"{path} is damaged: its executable has {len(executable)} bytes, and its header says "
            f"{told.get('bytes')}; save it again"
        )
    if told.pop("sha256", None) != checksum(told, executable):
        raise ArtifactError(f"{path} is damaged: its checksum is not that of its contents")
    return _header(told, path), executable


def _parsed(raw: bytes, path: str | Path) -> dict[str, Any]:
    try:
        told = json.loads(raw)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise ArtifactError(f"{path} is damaged: its header ends too early, or is no JSON")
    if told.get("schema_version") != SCHEMA_VERSION:
        raise ArtifactError(
            f"{path} is of schema version {told.get('schema_version')}, and this jxc reads "
            f"{SCHEMA_VERSION}: save it again with this jxc"
        )
    return told


def _header(told: dict[str, Any], path: str | Path) -> Header:
    try:
        told["arguments"] = tuple(map(_leaf, told["arguments"]))
        told["results"] = tuple(map(_leaf, told["results"]))
        told["libraries"] = tuple(told["libraries"])
        return Header(**{field.name: told[field.name] for field in fields(Header)})
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"{path} is damaged: its header lacks {error}") from None


def _leaf(told: dict[str, Any]) -> Leaf:
    spec = tuple(tuple(axes) for axes in told["spec"])
    return Leaf(**{**told, "shape": tuple(told["shape"]), "spec": spec})
