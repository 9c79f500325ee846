"""Thresholds that several rooms share: the modules worth a pipeline, the constants worth folding.

The thresholds of one pass family are in its own `passes/FAMILY/cost.py`.
"""

from __future__ import annotations

from math import prod

from jaxlib.mlir import ir

from ..ir import walk
from ..ir.values import is_unsigned
from .formulas import names

TINY_MODULE_OPS = 8
"""Modules of up to this many ops are not worth a level: JAX compiles one for each eager op.

A small script compiles about twenty of them. The passes would take about a millisecond for each,
and find nothing to combine. The exceptions are ops that pay alone, see `_PAY_ALONE`.
"""

_PAY_ALONE = names(
    "stablehlo.convolution stablehlo.custom_call stablehlo.reduce_window stablehlo.scatter "
    "stablehlo.select_and_scatter stablehlo.sort stablehlo.while"
)

_PAY_WHEN_LARGE = names(
    "chlo.acos chlo.asin chlo.atan chlo.tan chlo.top_k stablehlo.atan2 stablehlo.cbrt "
    "stablehlo.cosine stablehlo.dot_general stablehlo.power stablehlo.reduce "
    "stablehlo.remainder stablehlo.sine stablehlo.tan stablehlo.transpose"
)

_LARGE_ELEMENTS = 4096  # below this size none of these gains anything


def is_tiny(module: ir.Module) -> bool:
    """Whether a module is so small that no pass of a level gains anything on it."""
    for ops, op in enumerate(walk(module.operation), start=1):
        name = op.operation.name
        if ops > TINY_MODULE_OPS or name in _PAY_ALONE or _is_wrong_in_xla(op):
            return False
        kinds = [ir.ShapedType(v.type) for v in op.operands] if name in _PAY_WHEN_LARGE else []
        if any(kind.has_static_shape and prod(kind.shape) >= _LARGE_ELEMENTS for kind in kinds):
            return False
    return True


def _is_wrong_in_xla(op: ir.OpView) -> bool:
    """Whether XLA may compute `op` wrongly, so that `simplify` or `workarounds` must come first.

    jaxlib 0.10.2 and 0.12.0.1 read booleans in `clamp` as signed, give 0.0 for the sign of -0.0,
    read unsigned indices as signed, ignore the total order, and assume that the initial value of a
    reduction is neutral. The others are in `passes/workarounds/faults.py`.
    """
    match op.operation.name:
        case "stablehlo.reduce":
            operand = ir.ShapedType(op.operands[0].type)
            return (
                not len(op.attributes["dimensions"])
                or (operand.has_static_shape and 0 in operand.shape)
                or operand.rank > _MOST_DIMENSIONS
            )
        case "stablehlo.compare":
            return "compare_type" in op.attributes and "TOTAL" in str(op.attributes["compare_type"])
        case "stablehlo.dynamic_update_slice":
            starts = [ir.ShapedType(start.type).element_type for start in list(op.operands)[2:]]
            return any(ir.IntegerType(start).width < 32 for start in starts)
        case "stablehlo.dynamic_slice" | "stablehlo.gather":
            return any(map(is_unsigned, list(op.operands)[1:]))
        case "stablehlo.clamp" | "stablehlo.sign":
            return any(map(_is_constant, op.operands))
    return False


_MOST_DIMENSIONS = 6
"""The most dimensions of a sum of products that XLA always computes (`passes/workarounds`)."""


def _is_constant(value: ir.Value) -> bool:
    """Whether `value` is a constant, or one that is broadcast, converted or reshaped."""
    op = value.owner
    while not isinstance(op, ir.Block) and op.operation.name in _REARRANGING:
        op = op.operands[0].owner
    return not isinstance(op, ir.Block) and op.operation.name == "stablehlo.constant"


_REARRANGING = ("stablehlo.broadcast_in_dim", "stablehlo.convert", "stablehlo.reshape")


FOLDED_ELEMENTS = 4096
"""The most elements of a constant that folding may create, unless it is a splat."""

FOLDED_FREELY = 16
"""Constants of up to this many elements are folded even if the module then has more elements."""

ROWS_OF_TPU = 8
"""The least rows of a product on TPU for which its compiler uses the matrix unit.

Cycles that libtpu estimates for a v5e. The last of 128 rows of 256 numbers times a matrix of 32000
columns: 17.0 us for all rows, 103.3 for one row, 8.4 for 8 and for 16. The last of 512 rows of 768
times 50257: 431, 508, 258 us; in bf16 387, 402, 22; of 128 rows of 1024 times 1024: 4.8, 15.3, 3.1.
"""
