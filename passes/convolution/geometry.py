"""The geometry of a `stablehlo.convolution` of static shape: its attributes as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo


@dataclass(frozen=True)
class SpatialAxis:
    """One spatial dimension of a convolution; extents in elements.

    Attributes:
        size: extent of the left operand.
        window: extent of the window before dilation.
        out: extent of the result.
        stride: step of the window.
        low: zeros before the left operand; negative where it is cropped.
        high: the same after it.
        lhs_dilation: distance between neighbors of the left operand; zeros lie between them.
        rhs_dilation: distance between neighbors of the window.
        reverse: whether the window is reversed.
    """

    size: int
    window: int
    out: int
    stride: int
    low: int
    high: int
    lhs_dilation: int
    rhs_dilation: int
    reverse: bool


@dataclass(frozen=True)
class Convolution:
    """A convolution of floats with static, nonzero extents, described for one of its groups.

    A group multiplies `batch` images of `inputs` features by `outputs` kernels of as many features.
    Feature groups split the left operand's features, batch groups its batch.

    Attributes:
        axes: the spatial dimensions, in the order of the dimension numbers.
        groups: number of groups.
        by_batch: whether the groups split the left operand's batch (`batch_group_count`).
        batch, inputs, outputs: extents in one group.
        dims: the op's dimension numbers.
        accumulator: the element type in which products are summed.
    """

    axes: tuple[SpatialAxis, ...]
    groups: int
    by_batch: bool
    batch: int
    inputs: int
    outputs: int
    dims: hlo.ConvDimensionNumbers
    accumulator: ir.Type

    @property
    def taps(self) -> int:
        """Positions in the window."""
        return prod(axis.window for axis in self.axes)

    @property
    def pixels(self) -> int:
        """Spatial positions in the left operand."""
        return prod(axis.size for axis in self.axes)

    @property
    def positions(self) -> int:
        """Spatial positions in the result."""
        return prod(self.extents)

    @property
    def extents(self) -> list[int]:
        """The result's extents along the spatial axes."""
        return [axis.out for axis in self.axes]


def read(op: hlo.ConvolutionOp, *, grouped: bool = True) -> Convolution | None:
    """The geometry of `op`, or None where it is not of floats with static, nonzero extents.

    Args:
        op: a convolution.
        grouped: True accepts only several groups, False only one.
    """
    types = [ir.RankedTensorType(value.type) for value in (op.lhs, op.rhs, op.result)]
    accumulator = _accumulator(types)
    feature_groups, batch_groups = op.feature_group_count.value, op.batch_group_count.value
    if (feature_groups * batch_groups > 1) is not grouped:
        return None
    if accumulator is None or not all(map(_is_solid, types)):
        return None
    lhs, rhs, result = (tuple(each.shape) for each in types)
    dims = hlo.ConvDimensionNumbers(op.dimension_numbers)
    groups = feature_groups * batch_groups  # the verifier lets only one of them exceed 1
    return Convolution(
        axes=_axes(op, dims, lhs, rhs, result),
        groups=groups,
        by_batch=batch_groups > 1,
        batch=result[dims.output_batch_dimension],
        inputs=rhs[dims.kernel_input_feature_dimension],
        outputs=rhs[dims.kernel_output_feature_dimension] // groups,
        dims=dims,
        accumulator=accumulator,
    )


def _is_solid(type_: ir.RankedTensorType) -> bool:
    return type_.has_static_shape and type_.encoding is None and 0 not in type_.shape


_FLOATS = (ir.F16Type, ir.BF16Type, ir.F32Type, ir.F64Type)


def _accumulator(types: list[ir.RankedTensorType]) -> ir.Type | None:
    """f64 if any type is f64, else f32, as XLA sums 16-bit products; None for other types."""
    elements = [type_.element_type for type_ in types]
    if not all(isinstance(element, _FLOATS) for element in elements):
        return None
    wide = any(isinstance(element, ir.F64Type) for element in elements)
    return ir.F64Type.get() if wide else ir.F32Type.get()


def _axes(
    op: hlo.ConvolutionOp,
    dims: hlo.ConvDimensionNumbers,
    lhs: tuple[int, ...],
    rhs: tuple[int, ...],
    result: tuple[int, ...],
) -> tuple[SpatialAxis, ...]:
    rank = len(dims.input_spatial_dimensions)
    strides = _ints(op.window_strides, 1, rank)
    lhs_dilation = _ints(op.lhs_dilation, 1, rank)
    rhs_dilation = _ints(op.rhs_dilation, 1, rank)
    reversal = _ints(op.window_reversal, 0, rank)
    padding = np.zeros((rank, 2), int) if op.padding is None else np.asarray(op.padding)
    return tuple(
        SpatialAxis(
            size=lhs[dims.input_spatial_dimensions[i]],
            window=rhs[dims.kernel_spatial_dimensions[i]],
            out=result[dims.output_spatial_dimensions[i]],
            stride=strides[i],
            low=int(padding[i, 0]),
            high=int(padding[i, 1]),
            lhs_dilation=lhs_dilation[i],
            rhs_dilation=rhs_dilation[i],
            reverse=bool(reversal[i]),
        )
        for i in range(rank)
    )


def _ints(attribute: ir.Attribute | None, default: int, rank: int) -> list[int]:
    return [default] * rank if attribute is None else [int(each) for each in attribute]
