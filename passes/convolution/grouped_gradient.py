"""The weight gradient of a grouped convolution: a batched matrix product for each position."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import ConvolutionOp

from jxc.ir import build
from jxc.ir.values import element_type, shape_of
from jxc.passes.convolution import cost as cost
from jxc.rewrite import reassociates, rule

from . import geometry
from .depthwise_gradient import channels_last
from .geometry import Convolution
from .window import Walk, as_result, pad, result_walk


@rule(reassociates, targets=("cpu",), partitioned=False)
def grouped_weight_gradient_to_products(op: ConvolutionOp) -> ir.Value | None:
    """conv(x, dy)[t] -> part(pad(x), t)^T dy at each position t, for groups of several images.

    The groups come from the batch, as JAX writes the gradient by a grouped kernel. Padding counts
    as zeros that are multiplied, as StableHLO has it.
    """
    conv = geometry.read(op)
    if conv is None or not conv.by_batch or conv.batch == 1:
        return None
    if not cost.grouped_gradient_pays(positions=conv.positions):
        return None
    image, dy = (build.convert(each, conv.accumulator) for each in channels_last(op, conv))
    dy = build.reshape(dy, [prod(shape_of(dy)[:-1]), conv.groups, conv.outputs])
    walk = result_walk(conv, range(1, len(conv.axes) + 1))
    image = pad(image, walk.spatial, conv.axes)
    return build.convert(_as_result(_products(image, dy, walk), conv), element_type(op.result))


def _products(image: ir.Value, dy: ir.Value, walk: Walk) -> ir.Value:
    """[positions, groups, batch, outputs]."""
    if walk.parts == 1:
        return _product(walk.part(image, 0), dy)

    def turn(number: ir.Value, starts: Sequence[ir.Value], all_: ir.Value) -> ir.Value:
        zero = build.scalar(0, element_type(number))
        product = _product(walk.part_at(image, starts), dy)
        return stablehlo.dynamic_update_slice(all_, product, [number, zero, zero, zero])

    _, groups, outputs = shape_of(dy)
    shape = [walk.parts, groups, shape_of(image)[-1] // groups, outputs]
    return walk.repeat(build.broadcast(build.scalar(0, element_type(dy)), shape, []), turn)


def _product(part: ir.Value, dy: ir.Value) -> ir.Value:
    """[1, groups, batch, outputs]: the products summed over images and space."""
    rows, groups, outputs = shape_of(dy)
    batch = shape_of(part)[-1] // groups
    part = build.reshape(part, [rows, groups, batch])
    product = build.dot(part, dy, ([0], [0]), ([1], [1]))
    return build.reshape(product, [1, groups, batch, outputs])


def _as_result(products: ir.Value, conv: Convolution) -> ir.Value:
    """[positions, groups, batch, outputs] in the result's layout."""
    rank = len(conv.axes)
    together = build.transpose(products, [0, 2, 1, 3])
    together = build.reshape(together, [*conv.extents, conv.batch, conv.groups * conv.outputs])
    return as_result(together, conv, batch=rank, spatial=range(rank), feature=rank + 1)
