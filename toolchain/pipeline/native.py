"""Native passes: those of MLIR, StableHLO and Shardy, run through MLIR's pass manager."""

from __future__ import annotations

from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import func

from ..ir import register_native_passes, walk
from ..ir.converters import register_inliner
from ..ir.locations import restore_name_stacks
from ..ir.materialize import is_materialize_call
from ..rewrite.annotations import has_annotation

NATIVE_PASSES = {
    "canonicalize": "MLIR's own folders and patterns of each dialect",
    "chlo-legalize-to-stablehlo": "Client HLO ops as StableHLO",
    "composite-fixed-point-pass": "a pipeline, until nothing changes",
    "control-flow-sink": "ops into the branch that uses them",
    "cse": "one op for equal ops",
    "hlo-legalize-to-stablehlo": "MHLO ops as StableHLO",
    "inline": "the bodies of functions in place of their calls",
    "loop-invariant-code-motion": "ops out of loops that do not change them",
    "print-ir": "the module, to stderr",
    "print-op-stats": "how often each op occurs, to stderr",
    "remove-dead-values": "no values, arguments and results without uses",
    "sccp": "sparse conditional constant propagation",
    "shape-legalize-to-stablehlo": "shape dialect ops as StableHLO",
    "stablehlo-canonicalize-dynamism": "dynamic ops with constant shapes as static ones",
    "stablehlo-check-shape-assertions": "shape assertions, checked",
    "stablehlo-compatibility-expander": "newer StableHLO ops as older ones",
    "stablehlo-complex-math-expander": "complex functions as real ones",
    "stablehlo-convert-to-signless": "integers without signs",
    "stablehlo-legalize-composite-to-call": "composites as calls of their bodies",
    "stablehlo-legalize-deprecated-ops": "deprecated ops as their successors",
    "stablehlo-legalize-qdq-to-quantized-op": "quantise-dequantise pairs as quantised ops",
    "stablehlo-legalize-quant-to-math": "quantised ops as integer arithmetic",
    "stablehlo-legalize-quantized-op-to-qdq": "quantised ops as quantise-dequantise pairs",
    "stablehlo-legalize-to-hlo": "StableHLO ops as MHLO",
    "stablehlo-legalize-to-linalg": "StableHLO ops as linalg",
    "stablehlo-legalize-to-vhlo": "StableHLO ops as versioned VHLO",
    "stablehlo-refine-arguments": "types of @main's arguments, made static",
    "stablehlo-refine-shapes": "static shapes, propagated",
    "stablehlo-wrap-in-composite": "ops inside composites",
    "strip-debuginfo": "no locations",
    "symbol-dce": "no functions that are never called",
    "symbol-privatize": "functions made private",
    "topological-sort": "ops in order of use",
    "trivial-dce": "no ops without uses and effects",
    "vhlo-legalize-to-stablehlo": "VHLO ops as StableHLO",
    "vhlo-to-version": "VHLO of a stated version",
}
"""The native passes that `--list-passes` prints, each with what it does to the module."""

_CONVERTS = ("legalize-to-", "-to-signless", "refine-arguments", "vhlo-", "symbol-privatize")


def converts(name: str) -> bool:
    """Whether the native pass `name` changes dialects or signatures on purpose."""
    return any(part in name for part in _CONVERTS)


NEEDS = {"inline{default-pipeline=}": frozenset({"func.call"})}
"""Elements of pipelines that change only modules with an op of one of these names."""

_ONLY_REMOVE = (*NEEDS, "cse", "symbol-dce", "trivial-dce")


def only_removes(element: str) -> bool:
    """Whether no op in the result of an element of a pipeline has a name that is new there."""
    return element in _ONLY_REMOVE


def is_native(name: str, context: ir.Context) -> bool:
    """Whether MLIR has a pass of this name, also one that is not listed above."""
    return "does not refer to a registered pass" not in _objection(name, context)


def check_native(element: str, context: ir.Context) -> str | None:
    """MLIR's objection to `element` of a pipeline (an unknown option, say), or None."""
    found = _objection(element, context).strip()
    return found.splitlines()[0].removeprefix("<Pass-Options-Parser>: ") if found else None


def _objection(element: str, context: ir.Context) -> str:
    """The error with which MLIR rejects an element of a pipeline; empty if it accepts it."""
    register_native_passes()
    try:
        passmanager.PassManager.parse(f"builtin.module({element})", context)
    except ValueError as error:
        return str(error) or "not a pipeline"
    return ""


def run_native_step(element: str, module: ir.Module) -> None:
    """`run_native`, which leaves calls with annotations such as `mhlo.frontend_attributes`.

    They say how the function is to be called: on the host (`compute_on`), on a stream, not inlined.

    Raises:
        ir.MLIRError: the pass failed, or left invalid IR.
    """
    if "inline" not in element:
        run_native(element, module)
        return
    annotated = _annotated_calls(module)
    for call in annotated:
        call.attributes[_NO_INLINE] = ir.UnitAttr.get(module.context)
    run_native(element, module)
    for call in _annotated_calls(module) if annotated else ():
        del call.attributes[_NO_INLINE]


_NO_INLINE = "no_inline"  # MLIR's inliner leaves such calls


def _annotated_calls(module: ir.Module) -> list[ir.OpView]:
    calls = [op for op in walk(module.operation) if isinstance(op, func.CallOp)]
    return [op for op in calls if has_annotation(op) or is_materialize_call(op)]


def run_native(element: str, module: ir.Module) -> None:
    """Run one element of a pipeline with MLIR's pass manager.

    Raises:
        ir.MLIRError: the pass failed, or left invalid IR.
    """
    register_native_passes()
    if "inline" in element:
        register_inliner(module.context)
    manager = passmanager.PassManager.parse(f"builtin.module({element})", module.context)
    manager.enable_verifier(not only_removes(element))  # MLIR's own keep a module valid
    manager.run(module.operation)
    if "inline" in element:
        restore_name_stacks(module)
