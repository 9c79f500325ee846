"""Writing a lowered function: its text or bytes in one of `FORMS`, and its summary in JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.passmanager import PassManager

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
    if form not in FORMS:
        raise UsageError(f"unknown form '{form}'; expected one of {', '.join(FORMS)}")
    options = options or EmitOptions()
    elide, debug_info = options.elide_larger_than, options.debug_info
    if form in BINARY_FORMS and elide is not None:
        raise UsageError(f"constants can be elided from text only, and {form} is binary")
    match form:
        case "jaxpr":
            jaxpr = lowering.jaxpr
            return f"{jaxpr.pretty_print(source_info=True) if debug_info else jaxpr}\n"
        case "stablehlo":
            return write_text(lowering.module, debug_info=debug_info, elide_larger_than=elide)
        case "hlo":
            return _hlo(lowering, options)
    module = lowering.module
    if form == "bytecode" and debug_info:
        return write_bytecode(module)
    passes = [] if form == "bytecode" else ["func.func(chlo-legalize-to-stablehlo)"]
    passes += [] if debug_info else ["strip-debuginfo"]
    register_native_passes()
    module = clone_module(module)
    with module.context:
        PassManager.parse(f"builtin.module({','.join(passes)})").run(module.operation)
    if form == "bytecode":
        return write_bytecode(module)
    if any(op.operation.name.startswith("sdy.") for op in walk(module.operation)):
        return _private.serialize_portable_mixed(module, stablehlo.get_minimum_version())
    return write_portable(module)


def _hlo(lowering: LoweredFunction, options: EmitOptions) -> str:
    if lowering.is_symbolic:
        raise JxcError("HLO has no symbolic dimensions: give numbers, or use --emit stablehlo")
    if options.elide_larger_than is not None:
        return f"{lowering.lowered.compiler_ir('hlo').as_hlo_text()}\n"
    text: str = lowering.lowered.as_text("hlo", debug_info=options.debug_info)
    return text.rstrip() + "\n"


# What `--json` prints

SCHEMA_VERSION = 1


def summarize(lowered: LoweredTarget) -> dict[str, Any]:
    """An object for JSON: the module's name, arguments, results, mesh, constants and times.

    Each argument and result has a `path` in the tree of the function, a `shape` (symbolic
    dimensions as strings) and a `dtype`; `mesh` has the size of each axis; times are in seconds.
    """
    lowering = lowered.lowering
    attributes = lowering.module.operation.attributes
    return {
        "schema_version": SCHEMA_VERSION,
        "target": lowered.target.spelling,
        "module": attributes["sym_name"].value if "sym_name" in attributes else "",
        "arguments": _arguments(lowering),
        "results": [
            {"path": path, **_type(leaf)} for path, leaf in _leaves(lowering.traced.out_info)
        ],
        "mesh": dict(lowering.mesh),
        "ops": count_ops(lowering.module),
        "constants": [
            {
                "shape": list(constant.shape),
                "dtype": constant.dtype,
                "bytes": constant.nbytes,
                "name": constant.name,
                "place": str(constant.place) if constant.place else None,
            }
            for constant in lowering.constants
        ],
        "seconds": {
            "trace": round(lowering.trace_seconds, 6),
            "lower": round(lowering.lower_seconds, 6),
        },
    }


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
