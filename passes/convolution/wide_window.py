"""A window of more elements than the image, as deep layers have it on small images."""

from __future__ import annotations

from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import ConvolutionOp

from jxc.cost import convolution as cost
from jxc.ir import build
from jxc.ir.values import element_type, shape_of
from jxc.rewrite import reassociates, rule

from . import geometry
from .depthwise_gradient import result_walk
from .geometry import Convolution
from .window import backwards, pad


@rule(reassociates, targets=("cpu",))
def wide_window_to_product(op: ConvolutionOp) -> ir.Value | None:
    """conv(x, w) -> patches(pad(x)) w, a matrix product, where w has more elements than x.

    Spatial elements, that is: a window of 3x3 on an image of 2x2. Padding counts as zeros that are
    multiplied, as StableHLO has it.
    """
    conv = geometry.read(op, grouped=False)
    if conv is None or not cost.wide_window_pays(
        taps=conv.taps, pixels=conv.pixels, positions=conv.positions
    ):
        return None
    patches = _patches(op.lhs, conv)
    kernel = build.convert(_taps_first(op.rhs, conv), conv.accumulator)
    shape = [shape_of(patches)[0], shape_of(kernel)[1]]
    result = ir.RankedTensorType.get(shape, conv.accumulator)
    matmul = stablehlo.DotDimensionNumbers.get([], [], [1], [0])
    product = stablehlo.dot_general(result, patches, kernel, matmul)
    return build.convert(_as_result(product, conv), element_type(op.result))


def _patches(lhs: ir.Value, conv: Convolution) -> ir.Value:
    """[batch * positions, taps * inputs]: what the window sees at each of its positions."""
    d = conv.dims
    order = [d.input_batch_dimension, *d.input_spatial_dimensions, d.input_feature_dimension]
    image = build.convert(build.transpose(lhs, order), conv.accumulator)
    walk = result_walk(conv)
    image = pad(image, walk.spatial, conv.axes)
    size = conv.taps * conv.inputs
    seen = [
        build.reshape(walk.part(image, index), [conv.batch, 1, size]) for index in range(walk.parts)
    ]
    together = seen[0] if walk.parts == 1 else stablehlo.concatenate(seen, 1)
    return build.reshape(together, [conv.batch * walk.parts, size])


def _taps_first(rhs: ir.Value, conv: Convolution) -> ir.Value:
    """The kernel as [taps * inputs, outputs]."""
    d = conv.dims
    rhs = backwards(rhs, d.kernel_spatial_dimensions, conv.axes)
    features = [d.kernel_input_feature_dimension, d.kernel_output_feature_dimension]
    rhs = build.transpose(rhs, [*d.kernel_spatial_dimensions, *features])
    return build.reshape(rhs, [prod(shape_of(rhs)[:-1]), conv.outputs])


def _as_result(product: ir.Value, conv: Convolution) -> ir.Value:
    """[batch * positions, outputs] in the result's layout."""
    d = conv.dims
    rank = len(conv.axes)
    source = [0] * (rank + 2)
    source[d.output_batch_dimension], source[d.output_feature_dimension] = 0, rank + 1
    for i, dim in enumerate(d.output_spatial_dimensions):
        source[dim] = 1 + i
    shape = [conv.batch, *(axis.out for axis in conv.axes), conv.outputs]
    return build.transpose(build.reshape(product, shape), source)
