"""A window larger than the image: gradients by the kernel of a transposed convolution, mostly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import ConvDimensionNumbers, ConvolutionOp

from jxc.ir import build
from jxc.passes.convolution import cost as cost
from jxc.rewrite import reassociates, rule

from . import geometry
from .geometry import Axis, Convolution
from .window import backwards, pad


@rule(reassociates, targets=("cpu",), partitioned=False)
def wide_window_to_swapped_operands(op: ConvolutionOp) -> ir.Value | None:
    """conv(x, w) -> let y = reverse(conv(w, x)) in if finite(sum(y)) then y else conv(pad(x), w).

    Where w has more spatial elements than x, and each of them meets one of x. The two multiply
    different elements with zeros: one with those around x and between its elements, one with those
    around w. These products are zeros as long as all elements are finite; all are where y is.
    """
    conv = geometry.read(op, grouped=False)
    if conv is None or not _pays(conv):
        return None
    if not all(axis.stride == 1 and _is_met(axis) for axis in conv.axes):
        return None
    swapped = _swapped(op, conv)
    total = build.reduce_sum(build.convert(swapped, conv.accumulator), range(len(conv.axes) + 2))
    chosen = stablehlo.IfOp([op.result.type], stablehlo.is_finite(total))
    for region in chosen.regions:
        region.blocks.append()
    with ir.InsertionPoint(chosen.true_branch.blocks[0]):
        stablehlo.return_([swapped])
    with ir.InsertionPoint(chosen.false_branch.blocks[0]):
        stablehlo.return_([_padded_before(op, conv)])
    return chosen.result


def _pays(conv: Convolution) -> bool:
    bits = conv.accumulator.width
    return cost.library_takes(dimensions=len(conv.axes), bits=bits) and cost.swapped_operands_pay(
        taps=conv.taps,
        pixels=conv.pixels,
        positions=conv.positions,
        batch=conv.batch,
        inputs=conv.inputs,
        outputs=conv.outputs,
    )


def _is_met(axis: Axis) -> bool:
    """Whether each element of a window of stride 1 meets an element of the image somewhere."""
    place = np.arange(axis.window) * axis.rhs_dilation - axis.low
    first = np.clip(-(-place // axis.lhs_dilation), 0, axis.size - 1)
    position = first * axis.lhs_dilation - place
    return bool(np.all((position >= 0) & (position < axis.out)))


def _swapped(op: ConvolutionOp, conv: Convolution) -> ir.Value:
    """The window as the image and the image as the window, of which positions come backwards."""
    d, axes = conv.dims, conv.axes
    numbers = ConvDimensionNumbers.get(
        d.kernel_output_feature_dimension,
        d.kernel_input_feature_dimension,
        d.kernel_spatial_dimensions,
        d.input_feature_dimension,
        d.input_batch_dimension,
        d.input_spatial_dimensions,
        d.output_feature_dimension,
        d.output_batch_dimension,
        d.output_spatial_dimensions,
    )
    precision = op.precision_config
    made = stablehlo.convolution(
        op.result.type,
        backwards(op.rhs, d.kernel_spatial_dimensions, axes),
        op.lhs,
        numbers,
        1,
        1,
        padding=_pairs([_edges(axis) for axis in axes]),
        lhs_dilation=[axis.rhs_dilation for axis in axes],
        rhs_dilation=[axis.lhs_dilation for axis in axes],
        precision_config=None if precision is None else ir.ArrayAttr.get([*precision][::-1]),
    )
    return stablehlo.reverse(made, d.output_spatial_dimensions)


def _edges(axis: Axis) -> tuple[int, int]:
    """What the window is padded by so that the image goes over it from the last position on."""
    image = (axis.size - 1) * axis.lhs_dilation
    window = (axis.window - 1) * axis.rhs_dilation
    return axis.out - 1 - axis.low, axis.low + image - window


def _pairs(numbers: Sequence[tuple[int, int]]) -> ir.Attribute:
    return ir.DenseElementsAttr.get(np.array(numbers, np.int64))


def _padded_before(op: ConvolutionOp, conv: Convolution) -> ir.Value:
    """The convolution as it is, of an image that is padded: no window is wide on that."""
    return stablehlo.convolution(
        op.result.type,
        pad(op.lhs, conv.dims.input_spatial_dimensions, conv.axes),
        op.rhs,
        op.dimension_numbers,
        1,
        1,
        rhs_dilation=op.rhs_dilation,
        window_reversal=op.window_reversal,
        precision_config=op.precision_config,
    )
