"""Windows of one element, windows over cropped operands, and windows over dilated ones.

XLA replaces a window of extents of 1 by its operand. For a scalar this ignores the initial value,
and for a sum from 0.0 it keeps -0.0. If negative padding crops the operand, the shapes differ, and
a failed check ends the process. XLA also merges a cropping `pad` into the padding of the window
after it by adding the two. Its library for reductions ignores the dilation of an operand along
dimensions in which the window has one element and moves by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, is_complex, is_splat, shape_of, static_shape, users
from jxc.rewrite import exact, rule

from .._shared.reduce_body import can_inline, combiner_of, inline, is_idempotent, is_neutral_start
from .._shared.region import copy_regions
from .._shared.signed_zero import plus_zero
from .._shared.window import WindowAxis, axes_of_window, pad, tapped

_INLINED_OPS = 16  # the most ops of a body that is inlined


class _Crop(NamedTuple):
    """The part of a dimension that negative padding leaves: a range of it, and padding."""

    kept: range
    low: int
    high: int


def _crop(axis: WindowAxis) -> _Crop | None:
    """A slice and padding instead of negative padding; None if no element is left.

    The first element that is left is at a multiple of the dilation. The positions before it that
    are left are padding.
    """
    low, high, dilation = axis.low, axis.high, axis.base_dilation
    first = max(0, -(low // dilation)) if low < 0 else 0
    end = (axis.size - 1) * dilation + min(high, 0)
    last = end // dilation
    if axis.size == 0 or first > last:
        return None
    before = low if low >= 0 else first * dilation + low
    after = high if high >= 0 else end - last * dilation
    return _Crop(range(first, last + 1), before, after)


def _is_cropped(axes: Sequence[WindowAxis]) -> bool:
    return any(axis.low < 0 or axis.high < 0 for axis in axes)


def _is_dilated(axes: Sequence[WindowAxis]) -> bool:
    return any(axis.base_dilation > 1 for axis in axes)


def _with_axes(
    op: hlo.ReduceWindowOp, inputs: Sequence[ir.Value], axes: Sequence[WindowAxis]
) -> hlo.ReduceWindowOp:
    """`op` on other operands, with the padding, the strides and the extents of `axes`."""
    shape = [axis.out for axis in axes]
    made = hlo.ReduceWindowOp(
        [ir.RankedTensorType.get(shape, element_type(result)) for result in op.results],
        inputs,
        op.init_values,
        op.window_dimensions,
        window_strides=[axis.stride for axis in axes],
        base_dilations=[axis.base_dilation for axis in axes],
        window_dilations=op.window_dilations,
        padding=_padding(axes),
    )
    copy_regions(op, made)
    return made


def _padding(axes: Sequence[WindowAxis]) -> ir.Attribute:
    """The padding of `axes` as the attribute of a window."""
    numbers = ", ".join(f"[{axis.low}, {axis.high}]" for axis in axes)
    return ir.Attribute.parse(f"dense<[{numbers}]> : tensor<{len(axes)}x2xi64>")


@rule(exact)
def window_of_scalar_to_body(op: hlo.ReduceWindowOp) -> Sequence[ir.Value] | None:
    """reduce_window(x, init) -> f(init, x), for a scalar x and a body f of elementwise ops."""
    if static_shape(*op.inputs) != () or not can_inline(op, _INLINED_OPS):
        return None
    return inline(op, [*op.init_values, *op.inputs], (), keep_zero=True)


@rule(exact)
def pad_before_window_of_ones(op: hlo.ReduceWindowOp) -> ir.OpView | ir.Value | None:
    """reduce_window(x, init) -> reduce_window(slice(pad(x, init)), init), for windows of one.

    For cropped and dilated operands. A sum from 0.0 becomes the sum of 0.0 and the element, which
    XLA replaces by the element if it is a window.
    """
    axes = axes_of_window(op)
    if not axes or any(axis.window > 1 for axis in axes) or any(axis.out == 0 for axis in axes):
        return None
    if not _is_cropped(axes) and (is_complex(op.inputs[0]) or not _is_dilated(axes)):
        return None
    first = [0] * len(axes)
    elements = [
        tapped(_padded(x, axes, init), axes, first)
        for x, init in zip(op.inputs, op.init_values, strict=True)
    ]
    if combiner_of(op) == "add" and is_splat(op.init_values[0], 0.0):
        return plus_zero(elements[0])
    alone = [WindowAxis(axis.out, 1, axis.out) for axis in axes]
    return _with_axes(op, elements, alone)


def _padded(x: ir.Value, axes: Sequence[WindowAxis], value: ir.Value) -> ir.Value:
    """`x` with the padding of `axes`, cropped by a slice: XLA merges a pad into a window."""
    crops = [_crop(axis) for axis in axes]
    left = [crop for crop in crops if crop is not None]
    if len(left) < len(crops):
        return build.broadcast(value, [axis.padded for axis in axes])
    cropped = build.slice_along(x, {dim: crop.kept for dim, crop in enumerate(left)})
    rest = [
        replace(axis, low=crop.low, high=crop.high) for axis, crop in zip(axes, left, strict=True)
    ]
    return pad(cropped, rest, range(len(axes)), value)


@rule(exact, targets=("cpu",))
def dilate_after_window(op: hlo.ReduceWindowOp) -> ir.Value | None:
    """reduce_window(x) with dilation -> pad(reduce_window(x)), if the initial value is neutral.

    Along dimensions in which the window has one element and moves by one.
    """
    axes, name = axes_of_window(op), combiner_of(op)
    if axes is None or name is None or all(axis.window == 1 for axis in axes):
        return None
    value = op.init_values[0]
    if not is_neutral_start(name, value) and not is_idempotent(name, value):
        return None
    later = [axis.base_dilation > 1 and axis.window == axis.stride == 1 for axis in axes]
    if not any(later):
        return None
    plain = [
        WindowAxis(axis.size, 1, axis.size) if is_later else axis
        for axis, is_later in zip(axes, later, strict=True)
    ]
    padded = [
        axis if is_later else WindowAxis(axis.out, 1, axis.out)
        for axis, is_later in zip(axes, later, strict=True)
    ]
    return pad(_with_axes(op, op.inputs, plain).results[0], padded, range(len(axes)), value)


@rule(exact)
def crop_before_pad(op: hlo.PadOp) -> ir.Value | None:
    """pad(x) with negative padding -> pad(slice(x)), in front of a window or a convolution.

    If nothing is left of x, the result is the padding value.
    """
    shape = static_shape(op.operand)
    if shape is None or not _is_windowed(op.result):
        return None
    edges = zip(op.edge_padding_low, op.edge_padding_high, op.interior_padding, strict=True)
    axes = [
        WindowAxis(size, 1, out, low=low, high=high, base_dilation=between + 1)
        for size, out, (low, high, between) in zip(shape, shape_of(op.result), edges, strict=True)
    ]
    if not _is_cropped(axes):
        return None
    return _padded(op.operand, axes, op.padding_value)


def _is_windowed(value: ir.Value) -> bool:
    """Whether a window moves over `value`, or over its conversion."""
    for user in users(value):
        if isinstance(user, hlo.ReduceWindowOp | hlo.ConvolutionOp):
            return True
        if isinstance(user, hlo.ConvertOp) and _is_windowed(user.result):
            return True
    return False
