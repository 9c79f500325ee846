"""The convolution and its input gradient: a product per position of the window."""

from __future__ import annotations

from itertools import product

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import ConvolutionOp
from jxc.ir import build
from jxc.ir.values import element_type, shape_of
from jxc.rewrite import Facts, reassociates, rule

from . import geometry, window
from .geometry import Convolution


@rule(reassociates, targets=("cpu",))
def depthwise_to_multiply_add(op: ConvolutionOp, facts: Facts) -> ir.Value | None:
    """conv(x, w) -> sum over window positions t of slice(pad(x), t) * w[t], a channel a group."""
    conv = geometry.read(op)
    if conv is None or conv.by_batch or min(conv.inputs, conv.outputs) > 1:
        return None
    image = _image_as_result(op.lhs, conv)
    spatial = conv.dims.output_spatial_dimensions
    padded = window.pad(build.convert(image, conv.accumulator), spatial, conv.axes)
    total = _unrolled(padded, _taps_first(op.rhs, conv), conv)
    return build.convert(_merge(total, conv, shape_of(op.result)), element_type(op.result))


def _image_as_result(lhs: ir.Value, conv: Convolution) -> ir.Value:
    """The left operand in the result's layout."""
    d = conv.dims
    source = [0] * len(shape_of(lhs))
    source[d.output_batch_dimension] = d.input_batch_dimension
    source[d.output_feature_dimension] = d.input_feature_dimension
    for to, of in zip(d.output_spatial_dimensions, d.input_spatial_dimensions, strict=True):
        source[to] = of
    return build.transpose(lhs, source)


def _taps_first(rhs: ir.Value, conv: Convolution) -> ir.Value:
    """The window as [positions, groups, inputs * outputs], read in the order of the image."""
    d = conv.dims
    backwards = [
        dim
        for dim, axis in zip(d.kernel_spatial_dimensions, conv.axes, strict=True)
        if axis.reverse and axis.window > 1
    ]
    if backwards:
        rhs = stablehlo.reverse(rhs, backwards)
    order = [*d.kernel_spatial_dimensions, d.kernel_output_feature_dimension]
    taps = build.transpose(rhs, [*order, d.kernel_input_feature_dimension])
    members = conv.inputs * conv.outputs
    taps = build.reshape(taps, [conv.taps, conv.groups, members])
    return build.convert(taps, conv.accumulator)


def _unrolled(padded: ir.Value, taps: ir.Value, conv: Convolution) -> ir.Value:
    """The sum of products, in the result's layout, its feature dimension split in two."""
    spatial = conv.dims.output_spatial_dimensions
    sizes, steps = [a.out for a in conv.axes], [a.stride for a in conv.axes]
    total = None
    for tap, place in enumerate(product(*(range(axis.window) for axis in conv.axes))):
        starts = [i * axis.rhs_dilation for i, axis in zip(place, conv.axes, strict=True)]
        part = _split(window.strided(padded, spatial, starts, sizes, steps), conv)
        term = stablehlo.multiply(part, _weights(taps, tap, shape_of(part), conv))
        total = term if total is None else stablehlo.add(total, term)
    assert total is not None
    return total


def _split(part: ir.Value, conv: Convolution) -> ir.Value:
    """The features of `part` as [groups, inputs * outputs], repeated for each output."""
    feature = conv.dims.output_feature_dimension
    shape = list(shape_of(part))
    shape[feature : feature + 1] = [conv.groups, conv.inputs * conv.outputs]
    if conv.outputs == 1:
        return build.reshape(part, shape)
    return build.broadcast(part, shape, [i + (i > feature) for i in range(len(shape) - 1)])


def _weights(taps: ir.Value, tap: int, shape: tuple[int, ...], conv: Convolution) -> ir.Value:
    feature = conv.dims.output_feature_dimension
    _, groups, members = shape_of(taps)
    row = stablehlo.slice(taps, [tap, 0, 0], [tap + 1, groups, members], [1, 1, 1])
    return build.broadcast(build.reshape(row, [groups, members]), shape, [feature, feature + 1])


def _merge(total: ir.Value, conv: Convolution, shape: tuple[int, ...]) -> ir.Value:
    if conv.inputs > 1:
        return build.reduce_sum(total, [conv.dims.output_feature_dimension + 1])
    return build.reshape(total, shape)
