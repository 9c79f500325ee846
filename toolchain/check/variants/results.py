"""The types of an op's results, where MLIR cannot infer them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ...ir.values import element_type, shape_of
from .plan import DYNAMIC, Variation, ranked

CONVOLUTION_WINDOW = ("window_strides", "lhs_dilation", "rhs_dilation")


def convolution_shape(
    operands: Sequence[ir.Value], attributes: dict[str, ir.Attribute]
) -> list[int]:
    """The extents of the result, as StableHLO's specification says."""
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
    for dim, (of_image, of_kernel, of_result) in enumerate(places):
        shape[of_result] = _spatial(image[of_image], kernel[of_kernel], attributes, dim)
    return shape


def _spatial(image: int, kernel: int, attributes: dict[str, ir.Attribute], dim: int) -> int:
    if DYNAMIC in (image, kernel):
        return int(DYNAMIC)
    stride, of_image, of_kernel = (_at(attributes, name, dim) for name in CONVOLUTION_WINDOW)
    padding = attributes.get("padding")
    edges = 0 if padding is None else int(np.array(padding).reshape(-1, 2)[dim].sum())
    return windows(dilated(image, of_image) + edges, dilated(kernel, of_kernel), stride)


def _at(attributes: dict[str, ir.Attribute], name: str, dim: int) -> int:
    return attributes[name][dim] if name in attributes else 1


def dilated(size: int, dilation: int) -> int:
    """The size of a dimension with `dilation` - 1 holes between its elements."""
    return (size - 1) * dilation + 1 if size > 0 else 0


def windows(size: int, window: int, stride: int) -> int:
    """The number of windows that fit into a dimension."""
    return (size - window) // stride + 1 if 0 < window <= size or window == 0 <= size else 0


Attributes: TypeAlias = dict[str, ir.Attribute]
Values: TypeAlias = Sequence[ir.Value]


def result_types(
    op: ir.OpView, operands: Values, attributes: Attributes, plan: Variation
) -> list[ir.Type]:
    """The result types of an op with new operands; a guess for ops that are not listed here."""
    shape_by = SHAPES.get(op.operation.name)
    if shape_by is not None:
        shape = shape_by(op, operands, attributes, plan)
        return [ranked(shape, _element(op, result, operands, plan)) for result in op.results]
    return [like(result.type, op.operands, operands, plan) for result in op.results]


def like(old: ir.Type, old_operands: Values, operands: Values, plan: Variation) -> ir.Type:
    """The new type for an old one: that of an operand which had the old type, else the plan's."""
    for before, after in zip(old_operands, operands, strict=False):
        if before.type == old:
            return after.type
    if not isinstance(old, ir.RankedTensorType):
        return old
    kind = plan.type(old)
    for before, after in zip(old_operands, operands, strict=False):
        both = (
            isinstance(before.type, ir.RankedTensorType),
            isinstance(after.type, ir.RankedTensorType),
        )
        if all(both) and element_type(before) == old.element_type:
            return ranked(kind.shape, element_type(after))
    return kind


def _element(op: ir.OpView, result: ir.Value, operands: Values, plan: Variation) -> ir.Type:
    """The element type of a result: that of an operand which shared it, or what the plan says."""
    old = element_type(result)
    for before, after in zip(op.operands, operands, strict=True):
        if element_type(before) == old and op.operation.name not in _CONVERTING:
            return element_type(after)
    return plan.element(old)


_CONVERTING = ("stablehlo.convert", "stablehlo.bitcast_convert")


def _same(op: ir.OpView, operands: Values, attributes: Attributes, plan: Variation) -> list[int]:
    return list(shape_of(operands[0]))


def _bitcast(op: ir.OpView, operands: Values, attributes: Attributes, plan: Variation) -> list[int]:
    """Narrower elements add a dimension, wider ones remove the last."""
    shape = list(shape_of(operands[0]))
    old, new = _width(element_type(operands[0])), _width(plan.element(element_type(op.results[0])))
    if old >= new:
        return [*shape, old // new] if old > new else shape
    if not shape or shape[-1] not in (new // old, DYNAMIC):
        raise ValueError(f"{shape} of {old} bits are no elements of {new} bits")
    return shape[:-1]


def _width(element: ir.Type) -> int:
    if isinstance(element, ir.ComplexType):
        return 2 * _width(element.element_type)
    return int(element.width)


def _iota(op: ir.OpView, operands: Values, attributes: Attributes, plan: Variation) -> list[int]:
    return [plan.static(n) for n in shape_of(op.results[0])]


def _broadcast(
    op: ir.OpView, operands: Values, attributes: Attributes, plan: Variation
) -> list[int]:
    dims = list(attributes["broadcast_dimensions"])
    shape = [plan.static(n) for n in shape_of(op.results[0])]
    for size, old, dim in zip(shape_of(operands[0]), shape_of(op.operands[0]), dims, strict=True):
        repeats = size == 1 and (old == 1 or plan.chance(0.5))
        if dim < len(shape) and not repeats and size != DYNAMIC:
            shape[dim] = size
    return shape


def _reshape(op: ir.OpView, operands: Values, attributes: Attributes, plan: Variation) -> list[int]:
    old, out, new = shape_of(op.operands[0]), shape_of(op.results[0]), shape_of(operands[0])
    if DYNAMIC in new or (old == new and not plan.chance(0.15)):
        return list(out)
    if plan.chance(0.15):
        return _any_shape(math.prod(new), len(out), plan)
    shape: list[int] = []
    for before, after in _groups(old, out):
        total = math.prod(new[slice(*before)])
        shape += _split(total, [plan.extent(n) for n in out[slice(*after)]])
    return shape


def _any_shape(size: int, rank: int, plan: Variation) -> list[int]:
    shape = [1] * max(1, rank + plan.random.choice((0, 1, -1)))
    for prime in (2, 3, 5, 7):
        while size and size % prime == 0:
            size, place = size // prime, plan.random.randrange(len(shape))
            shape[place] *= prime
    shape[0] *= size
    return shape


def _split(total: int, wanted: Sequence[int]) -> list[int]:
    """Sizes near the wanted ones whose product is `total`."""
    shape = []
    for size in wanted[:-1]:
        fits = size > 0 and total % size == 0
        shape.append(size if fits else 1)
        total //= size if fits else 1
    return [*shape, total] if wanted else []


def _groups(
    old: Sequence[int], out: Sequence[int]
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Pairs of ranges of dimensions, before and after a reshape, with equal products."""
    cuts = [(0, 0)]
    for i, j in _equal_products(old, out):
        cuts.append((i, j))
    if cuts[-1] != (len(old), len(out)):
        cuts[-1 if len(cuts) > 1 else len(cuts) :] = [(len(old), len(out))]
    return [((a, c), (b, d)) for (a, b), (c, d) in pairwise(cuts)]


def _equal_products(old: Sequence[int], out: Sequence[int]) -> list[tuple[int, int]]:
    found, i, j = [], 0, 0
    while i < len(old) and j < len(out):
        left, right, i, j = old[i], out[j], i + 1, j + 1
        while left != right and (i < len(old) if left < right else j < len(out)):
            if left < right:
                left, i = left * old[i], i + 1
            else:
                right, j = right * out[j], j + 1
        if left == right:
            found.append((i, j))
    return found


def _dot(op: ir.OpView, operands: Values, attributes: Attributes, plan: Variation) -> list[int]:
    numbers = hlo.DotDimensionNumbers(attributes["dot_dimension_numbers"])
    lhs, rhs = map(shape_of, operands)
    batch = list(numbers.lhs_batching_dimensions)
    of_lhs = {*batch, *numbers.lhs_contracting_dimensions}
    of_rhs = {*numbers.rhs_batching_dimensions, *numbers.rhs_contracting_dimensions}
    free = [size for dim, size in enumerate(lhs) if dim not in of_lhs]
    return (
        [lhs[dim] for dim in batch]
        + free
        + [size for dim, size in enumerate(rhs) if dim not in of_rhs]
    )


def _reduce(op: ir.OpView, operands: Values, attributes: Attributes, plan: Variation) -> list[int]:
    gone = set(attributes["dimensions"])
    return [size for dim, size in enumerate(shape_of(operands[0])) if dim not in gone]


def _convolution(
    op: ir.OpView, operands: Values, attributes: Attributes, plan: Variation
) -> list[int]:
    return convolution_shape(operands, attributes)


def _window(op: ir.OpView, operands: Values, attributes: Attributes, plan: Variation) -> list[int]:
    shape = shape_of(operands[0])
    ones = [1] * len(shape)
    size, stride, base, holes = (
        list(attributes[name]) if name in attributes else ones
        for name in ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    )
    padding = attributes.get("padding")
    edges = np.zeros(len(shape), int) if padding is None else np.array(padding).sum(axis=1)
    return [
        n if n == DYNAMIC else windows(dilated(n, b) + int(e), dilated(w, h), s)
        for n, w, s, b, h, e in zip(shape, size, stride, base, holes, edges, strict=True)
    ]


SHAPES: Mapping[str, Callable[[ir.OpView, Values, Attributes, Variation], list[int]]] = {
    "stablehlo.convert": _same,
    "stablehlo.bitcast_convert": _bitcast,
    "stablehlo.iota": _iota,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.reshape": _reshape,
    "stablehlo.dot_general": _dot,
    "stablehlo.reduce": _reduce,
    "stablehlo.convolution": _convolution,
    "stablehlo.reduce_window": _window,
}
"""Ops that MLIR infers no type for, or none without their regions."""
