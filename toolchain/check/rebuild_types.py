"""The change by which a program is rebuilt, and the attributes and result types it leads to.

A `Change` gives the new type for each old one. `ADAPTED` has the ops with sizes among their
attributes. `SHAPES` has the ops whose result types MLIR cannot infer from the new operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias, TypeVar

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ..ir import build
from ..ir.constants import array_of
from ..ir.values import element_type, shape_of, splat_attr

DYNAMIC = ir.ShapedType.get_dynamic_size()

Attributes: TypeAlias = dict[str, ir.Attribute]
Values: TypeAlias = Sequence[ir.Value]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Change:
    """The changes to a program that is rebuilt: other sizes.

    `scripts/variants` overrides the methods that return a fixed value here: it also changes element
    types, and draws constants, attributes and operands at random.

    Attributes:
        extents: new sizes by old; the others stay.
        arguments: whole shapes for some arguments of @main, by index.
    """

    extents: Mapping[int, int] = field(default_factory=dict)
    arguments: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def extent(self, extent: int) -> int:
        """The new size for an old one."""
        return self.extents.get(extent, extent)

    def static(self, extent: int) -> int:
        """The new size, or the old one where the new one is dynamic."""
        new = self.extent(extent)
        return extent if new == DYNAMIC else new

    def shape(self, shape: Sequence[int]) -> list[int]:
        """The new static shape for an old one."""
        return [self.static(n) for n in shape]

    def element(self, element: ir.Type) -> ir.Type:
        """The new element type for an old one."""
        return element

    def type(self, kind: ir.Type) -> ir.Type:
        """The new type for an old one; only ranked tensors change."""
        if not isinstance(kind, ir.RankedTensorType):
            return kind
        return ranked([self.extent(n) for n in kind.shape], self.element(kind.element_type))

    def static_type(self, kind: ir.RankedTensorType) -> ir.RankedTensorType:
        """The new type of a constant, which is static."""
        return ranked(self.shape(kind.shape), self.element(kind.element_type))

    def chance(self, probability: float) -> bool:
        """True with this probability in `scripts/variants`; always False here."""
        return False

    def choose(self, options: Sequence[T]) -> T:
        """One of several equally good values."""
        return options[0]

    def drawn_shape(self, size: int, rank: int) -> list[int] | None:
        """Another shape of `size` elements for the result of a reshape."""
        return None

    def constant_instead(self, argument: ir.Value) -> ir.Value | None:
        """A constant that replaces an argument of a function, at the insertion point."""
        return None

    def constant(self, op: hlo.ConstantOp) -> ir.Value:
        """A constant of the new type, at the insertion point.

        Raises:
            ValueError: the elements cannot be read.
        """
        kind = self.static_type(op.result.type)
        if kind == op.result.type:
            return op.operation.clone().results[0]
        return resized_constant(op.result, kind)

    def operands(self, op: ir.OpView, operands: list[ir.Value], made: Values) -> list[ir.Value]:
        """The operands of a new op. `made` are the results so far in the function's own block."""
        return operands

    def built(self, op: ir.OpView, results: Values) -> None:
        """Called with each op that was built, and its new results."""

    def attributes(self, op: ir.OpView, operands: Values) -> Attributes:
        """All attributes of an op that is not a constant, for its new operands."""
        adapt = ADAPTED.get(op.operation.name)
        same = dict(op.attributes.items())
        return same | (adapt(op, operands, self) if adapt is not None else {})

    def inside(self, op: ir.OpView) -> Change:
        """The change for the regions of an op."""
        return self


def resized_constant(value: ir.Value, kind: ir.RankedTensorType) -> ir.Value:
    """The constant's elements in row-major order, repeated or cut to the size of `kind`.

    Raises:
        ValueError: they cannot be read.
    """
    if (element := splat_attr(value)) is not None:
        return build.splat(element, kind)
    array = array_of(value)
    if array is None:
        raise ValueError("a constant that cannot be read")
    return build.dense(np.resize(array, kind.shape), kind)


def ranked(shape: Sequence[int], element: ir.Type) -> ir.RankedTensorType:
    """A ranked tensor type; needs a location in scope."""
    return ir.RankedTensorType.get(list(shape), element)


REDUCTION_WINDOW = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
CONVOLUTION_WINDOW = ("window_strides", "lhs_dilation", "rhs_dilation")


def _slice(op: hlo.SliceOp, operands: Values, change: Change) -> Attributes:
    """As many elements as the change says for that number, or the same fractions of the sizes."""
    cuts = []
    taken = zip(op.start_indices, op.limit_indices, op.strides, strict=True)
    sizes = zip(shape_of(op.operand), shape_of(operands[0]), strict=True)
    for (first, limit, stride), (old, new) in zip(taken, sizes, strict=True):
        count, wanted = limit - first, change.static(limit - first)
        if old in (new, 0, DYNAMIC) or new == DYNAMIC:
            cuts.append((first, limit))
        elif stride == 1 and wanted != count and wanted <= new:
            start = new - wanted if limit == old else min(first * new // old, new - wanted)
            cuts.append((start, start + wanted))
        else:
            cuts.append((first * new // old, -(-limit * new // old)))
    starts, limits = zip(*cuts, strict=True) if cuts else ((), ())
    return {"start_indices": integers(starts), "limit_indices": integers(limits)}


def _slice_sizes(
    op: hlo.DynamicSliceOp | hlo.GatherOp, operands: Values, change: Change
) -> Attributes:
    """Slice sizes within the new sizes of the operand."""
    olds = zip(op.slice_sizes, shape_of(op.operands[0]), shape_of(operands[0]), strict=True)
    return {"slice_sizes": integers([slice_size(*each) for each in olds])}


def slice_size(size: int, old: int, new: int) -> int:
    """The size of a slice along a dimension whose size was `old` and is `new`."""
    if DYNAMIC in (old, new):
        return size
    return new if size == old else min(size, new)


def group_counts(op: hlo.ConvolutionOp, operands: Values, change: Change) -> Attributes:
    """As many groups of a convolution as the new sizes require."""
    numbers = hlo.ConvDimensionNumbers(op.dimension_numbers)
    features = shape_of(operands[0])[numbers.input_feature_dimension]
    batch = shape_of(operands[0])[numbers.input_batch_dimension]
    each = shape_of(operands[1])[numbers.kernel_input_feature_dimension]
    outputs = shape_of(operands[1])[numbers.kernel_output_feature_dimension]
    if DYNAMIC in (features, batch, each, outputs):
        return {}
    if (count := op.batch_group_count.value) > 1:
        fitting = [g for g in range(2, batch + 1) if batch % g == 0 == outputs % g]
        new = count if count in fitting else change.choose(fitting or [max(1, batch)])
        return {"batch_group_count": integer(new)}
    return {"feature_group_count": integer(max(1, features // max(1, each)))}


def integers(numbers: Sequence[int]) -> ir.Attribute:
    """An attribute of an op's dimensions or sizes."""
    return ir.DenseI64ArrayAttr.get(list(numbers))


def integer(number: int) -> ir.Attribute:
    """An attribute of 64 bits."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)


ADAPTED: Mapping[str, Callable[..., Attributes]] = {
    "stablehlo.slice": _slice,
    "stablehlo.dynamic_slice": _slice_sizes,
    "stablehlo.gather": _slice_sizes,
    "stablehlo.convolution": group_counts,
}
"""The attributes that change with the sizes of operands."""


def result_types(
    op: ir.OpView, operands: Values, attributes: Attributes, change: Change
) -> list[ir.Type]:
    """The result types of an op with new operands; a guess for ops that are not listed here."""
    shape_by = SHAPES.get(op.operation.name)
    if shape_by is not None:
        shape = shape_by(op, operands, attributes, change)
        return [ranked(shape, _element(op, result, operands, change)) for result in op.results]
    return [like(result.type, op.operands, operands, change) for result in op.results]


def like(old: ir.Type, old_operands: Values, operands: Values, change: Change) -> ir.Type:
    """The new type for an old one: that of an operand which had the old type, else the change's."""
    for before, after in zip(old_operands, operands, strict=False):
        if before.type == old:
            return after.type
    if not isinstance(old, ir.RankedTensorType):
        return old
    kind = change.type(old)
    for before, after in zip(old_operands, operands, strict=False):
        both_ranked = all(isinstance(v.type, ir.RankedTensorType) for v in (before, after))
        if both_ranked and element_type(before) == old.element_type:
            return ranked(kind.shape, element_type(after))
    return kind


def _element(op: ir.OpView, result: ir.Value, operands: Values, change: Change) -> ir.Type:
    """The element type of a result: that of an operand which shared it, or what the change says."""
    old = element_type(result)
    for before, after in zip(op.operands, operands, strict=True):
        if element_type(before) == old and op.operation.name not in _CONVERTING:
            return element_type(after)
    return change.element(old)


_CONVERTING = ("stablehlo.convert", "stablehlo.bitcast_convert")


def _bitcast(op: ir.OpView, operands: Values, attributes: Attributes, change: Change) -> list[int]:
    """Narrower elements add a dimension, wider ones remove the last."""
    shape = list(shape_of(operands[0]))
    old, new = (
        _width(element_type(operands[0])),
        _width(change.element(element_type(op.results[0]))),
    )
    if old >= new:
        return [*shape, old // new] if old > new else shape
    if not shape or shape[-1] not in (new // old, DYNAMIC):
        raise ValueError(f"{shape} of {old} bits are no elements of {new} bits")
    return shape[:-1]


def _width(element: ir.Type) -> int:
    if isinstance(element, ir.ComplexType):
        return 2 * _width(element.element_type)
    return int(element.width)


def _broadcast(
    op: ir.OpView, operands: Values, attributes: Attributes, change: Change
) -> list[int]:
    dims = list(attributes["broadcast_dimensions"])
    shape = change.shape(shape_of(op.results[0]))
    for size, old, dim in zip(shape_of(operands[0]), shape_of(op.operands[0]), dims, strict=True):
        repeats = size == 1 and (old == 1 or change.chance(0.5))
        if dim < len(shape) and not repeats and size != DYNAMIC:
            shape[dim] = size
    return shape


def _reshape(op: ir.OpView, operands: Values, attributes: Attributes, change: Change) -> list[int]:
    old, out, new = shape_of(op.operands[0]), shape_of(op.results[0]), shape_of(operands[0])
    if DYNAMIC in new or (old == new and not change.chance(0.15)):
        return list(out)
    if (drawn := change.drawn_shape(math.prod(new), len(out))) is not None:
        return drawn
    shape: list[int] = []
    for before, after in _groups(old, out):
        total = math.prod(new[slice(*before)])
        shape += _split(total, [change.extent(n) for n in out[slice(*after)]])
    return shape


def _split(total: int, wanted: Sequence[int]) -> list[int]:
    """Sizes near the wanted ones whose product is `total`; the largest is what the others leave."""
    shape = [1] * len(wanted)
    *others, rest = sorted(range(len(wanted)), key=lambda i: wanted[i]) or [0]
    for i in others:
        if wanted[i] > 0 and total % wanted[i] == 0:
            shape[i] = wanted[i]
            total //= wanted[i]
    if wanted:
        shape[rest] = total
    return shape


def _groups(
    old: Sequence[int], out: Sequence[int]
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Pairs of ranges of dimensions, before and after a reshape, with equal products."""
    cuts, i, j = [(0, 0)], 0, 0
    while i < len(old) and j < len(out):
        left, right, i, j = old[i], out[j], i + 1, j + 1
        while left != right and (i < len(old) if left < right else j < len(out)):
            if left < right:
                left, i = left * old[i], i + 1
            else:
                right, j = right * out[j], j + 1
        if left == right:
            cuts.append((i, j))
    if cuts[-1] != (len(old), len(out)):  # trailing ones belong to the last group
        cuts[max(1, len(cuts) - 1) :] = [(len(old), len(out))]
    return [((a, c), (b, d)) for (a, b), (c, d) in pairwise(cuts)]


def _dot(op: ir.OpView, operands: Values, attributes: Attributes, change: Change) -> list[int]:
    numbers = hlo.DotDimensionNumbers(attributes["dot_dimension_numbers"])
    lhs, rhs = map(shape_of, operands)
    of_lhs = {*numbers.lhs_batching_dimensions, *numbers.lhs_contracting_dimensions}
    of_rhs = {*numbers.rhs_batching_dimensions, *numbers.rhs_contracting_dimensions}
    batch = [lhs[dim] for dim in numbers.lhs_batching_dimensions]
    free = [size for dim, size in enumerate(lhs) if dim not in of_lhs]
    return [*batch, *free, *(size for dim, size in enumerate(rhs) if dim not in of_rhs)]


def _convolution(
    op: ir.OpView, operands: Values, attributes: Attributes, change: Change
) -> list[int]:
    numbers = hlo.ConvDimensionNumbers(attributes["dimension_numbers"])
    image, kernel = map(shape_of, operands)
    batch = image[numbers.input_batch_dimension]
    groups = attributes["batch_group_count"].value
    shape = [0] * len(image)
    shape[numbers.output_batch_dimension] = batch if batch == DYNAMIC else batch // groups
    shape[numbers.output_feature_dimension] = kernel[numbers.kernel_output_feature_dimension]
    places = zip(
        numbers.input_spatial_dimensions,
        numbers.kernel_spatial_dimensions,
        numbers.output_spatial_dimensions,
        strict=True,
    )
    edges = np.array(attributes.get("padding", np.zeros((len(image), 2), int)))
    for dim, (of_image, of_kernel, of_result) in enumerate(places):
        stride, of_size, of_window = (
            attributes[name][dim] if name in attributes else 1 for name in CONVOLUTION_WINDOW
        )
        padding = int(edges[dim].sum())
        size, window = image[of_image], kernel[of_kernel]
        shape[of_result] = _windows(size, window, stride, of_size, of_window, padding)
    return shape


def _reduce_window(
    op: ir.OpView, operands: Values, attributes: Attributes, change: Change
) -> list[int]:
    shape = shape_of(operands[0])
    ones = [1] * len(shape)
    steps = (list(attributes[name]) if name in attributes else ones for name in REDUCTION_WINDOW)
    edges = np.array(attributes.get("padding", np.zeros((len(shape), 2), int))).sum(axis=1)
    return [_windows(*each) for each in zip(shape, *steps, edges, strict=True)]


def _windows(
    size: int, window: int, stride: int, size_dilation: int, window_dilation: int, padding: int
) -> int:
    """The number of windows that fit into a dimension; `padding` is the sum of both edges."""
    if DYNAMIC in (size, window):
        return int(DYNAMIC)
    size = (max(size, 1) - 1) * size_dilation + min(size, 1) + int(padding)
    window = (max(window, 1) - 1) * window_dilation + min(window, 1)
    return (size - window) // stride + 1 if 0 <= window <= size else 0


SHAPES: Mapping[str, Callable[[ir.OpView, Values, Attributes, Change], list[int]]] = {
    "stablehlo.convert": lambda op, operands, attributes, change: list(shape_of(operands[0])),
    "stablehlo.bitcast_convert": _bitcast,
    "stablehlo.iota": lambda op, operands, attributes, change: change.shape(
        shape_of(op.results[0])
    ),
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.reshape": _reshape,
    "stablehlo.dot_general": _dot,
    "stablehlo.reduce": lambda op, operands, attributes, change: [
        n for dim, n in enumerate(shape_of(operands[0])) if dim not in set(attributes["dimensions"])
    ],
    "stablehlo.convolution": _convolution,
    "stablehlo.reduce_window": _reduce_window,
}
"""Ops whose result types MLIR cannot infer, or not without their regions."""
