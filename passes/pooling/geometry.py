"""The window of a `reduce_window` or `select_and_scatter` of static shape, as plain numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import shape_of

TYPES = (ir.F16Type, ir.BF16Type, ir.F32Type, ir.F64Type, ir.IntegerType)
"""The element types that the rules take."""


@dataclass(frozen=True)
class WindowAxis:
    """How a window moves along one dimension; extents in elements.

    Attributes:
        size: extent of the operand.
        window: extent of the window before dilation.
        out: number of positions of the window.
        stride: distance between two positions.
        low: elements of padding before the operand; negative where it is cropped.
        high: the same after it.
        interior: elements of padding between neighbors of the operand.
        dilation: distance between neighbors of the window.
    """

    size: int
    window: int
    out: int
    stride: int
    low: int = 0
    high: int = 0
    interior: int = 0
    dilation: int = 1

    @property
    def is_moved(self) -> bool:
        """Whether the window is not trivial along this dimension."""
        return self.window > 1 or self.stride > 1

    @property
    def is_padded(self) -> bool:
        """Whether the window meets padding."""
        return bool(self.low or self.high or self.interior)

    @property
    def is_running(self) -> bool:
        """Whether the window holds all elements up to each, or from each on: a scan."""
        whole = self.window == self.size == self.out > 1
        return whole and self.window - 1 in (self.low, self.high)


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
    if not all(_is_solid(ir.RankedTensorType(value.type)) for value in (operand, windowed)):
        return None
    sizes, outs = shape_of(operand), shape_of(windowed)
    rank = len(sizes)
    padding = np.zeros((rank, 2), int) if op.padding is None else np.asarray(op.padding)
    interior, dilation = [1] * rank, [1] * rank
    if isinstance(op, hlo.ReduceWindowOp):
        interior = _ints(op.base_dilations, rank)
        dilation = _ints(op.window_dilations, rank)
    windows, strides = _ints(op.window_dimensions, rank), _ints(op.window_strides, rank)
    return tuple(
        WindowAxis(
            size=sizes[i],
            window=windows[i],
            out=outs[i],
            stride=strides[i],
            low=int(padding[i, 0]),
            high=int(padding[i, 1]),
            interior=interior[i] - 1,
            dilation=dilation[i],
        )
        for i in range(rank)
    )


def pad(operand: ir.Value, value: ir.Value, axes: Sequence[WindowAxis]) -> ir.Value:
    """`operand` with the scalar `value` as padding."""
    if not any(axis.is_padded for axis in axes):
        return operand
    low, high = [axis.low for axis in axes], [axis.high for axis in axes]
    return hlo.pad(operand, value, low, high, [axis.interior for axis in axes])


def taps(axes: Sequence[WindowAxis]) -> Iterator[tuple[int, ...]]:
    """The positions within the window, row-major: the order in which StableHLO combines them."""
    return product(*(range(axis.window) for axis in axes))


def tapped(padded: ir.Value, axes: Sequence[WindowAxis], tap: Sequence[int]) -> ir.Value:
    """The elements under position `tap` of the window, at each position of the window."""
    starts = [at * axis.dilation for at, axis in zip(tap, axes, strict=True)]
    limits = [s + (axis.out - 1) * axis.stride + 1 for s, axis in zip(starts, axes, strict=True)]
    strides = [axis.stride for axis in axes]
    if not any(starts) and limits == list(shape_of(padded)) and set(strides) == {1}:
        return padded
    return hlo.slice(padded, starts, limits, strides)


def _is_solid(kind: ir.RankedTensorType) -> bool:
    return kind.has_static_shape and kind.encoding is None and 0 not in kind.shape


def _ints(attribute: ir.Attribute | None, rank: int) -> list[int]:
    return [1] * rank if attribute is None else [int(each) for each in attribute]
