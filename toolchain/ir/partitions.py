"""Whether a program is partitioned over devices, and what in it each device does alone."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from .shardings import meshes_of

_PARTITIONS = "mhlo.num_partitions"


def is_partitioned(module: ir.ModuleOp | ir.Operation) -> bool:
    """Whether XLA will split the arrays of a module over several devices."""
    return _PARTITIONS in module.attributes and module.attributes[_PARTITIONS].value > 1


def is_local(op: ir.OpView | ir.Operation) -> bool:
    """Whether an op of a partitioned program works on one device's own arrays.

    So it is in the body of `jax.shard_map` over all axes of the mesh.
    """
    axes: set[str] = set()
    operation = op.operation
    while operation.name != "builtin.module":
        if operation.name == "sdy.manual_computation":
            axes.update(sdy.ManualAxesAttr(operation.attributes["manual_axes"]))
        operation = operation.parent.operation
    if not axes:
        return False
    wanted = {axis for mesh in meshes_of(operation).values() for axis, n in mesh.items() if n > 1}
    return wanted <= axes
