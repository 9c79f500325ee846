"""Programs that test whether an array is finite, and compute something else if it is not."""

from __future__ import annotations

from collections.abc import Callable

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import shape_of


def if_finite(
    x: ir.Value, make: Callable[[], ir.Value], otherwise: Callable[[], ir.Value], kind: ir.Type
) -> ir.Value:
    """What `make` builds if all elements of `x` are finite, else what `otherwise` builds.

    Both are of type `kind`. The sum of 0 * x is finite if and only if all elements are.
    """
    zeros = hlo.multiply(x, build.splat(0, x.type))
    total = build.reduce_sum(zeros, range(len(shape_of(x))))
    chosen = hlo.IfOp([kind], hlo.is_finite(total))
    for region, branch in zip(chosen.regions, (make, otherwise), strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            hlo.return_([branch()])
    return chosen.result


def is_in_test(op: ir.OpView) -> bool:
    """Whether `op` is in a branch of a test of whether a number is finite."""
    around = op.operation.parent.opview
    return isinstance(around, hlo.IfOp) and isinstance(around.pred.owner, hlo.IsFiniteOp)
