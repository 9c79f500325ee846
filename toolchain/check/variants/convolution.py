"""Convolutions: windows drawn again, and the shape that comes out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from ...ir.values import shape_of
from .plan import DYNAMIC, Variation

_WINDOW = {
    "window_strides": (1, 2, 3),
    "lhs_dilation": (1, 2, 3),
    "rhs_dilation": (1, 2, 3),
}


def vary_convolution(
    op: stablehlo.ConvolutionOp, operands: Sequence[ir.Value], plan: Variation
) -> dict[str, ir.Attribute]:
    """Another window now and then; as many groups as the new extents ask for."""
    numbers = stablehlo.ConvDimensionNumbers(op.dimension_numbers)
    rank = len(numbers.input_spatial_dimensions)
    found: dict[str, ir.Attribute] = {}
    for name, choices in _WINDOW.items():
        if plan.chance(0.2):
            drawn = [plan.random.choice(choices) for _ in range(rank)]
            found[name] = ir.DenseI64ArrayAttr.get(drawn)
    if plan.chance(0.2):
        edges = [[plan.random.choice((0, 1, 2, -1)) for _ in range(2)] for _ in range(rank)]
        found["padding"] = ir.DenseElementsAttr.get(np.array(edges, np.int64))
    if plan.chance(0.2):
        drawn = [bool(plan.random.randrange(2)) for _ in range(rank)]
        found["window_reversal"] = ir.DenseBoolArrayAttr.get(drawn)
    return found | _groups(op, operands, numbers, plan)


def _groups(
    op: stablehlo.ConvolutionOp,
    operands: Sequence[ir.Value],
    numbers: ir.Attribute,
    plan: Variation,
) -> dict[str, ir.Attribute]:
    features = shape_of(operands[0])[numbers.input_feature_dimension]
    batch = shape_of(operands[0])[numbers.input_batch_dimension]
    each = shape_of(operands[1])[numbers.kernel_input_feature_dimension]
    outputs = shape_of(operands[1])[numbers.kernel_output_feature_dimension]
    if DYNAMIC in (features, batch, each, outputs):
        return {}
    i64 = ir.IntegerType.get_signless(64)
    if (count := op.batch_group_count.value) > 1:
        fitting = [g for g in range(2, batch + 1) if batch % g == 0 == outputs % g]
        drawn = count if count in fitting else plan.random.choice(fitting or [max(1, batch)])
        return {"batch_group_count": ir.IntegerAttr.get(i64, drawn)}
    return {"feature_group_count": ir.IntegerAttr.get(i64, max(1, features // max(1, each)))}


def convolution_shape(
    operands: Sequence[ir.Value], attributes: dict[str, ir.Attribute]
) -> list[int]:
    """The extents of the result, as StableHLO's specification says."""
    numbers = stablehlo.ConvDimensionNumbers(attributes["dimension_numbers"])
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
        return DYNAMIC
    stride, of_image, of_kernel = (_at(attributes, name, dim) for name in _WINDOW)
    padding = attributes.get("padding")
    edges = 0 if padding is None else int(np.array(padding).reshape(-1, 2)[dim].sum())
    return windows(dilated(image, of_image) + edges, dilated(kernel, of_kernel), stride)


def _at(attributes: dict[str, ir.Attribute], name: str, dim: int) -> int:
    return attributes[name][dim] if name in attributes else 1


def dilated(size: int, dilation: int) -> int:
    """An extent with `dilation` - 1 holes between its elements."""
    return (size - 1) * dilation + 1 if size > 0 else 0


def windows(size: int, window: int, stride: int) -> int:
    """How many windows fit."""
    return (size - window) // stride + 1 if 0 < window <= size or window == 0 <= size else 0
