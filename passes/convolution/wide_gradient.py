"""The weight gradient of many channels on an image of few elements."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import ConvolutionOp

from jxc.ir import build
from jxc.ir.values import element_type
from jxc.passes.convolution import cost as cost
from jxc.rewrite import reassociates, rule

from . import geometry
from .depthwise_gradient import channels_last
from .geometry import Convolution
from .window import as_result, pad, result_walk


@rule(reassociates, targets=("cpu",), partitioned=False)
def wide_gradient_to_product(op: ConvolutionOp) -> ir.Value | None:
    """conv(x, dy)[t] -> part(pad(x), t)^T dy for all positions t at once, where few are summed.

    As JAX writes the gradient by the kernel, with dy as the window. Padding counts as zeros that
    are multiplied, as StableHLO has it.
    """
    conv = geometry.read(op, grouped=False)
    if conv is None or not _lies_channels_last(conv):
        return None
    if not cost.wide_gradient_pays(
        bits=conv.accumulator.width,
        positions=conv.positions,
        products=conv.taps * conv.inputs,
        elements=conv.positions * conv.batch * conv.outputs,
    ):
        return None
    image, dy = (build.convert(each, conv.accumulator) for each in channels_last(op, conv))
    return build.convert(_in_order(_products(image, dy, conv), conv), element_type(op.result))


def _lies_channels_last(conv: Convolution) -> bool:
    """Whether the layer's channels come last in all three: nothing has to be transposed."""
    d, rank = conv.dims, len(conv.axes)
    image = d.input_batch_dimension == d.kernel_output_feature_dimension == rank + 1
    return image and (d.output_batch_dimension, d.output_feature_dimension) == (rank, rank + 1)


def _products(image: ir.Value, dy: ir.Value, conv: Convolution) -> ir.Value:
    """[positions, batch, outputs]."""
    walk = result_walk(conv, range(1, len(conv.axes) + 1))
    image = pad(image, walk.spatial, conv.axes)
    rows = conv.taps * conv.inputs
    parts = [
        build.reshape(walk.part(image, index), [1, rows, conv.batch]) for index in range(walk.parts)
    ]
    dy = build.reshape(dy, [rows, conv.outputs])
    return build.dot(stablehlo.concatenate(parts, 0), dy, ([1], [0]))


def _in_order(products: ir.Value, conv: Convolution) -> ir.Value:
    """[positions, batch, outputs] with the positions in the result's order of dimensions."""
    rank = len(conv.axes)
    products = build.reshape(products, [*conv.extents, conv.batch, conv.outputs])
    return as_result(products, conv, batch=rank, spatial=range(rank), feature=rank + 1)
