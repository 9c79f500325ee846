"""Annotated ops: ops with an attribute of another tool, which rules neither replace nor inspect."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from ..ir.materialize import is_materialize_call


def has_annotation(op: ir.OpView | ir.Operation) -> bool:
    """Whether `op` carries an attribute of another dialect, such as `mhlo.sharding`.

    jxc's own attributes do not count, nor do those that JAX writes on every call through its FFI.
    """
    foreign = [name for name in op.attributes if "." in name and not name.startswith("jxc.")]
    return bool(foreign) and not _is_plain_call(op, foreign) and not is_materialize_call(op)


_CALL_OPTIONS = {"mhlo.backend_config", "mhlo.frontend_attributes", "sdy.sharding_rule"}


def _is_plain_call(op: ir.OpView | ir.Operation, foreign: Sequence[str]) -> bool:
    """Whether `foreign` are the attributes that JAX writes on every call through its FFI.

    They hold the options of the callee and the rule by which Shardy splits the call over devices.
    """
    if op.operation.name != "stablehlo.custom_call" or not _CALL_OPTIONS.issuperset(foreign):
        return False
    if "mhlo.frontend_attributes" not in foreign:
        return True
    return [each.name for each in op.attributes["mhlo.frontend_attributes"]] == ["num_batch_dims"]


def is_near_annotation(op: ir.OpView | ir.Operation, depth: int) -> bool:
    """Whether `op`, or a producer of its operands up to `depth` ops away, has an annotation."""
    if has_annotation(op):
        return True
    producers = [v.owner for v in op.operands if not isinstance(v, ir.BlockArgument)]
    return depth > 0 and any(is_near_annotation(producer, depth - 1) for producer in producers)
