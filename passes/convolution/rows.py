"""Convolutions with few features as one product of the image with the rows of the window.

A row holds the taps of the window along one axis. The image elements that a row meets are laid out
side by side, once for all rows, and one product multiplies them with every row. The result is the
sum of the products, each shifted by the distance of its row. A window along a single axis is cut
into rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import isqrt

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.cpu import MAPPED
from jxc.cost.flops import bytes_of
from jxc.ir import build
from jxc.ir.values import element_type, shape_of
from jxc.rewrite import reassociates, rule

from .._shared.window import pad
from . import cost, geometry
from .geometry import Convolution
from .window import Walk, WalkAxis, as_result, backwards, window_walk


@rule(reassociates, priced=True)
def convolution_to_row_products(op: hlo.ConvolutionOp) -> ir.Value | None:
    """conv(x, w) -> let p = w patches(pad(x)) in sum over rows r of p[r] shifted by r.

    For images without features, and for windows of three and more dimensions if the products of the
    rows need no fresh pages at each call. Padding zeros are multiplied, as in StableHLO, and no
    elements that the window does not meet.
    """
    conv = geometry.read(op, grouped=False)
    if conv is None or conv.taps == 1 or not _suits(op, conv):
        return None
    walks = _walks(conv)
    across, down, _ = walks
    if max(across.parts, down.parts) > cost.MOST_ROWS:
        return None
    d, rank = conv.dims, len(conv.axes)
    batch, feature = _roles(conv)
    order = [0] * (rank + 2)
    order[batch], order[feature] = d.input_batch_dimension, d.input_feature_dimension
    for to, of in zip(_spatial(conv), d.input_spatial_dimensions, strict=True):
        order[to] = of
    image = build.convert(build.transpose(op.lhs, order), conv.accumulator)
    image = pad(image, conv.axes, _spatial(conv))
    kernel = backwards(op.rhs, d.kernel_spatial_dimensions, conv.axes)
    features = [d.kernel_input_feature_dimension, d.kernel_output_feature_dimension]
    kernel = build.transpose(kernel, [*d.kernel_spatial_dimensions, *features])
    kernel = build.reshape(kernel, [conv.taps, conv.inputs, conv.outputs])
    total = _sum(image, build.convert(kernel, conv.accumulator), walks, feature)
    result = as_result(total, conv, batch=batch, spatial=_spatial(conv), feature=feature)
    return build.convert(result, element_type(op.result))


def _suits(op: hlo.ConvolutionOp, conv: Convolution) -> bool:
    if _is_flat(conv) or len(conv.axes) < 3:
        return _is_flat(conv)
    is_wide = conv.taps > conv.pixels
    dilated = any(axis.base_dilation > 1 for axis in conv.axes)
    rows = conv.taps // conv.axes[-1].window
    is_mapped = rows * bytes_of(op.result.type) > MAPPED  # the products
    return not dilated and (is_wide or (conv.outputs <= cost.MOST_ROW_OUTPUTS and not is_mapped))


def _is_flat(conv: Convolution) -> bool:
    """Whether images have no features. Rows then come first: neighbors stay neighbors."""
    return conv.inputs == conv.outputs == 1


def _roles(conv: Convolution) -> tuple[int, int]:
    """The dimensions of batch and features in the layout of the products."""
    return (1, 0) if _is_flat(conv) else (0, len(conv.axes) + 1)


def _spatial(conv: Convolution) -> range:
    first = 2 if _is_flat(conv) else 1
    return range(first, first + len(conv.axes))


def _walks(conv: Convolution) -> tuple[Walk, Walk, Walk]:
    """The walks over the taps of a row, over the rows, and over all taps.

    A window of more than one tap along a single axis is cut into rows. The patches then lie at all
    elements of the image, and the walk over the rows has the stride.
    """
    every = window_walk(conv, _spatial(conv))
    long = [i for i, axis in enumerate(conv.axes) if axis.window > 1]
    along, axis = every.axes[long[-1]], conv.axes[long[-1]]
    others = [each for each in every.axes if each is not along]
    if len(long) > 1:
        return Walk((along,)), Walk(tuple(others)), every
    taps = isqrt(axis.window)
    jump = taps * along.jump
    elements = axis.padded - (taps - 1) * along.jump
    row = WalkAxis(along.dim, taps, along.jump, elements, 1)
    rows = WalkAxis(along.dim, axis.window // taps, jump, along.size, along.step)
    return Walk((row,)), Walk((*others, rows)), every


def _sum(
    image: ir.Value, kernel: ir.Value, walks: tuple[Walk, Walk, Walk], feature: int
) -> ir.Value:
    """The sum of the rows' products, and of that of the taps that fill no row.

    Args:
        image: padded, in the layout of the products.
        kernel: [taps, inputs, outputs].
        walks: see `_walks`.
        feature: the dimension of features in the image.
    """
    across, down, every = walks
    taps, inputs, outputs = shape_of(kernel)
    in_rows = across.parts * down.parts
    rows = build.slice_along(kernel, {0: range(in_rows)})
    rows = build.reshape(rows, [down.parts, across.parts * inputs, outputs])
    products = _product(_patches(image, across, feature), rows, feature)
    terms = [
        down.part(build.slice_along(products, {feature: range(i * outputs, (i + 1) * outputs)}), i)
        for i in range(down.parts)
    ]
    if in_rows < taps:
        rest = build.slice_along(kernel, {0: range(in_rows, taps)})
        rest = build.reshape(rest, [1, (taps - in_rows) * inputs, outputs])
        parts = [every.part(image, i) for i in range(in_rows, taps)]
        terms.append(_product(_joined(parts, feature), rest, feature))
    return reduce(hlo.add, terms)


def _patches(image: ir.Value, across: Walk, feature: int) -> ir.Value:
    """The elements under each tap of a row, side by side along dimension `feature`."""
    if across.parts <= cost.JOINED_PARTS or feature > 0:
        return _joined([across.part(image, i) for i in range(across.parts)], feature)

    def body(tap: ir.Value, starts: Sequence[ir.Value], patches: ir.Value) -> ir.Value:
        at = build.starts_along(patches, {feature: tap})
        return hlo.dynamic_update_slice(patches, across.part_at(image, starts), at)

    shape = across.shape(image)
    shape[feature] = across.parts
    return across.repeat(build.broadcast(build.scalar(0, element_type(image)), shape, []), body)


def _joined(parts: list[ir.Value], dim: int) -> ir.Value:
    return parts[0] if len(parts) == 1 else hlo.concatenate(parts, dim)


def _product(patches: ir.Value, rows: ir.Value, feature: int) -> ir.Value:
    """The products of patches and rows, whose features are [rows * outputs].

    Args:
        patches: with features [taps of a row * inputs] in dimension `feature`, the first or last.
        rows: [rows, taps of a row * inputs, outputs].
    """
    count, terms, outputs = shape_of(rows)
    if feature == 0:
        matrix = build.reshape(build.transpose(rows, [0, 2, 1]), [count * outputs, terms])
        return build.dot(matrix, patches, ([1], [0]))
    matrix = build.reshape(build.transpose(rows, [1, 0, 2]), [terms, count * outputs])
    return build.dot(patches, matrix, ([feature], [0]))
