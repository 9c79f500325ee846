"""Grouped convolutions: a loop over the groups; their weight gradients: a loop over positions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, shape_of
from jxc.rewrite import reassociates, rule

from .._shared.window import pad
from . import geometry
from .depthwise import channels_last
from .features_last import convolve, operands
from .geometry import Convolution
from .window import Walk, as_result, result_walk


@rule(reassociates, priced=True)
def grouped_to_loop(op: hlo.ConvolutionOp) -> ir.Value | None:
    """conv(x, w) -> concatenate of conv(x[g], w[g]) for each feature group g, by a loop over g."""
    conv = geometry.read(op)
    if conv is None or conv.by_batch:
        return None
    # Converted outside of the loop: XLA's library takes f32 there, and XLA is slow on bf16.
    lhs, rhs = (build.convert(each, conv.accumulator) for each in (op.lhs, op.rhs))
    return build.convert(_loop(lhs, rhs, conv, op), element_type(op.result))


def _loop(lhs: ir.Value, rhs: ir.Value, conv: Convolution, op: hlo.ConvolutionOp) -> ir.Value:
    """The result in the accumulator's type.

    Where extents allow, an iteration overwrites the part of the image that it has read, so that no
    result has to be filled with zeros first.
    """
    d = conv.dims
    result = ir.RankedTensorType.get(shape_of(op.result), conv.accumulator)
    image_layout = [d.input_batch_dimension, d.input_feature_dimension, *d.input_spatial_dimensions]
    in_place = conv.inputs == conv.outputs and lhs.type == result
    in_place = in_place and image_layout == [
        d.output_batch_dimension,
        d.output_feature_dimension,
        *d.output_spatial_dimensions,
    ]
    index = ir.IntegerType.get_signless(32)

    def body(start: ir.Value, given: Sequence[ir.Value]) -> list[ir.Value]:
        to, all_ = given
        image = _part(all_ if in_place else lhs, d.input_feature_dimension, start, conv.inputs)
        kernel = _part(rhs, d.kernel_output_feature_dimension, to, conv.outputs)
        made = _group(image, kernel, conv, op)
        at = build.starts_along(all_, {d.output_feature_dimension: to})
        put = hlo.dynamic_update_slice(all_, made, at)
        return [hlo.add(to, build.scalar(conv.outputs, index)), put]

    initial = lhs if in_place else build.splat(0, result)
    carried = [build.scalar(0, index), initial]
    return build.fori_loop(conv.groups, carried, body, step=conv.inputs)[-1]


def _part(value: ir.Value, dimension: int, start: ir.Value, count: int) -> ir.Value:
    """`count` elements from `start` along a dimension."""
    sizes = list(shape_of(value))
    sizes[dimension] = count
    return hlo.dynamic_slice(value, build.starts_along(value, {dimension: start}), sizes)


def _group(image: ir.Value, kernel: ir.Value, conv: Convolution, op: hlo.ConvolutionOp) -> ir.Value:
    """The convolution of one group, with features last in image and kernel.

    Inside a loop XLA finds no library for other layouts: ten times slower than the grouped one.
    """
    rank = len(conv.axes)
    made = convolve(*operands(image, kernel, conv), conv.axes, op)
    return as_result(made, conv, batch=0, spatial=range(1, rank + 1), feature=rank + 1)


@rule(reassociates, priced=True)
def grouped_weight_gradient_to_products(op: hlo.ConvolutionOp) -> ir.Value | None:
    """conv(x, dy)[t] -> part(pad(x), t)^T dy at each position t, for groups of several images.

    The groups split the batch, as in JAX's gradient of a grouped convolution by its kernel. Padding
    zeros are multiplied, as in StableHLO.
    """
    conv = geometry.read(op)
    if conv is None or not conv.by_batch or conv.batch == 1:
        return None
    image, dy = (build.convert(each, conv.accumulator) for each in channels_last(op, conv))
    dy = build.reshape(dy, [prod(shape_of(dy)[:-1]), conv.groups, conv.outputs])
    walk = result_walk(conv, range(1, len(conv.axes) + 1))
    products = _products(pad(image, conv.axes, walk.spatial), dy, walk)
    rank = len(conv.axes)
    together = build.transpose(products, [0, 2, 1, 3])
    together = build.reshape(together, [*conv.extents, conv.batch, conv.groups * conv.outputs])
    result = as_result(together, conv, batch=rank, spatial=range(rank), feature=rank + 1)
    return build.convert(result, element_type(op.result))


def _products(image: ir.Value, dy: ir.Value, walk: Walk) -> ir.Value:
    """[positions, groups, batch, outputs]."""
    if walk.parts == 1:
        return _product(walk.part(image, 0), dy)

    def body(number: ir.Value, starts: Sequence[ir.Value], all_: ir.Value) -> ir.Value:
        at = build.starts_along(all_, {0: number})
        return hlo.dynamic_update_slice(all_, _product(walk.part_at(image, starts), dy), at)

    _, groups, outputs = shape_of(dy)
    shape = [walk.parts, groups, shape_of(image)[-1] // groups, outputs]
    return walk.repeat(build.broadcast(build.scalar(0, element_type(dy)), shape, []), body)


def _product(part: ir.Value, dy: ir.Value) -> ir.Value:
    """[1, groups, batch, outputs]: the products summed over images and space."""
    rows, groups, outputs = shape_of(dy)
    batch = shape_of(part)[-1] // groups
    part = build.reshape(part, [rows, groups, batch])
    product = build.dot(part, dy, ([0], [0]), ([1], [1]))
    return build.reshape(product, [1, groups, batch, outputs])
