"""Reading and writing modules: text, MLIR bytecode, portable artifacts, HLO."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from itertools import chain

from jaxlib.mlir import ir

from ..errors import JxcError
from . import _private
from .module import walk

_BYTECODE_MAGIC = b"ML\xefR"
_PORTABLE_PRODUCER = b"StableHLO_v"
_EXPORT_HEADER = 512  # bytes of a jax.export file in which the bytecode's magic must appear


class ModuleSyntaxError(JxcError):
    """The input is not a module: the message gives file:line:col where MLIR does."""


def read_module(data: bytes | str, context: ir.Context, *, name: str = "<stdin>") -> ir.Module:
    """Parse a module, whatever its form.

    Args:
        data: MLIR text, MLIR bytecode, a StableHLO portable artifact, a `jax.export` file or HLO
            text; told apart by content.
        context: where the module lives, see `make_context`.
        name: the file's name, for messages and locations.

    Raises:
        ModuleSyntaxError: `data` is none of these, or is malformed.
    """
    if isinstance(data, bytes):
        start = data.find(_BYTECODE_MAGIC, 0, _EXPORT_HEADER)
        if start >= 0:
            return _read_bytecode(_cut_bytecode(data, start), context, name)
        try:
            data = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ModuleSyntaxError(
                f"{name}: neither text nor MLIR bytecode (byte {error.start} is not UTF-8). "
                "Expected MLIR text, bytecode, a portable artifact or HLO text."
            ) from None
    if data.lstrip().startswith("HloModule"):
        return _read_hlo(data, context, name)
    return _read_text(data, context, name)


def _cut_bytecode(data: bytes, start: int) -> bytes:
    """The bytecode inside a `jax.export` flatbuffer: the u32 before the magic is its length."""
    if start < 4:
        return data[start:]
    length = int.from_bytes(data[start - 4 : start], "little")
    return data[start : start + length]


def _read_bytecode(data: bytes, context: ir.Context, name: str) -> ir.Module:
    from jaxlib.mlir.dialects import stablehlo

    portable = data[4:64].find(_PORTABLE_PRODUCER) >= 0
    _check_producer(data, name)
    try:
        with context:
            if portable:
                with _quiet(context):
                    module = stablehlo.deserialize_portable_artifact(context, data)
            else:
                module = ir.Module.parse(data, context)
    except ir.MLIRError as error:
        raise ModuleSyntaxError(
            f"{name}: malformed bytecode: {format_diagnostics(error, name)}"
        ) from None
    except (ValueError, MemoryError) as error:
        raise ModuleSyntaxError(f"{name}: malformed bytecode: {_first_line(error)}") from None
    _check_names(module, name)
    return module


def _check_producer(data: bytes, name: str) -> None:
    """Refuse a producer that is not text: MLIR quotes it in messages, and the bindings abort."""
    try:
        data[5:].split(b"\0", 1)[0].decode()
    except UnicodeDecodeError:
        raise ModuleSyntaxError(f"{name}: malformed bytecode: its producer is not text") from None


def _check_names(module: ir.Module, name: str) -> None:
    """Refuse names that are not text: every pass would trip over them."""
    try:
        for op in chain([module.operation], walk(module.operation)):
            for attribute in op.attributes:
                if attribute == "sym_name":
                    str(getattr(op.attributes[attribute], "value", ""))
    except (RuntimeError, UnicodeDecodeError):
        raise ModuleSyntaxError(f"{name}: malformed bytecode: a name in it is not UTF-8") from None


@contextlib.contextmanager
def _quiet(context: ir.Context) -> Iterator[None]:
    """Keep MLIR from printing what it finds wrong: the exception says that there is something."""
    handler = context.attach_diagnostic_handler(lambda diagnostic: True)
    try:
        yield
    finally:
        handler.detach()


def _read_text(text: str, context: ir.Context, name: str) -> ir.Module:
    if not text.strip():
        raise ModuleSyntaxError(f"{name}: empty input; expected an MLIR module")
    try:
        with context:
            return ir.Module.parse(text, context)
    except ir.MLIRError as error:
        raise ModuleSyntaxError(format_diagnostics(error, name)) from None
    except (ValueError, MemoryError) as error:  # a dimension number beyond 32 bits, say
        raise ModuleSyntaxError(f"{name}: MLIR gave up: {_first_line(error)}") from None


def _read_hlo(text: str, context: ir.Context, name: str) -> ir.Module:
    from .hlo import read_hlo

    proto = read_hlo(text, name)
    try:
        lowered = _private.hlo_proto_to_stablehlo(proto)
    except (
        Exception
    ) as error:  # jaxlib raises its own XlaRuntimeError, a RuntimeError or ValueError
        raise ModuleSyntaxError(f"{name}: malformed HLO text: {error}") from None
    return read_module(lowered, context, name=name)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


_UNNAMED = re.compile(r'^loc\("-":(\d+):(\d+)( to .*)?\)$')


def format_location(location: ir.Location, name: str = "-") -> str:
    """`file:line:col` where the location has one, else MLIR's spelling of it."""
    text = str(location)
    if found := _UNNAMED.match(text):
        return f"{name}:{found[1]}:{found[2]}"
    if found := re.search(r'"([^"]+)":(\d+):(\d+)', text):
        file = name if found[1] == "-" else found[1]
        return f"{file}:{found[2]}:{found[3]}"
    return text


def format_diagnostics(error: ir.MLIRError, name: str = "-", *, line_offset: int = 0) -> str:
    """MLIR's diagnostics as `file:line:col: message` lines, the first being the cause."""
    lines = []
    for diagnostic in error.error_diagnostics:
        place = format_location(diagnostic.location, name)
        lines.append(f"{place}: {diagnostic.message}")
        lines += [f"  note: {note.message}" for note in diagnostic.notes]
    return "\n".join(lines) or _first_line(error)


def write_text(
    module: ir.Module,
    *,
    debug_info: bool = False,
    generic: bool = False,
    elide_larger_than: int | None = None,
) -> str:
    """The module's text, ending in a newline.

    Args:
        module: what to print.
        debug_info: print locations.
        generic: print every op in MLIR's generic form.
        elide_larger_than: leave out constants of more elements than this; such text cannot be
            compiled.
    """
    text = module.operation.get_asm(
        enable_debug_info=debug_info,
        print_generic_op_form=generic,
        large_elements_limit=elide_larger_than,
    )
    return text if text.endswith("\n") else text + "\n"


def write_bytecode(module: ir.Module) -> bytes:
    """The module as MLIR bytecode, readable by the same jaxlib."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def write_portable(module: ir.Module, version: str | None = None) -> bytes:
    """The module as a StableHLO portable artifact, readable by other versions of StableHLO.

    Args:
        module: a module of StableHLO, CHLO excepted.
        version: the StableHLO version to write for, such as "1.9.0"; jaxlib's minimum supported
            version when None.

    Raises:
        JxcError: the module holds ops that have no portable form.
    """
    from jaxlib.mlir.dialects import stablehlo

    target = version or stablehlo.get_minimum_version()
    try:
        return stablehlo.serialize_portable_artifact(module, target)
    except (ir.MLIRError, ValueError) as error:
        raise JxcError(
            f"no portable artifact for StableHLO {target}: {_first_line(error)}. Every op must be "
            "StableHLO: `chlo-legalize-to-stablehlo` first may help."
        ) from None
