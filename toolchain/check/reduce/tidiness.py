"""How plain constants are: zeros are plainest, then ones, then other repeated numbers."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import ConstantOp

from ...ir import walk
from ...ir.values import is_complex, splat_of


def untidiness(module: ir.Module) -> int:
    """The sum over the module's constants of how far each is from a repeated zero."""
    found = (op for op in walk(module.operation) if isinstance(op, ConstantOp))
    return sum(distance_from_zero(op) for op in found)


def distance_from_zero(op: ConstantOp) -> int:
    """0 for a constant that repeats zero, 1 for ones, 2 for another number, 3 for several."""
    if is_complex(op.result):
        return 0  # the bindings cannot look at them
    number = splat_of(op.result)
    if number is None:
        return 3
    if number == 0:
        return 0
    return 1 if number == 1 else 2
