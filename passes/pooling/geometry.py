"""The window of a `reduce_window` or `select_and_scatter` of static shape, as plain numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import shape_of

from .._shared.window import WindowAxis, is_solid, window_axes

TYPES = (ir.F16Type, ir.BF16Type, ir.F32Type, ir.F64Type, ir.IntegerType)
"""The element types that the rules take."""


def read(
    op: hlo.ReduceWindowOp | hlo.SelectAndScatterOp, operand: ir.Value, windowed: ir.Value
) -> tuple[WindowAxis, ...] | None:
    """The window of `op`, one entry for each dimension of `operand`.

    Args:
        op: the op whose attributes are read.
        operand: the tensor that the window moves over.
        windowed: a tensor with one element for each position of the window.

    Returns:
        None where extents are dynamic or zero, or a type carries an encoding.
    """
    if not is_solid(operand) or not is_solid(windowed):
        return None
    dilations = {}
    if isinstance(op, hlo.ReduceWindowOp):
        dilations = {"base_dilation": op.base_dilations, "window_dilation": op.window_dilations}
    sizes = shape_of(operand)
    windows = [1] * len(sizes) if op.window_dimensions is None else list(op.window_dimensions)
    strides = op.window_strides
    return window_axes(sizes, windows, shape_of(windowed), op.padding, stride=strides, **dilations)


def taps(axes: Sequence[WindowAxis]) -> Iterator[tuple[int, ...]]:
    """The positions within the window, row-major: the order in which StableHLO combines them."""
    return product(*(range(axis.window) for axis in axes))
