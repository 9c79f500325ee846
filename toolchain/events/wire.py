"""Messages of `tsl/profiler/protobuf/xplane.proto`, read without an object for each event.

`jax.profiler.ProfileData` makes several Python objects for each event, and does not expose the HLO
modules. Here the events of a line are decoded together: step by step, each step reads the next
field of all events at once with numpy.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.int64]

_METADATA = b"/host:metadata"
_AT_ONCE = 1 << 17
"""Events that are decoded together: some 100 MB of columns, on which numpy has little overhead."""


def planes_of(xspace: bytes) -> Iterator[tuple[str, memoryview]]:
    """The name and the message of each plane.

    Raises:
        ValueError: the data is truncated, or no XSpace.
    """
    for plane in _children(memoryview(xspace), 1):
        yield str(next(_children(plane, 2), b""), "utf-8"), plane


def hlo_modules_of(xspace: bytes) -> dict[str, bytes]:
    """Each program's serialised `HloModuleProto` by name and number, such as "jit_step(4)".

    Raises:
        ValueError: the data is truncated, or no XSpace.
    """
    found: dict[str, bytes] = {}
    for plane in _children(memoryview(xspace), 1):
        if next(_children(plane, 2), b"") == _METADATA:
            found |= dict(_programs(plane))
    return found


def count_events(xspace: bytes) -> int:
    """How many events of the host there are."""
    planes = (plane for name, plane in planes_of(xspace) if name == "/host:CPU")
    lines = (line for plane in planes for line in _children(plane, 3))
    return sum(field == 4 for line in lines for field, _, _ in _positions(line))


def _programs(plane: memoryview) -> Iterator[tuple[str, bytes]]:
    for entry in _children(plane, 4):  # XPlane.event_metadata
        for program in _children(entry, 2):
            name = str(next(_children(program, 2), b""), "utf-8")
            values = [v for stat in _children(program, 5) for v in _children(stat, 6)]
            if name and values:  # an HloProto, whose first field is the module
                yield name, bytes(next(_children(values[0], 1), b""))


def alone(plane: memoryview) -> bytes:
    """A serialised XSpace with one plane."""
    size, length = len(plane), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return b"\x0a" + bytes([*length, size]) + bytes(plane)


# The events of a plane


class Events(NamedTuple):
    """Some events of a line, as columns.

    Attributes:
        name: the number of the name, see `EventPlane.names`.
        start, end: in nanoseconds.
        stats: for each statistic by its name: the indices of the events that have it, in order, and
            the values. A text stands as a number, see `EventPlane.texts`.
    """

    name: Column
    start: Column
    end: Column
    stats: dict[str, tuple[Column, Column]]

    def stat(self, name: str, missing: int = -1) -> Column:
        """The values of a statistic for all events."""
        found = np.full(len(self.name), missing, dtype=np.int64)
        at, values = self.stats.get(name, (found[:0], found[:0]))
        found[at] = values
        return found

    def row(self, at: int) -> dict[str, int]:
        """The statistics of one event."""
        found = {}
        for name, (rows, values) in self.stats.items():
            n = int(np.searchsorted(rows, at))
            if n < len(rows) and rows[n] == at:
                found[name] = int(values[n])
        return found


class EventPlane:
    """A plane of events.

    Args:
        plane: the message.

    Attributes:
        names: the names of events by number.
        texts: the texts that statistics refer to, by number.
    """

    def __init__(self, plane: memoryview) -> None:
        self._plane = plane
        self.names = dict(_table(plane, 4))
        self.texts = dict(_table(plane, 5))
        self._own: dict[bytes, int] = {}

    def lines(self) -> Iterator[Iterator[Events]]:
        """The events of each line, some at a time, in the order of the trace."""
        for line in _children(self._plane, 3):
            yield self._events(line)

    def _events(self, line: memoryview) -> Iterator[Events]:
        start = next((value for number, value in _integers(line) if number == 3), 0)
        data = np.frombuffer(line, dtype=np.uint8)
        spans = _spans_of(line, 4)
        for first in range(0, len(spans), _AT_ONCE):
            yield self._decoded(data, spans[first : first + _AT_ONCE], start)

    def _decoded(self, data: NDArray[np.uint8], spans: Column, line_start: int) -> Events:
        columns = np.zeros((4, len(spans)), dtype=np.int64)  # by field: 1 to 3
        found: list[tuple[Column, Column, Column]] = []
        for rows, number, value, length in _fields(data, spans):
            for field in (1, 2, 3):
                is_field = number == field
                columns[field][rows[is_field]] = value[is_field]
            is_stat = number == 4
            at = value[is_stat]
            found.append((rows[is_stat], at, at + length[is_stat]))
        offset, duration = columns[2], columns[3]  # in picoseconds
        start, end = line_start + offset // 1000, line_start + (offset + duration) // 1000
        owners, *span = (np.concatenate(column) for column in zip(*found, strict=True))
        return Events(columns[1], start, end, self._stats(data, owners, np.stack(span, axis=1)))

    def _stats(
        self, data: NDArray[np.uint8], owners: Column, spans: Column
    ) -> dict[str, tuple[Column, Column]]:
        names = np.zeros(len(spans), dtype=np.int64)
        values = np.zeros(len(spans), dtype=np.int64)
        for rows, number, value, length in _fields(data, spans):
            is_name, is_value = number == 1, (number >= 3) & (number != 5) & (number != 6)
            names[rows[is_name]] = value[is_name]
            values[rows[is_value]] = value[is_value]
            for n in np.flatnonzero(number == 5).tolist():
                text = data[value[n] : value[n] + length[n]].tobytes()
                values[rows[n]] = self._number(text)
        order = np.lexsort((owners, names))
        ordered, first = np.unique(names[order], return_index=True)
        ends = [*first[1:].tolist(), len(order)]
        return {
            self.texts.get(name, ""): (owners[order[begin:end]], values[order[begin:end]])
            for name, begin, end in zip(ordered.tolist(), first.tolist(), ends, strict=False)
        }

    def _number(self, text: bytes) -> int:
        """A number for a text that is in the event itself: below those of the plane's table."""
        if text not in self._own:
            self._own[text] = number = -2 - len(self._own)
            self.texts[number] = text.decode(errors="replace")
        return self._own[text]


def _table(plane: memoryview, number: int) -> Iterator[tuple[int, str]]:
    """The entries of a map from numbers to metadata: their names."""
    for entry in _children(plane, number):
        key = next((value for field, value in _integers(entry) if field == 1), 0)
        for metadata in _children(entry, 2):
            yield key, str(next(_children(metadata, 2), b""), "utf-8", "replace")


def _fields(
    data: NDArray[np.uint8], spans: Column
) -> Iterator[tuple[Column, Column, Column, Column]]:
    """The next field of all messages that have one, until none has.

    Args:
        data: the bytes.
        spans: where each message begins and ends.

    Returns:
        Each time the indices of the messages, the numbers of the fields, their values, and the
        lengths of those that have one, whose value is where it begins.
    """
    rows = np.flatnonzero(spans[:, 0] < spans[:, 1])
    at, ends = spans[rows, 0].copy(), spans[rows, 1]
    while len(rows):
        key, at = _varints(data, at)
        kind = key & 7
        value, length = np.zeros_like(at), np.zeros_like(at)
        has_value = np.flatnonzero((kind == 0) | (kind == 2))
        value[has_value], at[has_value] = _varints(data, at[has_value])
        has_length = kind == 2
        length[has_length], value[has_length] = value[has_length], at[has_length]
        at += length + 8 * (kind == 1) + 4 * (kind == 5)
        if ((at > ends) | (kind == 3) | (kind == 4) | (kind > 5)).any():
            raise ValueError("the XSpace is truncated")
        yield rows, key >> 3, value, length
        has_more = at < ends
        rows, at, ends = rows[has_more], at[has_more], ends[has_more]


def _varints(data: NDArray[np.uint8], at: Column) -> tuple[Column, Column]:
    """The varint at each position, and the position after it."""
    last = len(data) - 1
    byte = data[np.minimum(at, last)].astype(np.int64)
    value, at = byte & 127, at + 1
    more = np.flatnonzero(byte >= 128)
    for shift in range(7, 70, 7):
        if not len(more):
            break
        byte = data[np.minimum(at[more], last)].astype(np.int64)
        value[more] |= (byte & 127) << shift
        at[more] += 1
        more = more[byte >= 128]
    return value, at


# One message at a time


def _spans_of(data: memoryview, number: int) -> Column:
    """Where the values of the fields with this number begin and end, for fields with a length."""
    found = array("q")
    for field, start, end in _positions(data):
        if field == number:
            found.append(start)
            found.append(end)
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _children(data: memoryview, number: int) -> Iterator[memoryview]:
    """The values of the fields with this number that have a length."""
    for field, start, end in _positions(data):
        if field == number:
            yield data[start:end]


def _integers(data: memoryview) -> Iterator[tuple[int, int]]:
    """The numbers and values of the fields that hold an integer."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        size = {1: 8, 5: 4}.get(key & 7)
        if size is None:
            size, at = _varint(data, at)
        at += size


def _positions(data: memoryview) -> Iterator[tuple[int, int, int]]:
    """The number, the beginning and the end of each field that has a length."""
    at, last = 0, len(data)
    while at < last:
        key = data[at]
        if key & 135 == 2 and at + 1 < last and data[at + 1] < 128:  # the usual case of the others
            size, at = data[at + 1], at + 2
            if at + size > last:
                raise ValueError("the XSpace is truncated")
            yield key >> 3, at, at + size
            at += size
            continue
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
        if at + size > last:
            raise ValueError("the XSpace is truncated")
        if kind == 2:
            yield key >> 3, at, at + size
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise ValueError("the XSpace is truncated")
