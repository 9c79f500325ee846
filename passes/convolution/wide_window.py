"""A window of more elements than the image, as deep layers have it on small images."""

from __future__ import annotations

from dataclasses import replace

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import ConvolutionOp, ReverseOp

from jxc.ir import build
from jxc.ir.values import element_type, shape_of
from jxc.passes.convolution import cost as cost
from jxc.rewrite import reassociates, rule

from . import geometry
from .geometry import Convolution
from .window import as_result, backwards, pad, result_walk


@rule(reassociates, targets=("cpu",), partitioned=False)
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
    kernel, conv = _below_reverse(op.rhs, conv)
    patches = _patches(op.lhs, conv)
    multiply = _product_by_tap if _lies_transposed(conv) else _product
    return build.convert(_as_result(multiply(patches, kernel, conv), conv), element_type(op.result))


def _below_reverse(kernel: ir.Value, conv: Convolution) -> tuple[ir.Value, Convolution]:
    """The kernel before it was reversed, as in a gradient by the image, for a window turned so.

    Turning the patches is less to copy than turning the kernel.
    """
    match kernel.owner:
        case ReverseOp(operand=below, dimensions=turned):
            dims = conv.dims.kernel_spatial_dimensions
        case _:
            return kernel, conv
    if not set(turned) <= set(dims):
        return kernel, conv
    axes = (
        replace(axis, reverse=axis.reverse != (dim in turned))
        for dim, axis in zip(dims, conv.axes, strict=True)
    )
    return below, replace(conv, axes=tuple(axes))


def _lies_transposed(conv: Convolution) -> bool:
    """Whether the kernel is [taps, outputs, inputs], as JAX has it in a gradient."""
    d = conv.dims
    features = [d.kernel_output_feature_dimension, d.kernel_input_feature_dimension]
    return [*d.kernel_spatial_dimensions, *features] == list(range(len(conv.axes) + 2))


def _patches(lhs: ir.Value, conv: Convolution) -> ir.Value:
    """[batch * positions, taps, inputs]: what each tap of the window meets at each position."""
    d = conv.dims
    order = [d.input_batch_dimension, *d.input_spatial_dimensions, d.input_feature_dimension]
    image = build.convert(build.transpose(lhs, order), conv.accumulator)
    walk = result_walk(conv, range(1, len(conv.axes) + 1))
    image = pad(image, walk.spatial, conv.axes)
    parts = (walk.part(image, index) for index in range(walk.parts))
    seen = [
        build.reshape(
            backwards(part, walk.spatial, conv.axes), [conv.batch, 1, conv.taps, conv.inputs]
        )
        for part in parts
    ]
    together = seen[0] if walk.parts == 1 else stablehlo.concatenate(seen, 1)
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
    """[batch * positions, outputs], a product for each tap, by the kernel as it lies."""
    by_tap = build.transpose(patches, [1, 0, 2])
    kernel = build.reshape(kernel, [conv.taps, conv.outputs, conv.inputs])
    kernel = build.convert(kernel, conv.accumulator)
    return build.reduce_sum(build.dot(by_tap, kernel, ([2], [2]), ([0], [0])), [0])


def _as_result(product: ir.Value, conv: Convolution) -> ir.Value:
    """[batch * positions, outputs] in the result's layout."""
    rank = len(conv.axes)
    product = build.reshape(product, [conv.batch, *conv.extents, conv.outputs])
    return as_result(product, conv, batch=0, spatial=range(1, rank + 1), feature=rank + 1)
