"""The windows of convolutions and poolings: plain numbers for each dimension, and padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, shape_of, static_shape


@dataclass(frozen=True)
class WindowAxis:
    """How a window moves along one dimension; extents in elements.

    Attributes:
        size: extent of the operand.
        window: extent of the window before dilation.
        out: number of positions of the window.
        stride: distance between two positions.
        low: elements of padding before the operand; negative if it is cropped.
        high: elements of padding after it.
        base_dilation: distance between neighbors of the operand; padding lies between them.
        window_dilation: distance between neighbors of the window.
        reverse: whether the window is reversed.
    """

    size: int
    window: int
    out: int
    stride: int = 1
    low: int = 0
    high: int = 0
    base_dilation: int = 1
    window_dilation: int = 1
    reverse: bool = False

    @property
    def padded(self) -> int:
        """Extent of the operand with its padding."""
        dilated = (self.size - 1) * self.base_dilation + 1 if self.size else 0
        return dilated + self.low + self.high

    @property
    def is_padded(self) -> bool:
        """Whether the window meets padding."""
        return bool(self.low or self.high or self.base_dilation > 1)

    @property
    def covers_padding(self) -> bool:
        """Whether the padded operand has elements that the operand lacks."""
        return self.low > 0 or self.high > 0 or (self.base_dilation > 1 and self.size > 1)

    @property
    def is_running(self) -> bool:
        """Whether the window holds all elements up to each, or from each on: a scan."""
        whole = self.window == self.size == self.out > 1
        return whole and self.window - 1 in (self.low, self.high)


def window_axes(
    sizes: Sequence[int],
    windows: Sequence[int],
    outs: Sequence[int],
    padding: ir.Attribute | None,
    **attributes: ir.Attribute | None,
) -> tuple[WindowAxis, ...]:
    """The axes of a window, from extents and an op's attributes, of which any may be absent.

    Args:
        sizes, windows, outs: extents of operand, window and result along each dimension.
        padding: the attribute of that name.
        attributes: arrays with a number for each dimension, by the name in `WindowAxis`.
    """
    rank = len(sizes)
    pairs = np.zeros((rank, 2), int) if padding is None else np.asarray(padding)
    given = {name: list(each) for name, each in attributes.items() if each is not None}
    return tuple(
        WindowAxis(
            size=sizes[i],
            window=windows[i],
            out=outs[i],
            low=int(pairs[i, 0]),
            high=int(pairs[i, 1]),
            **{name: each[i] for name, each in given.items()},
        )
        for i in range(rank)
    )


def axes_of_window(op: hlo.ReduceWindowOp) -> tuple[WindowAxis, ...] | None:
    """The window of an op with static shapes, one entry for each dimension."""
    shape = static_shape(*op.inputs, *op.results)
    if shape is None or op.window_dimensions is None:
        return None
    return window_axes(
        shape,
        list(op.window_dimensions),
        shape_of(op.results[0]),
        op.padding,
        stride=op.window_strides,
        base_dilation=op.base_dilations,
        window_dilation=op.window_dilations,
    )


def is_solid(value: ir.Value) -> bool:
    """Whether a tensor has a static shape without zeros, and no encoding."""
    kind = ir.RankedTensorType(value.type)
    return kind.has_static_shape and kind.encoding is None and 0 not in kind.shape


def pad(
    operand: ir.Value,
    axes: Sequence[WindowAxis],
    dims: Sequence[int],
    padding_value: ir.Value | None = None,
) -> ir.Value:
    """`operand` padded along `dims` as `axes` say, with `padding_value` or with zeros."""
    low, high, interior = ([0] * len(shape_of(operand)) for _ in range(3))
    for dim, axis in zip(dims, axes, strict=True):
        low[dim], high[dim], interior[dim] = axis.low, axis.high, axis.base_dilation - 1
    if not any((*low, *high, *interior)):
        return operand
    value = padding_value or build.scalar(0, element_type(operand))
    return hlo.pad(operand, value, low, high, interior)


def tapped(padded: ir.Value, axes: Sequence[WindowAxis], tap: Sequence[int]) -> ir.Value:
    """The elements under position `tap` of the window, at each position of the window."""
    starts = [at * axis.window_dilation for at, axis in zip(tap, axes, strict=True)]
    kept = (
        range(start, start + (axis.out - 1) * axis.stride + 1, axis.stride)
        for start, axis in zip(starts, axes, strict=True)
    )
    return build.slice_along(padded, dict(enumerate(kept)))
