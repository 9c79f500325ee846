"""The geometry of a `stablehlo.convolution` of static shape: its attributes as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import element_type, shape_of
from jxc.rewrite import once_per_visit

from .._shared.window import WindowAxis, is_solid, window_axes

_FLOATS = (ir.F16Type, ir.BF16Type, ir.F32Type, ir.F64Type)


@dataclass(frozen=True)
class Convolution:
    """A convolution of floats with static, nonzero extents, described for one of its groups.

    A group convolves `batch` images of `inputs` features with `outputs` kernels of as many
    features. Feature groups split the left operand's features, batch groups its batch.

    Attributes:
        axes: the spatial dimensions, in the order of the dimension numbers.
        groups: number of groups.
        by_batch: whether the groups split the left operand's batch (`batch_group_count`).
        batch, inputs, outputs: extents in one group.
        dims: the op's dimension numbers.
        accumulator: the element type in which products are summed: f64 if any type is f64, else
            f32, as XLA sums products of 16-bit floats.
    """

    axes: tuple[WindowAxis, ...]
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


@once_per_visit
def read(op: hlo.ConvolutionOp, *, grouped: bool = True) -> Convolution | None:
    """The geometry of `op`, or None where it is not of floats with static, nonzero extents.

    Args:
        op: a convolution.
        grouped: True accepts only several groups, False only one.
    """
    values = (op.lhs, op.rhs, op.result)
    elements = [element_type(value) for value in values]
    groups = op.feature_group_count.value * op.batch_group_count.value  # one of them is 1
    if (groups > 1) is not grouped or not all(isinstance(each, _FLOATS) for each in elements):
        return None
    if not all(map(is_solid, values)):
        return None
    lhs, rhs, result = map(shape_of, values)
    dims = hlo.ConvDimensionNumbers(op.dimension_numbers)
    is_wide = any(isinstance(each, ir.F64Type) for each in elements)
    return Convolution(
        axes=window_axes(
            [lhs[dim] for dim in dims.input_spatial_dimensions],
            [rhs[dim] for dim in dims.kernel_spatial_dimensions],
            [result[dim] for dim in dims.output_spatial_dimensions],
            op.padding,
            stride=op.window_strides,
            base_dilation=op.lhs_dilation,
            window_dilation=op.rhs_dilation,
            reverse=op.window_reversal,
        ),
        groups=groups,
        by_batch=op.batch_group_count.value > 1,
        batch=result[dims.output_batch_dimension],
        inputs=rhs[dims.kernel_input_feature_dimension],
        outputs=rhs[dims.kernel_output_feature_dimension] // groups,
        dims=dims,
        accumulator=ir.F64Type.get() if is_wide else ir.F32Type.get(),
    )
