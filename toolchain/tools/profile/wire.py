"""The HLO modules in a serialised XSpace, which `jax.profiler.ProfileData` does not expose.

The messages are those of `tsl/profiler/protobuf/xplane.proto`. Only the plane of metadata is read;
the others are skipped by their lengths.
"""

from __future__ import annotations

from collections.abc import Iterator

_METADATA = b"/host:metadata"


def hlo_modules_of(xspace: bytes) -> dict[str, bytes]:
    """Each program's serialised `HloModuleProto` by name and number, such as "jit_step(4)".

    Raises:
        ValueError: the data is truncated, or no XSpace.
    """
    found: dict[str, bytes] = {}
    for plane in _children(xspace, 1):
        if next(_children(plane, 2), b"") == _METADATA:
            found |= dict(_programs(plane))
    return found


def _programs(plane: bytes) -> Iterator[tuple[str, bytes]]:
    for entry in _children(plane, 4):  # XPlane.event_metadata
        for program in _children(entry, 2):
            name = next(_children(program, 2), b"").decode()
            values = [v for stat in _children(program, 5) for v in _children(stat, 6)]
            if name and values:  # an HloProto, whose first field is the module
                yield name, next(_children(values[0], 1), b"")


def _children(data: bytes, number: int) -> Iterator[bytes]:
    """The values of the fields with this number that have a length."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            _, at = _varint(data, at)
            continue
        if kind == 2:
            size, at = _varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError(f"expected an XSpace, found a field of kind {kind}")
        if at + size > len(data):
            raise ValueError("the XSpace is truncated")
        if kind == 2 and key >> 3 == number:
            yield data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise ValueError("the XSpace is truncated")
