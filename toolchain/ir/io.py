"""Reading and writing modules: text, MLIR bytecode, portable artifacts, HLO."""

from __future__ import annotations

import io
import json
import re
from itertools import chain

from jaxlib.mlir import ir

from ..errors import JxcError, UsageError
from . import _private
from .hlo import ModuleSyntaxError, hlo_in
from .locations import format_location
from .module import clone_module, walk
from .nesting import check_text, make_room

_BYTECODE_MAGIC = b"ML\xefR"
_PORTABLE_PRODUCER = b"StableHLO_v"


def read_module(data: bytes | str, context: ir.Context, *, name: str = "<stdin>") -> ir.Module:
    """Parse a module in any of the forms that jxc reads.

        >>> read_module("func.func @f() { return }", make_context()).operation.name
        'builtin.module'

    Args:
        data: MLIR text, MLIR bytecode, a StableHLO portable artifact, a `jax.export` file, HLO
            text or an HLO proto; the content decides which.
        context: the context to parse into, see `make_context`.
        name: the file's name, for messages and locations.

    Raises:
        ModuleSyntaxError: `data` is none of these, or is malformed.
        JxcError: the module is nested too deep, see `nesting`.
    """
    if (proto := hlo_in(data, name)) is not None:
        return read_module(_stablehlo_of_hlo(proto, name), context, name=name)
    if isinstance(data, bytes):
        if data.startswith(_BYTECODE_MAGIC):
            return _read_bytecode(data, context, name)
        if (code := module_of_export(data)) is not None:
            return _read_bytecode(code, context, name)
        try:
            data = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ModuleSyntaxError(
                f"{name}: neither text nor MLIR bytecode (byte {error.start} is not UTF-8). "
                "Expected MLIR text, bytecode, a portable artifact, HLO text or an HLO proto."
            ) from None
    if not data.strip():
        raise ModuleSyntaxError(f"{name}: empty input; expected an MLIR module")
    if name.endswith(".py"):
        raise ModuleSyntaxError(_python_file(name, data))
    check_text(data.encode(errors="replace"), name)
    try:
        with context:
            module = ir.Module.parse(data, context)
    except ir.MLIRError as error:
        raise ModuleSyntaxError(format_diagnostics(error, name)) from None
    except (ValueError, MemoryError) as error:  # a dimension number beyond 32 bits, say
        raise ModuleSyntaxError(f"{name}: MLIR cannot parse this: {_first_line(error)}") from None
    make_room(module, name)
    return module


def _python_file(name: str, text: str) -> str:
    """The message on a file of Python in place of a module; it names a function of the file."""
    found = re.search(r"^def (\w+)", text, re.MULTILINE)
    function = found[1] if found else "FUNCTION"
    return (
        f"{name} is a file of Python; expected an MLIR module. Lower a function of it first:\n"
        f"  jxc lower {name}:{function} SPEC... -o module.mlir"
    )


def module_of_export(data: bytes) -> bytes | None:
    """The bytecode in a file of `jax.export`; None if `data` is no such file.

    Such a file is a flatbuffer. Its root table has one vector of bytes that is bytecode; those of
    exported gradients lie in tables inside.
    """
    if _BYTECODE_MAGIC not in data:
        return None

    def number(at: int, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(data[at : at + size], "little", signed=signed)

    table = number(0, 4)
    vtable = table - number(table, 4, signed=True)
    for entry in range(vtable + 4, vtable + number(vtable, 2), 2):
        if (offset := number(entry, 2)) > 0:
            vector = table + offset + number(table + offset, 4)
            if data.startswith(_BYTECODE_MAGIC, vector + 4):
                return data[vector + 4 : vector + 4 + number(vector, 4)]
    return None


def _read_bytecode(data: bytes, context: ir.Context, name: str) -> ir.Module:
    from jaxlib.mlir.dialects import stablehlo

    malformed = f"{name}: malformed bytecode"
    _check_version(data, name)
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
    make_room(module, name)
    _check_names(module, name)
    return module


def artifact_version(data: bytes) -> str | None:
    """The StableHLO version of a portable artifact, also inside a file of `jax.export`, or None."""
    code = data if data.startswith(_BYTECODE_MAGIC) else module_of_export(data)
    found = re.match(rb"ML\xefR.StableHLO_v(\d+\.\d+\.\d+)\0", code or b"", re.DOTALL)
    return found[1].decode() if found else None


def _check_version(data: bytes, name: str) -> None:
    """Reject portable artifacts of a later StableHLO: MLIR's message would not name it."""
    version, current = artifact_version(data), current_version()
    if version is not None and _numbers(version) > _numbers(current):
        raise ModuleSyntaxError(
            f"{name}: a portable artifact of StableHLO {version}; this jaxlib reads versions up to "
            f"{current}. Write it again for an older version, or use a newer jaxlib."
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _check_names(module: ir.Module, name: str) -> None:
    """Reject symbol names that are not UTF-8: reading them fails in every pass."""
    try:
        for op in chain([module.operation], walk(module.operation)):
            for attribute in op.attributes:
                if attribute == "sym_name":
                    str(getattr(op.attributes[attribute], "value", ""))
    except (RuntimeError, UnicodeDecodeError):
        raise ModuleSyntaxError(f"{name}: malformed bytecode: a symbol name is not UTF-8") from None


def _stablehlo_of_hlo(proto: bytes, name: str) -> bytes:
    try:
        return _private.hlo_proto_to_stablehlo(proto)
    except Exception as error:  # jaxlib's XlaRuntimeError, a RuntimeError, or a ValueError
        raise ModuleSyntaxError(f"{name}: this HLO has no StableHLO form: {error}") from None


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
    local_scope: bool = False,
    name_locations: bool = False,
    file_name: str | None = None,
) -> str:
    """The module's text, ending in a newline.

    Args:
        module: what to print.
        debug_info: print locations.
        generic: print every op in MLIR's generic form.
        elide_larger_than: leave out the elements of constants of more elements than this, and
            resources of more characters; the text cannot be compiled then.
        local_scope: print types, attributes and locations in full, without aliases.
        name_locations: name values after their named locations.
        file_name: print this file in locations of text that was parsed from memory.
    """
    text: str = module.operation.get_asm(
        enable_debug_info=debug_info,
        print_generic_op_form=generic,
        large_elements_limit=elide_larger_than,
        large_resource_limit=elide_larger_than,
        use_local_scope=local_scope,
        use_name_loc_as_prefix=name_locations,
    )
    if debug_info and file_name is not None:
        file = json.dumps(file_name, ensure_ascii=False)
        text = _IN_MEMORY.sub(lambda _: file, text)
    return text if text.endswith("\n") else text + "\n"


_IN_MEMORY = re.compile(r'"-"(?=:\d+:\d+)')  # no string of a module holds such a quote


def write_bytecode(module: ir.Module) -> bytes:
    """The module as MLIR bytecode, readable by the same jaxlib."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def hlo_of_module(module: ir.Module) -> bytes:
    """The serialised `HloModuleProto` that XLA imports a StableHLO module with @main as."""
    return _private.stablehlo_to_hlo_proto(write_bytecode(module))


# Portable artifacts


def current_version() -> str:
    """The StableHLO version of this jaxlib, such as "1.17.0"."""
    from jaxlib.mlir.dialects import stablehlo

    return str(stablehlo.get_current_version())


def portable_version(spec: str) -> str:
    """The StableHLO version that `spec` names.

    Args:
        spec: a version such as "1.9.0", "minimum", "current", or "week_4" or "week_12" for the
            version that releases of so many weeks ago read.

    Raises:
        UsageError: it is none of these, or this jaxlib does not write that version.
    """
    from jaxlib.mlir.dialects import stablehlo

    least, most = stablehlo.get_minimum_version(), current_version()
    requirement = getattr(stablehlo.StablehloCompatibilityRequirement, spec.upper(), None)
    if spec.startswith("week_") and requirement is not None:
        return str(stablehlo.get_version_from_compatibility_requirement(requirement))
    version = {"minimum": str(least), "current": most}.get(spec, spec)
    is_version = re.fullmatch(r"\d{1,9}\.\d{1,9}\.\d{1,9}", version)
    if not is_version or not _numbers(least) <= _numbers(version) <= _numbers(most):
        raise UsageError(
            f"StableHLO version {spec!r}: this jaxlib writes {least} (minimum) to {most} "
            "(current), week_4 and week_12"
        )
    return version


def write_portable(
    module: ir.Module, version: str | None = None, *, allow_other_dialects: bool = False
) -> bytes:
    """The module as a StableHLO portable artifact, readable by other versions of StableHLO.

    Args:
        module: a module of StableHLO, CHLO excepted.
        version: the StableHLO version to write for, such as "1.9.0"; jaxlib's minimum supported
            version when None.
        allow_other_dialects: keep ops of other dialects, whose form is not versioned.

    Raises:
        JxcError: the module holds ops that have no portable form, or none in this version.
    """
    from jaxlib.mlir.dialects import stablehlo

    target = version or stablehlo.get_minimum_version()
    module = clone_module(module)  # which the bindings turn into VHLO
    try:
        return bytes(stablehlo.serialize_portable_artifact(module, target, allow_other_dialects))
    except (ir.MLIRError, ValueError) as error:
        raise JxcError(
            f"no portable artifact for StableHLO {target}: {_first_line(error)}. Every op must be "
            "StableHLO, and exist in that version: run the pass `chlo-legalize-to-stablehlo` or "
            "`stablehlo-compatibility-expander{target=VERSION}` first."
        ) from None
