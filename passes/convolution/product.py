"""Convolutions by a window of one position, or with a result of one position: matrix products."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, shape_of
from jxc.rewrite import reassociates, rule

from .._shared.window import pad
from . import geometry
from .geometry import Convolution
from .window import as_result, backwards, result_walk, window_walk


@rule(reassociates, priced=True)
def convolution_to_product(op: hlo.ConvolutionOp) -> ir.Value | None:
    """conv(x, w) -> x w, if the window or the result has one position, and nothing is padded.

    JAX writes both gradients of a 1x1 convolution so: by the kernel with a window as large as the
    image, by the image with a transposed kernel.
    """
    conv = geometry.read(op, grouped=False)
    if conv is None or not _meets_no_zeros(conv):
        return None
    whole = conv.positions == 1
    if not whole and conv.taps > 1:
        return None
    spatial = conv.dims.input_spatial_dimensions
    walk = (result_walk if whole else window_walk)(conv, spatial)  # of a single part
    image = walk.part(pad(op.lhs, conv.axes, spatial), 0)
    kernel = backwards(op.rhs, conv.dims.kernel_spatial_dimensions, conv.axes)
    image, kernel = (build.convert(each, conv.accumulator) for each in (image, kernel))
    product = _whole_product(image, kernel, conv) if whole else _point_product(image, kernel, conv)
    return build.convert(product, element_type(op.result))


def _meets_no_zeros(conv: Convolution) -> bool:
    return all(
        max(axis.low, axis.high) <= 0 and (axis.base_dilation == 1 or axis.size == 1)
        for axis in conv.axes
    )


def _whole_product(image: ir.Value, kernel: ir.Value, conv: Convolution) -> ir.Value:
    """The product for a window as large as the image: summed over space and features."""
    d = conv.dims
    of_image = [*d.input_spatial_dimensions, d.input_feature_dimension]
    of_kernel = [*d.kernel_spatial_dimensions, d.kernel_input_feature_dimension]
    product = build.dot(image, kernel, (of_image, of_kernel))
    swapped = d.output_feature_dimension < d.output_batch_dimension
    shape = [1] * (len(conv.axes) + 2)
    shape[d.output_batch_dimension], shape[d.output_feature_dimension] = conv.batch, conv.outputs
    return build.reshape(build.transpose(product, [1, 0] if swapped else [0, 1]), shape)


def _point_product(image: ir.Value, kernel: ir.Value, conv: Convolution) -> ir.Value:
    """The product for a window of one position: summed over features."""
    d = conv.dims
    swapped = d.kernel_output_feature_dimension < d.kernel_input_feature_dimension
    sizes = [conv.inputs, conv.outputs]
    matrix = build.reshape(kernel, sizes[::-1] if swapped else sizes)
    product = build.dot(image, matrix, ([d.input_feature_dimension], [1 if swapped else 0]))
    kept = [dim for dim in range(len(shape_of(image))) if dim != d.input_feature_dimension]
    return as_result(
        product,
        conv,
        batch=kept.index(d.input_batch_dimension),
        spatial=map(kept.index, d.input_spatial_dimensions),
        feature=len(kept),
    )
