"""Reading and writing modules: text, MLIR bytecode, portable artifacts, HLO."""

from __future__ import annotations

import io
from itertools import chain

from jaxlib.mlir import ir

from ..errors import JxcError
from . import _private
from .hlo import ModuleSyntaxError, read_hlo
from .locations import format_location
from .module import walk

_BYTECODE_MAGIC = b"ML\xefR"
_PORTABLE_PRODUCER = b"StableHLO_v"
_EXPORT_HEADER = 512  # bytes of a jax.export file in which the bytecode's magic must appear


def read_module(data: bytes | str, context: ir.Context, *, name: str = "<stdin>") -> ir.Module:
    """Parse a module in any of the forms that jxc reads.

    Args:
        data: MLIR text, MLIR bytecode, a StableHLO portable artifact, a `jax.export` file or HLO
            text; the content decides which.
        context: the context to parse into, see `make_context`.
        name: the file's name, for messages and locations.

    Raises:
        ModuleSyntaxError: `data` is none of these, or is malformed.
    """
    if isinstance(data, bytes):
        start = data.find(_BYTECODE_MAGIC, 0, _EXPORT_HEADER)
        if start >= 0:
            return _read_bytecode(data, start, context, name)
        try:
            data = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ModuleSyntaxError(
                f"{name}: neither text nor MLIR bytecode (byte {error.start} is not UTF-8). "
                "Expected MLIR text, bytecode, a portable artifact or HLO text."
            ) from None
    if data.lstrip().startswith("HloModule"):
        return read_module(_stablehlo_of_hlo(data, name), context, name=name)
    if not data.strip():
        raise ModuleSyntaxError(f"{name}: empty input; expected an MLIR module")
    try:
        with context:
            return ir.Module.parse(data, context)
    except ir.MLIRError as error:
        raise ModuleSyntaxError(format_diagnostics(error, name)) from None
    except (ValueError, MemoryError) as error:  # a dimension number beyond 32 bits, say
        raise ModuleSyntaxError(f"{name}: MLIR cannot parse this: {_first_line(error)}") from None


def _read_bytecode(data: bytes, start: int, context: ir.Context, name: str) -> ir.Module:
    from jaxlib.mlir.dialects import stablehlo

    # In a `jax.export` flatbuffer, the u32 before the magic is the size of the bytecode.
    end = start + int.from_bytes(data[start - 4 : start], "little") if start >= 4 else None
    data = data[start:end]
    malformed = f"{name}: malformed bytecode"
    try:  # the bindings abort when MLIR quotes a producer that is not UTF-8
        data[5:].split(b"\0", 1)[0].decode()
    except UnicodeDecodeError:
        raise ModuleSyntaxError(f"{malformed}: its producer is not UTF-8") from None
    try:
        with context:
            if _PORTABLE_PRODUCER not in data[4:64]:
                module = ir.Module.parse(data, context)
            else:
                with context.attach_diagnostic_handler(lambda diagnostic: True):  # not to stderr
                    module = stablehlo.deserialize_portable_artifact(context, data)
    except (ir.MLIRError, ValueError, MemoryError) as error:
        is_mlir = isinstance(error, ir.MLIRError)
        why = format_diagnostics(error, name) if is_mlir else _first_line(error)
        raise ModuleSyntaxError(f"{malformed}: {why}") from None
    _check_names(module, name)
    return module


def _check_names(module: ir.Module, name: str) -> None:
    """Reject symbol names that are not UTF-8: reading them fails in every pass."""
    try:
        for op in chain([module.operation], walk(module.operation)):
            for attribute in op.attributes:
                if attribute == "sym_name":
                    str(getattr(op.attributes[attribute], "value", ""))
    except (RuntimeError, UnicodeDecodeError):
        raise ModuleSyntaxError(f"{name}: malformed bytecode: a symbol name is not UTF-8") from None


def _stablehlo_of_hlo(text: str, name: str) -> bytes:
    proto = read_hlo(text, name)
    try:
        return _private.hlo_proto_to_stablehlo(proto)
    except Exception as error:  # jaxlib's XlaRuntimeError, a RuntimeError, or a ValueError
        raise ModuleSyntaxError(f"{name}: malformed HLO text: {error}") from None


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def format_diagnostics(error: ir.MLIRError, name: str = "-") -> str:
    """MLIR's diagnostics as lines `file:line:col: message`; the first one is the cause."""
    lines = []
    for diagnostic in error.error_diagnostics:
        at = format_location(diagnostic.location, name)
        lines.append(f"{at}: {diagnostic.message}")
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
        elide_larger_than: leave out the elements of constants of more elements than this; the
            text cannot be compiled then.
    """
    text: str = module.operation.get_asm(
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


def hlo_of_module(module: ir.Module) -> bytes:
    """The serialised `HloModuleProto` that XLA imports a StableHLO module as."""
    return _private.stablehlo_to_hlo_proto(write_bytecode(module))


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
        return bytes(stablehlo.serialize_portable_artifact(module, target))
    except (ir.MLIRError, ValueError) as error:
        raise JxcError(
            f"no portable artifact for StableHLO {target}: {_first_line(error)}. Every op must be "
            "StableHLO: run the pass `chlo-legalize-to-stablehlo` first."
        ) from None
