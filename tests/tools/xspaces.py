"""Makes small traces of jaxlib's profiler by hand: XSpace messages in protobuf's wire format."""

import itertools


def varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def message(*fields):
    """A message of (number, value) pairs: whole numbers, texts and bytes."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


class Plane:
    """A plane under construction; `line` adds events, `bytes` is the message."""

    def __init__(self, name):
        self._name, self._lines, self._names, self._stats = name, [], {}, {}
        self._programs, self._own = [], []
        self._ids = itertools.count(1)

    def _id(self, table, name):
        return table.setdefault(name, len(table) + 1)

    def _stat(self, name, value):
        kind = 4 if isinstance(value, int) else 5
        return message((1, self._id(self._stats, name)), (kind, value))

    def line(self, name, *events, start=0):
        """A line of events: each a name, a start and an end in ns, and statistics by name."""
        fields = [(1, next(self._ids)), (2, name), (3, start)]
        for text, begin, end, stats in events:
            made = [(1, self._id(self._names, text)), (2, begin * 1000), (3, (end - begin) * 1000)]
            made += [(4, self._stat(*each)) for each in stats.items()]
            fields.append((4, message(*made)))
        self._lines.append(message(*fields))
        return self

    def program(self, name, hlo_proto):
        """The optimized HLO of a program, in the plane "/host:metadata"."""
        stat = message((1, self._id(self._stats, "Hlo Proto")), (6, message((1, hlo_proto))))
        self._programs.append((name, stat))
        return self

    def stat(self, name, value):
        self._own.append(self._stat(name, value))
        return self

    @property
    def bytes(self):
        fields = [(2, self._name), *((3, line) for line in self._lines)]
        entries = [(number, name, b"") for name, number in self._names.items()]
        entries += [(1000 + n, name, stat) for n, (name, stat) in enumerate(self._programs)]
        for number, name, stat in entries:
            more = [(5, stat)] if stat else []
            fields.append((4, message((1, number), (2, message((1, number), (2, name), *more)))))
        for name, number in self._stats.items():
            fields.append((5, message((1, number), (2, message((1, number), (2, name))))))
        fields += [(6, stat) for stat in self._own]
        return message(*fields)


def space(*planes):
    """A serialised XSpace."""
    return message(*((1, plane.bytes) for plane in planes))
