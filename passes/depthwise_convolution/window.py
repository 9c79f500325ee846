"""Pieces that the rules share: the padded left operand and its strided slices."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jxc.ir import build
from jxc.ir.values import element_type, shape_of

from .geometry import Axis


def pad(value: ir.Value, spatial: Sequence[int], axes: Sequence[Axis]) -> ir.Value:
    """`value` with the zeros that the window meets: around it, and between dilated elements."""
    low, high, interior = ([0] * len(shape_of(value)) for _ in range(3))
    for dim, axis in zip(spatial, axes, strict=True):
        low[dim], high[dim], interior[dim] = axis.low, axis.high, axis.lhs_dilation - 1
    if not any((*low, *high, *interior)):
        return value
    return stablehlo.pad(value, build.scalar(0, element_type(value)), low, high, interior)


def strided(
    value: ir.Value,
    spatial: Sequence[int],
    starts: Sequence[int],
    sizes: Sequence[int],
    steps: Sequence[int],
) -> ir.Value:
    """`sizes[i]` elements along dimension `spatial[i]`, from `starts[i]`, `steps[i]` apart."""
    shape = shape_of(value)
    start, limit, stride = [0] * len(shape), list(shape), [1] * len(shape)
    for dim, first, size, step in zip(spatial, starts, sizes, steps, strict=True):
        start[dim], limit[dim], stride[dim] = first, first + (size - 1) * step + 1, step
    if (start, limit, stride) == ([0] * len(shape), list(shape), [1] * len(shape)):
        return value
    return stablehlo.slice(value, start, limit, stride)
