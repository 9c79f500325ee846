"""Writing a lowered function: its text or bytes in one of `FORMS`, and its summary in JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir import ir

from ..errors import JxcError, UsageError
from ..ir import (
    clone_module,
    count_ops,
    register_native_passes,
    walk,
    write_bytecode,
    write_portable,
    write_text,
)
from ..ir.dtypes import short_dtype
from . import BINARY_FORMS, FORMS, _private
from .lowering import LoweredFunction
from .request import LoweredTarget


@dataclass(frozen=True)
class EmitOptions:
    """How to print: whether with locations, and which constants to elide, by number of elements."""

    debug_info: bool = False
    elide_larger_than: int | None = None


def emit(lowering: LoweredFunction, form: str, options: EmitOptions | None = None) -> str | bytes:
    """A lowered function in one of `FORMS`: text ending in a newline, or bytes.

    Raises:
        UsageError: the form is unknown, or is binary and constants are to be elided.
        JxcError: the program has no such form.
    """
    if form not in _WRITERS:
        raise UsageError(f"unknown form '{form}'; expected one of {', '.join(FORMS)}")
    options = options or EmitOptions()
    if form in BINARY_FORMS and options.elide_larger_than is not None:
        raise UsageError(f"constants can be elided from text only, and {form} is binary")
    return _WRITERS[form](lowering, options)


def _jaxpr(lowering: LoweredFunction, options: EmitOptions) -> str:
    if not options.debug_info:
        return f"{lowering.jaxpr}\n"
    return f"{lowering.jaxpr.pretty_print(source_info=True)}\n"


def _stablehlo(lowering: LoweredFunction, options: EmitOptions) -> str:
    return write_text(
        lowering.module,
        debug_info=options.debug_info,
        elide_larger_than=options.elide_larger_than,
    )


def _bytecode(lowering: LoweredFunction, options: EmitOptions) -> bytes:
    return write_bytecode(lowering.module if options.debug_info else _without(lowering.module))


def _portable(lowering: LoweredFunction, options: EmitOptions) -> bytes:
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


def _hlo(lowering: LoweredFunction, options: EmitOptions) -> str:
    if lowering.is_symbolic:
        raise JxcError("HLO has no symbolic dimensions: give numbers, or use --emit stablehlo")
    if options.elide_larger_than is not None:
        return f"{lowering.lowered.compiler_ir('hlo').as_hlo_text()}\n"
    text: str = lowering.lowered.as_text("hlo", debug_info=options.debug_info)
    return text.rstrip() + "\n"


_WRITERS: dict[str, Callable[[LoweredFunction, EmitOptions], str | bytes]] = {
    "jaxpr": _jaxpr,
    "stablehlo": _stablehlo,
    "bytecode": _bytecode,
    "portable": _portable,
    "hlo": _hlo,
}


# What `--json` prints

SCHEMA_VERSION = 1


def summarize(lowered: LoweredTarget) -> dict[str, Any]:
    """An object for JSON: the module's name, arguments, results, mesh, constants and times.

    Each argument and result has a `path` in the tree of the function, a `shape` (symbolic
    dimensions as strings) and a `dtype`; `mesh` has the size of each axis; times are in seconds.
    """
    lowering = lowered.lowering
    return {
        "schema_version": SCHEMA_VERSION,
        "target": lowered.target.spelling,
        "module": _module_name(lowering.module),
        "arguments": _arguments(lowering),
        "results": [
            {"path": path, **_type(leaf)} for path, leaf in _leaves(lowering.traced.out_info)
        ],
        "mesh": dict(lowering.mesh),
        "ops": count_ops(lowering.module),
        "constants": [_constant(constant) for constant in lowering.constants],
        "seconds": {
            "trace": round(lowering.trace_seconds, 6),
            "lower": round(lowering.lower_seconds, 6),
        },
    }


def _module_name(module: Any) -> str:
    attributes = module.operation.attributes
    return attributes["sym_name"].value if "sym_name" in attributes else ""


def _arguments(lowering: LoweredFunction) -> list[dict[str, Any]]:
    leaves = _leaves(lowering.traced.args_info)
    names = _private.argument_names(lowering.jaxpr)
    if len(names) != len(leaves):
        names = [path for path, _ in leaves]
    return [{"path": name, **_type(leaf)} for name, (_, leaf) in zip(names, leaves, strict=True)]


def _leaves(tree: Any) -> list[tuple[str, Any]]:
    from jax import tree_util

    leaves, _ = tree_util.tree_flatten_with_path(tree)
    return [(tree_util.keystr(path), leaf) for path, leaf in leaves]


def _type(leaf: Any) -> dict[str, Any]:
    shape = [dim if isinstance(dim, int) else str(dim) for dim in leaf.shape]
    return {"shape": shape, "dtype": short_dtype(leaf.dtype)}


def _constant(constant: Any) -> dict[str, Any]:
    return {
        "shape": list(constant.shape),
        "dtype": constant.dtype,
        "bytes": constant.nbytes,
        "name": constant.name,
        "place": str(constant.place) if constant.place else None,
    }
