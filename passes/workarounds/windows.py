"""Windows of one element, windows over cropped operands, and windows over dilated ones.

XLA replaces a window of ones by its operand: of a scalar without the initial value, of a sum from
0.0 with -0.0 in it. Where negative padding crops the operand, the shapes differ, and a check of XLA
ends the process. XLA merges a `pad` that crops into the padding of the window after it, and adds
the two. Its library for reductions ignores the dilation of an operand along dimensions in which the
window has one element and moves by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, shape_of, static_shape, users
from jxc.rewrite import exact, rule

from .._shared.reduce_body import can_inline, combiner_of, inline, is_idempotent, is_neutral_start
from .._shared.region import copy_regions
from .._shared.window import WindowAxis, axes_of_window, pad

_INLINED_OPS = 16  # of a body


class _Crop(NamedTuple):
    """What is left of a dimension after negative padding: a range of it, and padding."""

    kept: range
    low: int
    high: int


def _crop(size: int, low: int, high: int, dilation: int) -> _Crop | None:
    """A slice and padding instead of negative padding; None if no element is left.

    The first element that is left lies at a multiple of `dilation`. The positions in front of it
    that are left are padding.
    """
    first = max(0, -(low // dilation)) if low < 0 else 0
    end = (size - 1) * dilation + min(high, 0)
    last = end // dilation
    if size == 0 or first > last:
        return None
    before = low if low >= 0 else first * dilation + low
    after = high if high >= 0 else end - last * dilation
    return _Crop(range(first, last + 1), before, after)


def _with_axes(op: hlo.ReduceWindowOp, axes: Sequence[WindowAxis]) -> hlo.ReduceWindowOp:
    """`op` with the padding, the base dilation and the extents of `axes`."""
    shape = [axis.out for axis in axes]
    made = hlo.ReduceWindowOp(
        [ir.RankedTensorType.get(shape, element_type(result)) for result in op.results],
        op.inputs,
        op.init_values,
        op.window_dimensions,
        window_strides=op.window_strides,
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
def window_of_ones_to_body(op: hlo.ReduceWindowOp) -> Sequence[ir.Value] | None:
    """reduce_window(x, init) -> f(init, slice(pad(x, init))), for windows of one element.

    For bodies f of elementwise ops. Not for strides alone, with which XLA keeps f.
    """
    axes = axes_of_window(op)
    if axes is None or any(axis.window > 1 for axis in axes) or not can_inline(op, _INLINED_OPS):
        return None
    is_padded, outs = any(axis.is_padded for axis in axes), [axis.out for axis in axes]
    if 0 in outs or (not is_padded and any(axis.stride > 1 for axis in axes)):
        return None
    kept = {
        dim: range(0, (axis.out - 1) * axis.stride + 1, axis.stride)
        for dim, axis in enumerate(axes)
    }
    elements = [
        build.slice_along(pad(x, axes, range(len(axes)), init), kept)
        for x, init in zip(op.inputs, op.init_values, strict=True)
    ]
    starts = [build.broadcast(init, outs) for init in op.init_values]
    return inline(op, [*starts, *elements], outs, keep_zero=True)


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
    return pad(_with_axes(op, plain).results[0], padded, range(len(axes)), value)


@rule(exact)
def crop_before_pad(op: hlo.PadOp) -> ir.Value | None:
    """pad(x) with negative padding -> pad(slice(x)), in front of a window or a convolution.

    If nothing is left of x, the result is the padding value.
    """
    shape = static_shape(op.operand)
    if shape is None or not _is_windowed(op.result):
        return None
    low, high = list(op.edge_padding_low), list(op.edge_padding_high)
    if not any(number < 0 for number in (*low, *high)):
        return None
    dilations = [between + 1 for between in op.interior_padding]
    found = [_crop(*each) for each in zip(shape, low, high, dilations, strict=True)]
    crops = [crop for crop in found if crop is not None]
    if len(crops) < len(found):
        return build.broadcast(op.padding_value, shape_of(op.result))
    x = build.slice_along(op.operand, {dim: crop.kept for dim, crop in enumerate(crops)})
    low, high = ([getattr(crop, side) for crop in crops] for side in ("low", "high"))
    return hlo.pad(x, op.padding_value, low, high, op.interior_padding)


def _is_windowed(value: ir.Value) -> bool:
    """Whether a window moves over `value`, or over its conversion."""
    for user in users(value):
        if isinstance(user, hlo.ReduceWindowOp | hlo.ConvolutionOp):
            return True
        if isinstance(user, hlo.ConvertOp) and _is_windowed(user.result):
            return True
    return False
