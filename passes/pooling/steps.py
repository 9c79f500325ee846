"""Windows of several operands, or with a body of several ops: the body, spelled out."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import ReduceWindowOp

from jxc.ir import build
from jxc.ir.values import element_type, shape_of
from jxc.passes._shared.reduce_body import can_inline, combiner_of, inline
from jxc.passes.pooling import cost as cost
from jxc.rewrite import reassociates, rule

from . import geometry


@rule(reassociates, targets=("cpu",))
def general_window_to_slices(op: ReduceWindowOp) -> Sequence[ir.Value] | None:
    """reduce_window(x, y, ...) -> f(f(init, slice(x), slice(y)), ...), a position after the other.

    For bodies of a few ops that work element by element, such as that of max pooling's derivative
    along a direction; row-major, as StableHLO's interpreter goes.
    """
    if combiner_of(op) is not None or not can_inline(op, cost.LONGEST_BODY):
        return None
    axes = geometry.read(op, op.inputs[0], op.results[0])
    if axes is None or not cost.steps_pay([axis.window for axis in axes]):
        return None
    if any(axis.is_running for axis in axes) or not all(map(_is_plain, op.inputs)):
        return None
    shape = shape_of(op.results[0])
    padded = [geometry.pad(x, v, axes) for x, v in zip(op.inputs, op.init_values, strict=True)]
    found = [build.broadcast(value, shape, []) for value in op.init_values]
    for tap in geometry.taps(axes):
        found = inline(op, [*found, *(geometry.tapped(x, axes, tap) for x in padded)], shape)
    return found


def _is_plain(x: ir.Value) -> bool:
    return isinstance(element_type(x), geometry.TYPES)
