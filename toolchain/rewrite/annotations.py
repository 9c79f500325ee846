"""Attributes that somebody put on ops: rules leave those, and what leads to them, as they are."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from ..ir.materialize import is_materialize_call


def has_annotation(op: ir.OpView | ir.Operation) -> bool:
    """Whether `op` carries an attribute of another dialect that is not about how it is called."""
    foreign = [name for name in op.attributes if "." in name and not name.startswith("jxc.")]
    return bool(foreign) and not _is_plain_call(op, foreign) and not is_materialize_call(op)


_OPTIONS_OF_A_CALL = {"mhlo.backend_config", "mhlo.frontend_attributes", "sdy.sharding_rule"}


def _is_plain_call(op: ir.OpView | ir.Operation, foreign: Sequence[str]) -> bool:
    """Whether the attributes `foreign` are those that JAX puts on all it calls through its FFI.

    They hold the callee's options and how XLA may split the call over devices: nobody's wishes.
    """
    if op.operation.name != "stablehlo.custom_call" or not _OPTIONS_OF_A_CALL.issuperset(foreign):
        return False
    if "mhlo.frontend_attributes" not in foreign:
        return True
    return [each.name for each in op.attributes["mhlo.frontend_attributes"]] == ["num_batch_dims"]


def sees_annotation(op: ir.OpView | ir.Operation, depth: int) -> bool:
    """Whether `op`, or what computes its operands, up to `depth` ops away, has an annotation."""
    if has_annotation(op):
        return True
    producers = [v.owner for v in op.operands if not isinstance(v, ir.BlockArgument)]
    return depth > 0 and any(sees_annotation(producer, depth - 1) for producer in producers)
