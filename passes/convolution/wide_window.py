"""Convolutions whose window has more elements than the image, as in deep layers on small images.

Three forms: the operands swapped; one product for the weight gradient; a product of the image's
patches with the kernel.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, shape_of
from jxc.rewrite import reassociates, rule

from .._shared.dot import swapped
from .._shared.window import WindowAxis, pad
from . import cost, geometry
from .depthwise import channels_last
from .geometry import Convolution
from .window import as_result, backwards, result_walk


@rule(reassociates, priced=True)
def wide_window_to_swapped_operands(op: hlo.ConvolutionOp) -> ir.Value | None:
    """conv(x, w) -> let y = reverse(conv(w, x)) in if finite(sum(y)) then y else conv(pad(x), w).

    If w has more spatial elements than x, and each of them meets an element of x. The two forms
    multiply different elements with padding zeros. These products are zeros if all elements are
    finite, and all are finite if y is.
    """
    conv = geometry.read(op, grouped=False)
    if conv is None or conv.taps <= conv.pixels:
        return None
    if not all(axis.stride == 1 and _is_met(axis) for axis in conv.axes):
        return None
    swapped = _swapped(op, conv)
    total = build.reduce_sum(build.convert(swapped, conv.accumulator), range(len(conv.axes) + 2))
    chosen = hlo.IfOp([op.result.type], hlo.is_finite(total))
    for region in chosen.regions:
        region.blocks.append()
    with ir.InsertionPoint(chosen.true_branch.blocks[0]):
        hlo.return_([swapped])
    with ir.InsertionPoint(chosen.false_branch.blocks[0]):
        hlo.return_([_padded_before(op, conv)])
    return chosen.result


def _is_met(axis: WindowAxis) -> bool:
    """Whether each element of a window of stride 1 meets an image element at some position."""
    place = np.arange(axis.window) * axis.window_dilation - axis.low
    first = np.clip(-(-place // axis.base_dilation), 0, axis.size - 1)
    position = first * axis.base_dilation - place
    return bool(np.all((position >= 0) & (position < axis.out)))


def _swapped(op: hlo.ConvolutionOp, conv: Convolution) -> ir.Value:
    """The convolution of the window by the image, with the order of its positions restored."""
    d, axes = conv.dims, conv.axes
    numbers = hlo.ConvDimensionNumbers.get(
        d.kernel_output_feature_dimension,
        d.kernel_input_feature_dimension,
        d.kernel_spatial_dimensions,
        d.input_feature_dimension,
        d.input_batch_dimension,
        d.input_spatial_dimensions,
        d.output_feature_dimension,
        d.output_batch_dimension,
        d.output_spatial_dimensions,
    )
    made = hlo.convolution(
        op.result.type,
        backwards(op.rhs, d.kernel_spatial_dimensions, axes),
        op.lhs,
        numbers,
        1,
        1,
        padding=ir.DenseElementsAttr.get(np.array([_edges(axis) for axis in axes], np.int64)),
        lhs_dilation=[axis.window_dilation for axis in axes],
        rhs_dilation=[axis.base_dilation for axis in axes],
        precision_config=swapped(op.precision_config),
    )
    return hlo.reverse(made, d.output_spatial_dimensions)


def _edges(axis: WindowAxis) -> tuple[int, int]:
    """The padding of the window such that the image slides over it from the last position on."""
    image = (axis.size - 1) * axis.base_dilation
    window = (axis.window - 1) * axis.window_dilation
    return axis.out - 1 - axis.low, axis.low + image - window


def _padded_before(op: hlo.ConvolutionOp, conv: Convolution) -> ir.Value:
    """The same convolution of an image padded beforehand: no rule takes its window as wide."""
    return hlo.convolution(
        op.result.type,
        pad(op.lhs, conv.axes, conv.dims.input_spatial_dimensions),
        op.rhs,
        op.dimension_numbers,
        1,
        1,
        rhs_dilation=op.rhs_dilation,
        window_reversal=op.window_reversal,
        precision_config=op.precision_config,
    )


@rule(reassociates, priced=True)
def wide_gradient_to_product(op: hlo.ConvolutionOp) -> ir.Value | None:
    """conv(x, dy)[t] -> part(pad(x), t)^T dy for all positions t at once, if they are few.

    This is JAX's gradient by the kernel, with dy as the window. Padding zeros are multiplied, as in
    StableHLO.
    """
    conv = geometry.read(op, grouped=False)
    if conv is None or not _lies_channels_last(conv):
        return None
    if not 1 < conv.positions <= cost.MOST_POSITIONS:
        return None
    image, dy = (build.convert(each, conv.accumulator) for each in channels_last(op, conv))
    walk = result_walk(conv, range(1, len(conv.axes) + 1))
    image = pad(image, conv.axes, walk.spatial)
    rows, rank = conv.taps * conv.inputs, len(conv.axes)
    parts = [
        build.reshape(walk.part(image, index), [1, rows, conv.batch]) for index in range(walk.parts)
    ]
    dy = build.reshape(dy, [rows, conv.outputs])
    products = build.dot(hlo.concatenate(parts, 0), dy, ([1], [0]))
    products = build.reshape(products, [*conv.extents, conv.batch, conv.outputs])
    result = as_result(products, conv, batch=rank, spatial=range(rank), feature=rank + 1)
    return build.convert(result, element_type(op.result))


def _lies_channels_last(conv: Convolution) -> bool:
    """Whether channels are the last dimension of operands and result: nothing is transposed."""
    d, rank = conv.dims, len(conv.axes)
    image = d.input_batch_dimension == d.kernel_output_feature_dimension == rank + 1
    return image and (d.output_batch_dimension, d.output_feature_dimension) == (rank, rank + 1)


@rule(reassociates, priced=True)
def wide_window_to_product(op: hlo.ConvolutionOp) -> ir.Value | None:
    """conv(x, w) -> patches(pad(x)) w, a matrix product, if w has more spatial elements than x.

    For example a window of 3x3 on an image of 2x2. Padding zeros are multiplied, as in StableHLO.
    """
    conv = geometry.read(op, grouped=False)
    if conv is None or conv.taps <= conv.pixels or conv.positions > cost.MOST_PATCHES:
        return None
    kernel, conv = _below_reverse(op.rhs, conv)
    patches = _patches(op.lhs, conv)
    multiply = _product_by_tap if _lies_transposed(conv) else _product
    rank = len(conv.axes)
    product = multiply(patches, kernel, conv)
    product = build.reshape(product, [conv.batch, *conv.extents, conv.outputs])
    result = as_result(product, conv, batch=0, spatial=range(1, rank + 1), feature=rank + 1)
    return build.convert(result, element_type(op.result))


def _below_reverse(kernel: ir.Value, conv: Convolution) -> tuple[ir.Value, Convolution]:
    """The kernel before a reverse of it, as in an input gradient, and the window reversed instead.

    Reversing the patches copies less than reversing the kernel.
    """
    dims = conv.dims.kernel_spatial_dimensions
    match kernel.owner:
        case hlo.ReverseOp(operand=below, dimensions=reversed_dims) if {*reversed_dims} <= {*dims}:
            axes = (
                replace(axis, reverse=axis.reverse != (dim in reversed_dims))
                for dim, axis in zip(dims, conv.axes, strict=True)
            )
            return below, replace(conv, axes=tuple(axes))
    return kernel, conv


def _lies_transposed(conv: Convolution) -> bool:
    """Whether the kernel's layout is [taps, outputs, inputs], as in JAX's gradients."""
    d = conv.dims
    features = [d.kernel_output_feature_dimension, d.kernel_input_feature_dimension]
    return [*d.kernel_spatial_dimensions, *features] == list(range(len(conv.axes) + 2))


def _patches(lhs: ir.Value, conv: Convolution) -> ir.Value:
    """[batch * positions, taps, inputs]: the image elements under each tap at each position."""
    d = conv.dims
    order = [d.input_batch_dimension, *d.input_spatial_dimensions, d.input_feature_dimension]
    image = build.convert(build.transpose(lhs, order), conv.accumulator)
    walk = result_walk(conv, range(1, len(conv.axes) + 1))
    image = pad(image, conv.axes, walk.spatial)
    parts = (
        backwards(walk.part(image, index), walk.spatial, conv.axes) for index in range(walk.parts)
    )
    seen = [build.reshape(part, [conv.batch, 1, conv.taps, conv.inputs]) for part in parts]
    together = seen[0] if walk.parts == 1 else hlo.concatenate(seen, 1)
    return build.reshape(together, [conv.batch * walk.parts, conv.taps, conv.inputs])


def _product(patches: ir.Value, kernel: ir.Value, conv: Convolution) -> ir.Value:
    """[batch * positions, outputs], summed over taps and inputs at once."""
    d = conv.dims
    features = [d.kernel_input_feature_dimension, d.kernel_output_feature_dimension]
    kernel = build.transpose(kernel, [*d.kernel_spatial_dimensions, *features])
    size = conv.taps * conv.inputs
    rows = shape_of(patches)[0]
    kernel = build.convert(build.reshape(kernel, [size, conv.outputs]), conv.accumulator)
    return build.dot(build.reshape(patches, [rows, size]), kernel, ([1], [0]))


def _product_by_tap(patches: ir.Value, kernel: ir.Value, conv: Convolution) -> ir.Value:
    """[batch * positions, outputs]: a product for each tap, with the kernel in its own layout."""
    by_tap = build.transpose(patches, [1, 0, 2])
    kernel = build.reshape(kernel, [conv.taps, conv.outputs, conv.inputs])
    kernel = build.convert(kernel, conv.accumulator)
    return build.reduce_sum(build.dot(by_tap, kernel, ([2], [2]), ([0], [0])), [0])
