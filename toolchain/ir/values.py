"""Questions about values."""

from __future__ import annotations

from jaxlib.mlir import ir


def shape_of(value: ir.Value) -> tuple[int, ...]:
    """The extents of a ranked tensor; `ir.ShapedType.get_dynamic_size()` where not static."""
    return tuple(ir.RankedTensorType(value.type).shape)


def element_type(value: ir.Value) -> ir.Type:
    """The type of a ranked tensor's elements."""
    return ir.RankedTensorType(value.type).element_type
