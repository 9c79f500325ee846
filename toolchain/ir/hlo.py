"""HLO, XLA's own form of a module: its text, and serialised `HloModuleProto`s."""

from __future__ import annotations

import re

from ..errors import JxcError
from . import _private
from ._private import hlo_name as hlo_name, hlo_signature as hlo_signature


class ModuleSyntaxError(JxcError):
    """The input is not a module: the message gives file:line:col where MLIR does."""


_ELIDED = re.compile(r"= \S+ constant\(\{\.\.\.\}\)")


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
