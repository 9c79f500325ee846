"""The file format of saved executables: a header of ours in JSON, then the bytes that XLA wrote.

    magic, 8 bytes | length of the header, 4 bytes, little-endian | header, JSON | the executable

XLA's bytes record neither the compiler nor the processor they are for, and jaxlib loads those of
another version or processor without an error. So the header records both. It also describes how to
call the program: the argument and result leaves, and how they nest, so that loading needs no class
of the user's. Importing this imports neither jax nor MLIR.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...errors import JxcError
from ...files import from_json, parse_json

Spec = tuple[tuple[str, ...], ...]  # as in jxc.ir.shardings, which imports MLIR

MAGIC = b"\x89JXC\r\n\x1a\n"  # a transfer in text mode would change it
SCHEMA_VERSION = 3

_LENGTH = 4


class ArtifactError(JxcError):
    """A file cannot be loaded, or a program cannot be saved; the message says why."""


@dataclass(frozen=True)
class SavedLeaf:
    """One array among the arguments or results of a saved program.

    Attributes:
        path: where it is, such as "args[0]['w']".
        shape: its dimensions.
        dtype: its element type, as numpy or `ml_dtypes` names it; "key<fry>" for random keys.
        donated: whether the call consumes it.
        is_used: whether the executable takes it.
        spec: the mesh axes that split each dimension; empty for an array that is not split.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    donated: bool = False
    is_used: bool = True
    spec: Spec = ()

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True, repr=False)
class Header:
    """What a saved file records of its executable.

    Attributes:
        versions: of jxc, jax and jaxlib.
        target: what it was compiled for, such as "tpu:v5e:2x2".
        platform: in JAX's words: "cpu", "cuda" or "tpu".
        device_kind: the beginning of JAX's name for such a device.
        machine: the processor that it was compiled for; empty for other platforms.
        devices: how many devices it runs on.
        mesh: the mesh of these devices, sizes by axis in order; empty for one device.
        libraries: what must be loaded before it runs, such as "lapack".
        arguments: the argument leaves in order.
        results: the result leaves in order.
        argument_tree, result_tree: how they nest; see `encode_tree`.
        x64: whether it has 64-bit types, for which JAX's x64 mode must be on.
        name: of the module.
    """

    versions: Mapping[str, str]
    target: str
    platform: str
    device_kind: str
    machine: Mapping[str, str | tuple[str, ...]]
    devices: int
    mesh: Mapping[str, int]
    libraries: tuple[str, ...]
    arguments: tuple[SavedLeaf, ...]
    results: tuple[SavedLeaf, ...]
    argument_tree: Any
    result_tree: Any
    x64: bool
    name: str

    def __repr__(self) -> str:
        arrays = f"{len(self.arguments)} argument arrays, {len(self.results)} result arrays"
        return f"<jxc.Header {self.name} for {self.target}: {arrays}>"


def write_artifact(header: Header, executable: bytes) -> bytes:
    """The bytes of a file."""
    record = {"schema_version": SCHEMA_VERSION, **asdict(header)}
    raw = json.dumps({**record, "sha256": checksum(record, executable)}).encode()
    return b"".join([MAGIC, len(raw).to_bytes(_LENGTH, "little"), raw, executable])


def checksum(record: Mapping[str, Any], executable: bytes) -> str:
    """SHA-256 of the header's fields, the checksum aside, and of the executable."""
    return hashlib.sha256(json.dumps(record).encode() + executable).hexdigest()


def read_header(path: str | Path) -> Header:
    """The header of a saved executable.

    Raises:
        ArtifactError: as `read_artifact`.
    """
    return read_artifact(path)[0]


def read_artifact(path: str | Path) -> tuple[Header, bytes]:
    """The header of a saved executable, and the bytes that XLA wrote.

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
    executable = data[end:]
    if len(data) < end:
        raise ArtifactError(f"{path} is damaged: its header ends too early")
    try:
        record = parse_json(data[start:end])
        if not isinstance(record, dict):
            raise ValueError("expected an object")
    except ValueError as error:
        raise ArtifactError(f"{path} is damaged: its header is not JSON: {error}") from None
    version = record.get("schema_version")
    if version != SCHEMA_VERSION:
        raise ArtifactError(
            f"{path} is of schema version {version}, and this jxc reads {SCHEMA_VERSION}: save it "
            "again with this jxc"
        )
    if record.pop("sha256", None) != checksum(record, executable):
        raise ArtifactError(f"{path} is damaged: its checksum is not that of its contents")
    try:
        header: Header = from_json(Header, record)
        if header.devices != math.prod(header.mesh.values()):
            raise ValueError("expected one device for each position of its mesh")
        _check_tree(header.argument_tree, len(header.arguments))
        _check_tree(header.result_tree, len(header.results))
    except ValueError as error:
        raise ArtifactError(f"{path} is damaged: its header: {error}") from None
    return header, executable


def _check_tree(record: Any, leaves: int) -> None:
    """Check that a nesting is one of `encode_tree`, for so many leaves.

    Raises:
        ValueError: it is not.
    """
    left = iter(range(leaves))
    try:
        decode_tree(record, left)
    except (AttributeError, StopIteration, RuntimeError, TypeError, ValueError):
        raise ValueError("expected a nesting of its arrays, found something else") from None
    if next(left, None) is not None:
        raise ValueError("expected a nesting of all of its arrays, found one of fewer")


_INSTRUCTIONS = (
    *("abm", "adx", "aes", "amx", "avx", "bmi", "f16c", "fma", "gfni", "lzcnt", "movbe", "pclmul"),
    *("popcnt", "sha", "sse", "ssse", "vaes", "vpclmul", "xop"),
    *("asimd", "bf16", "crc32", "dotprod", "fp", "i8mm", "neon", "sm3", "sm4", "sme", "sve"),
)
"""Prefixes of the names of processor features that add instructions, on x86 and ARM."""


def this_machine() -> dict[str, str | tuple[str, ...]]:
    """The architecture, and the processor features as Linux lists them; none on other systems."""
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text()
    except OSError:
        cpuinfo = ""
    listed = re.search(r"^(?:flags|Features)\s*:(.*)", cpuinfo, re.MULTILINE)
    features = (
        {word for word in listed[1].split() if word.startswith(_INSTRUCTIONS)} if listed else ()
    )
    return {"architecture": platform.machine(), "features": tuple(sorted(features))}


def check_machine(machine: Mapping[str, str | tuple[str, ...]], path: object) -> None:
    """Check that code for `machine` runs on this processor.

    Raises:
        ArtifactError: this one is of another architecture, or lacks a feature of that one.
    """
    here = this_machine()
    if machine.get("architecture") != here["architecture"]:
        raise ArtifactError(
            f"{path} was compiled for a CPU of architecture {machine.get('architecture')}, and "
            f"this is {here['architecture']}: save it again here"
        )
    if missing := sorted(set(machine.get("features", ())) - set(here["features"])):
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        raise ArtifactError(
            f"{path} was compiled for a CPU with features that this one lacks: "
            f"{', '.join(missing[:8])}{more}; save it again here"
        )


_LEAF = "*"


def encode_tree(tree: Any) -> Any:
    """The nesting of a pytree as JSON: lists, tuples, dicts and None are kept.

    Any other container (a named tuple, a dataclass) is kept as a tuple of what it holds.
    """
    if tree is None:
        return None
    if type(tree) is dict and all(isinstance(key, (str, int)) for key in tree):
        return {"dict": [[key, encode_tree(tree[key])] for key in sorted(tree)]}
    if type(tree) is list:
        return {"list": [encode_tree(child) for child in tree]}
    import jax

    children, structure = jax.tree.flatten(tree, is_leaf=lambda x: x is not tree)
    if jax.tree_util.treedef_is_leaf(structure) and structure.num_leaves:  # an empty tuple has none
        return _LEAF
    return {"tuple": [encode_tree(child) for child in children]}


def decode_tree(record: Any, leaves: Iterator[Any]) -> Any:
    """A pytree of that nesting, filled with leaves in order."""
    if record is None:
        return None
    if record == _LEAF:
        return next(leaves)
    ((kind, children),) = record.items()
    if kind == "dict":
        return {key: decode_tree(child, leaves) for key, child in children}
    made = [decode_tree(child, leaves) for child in children]
    return made if kind == "list" else tuple(made)
