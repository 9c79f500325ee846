"""HLO, XLA's own form of a module: as text and as serialised `HloModuleProto`s."""

from __future__ import annotations

import re
from typing import Any

from jaxlib.mlir import ir

from . import _private
from .io import ModuleSyntaxError, write_bytecode

_LEFT_OUT = re.compile(r"= \S+ constant\(\{\.\.\.\}\)")


def read_hlo(text: str, name: str = "<stdin>") -> bytes:
    """HLO text as a proto.

    Raises:
        ModuleSyntaxError: it is malformed, or a constant in it was left out when it was printed:
            XLA would read that back as whatever memory holds.
    """
    if found := _LEFT_OUT.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise ModuleSyntaxError(
            f"{name}:{line}: a large constant was left out when this HLO was printed "
            "(`constant({...})`): print it whole, as `jxc compile --compile-to` does"
        )
    try:
        return _private.hlo_text_to_proto(text)
    except Exception as error:  # jaxlib raises its own XlaRuntimeError, a RuntimeError
        raise ModuleSyntaxError(f"{name}: malformed HLO text: {error}") from None


def hlo_of_module(module: ir.Module) -> bytes:
    """The proto that XLA imports a StableHLO module as."""
    return _private.stablehlo_to_hlo_proto(write_bytecode(module))


def write_hlo(proto: bytes) -> str:
    """A proto as text, ending in a newline, large constants written out."""
    return _private.hlo_proto_to_text(proto).rstrip() + "\n"


def hlo_name(proto: bytes) -> str:
    """What the module of a proto is called."""
    return _private.hlo_proto_name(proto)


def hlo_signature(proto: bytes) -> tuple[list[Any], Any]:
    """The shapes of the parameters and of the result, as jaxlib's `Shape`s.

    Of use: `is_tuple()`, `tuple_shapes()`, `dimensions()`, `numpy_dtype()`, `layout()`; the text of
    one holds its layout.
    """
    return _private.hlo_program_shape(proto)


_FRAME = re.compile(r",? ?stack_frame_id=\d+")
_LAYOUT = ", entry_computation_layout={"


def without_places(text: str) -> str:
    """HLO text whose instructions refer to no table of Python lines.

    XLA keeps the table of the module that it compiles when another is put in its place, and the
    numbers would name whatever lines stand there.
    """
    return _FRAME.sub("", text)


def without_layout(text: str) -> str:
    """HLO text whose header does not say what the entry takes and returns: the entry does.

    XLA believes the header, and would pass values of the types that it names.
    """
    start = text.find(_LAYOUT, 0, text.find("\n"))
    if start < 0:
        return text
    depth, end = 1, start + len(_LAYOUT)
    while depth and end < len(text):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[:start] + text[end:]
