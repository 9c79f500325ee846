"""HLO, XLA's own form of a module: its text, and serialised `HloModuleProto`s."""

from __future__ import annotations

import re

from ..errors import JxcError
from . import _private
from ._private import hlo_name as hlo_name, hlo_signature as hlo_signature


class ModuleSyntaxError(JxcError):
    """The input is not a module: the message gives file:line:col where MLIR does."""


_ELIDED = re.compile(r"= \S+ constant\(\{\.\.\.\}\)")


def hlo_in(data: bytes | str, name: str = "<stdin>") -> bytes | None:
    """The serialised `HloModuleProto` that `data` holds as HLO text or as a proto; None if neither.

    A proto is an `HloModuleProto`, or the `HloProto` around one that XLA dumps.

    Raises:
        ModuleSyntaxError: the HLO is malformed.
    """
    if isinstance(data, str):
        return read_hlo(data, name) if data.lstrip().startswith("HloModule") else None
    if data.lstrip().startswith(b"HloModule"):
        return read_hlo(data.decode(errors="replace"), name)
    if not data.startswith(_FIRST_FIELD) or _CONTROL_BYTES.isdisjoint(data):
        return None
    proto = _unwrapped(data)
    try:
        write_hlo(proto)
    except Exception as error:  # jaxlib's XlaRuntimeError, a RuntimeError
        raise ModuleSyntaxError(f"{name}: malformed HLO proto: {error}") from None
    return proto


_FIRST_FIELD = b"\n"  # the tag of field 1 with a length: the name of an HloModuleProto
_CONTROL_BYTES = frozenset(range(9))  # no text has these bytes


def _unwrapped(data: bytes) -> bytes:
    """The `HloModuleProto` in an `HloProto`, whose field 1 it is; other protos as they are.

    An `HloModuleProto` has a field 2, the name of its entry computation; an `HloProto` has none.
    """
    fields: dict[int, bytes] = {}
    rest = memoryview(data)
    while rest and rest[0] & 7 == 2:  # fields with a length
        number, size = rest[0] >> 3, 0
        for index, byte in enumerate(rest[1:11]):
            size |= (byte & 127) << 7 * index
            if byte < 128:
                break
        else:
            return data
        fields.setdefault(number, bytes(rest[index + 2 : index + 2 + size]))
        rest = rest[index + 2 + size :]
    return data if 2 in fields else fields.get(1, data)


def read_hlo(text: str, name: str = "<stdin>") -> bytes:
    """The serialised proto of HLO text.

    Raises:
        ModuleSyntaxError: the text is malformed, or a constant was elided when it was printed: XLA
            would read arbitrary memory in its place.
    """
    if found := _ELIDED.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise ModuleSyntaxError(
            f"{name}:{line}: a large constant was elided when this HLO was printed "
            "(`constant({...})`): print it in full, as `jxc compile --compile-to` does"
        )
    try:
        return _private.hlo_text_to_proto(text)
    except Exception as error:  # jaxlib raises its own XlaRuntimeError, a RuntimeError
        raise ModuleSyntaxError(f"{name}: malformed HLO text: {error}") from None


def write_hlo(proto: bytes) -> str:
    """The text of a serialised proto, with large constants, ending in a newline."""
    return _private.hlo_proto_to_text(proto).rstrip() + "\n"


_FRAME = re.compile(r",? ?stack_frame_id=\d+")
_LAYOUT = ", entry_computation_layout={"


def without_stack_frames(text: str) -> str:
    """HLO text without `stack_frame_id`, which refers to a table of Python lines.

    A pass that replaces the module that XLA compiles cannot replace its table: the numbers would
    name other lines.
    """
    return _FRAME.sub("", text)


def without_entry_layout(text: str) -> str:
    """HLO text whose header has no `entry_computation_layout`.

    After an edit of the entry computation the header may disagree with it, and XLA would pass
    values of the header's types.
    """
    start = text.find(_LAYOUT, 0, text.find("\n"))
    if start < 0:
        return text
    depth, end = 1, start + len(_LAYOUT)
    while depth and end < len(text):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[:start] + text[end:]
