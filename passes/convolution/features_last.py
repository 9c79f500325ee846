"""Convolutions in the layout of XLA:CPU's library: features last, and at most two spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.cpu_products import has_foreign_layout
from jxc.ir import build
from jxc.ir.values import element_type, shape_of
from jxc.rewrite import PassContext, reassociates, rule

from .._shared.window import WindowAxis, pad
from . import cost, geometry
from .geometry import Convolution
from .window import Walk, WalkAxis, as_result, backwards


def operands(image: ir.Value, kernel: ir.Value, conv: Convolution) -> tuple[ir.Value, ir.Value]:
    """The image as [batch, spatial..., inputs], the kernel as [spatial..., inputs, outputs].

    Both are converted to the accumulator's type, and the kernel meets the image in its own order.
    """
    d = conv.dims
    order = [d.input_batch_dimension, *d.input_spatial_dimensions, d.input_feature_dimension]
    kernel = backwards(kernel, d.kernel_spatial_dimensions, conv.axes)
    image = build.transpose(image, order)
    features = [d.kernel_input_feature_dimension, d.kernel_output_feature_dimension]
    kernel = build.transpose(kernel, [*d.kernel_spatial_dimensions, *features])
    return build.convert(image, conv.accumulator), build.convert(kernel, conv.accumulator)


def convolve(
    image: ir.Value, kernel: ir.Value, axes: Sequence[WindowAxis], op: hlo.ConvolutionOp
) -> ir.Value:
    """[batch, spatial..., outputs]: the convolution of `operands`, as precise as `op`."""
    rank, batch, outputs = len(axes), shape_of(image)[0], shape_of(kernel)[-1]
    spatial = list(range(1, rank + 1))
    numbers = hlo.ConvDimensionNumbers.get(
        *(0, rank + 1, spatial),  # batch, features and space of the image
        *(rank, rank + 1, list(range(rank))),  # inputs, outputs and space of the kernel
        *(0, rank + 1, spatial),  # batch, features and space of the result
    )
    shape = [batch, *(axis.out for axis in axes), outputs]
    padding = np.array([(axis.low, axis.high) for axis in axes], np.int64)
    return hlo.convolution(
        ir.RankedTensorType.get(shape, element_type(image)),
        image,
        kernel,
        numbers,
        1,
        1,
        window_strides=[axis.stride for axis in axes],
        padding=ir.DenseElementsAttr.get(padding),
        lhs_dilation=[axis.base_dilation for axis in axes],
        rhs_dilation=[axis.window_dilation for axis in axes],
        precision_config=op.precision_config,
    )


def _without_holes(
    image: ir.Value, axes: Sequence[WindowAxis]
) -> tuple[ir.Value, Sequence[WindowAxis]]:
    """`image` with zeros in the holes of its dilation, and the axes that it then has.

    The library skips holes: it does not multiply infinities by their zeros, as loops do. With
    padding of -1 on one side and 1 on the other it reads outside of the image, so that negative
    padding is carried out as well.
    """
    dims = range(1, len(axes) + 1)
    if all(axis.base_dilation == 1 and min(axis.low, axis.high) >= 0 for axis in axes):
        return image, axes
    filled = pad(image, axes, dims)
    sizes = [shape_of(filled)[dim] for dim in dims]
    plain = [
        replace(axis, size=size, low=0, high=0, base_dilation=1)
        for axis, size in zip(axes, sizes, strict=True)
    ]
    return filled, plain


@rule(reassociates, priced=True)
def nested_convolution_to_features_last(op: hlo.ConvolutionOp) -> ir.Value | None:
    """conv(x, w) -> transpose(conv(transpose(x), transpose(w))) with features last, in loops.

    XLA:CPU transposes the operands of convolutions outside of loops and branches. Inside, it calls
    the library only if features are last, and compiles plain loops for other layouts.
    """
    conv = geometry.read(op, grouped=False) if has_foreign_layout(op) else None
    if conv is None or len(conv.axes) > 2:
        return None
    image, kernel = operands(op.lhs, op.rhs, conv)
    image, axes = _without_holes(image, conv.axes)
    made = convolve(image, kernel, axes, op)
    rank = len(conv.axes)
    result = as_result(made, conv, batch=0, spatial=range(1, rank + 1), feature=rank + 1)
    return build.convert(result, element_type(op.result))


@rule(reassociates, priced=True)
def convolution_to_planes(op: hlo.ConvolutionOp, context: PassContext) -> ir.Value | None:
    """conv(x, w) -> convolutions of one spatial axis less, of three axes and more.

    Along the axis with the fewest positions, either in the window or in the result. In the window:
    conv(x, w) -> sum over t of conv(part(pad(x), t), w[t]), where the parts' positions are images.
    In the result: y[p] = conv(part(pad(x), p), w), where the window's positions are features.
    """
    conv = geometry.read(op, grouped=False)
    if conv is None or (rank := len(conv.axes)) < 3:
        return None
    sizes = [min(axis.window, axis.out) for axis in conv.axes]
    along = sizes.index(min(sizes))
    if sizes[along] > cost.MOST_PLANES:
        return None
    by_tap = conv.axes[along].window <= conv.axes[along].out
    inputs = conv.dims.kernel_input_feature_dimension
    if not by_tap and context.parts(op.rhs, inputs) > 1:
        return None  # the features that devices share would be gathered
    image, kernel = operands(op.lhs, op.rhs, conv)
    image, every = _without_holes(image, conv.axes)
    rest = [i for i in range(rank) if i != along]
    image = build.transpose(image, [0, along + 1, *(i + 1 for i in rest), rank + 1])
    kernel = build.transpose(kernel, [along, *rest, rank, rank + 1])
    axis, axes = every[along], [every[i] for i in rest]
    image = pad(image, [axis], [1])
    made = (_by_tap if by_tap else _by_position)(image, kernel, axis, axes, op)
    spatial = [1 if i == along else 2 + rest.index(i) for i in range(rank)]
    result = as_result(made, conv, batch=0, spatial=spatial, feature=rank + 1)
    return build.convert(result, element_type(op.result))


def _by_tap(
    image: ir.Value,
    kernel: ir.Value,
    axis: WindowAxis,
    axes: Sequence[WindowAxis],
    op: hlo.ConvolutionOp,
) -> ir.Value:
    walk = Walk((WalkAxis(1, axis.window, axis.window_dilation, axis.out, axis.stride),))
    terms = []
    for tap in range(axis.window):
        part = walk.part(image, tap)
        batch, positions, *shape = shape_of(part)
        plane = build.slice_along(kernel, {0: range(tap, tap + 1)})
        plane = build.reshape(plane, shape_of(kernel)[1:])
        terms.append(convolve(build.reshape(part, [batch * positions, *shape]), plane, axes, op))
    total = reduce(hlo.add, terms)
    return build.reshape(total, [batch, positions, *shape_of(total)[1:]])


def _by_position(
    image: ir.Value,
    kernel: ir.Value,
    axis: WindowAxis,
    axes: Sequence[WindowAxis],
    op: hlo.ConvolutionOp,
) -> ir.Value:
    walk = Walk((WalkAxis(1, axis.out, axis.stride, axis.window, axis.window_dilation),))
    rank = len(axes)
    kernel = build.transpose(kernel, [*range(1, rank + 1), 0, rank + 1, rank + 2])
    *window, _, inputs, outputs = shape_of(kernel)
    features = axis.window * inputs
    kernel = build.reshape(kernel, [*window, features, outputs])
    made = []
    for position in range(axis.out):
        part = build.transpose(walk.part(image, position), [0, *range(2, rank + 2), 1, rank + 2])
        part = build.reshape(part, [*shape_of(part)[: rank + 1], features])
        plane = convolve(part, kernel, axes, op)
        batch, *shape = shape_of(plane)
        made.append(build.reshape(plane, [batch, 1, *shape]))
    return made[0] if len(made) == 1 else hlo.concatenate(made, 1)
