"""The forms that a lowered function is written in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxlib.mlir import ir

from ..errors import JxcError, UsageError
from ..ir import (
    clone_module,
    register_native_passes,
    walk,
    write_bytecode,
    write_portable,
    write_text,
)
from . import _private
from .forms import BINARY_FORMS, FORMS
from .lowering import Lowering


@dataclass(frozen=True)
class EmitOptions:
    """How to print: with locations; without the values of constants of more elements than this."""

    debug_info: bool = False
    elide_larger_than: int | None = None


def emit(lowering: Lowering, form: str, options: EmitOptions | None = None) -> str | bytes:
    """A lowered function in one of `FORMS`: text ending in a newline, or bytes.

    Raises:
        UsageError: an unknown form; the values of constants cannot be left out of `form`.
        JxcError: the program has no such form.
    """
    if form not in _WRITERS:
        raise UsageError(f"unknown form '{form}'; expected one of {', '.join(FORMS)}")
    options = options or EmitOptions()
    if form in BINARY_FORMS and options.elide_larger_than is not None:
        raise UsageError(f"constants are left out of text only; {form} is binary")
    return _WRITERS[form](lowering, options)


def _jaxpr(lowering: Lowering, options: EmitOptions) -> str:
    if not options.debug_info:
        return f"{lowering.jaxpr}\n"
    return lowering.jaxpr.pretty_print(source_info=True) + "\n"


def _stablehlo(lowering: Lowering, options: EmitOptions) -> str:
    return write_text(
        lowering.module,
        debug_info=options.debug_info,
        elide_larger_than=options.elide_larger_than,
    )


def _bytecode(lowering: Lowering, options: EmitOptions) -> bytes:
    return write_bytecode(lowering.module if options.debug_info else _without(lowering.module))


def _portable(lowering: Lowering, options: EmitOptions) -> bytes:
    from jaxlib.mlir.dialects import stablehlo

    module = clone_module(lowering.module)
    _run(module, "func.func(chlo-legalize-to-stablehlo)")
    if not options.debug_info:
        _run(module, "strip-debuginfo")
    if any(op.operation.name.startswith("sdy.") for op in walk(module.operation)):
        return _private.serialize_portable_mixed(module, stablehlo.get_minimum_version())
    return write_portable(module)


def _without(module: ir.Module) -> ir.Module:
    """A copy without locations."""
    copy = clone_module(module)
    _run(copy, "strip-debuginfo")
    return copy


def _run(module: ir.Module, passes: str) -> None:
    from jaxlib.mlir.passmanager import PassManager

    register_native_passes()
    with module.context:
        PassManager.parse(f"builtin.module({passes})").run(module.operation)


def _hlo(lowering: Lowering, options: EmitOptions) -> str:
    if lowering.is_symbolic:
        raise JxcError(
            "HLO has no symbolic dimensions: XLA's shapes are numbers. Give numbers, or use "
            "--emit stablehlo."
        )
    if options.elide_larger_than is not None:
        return lowering.lowered.compiler_ir("hlo").as_hlo_text() + "\n"
    return lowering.lowered.as_text("hlo", debug_info=options.debug_info).rstrip() + "\n"


_WRITERS: dict[str, Callable[[Lowering, EmitOptions], str | bytes]] = {
    "jaxpr": _jaxpr,
    "stablehlo": _stablehlo,
    "bytecode": _bytecode,
    "portable": _portable,
    "hlo": _hlo,
}
