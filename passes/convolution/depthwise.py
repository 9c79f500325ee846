"""Depthwise convolutions: forward and input gradient by taps, weight gradient by positions.

Forward: the result is a sum over the window's taps of a strided slice of the padded image times one
kernel element for each channel. Long windows are summed by a loop over the window's rows. Weight
gradient: the window is as large as the image and the result has few positions; a loop computes a
row of sums for each position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.materialize import fuses_into_reduce, materialize
from jxc.ir.values import element_type, shape_of
from jxc.rewrite import PassContext, reassociates, rule

from .._shared.signed_zero import sum_from_zero
from .._shared.window import pad
from . import cost, geometry
from .geometry import Convolution
from .window import Walk, as_result, backwards, result_walk, window_walk

_BLOCKS = range(512, 63, -1)
"""Extents of the blocks of elements that a depthwise gradient sums in turn, the best first.

32,768 elements in turn had an error of 6e-6; in blocks of 512, of 4e-7, in the same time.
"""


@rule(reassociates, priced=True)
def depthwise_to_multiply_add(op: hlo.ConvolutionOp) -> ir.Value | None:
    """conv(x, w) -> sum over t of part(pad(x), t) * w[t], for groups with one input or one output.

    Padding zeros are multiplied, also those between dilated elements, as in StableHLO: an infinite
    or NaN weight that meets padding gives NaN.
    """
    conv = geometry.read(op)
    if conv is None or conv.by_batch or min(conv.inputs, conv.outputs) > 1:
        return None
    d = conv.dims
    image = as_result(
        op.lhs,
        conv,
        batch=d.input_batch_dimension,
        spatial=d.input_spatial_dimensions,
        feature=d.input_feature_dimension,
    )
    image = build.convert(image, conv.accumulator)
    walk = window_walk(conv, conv.dims.output_spatial_dimensions)
    image = pad(image, conv.axes, walk.spatial)
    total = _sum(_Terms(image, _taps_first(op.rhs, conv), walk, conv))
    result = build.convert(_joined(total, conv, shape_of(op.result)), element_type(op.result))
    return materialize(result) if fuses_into_reduce(op.result) else result


def _taps_first(rhs: ir.Value, conv: Convolution) -> ir.Value:
    """The kernel as [taps, groups], or [taps, groups, members]: a group's inputs or outputs."""
    d = conv.dims
    rhs = backwards(rhs, d.kernel_spatial_dimensions, conv.axes)
    features = [d.kernel_output_feature_dimension, d.kernel_input_feature_dimension]
    taps = build.transpose(rhs, [*d.kernel_spatial_dimensions, *features])
    return build.convert(build.reshape(taps, [conv.taps, *_features(conv)]), conv.accumulator)


def _features(conv: Convolution) -> list[int]:
    members = conv.inputs * conv.outputs
    return [conv.groups, members] if members > 1 else [conv.groups]


class _Terms:
    """The products that a convolution sums, in the result's layout.

    The feature dimension is split as in `_features`.
    """

    def __init__(self, image: ir.Value, taps: ir.Value, walk: Walk, conv: Convolution) -> None:
        self.image, self.taps, self.walk = image, taps, walk
        self.feature = conv.dims.output_feature_dimension
        self.repeats = conv.outputs > 1
        self.features = _features(conv)

    def fixed(self, taps: range) -> Iterator[ir.Value]:
        """Yield the terms of these taps of the window."""
        flat = build.reshape(self.taps, [self.walk.parts * prod(self.features)])
        for tap in taps:
            yield self._term(self.walk.part(self.image, tap), self._row(flat, tap))

    def rows(self, axis: int, start: ir.Value, count: int) -> Iterator[ir.Value]:
        """Yield the terms of `count` rows of the window along `axis`, from image element `start`.

        A row holds the taps at one position along `axis`, the first dimension of extent above 1.
        """
        walk = self.walk.cut(axis, count)
        slab = self.walk.slab(self.image, axis, start, count)
        row, jump = walk.parts // count, walk.axes[axis].jump
        table = self._table(row, jump)
        sizes = [(count - 1) * jump + 1, shape_of(table)[1]]
        rows = hlo.dynamic_slice(table, build.starts_along(table, {0: start}), sizes)
        flat = build.reshape(rows, [prod(sizes)])
        for part in range(walk.parts):
            place = part // row * jump * row + part % row
            yield self._term(walk.part(slab, part), self._row(flat, place))

    def zeros(self) -> ir.Value:
        """Zeros of a term's shape: the sum of no terms."""
        part = self.walk.shape(self.image)
        shape = [*part[: self.feature], *self.features, *part[self.feature + 1 :]]
        return build.broadcast(build.scalar(0, element_type(self.image)), shape, [])

    def _table(self, row: int, jump: int) -> ir.Value:
        """The kernel as [rows, taps of a row * features], `jump` - 1 rows of zeros in between."""
        table = build.reshape(self.taps, [self.walk.parts // row, row * prod(self.features)])
        if jump == 1:
            return table
        zero = build.scalar(0, element_type(table))
        return hlo.pad(table, zero, [0, 0], [0, 0], [jump - 1, 0])

    def _row(self, taps: ir.Value, tap: int) -> ir.Value:
        length = prod(self.features)
        row = build.slice_along(taps, {0: range(tap * length, (tap + 1) * length)})
        return build.reshape(row, self.features)

    def _term(self, part: ir.Value, row: ir.Value) -> ir.Value:
        shape = list(shape_of(part))
        shape[self.feature : self.feature + 1] = self.features
        if self.repeats:
            kept = [i + (i > self.feature) for i in range(len(shape) - 1)]
            part = build.broadcast(part, shape, kept)
        at = range(self.feature, self.feature + len(self.features))
        return hlo.multiply(build.reshape(part, shape), build.broadcast(row, shape, at))


def _sum(terms: _Terms) -> ir.Value:
    """The sum of all terms, from 0.0 on: unrolled, or by a loop over a few rows at a time."""
    walk = terms.walk
    axis = next((i for i, each in enumerate(walk.axes) if each.count > 1), 0)
    count = walk.axes[axis].count
    steps = [each.step for each in walk.axes]
    rows = cost.rows_at_once(rows=count, taps=walk.parts, steps=steps)
    iterations = count // rows
    if iterations == 1:
        return sum_from_zero(terms.fixed(range(walk.parts)))

    def body(start: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        row = reduce(hlo.add, terms.rows(axis, start, rows))
        return [hlo.add(*carried, row)]

    looped = iterations * rows * (walk.parts // count)
    rest = terms.fixed(range(looped, walk.parts))
    initial = sum_from_zero(rest) if looped < walk.parts else terms.zeros()
    [total] = build.fori_loop(iterations, [initial], body, step=rows * walk.axes[axis].jump)
    return total


def _joined(total: ir.Value, conv: Convolution, shape: Sequence[int]) -> ir.Value:
    """The sum in the result's shape: products of a group's inputs are added."""
    member = conv.dims.output_feature_dimension + 1
    if conv.inputs == 1:
        return build.reshape(total, shape)
    if conv.inputs > cost.SLICED_MEMBERS:
        return build.reduce_sum(total, [member])
    slices = (build.slice_along(total, {member: range(i, i + 1)}) for i in range(conv.inputs))
    return reduce(hlo.add, (build.reshape(each, shape) for each in slices))


@rule(reassociates, priced=True)
def depthwise_weight_gradient_to_sums(
    op: hlo.ConvolutionOp, context: PassContext
) -> ir.Value | None:
    """conv(x, dy)[t] -> sum of part(pad(x), t) * dy at each position t, for groups of one image.

    The groups split the batch, as in JAX's gradient of a depthwise convolution by its kernel.
    Padding zeros are multiplied, as in StableHLO. Devices that share the images add up their sums
    once, after those of all positions.
    """
    conv = geometry.read(op)
    if conv is None or not conv.by_batch or conv.batch > 1:
        return None
    image, dy = channels_last(op, conv)
    if conv.outputs > 1:
        dy = build.reshape(dy, [*shape_of(dy)[:-1], conv.groups, conv.outputs])
    walk = result_walk(conv, range(1, len(conv.axes) + 1))
    padded = pad(build.convert(image, conv.accumulator), conv.axes, walk.spatial)
    shares = context.parts(op.lhs, conv.dims.input_feature_dimension)
    shares = shares if shape_of(dy)[0] % shares == 0 else 1
    sums = _sums(padded, build.convert(dy, conv.accumulator), walk, shares)
    rank = len(conv.axes)
    sums = build.reshape(sums, [*conv.extents, conv.groups * conv.outputs, 1])
    result = as_result(sums, conv, batch=rank + 1, spatial=range(rank), feature=rank)
    return build.convert(result, element_type(op.result))


def channels_last(op: hlo.ConvolutionOp, conv: Convolution) -> tuple[ir.Value, ir.Value]:
    """x as [inputs, spatial..., groups * batch], dy as [inputs, spatial..., groups * outputs]."""
    d = conv.dims
    order = [d.input_feature_dimension, *d.input_spatial_dimensions, d.input_batch_dimension]
    dy = backwards(op.rhs, d.kernel_spatial_dimensions, conv.axes)
    spatial = [d.kernel_input_feature_dimension, *d.kernel_spatial_dimensions]
    dy = build.transpose(dy, [*spatial, d.kernel_output_feature_dimension])
    return build.transpose(op.lhs, order), dy


def _sums(image: ir.Value, dy: ir.Value, walk: Walk, shares: int) -> ir.Value:
    """[positions, features]: a row of sums for each position in the result.

    Args:
        image: x, padded.
        dy: the gradient of the result.
        walk: the positions.
        shares: the number of shares of the images that are summed apart, then together.
    """
    lead = [shares] if shares > 1 else []
    if walk.parts == 1:
        return build.reduce_sum(_rows(walk.part(image, 0), dy, lead), range(len(lead)))

    def body(number: ir.Value, starts: Sequence[ir.Value], sums: ir.Value) -> ir.Value:
        rows = _rows(walk.part_at(image, starts), dy, lead)
        at = build.starts_along(sums, {len(lead): number})
        return hlo.dynamic_update_slice(sums, rows, at)

    features = prod(shape_of(dy)[1 + len(walk.spatial) :])
    zero = build.scalar(0, element_type(dy))
    sums = walk.repeat(build.broadcast(zero, [*lead, walk.parts, features], []), body)
    return build.reduce_sum(sums, range(len(lead)))


def _rows(part: ir.Value, dy: ir.Value, lead: Sequence[int]) -> ir.Value:
    """[*lead, 1, features]: the products summed over the images of a share and over space.

    The sums are products with ones, as XLA:CPU's dot is up to 3 times faster here. It adds in
    turn, so that rounding errors add up: blocks of elements are summed apart, then together.
    """
    shape = shape_of(dy)
    kept = len(shape_of(part)) - 1
    rows, features = prod(shape[:kept]) // prod(lead), prod(shape[kept:])
    whole = rows <= _BLOCKS[0]
    block = rows if whole else next((n for n in _BLOCKS if rows % n == 0), _BLOCKS[0])
    count = -(-rows // block)
    batch = list(lead) if whole else [*lead, count]
    products = hlo.multiply(build.broadcast(part, shape, range(kept + 1)), dy)
    products = build.reshape(products, [*lead, rows, features])
    if missing := count * block - rows:
        zero, none = build.scalar(0, element_type(products)), [0] * (len(lead) + 2)
        products = hlo.pad(products, zero, none, [*none[:-2], missing, 0], none)
    products = build.reshape(products, [*batch, block, features])
    ones = build.broadcast(build.scalar(1, element_type(products)), [*batch, 1, block], [])
    own = len(batch)
    sums = build.dot(ones, products, ([own + 1], [own]), (range(own), range(own)))
    return build.reduce_sum(sums, range(len(lead), own))
