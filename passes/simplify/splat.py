"""Constants whose elements are all equal stay so, however they are rearranged."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import (
    BroadcastInDimOp,
    ConcatenateOp,
    PadOp,
    ReshapeOp,
    ReverseOp,
    SliceOp,
    TransposeOp,
)

from jxc.ir import build
from jxc.ir.values import SPLATS, is_same_splat, splat_attr, static_shape
from jxc.rewrite import exact, rule


@rule(exact, producer=SPLATS)
def rearranged_splat(
    op: BroadcastInDimOp | ReshapeOp | ReverseOp | SliceOp | TransposeOp,
) -> ir.Value | None:
    """broadcast_in_dim, reshape, reverse, slice, transpose of dense<c> -> dense<c>."""
    element = splat_attr(op.operand)
    if element is None or static_shape(op.result) is None:
        return None
    return build.splat(element, op.result.type)


@rule(exact, producer=SPLATS)
def pad_of_splat(op: PadOp) -> ir.Value | None:
    """pad(dense<c>, c) -> dense<c>, the padding having the same bits."""
    element = splat_attr(op.operand)
    if element is None or static_shape(op.result) is None:
        return None
    same = is_same_splat(op.operand, op.padding_value)
    return build.splat(element, op.result.type) if same else None


@rule(exact, producer=SPLATS)
def concatenate_of_splats(op: ConcatenateOp) -> ir.Value | None:
    """concatenate(dense<c>, dense<c>, ..) -> dense<c>, all with the same bits."""
    first, element = op.inputs[0], splat_attr(op.inputs[0])
    if element is None or static_shape(op.result) is None:
        return None
    if not all(is_same_splat(first, value) for value in op.inputs):
        return None
    return build.splat(element, op.result.type)
