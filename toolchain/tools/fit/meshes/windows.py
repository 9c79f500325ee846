"""The loops that XLA:TPU makes of matrix products whose sums are scattered over devices.

A product in front of a reduce-scatter is not computed as a whole, such as the gradient of a
parameter that is split over the devices of a batch. XLA computes it in parts, one for each device,
and sends the sums on while it computes the next parts ("windowed einsum"). Each iteration computes
two parts, and adds them to the sums that arrive from both neighbours. The kernels are small, so
that the loop takes longer than the product.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo as hlo

from ....cost.liveness import Timeline
from ....cost.prices import price_of_ops
from ....ir.values import shape_of
from ....rewrite import PassContext
from ....rewrite.device_work import runs_of
from .products import factors_of

_AT_ONCE = 2
"""The parts of an iteration: one for each neighbour."""


def added_by_windows(main: ir.OpView, context: PassContext) -> float:
    """The seconds that the loops of a TPU add to the products of a function; 0 elsewhere.

    Args:
        main: a function whose values have the types of one device.
        context: the hardware.
    """
    if context.device.kind != "tpu":
        return 0.0
    return sum(times * added for op, times in runs_of(main) for added in _added(op, context))


def _added(op: ir.OpView, context: PassContext) -> Iterator[float]:
    """The added time of a reduce-scatter, if a product makes its operand alone."""
    if op.operation.name != "sdy.reduce_scatter":
        return
    product, scattered = op.operands[0].owner, op.results[0]
    if not isinstance(product, hlo.DotGeneralOp) or len(list(product.result.uses)) > 1:
        return
    pairs = zip(shape_of(product.result), shape_of(scattered), strict=True)
    split = [(dim, whole // part) for dim, (whole, part) in enumerate(pairs) if part < whole]
    if len(split) != 1 or split[0][1] <= _AT_ONCE:
        return
    whole = price_of_ops([product], [product.result], context.device, context.rates)
    steps = split[0][1] // _AT_ONCE
    yield steps * _seconds_of_step(product, split[0][0], steps, context) - whole.seconds


def _seconds_of_step(
    product: hlo.DotGeneralOp, dim: int, steps: int, context: PassContext
) -> float:
    """The time of an iteration: the sums that arrived, the parts of the product, and their sums."""
    *sides, made = factors_of(product)
    factor = made[dim]
    kinds = [
        _part(value.type, factors.index(factor) if factor in factors else -1, steps)
        for value, factors in zip((product.lhs, product.rhs), sides, strict=True)
    ]
    sums = _part(product.result.type, dim, steps)
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        step = func.FuncOp("step", ([*kinds, sums], [sums]))
        block = step.add_entry_block()
    with ir.InsertionPoint(block):
        lhs, rhs, before = block.arguments
        arrived = hlo.optimization_barrier([hlo.negate(before)])
        part = product.operation.clone()
        part.operands[0], part.operands[1] = lhs, rhs
        part.results[0].set_type(sums)
        parts = hlo.optimization_barrier([part.results[0]])
        func.ReturnOp([hlo.add(parts, arrived)])
    return Timeline(block, context.device, context.rates).seconds


def _part(kind: ir.Type, dim: int, count: int) -> ir.Type:
    """The type of a part of an array, of which there are so many along a dimension."""
    kind = ir.RankedTensorType(kind)
    shape = [size // count if at == dim else size for at, size in enumerate(kind.shape)]
    return ir.RankedTensorType.get(shape, kind.element_type)
