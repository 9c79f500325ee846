"""The cost of a StableHLO op on any machine: flops and memory traffic.

Used to rank ops and to decide how a program is checked, not to predict its time: fusion saves
traffic that is counted here. `cost.formulas` has the formulas; this file reads what they need from
an op, and adds up regions. A `while` counts as often as it runs where its trip count is known.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ..ir.bounds import trip_count
from ..ir.module import ops_of
from .formulas import ConvolutionDims, Dimensions, OpDescription, Window, flops_of_op


class OpCost(NamedTuple):
    """The cost of running an op once.

    Attributes:
        flops: additions, multiplications and comparisons; None where they are not known.
        bytes: memory read and written, if each operand and result passes through memory once.
    """

    flops: int | None
    bytes: int

    @property
    def intensity(self) -> float:
        """Flops per byte; 0.0 where there is no traffic or the flops are not known."""
        return (self.flops or 0) / self.bytes if self.bytes else 0.0


def cost_of(op: ir.OpView) -> OpCost | None:
    """The cost of one op; None where it has none of its own or its shapes are dynamic.

    The flops of a `custom_call`, a `composite` and any op without a formula are not known. A
    constant is counted with the ops that read it. Calls are not followed: inline first. A `while`
    costs its trip count times its body, or one iteration where the trip count is not known; `if`
    and `case` cost their costliest branch.
    """
    name = op.operation.name.removeprefix("stablehlo.").removeprefix("chlo.")
    if name == "while":
        return _loop(op)
    if name in ("if", "case"):
        return max(map(total_of, op.regions), key=lambda cost: (cost.flops or 0, cost.bytes))
    types = [value.type for value in (*op.operands, *op.results)]
    is_static = all(t.has_static_shape for t in types if isinstance(t, ir.RankedTensorType))
    if not op.results or name in ("func.call", "constant") or not is_static:
        return None
    return OpCost(flops_of_op(_described(name, op)), _traffic(name, op))


def known_flops(op: ir.OpView) -> int:
    """The flops of one op; 0 where they are not known."""
    cost = cost_of(op)
    return 0 if cost is None else cost.flops or 0


class Matrices(NamedTuple):
    """The matrices that a `dot_general` multiplies: `batch` products, each of these extents."""

    batch: int
    rows: int
    terms: int
    columns: int


def matrices_of(op: hlo.DotGeneralOp) -> Matrices:
    """The matrices of a product of static shapes."""
    numbers = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
    left, right = (ir.RankedTensorType(value.type).shape for value in (op.lhs, op.rhs))
    batch = math.prod(left[dim] for dim in numbers.lhs_batching_dimensions)
    terms = math.prod(left[dim] for dim in numbers.lhs_contracting_dimensions)
    shared = max(batch * terms, 1)
    return Matrices(batch, math.prod(left) // shared, terms, math.prod(right) // shared)


def total_of(region: ir.Region) -> OpCost:
    """The sum over the ops of a region; ops of unknown flops add none."""
    found = [cost_of(op) for block in region.blocks for op in block.operations]
    costs = [cost for cost in found if cost is not None]
    return OpCost(sum(cost.flops or 0 for cost in costs), sum(cost.bytes for cost in costs))


def _loop(op: ir.OpView) -> OpCost:
    trips = trip_count(op)
    condition, body = map(total_of, op.regions)
    tests = 1 if trips is None else trips + 1  # the last test ends the loop
    trips = 1 if trips is None else trips
    flops = tests * (condition.flops or 0) + trips * (body.flops or 0)
    return OpCost(flops, tests * condition.bytes + trips * body.bytes)


def elements_of(kind: ir.Type) -> int:
    """How many elements a ranked tensor of static shape has."""
    return math.prod(ir.RankedTensorType(kind).shape)


def bytes_of(kind: ir.Type) -> int:
    """The size of a tensor, packed: booleans take a byte, i4 half of one; 0 if it is not known."""
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return 0
    return math.ceil(elements_of(kind) * _bits(kind.element_type) / 8)


def _bits(element: ir.Type) -> int:
    if isinstance(element, ir.ComplexType):
        return 2 * _bits(element.element_type)
    width = getattr(element, "width", 32)
    return max(8, width) if width == 1 else width


def _traffic(name: str, op: ir.OpView) -> int:
    """The bytes that an op reads and writes."""
    operands = [bytes_of(value.type) for value in op.operands]
    results = sum(bytes_of(value.type) for value in op.results)
    match name:
        case "slice" | "dynamic_slice":  # reads only the elements of its result
            return 2 * results
        case "gather":  # reads its indices too
            return 2 * results + operands[1]
        case "dynamic_update_slice":  # XLA updates the operand in place where it can
            return 2 * operands[1]
        case "scatter":  # reads and writes as many elements of its inputs as there are updates
            inputs = len(op.results)
            return operands[inputs] + 3 * sum(operands[inputs + 1 :])
    return sum(operands) + results


# The description of an op


def _described(name: str, op: ir.OpView) -> OpDescription:
    """The description of an op for the formulas of flops."""
    blocks = op.regions[0].blocks if len(op.regions) else ()
    body = [each.operation.name for block in blocks for each in ops_of(block)]
    dimensions: list[int] = []
    if name == "dot_general":
        numbers = hlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
        dimensions = list(numbers.lhs_contracting_dimensions)
    elif name == "sort":
        dimensions = [op.attributes["dimension"].value if "dimension" in op.attributes else -1]
    return OpDescription(
        name,
        [_dimensions(value.type) for value in op.operands],
        [_dimensions(value.type) for value in op.results],
        body_ops=max(sum(each != "stablehlo.constant" for each in body), 1),
        dimensions=dimensions,
        lengths=_numbers(op, "fft_length"),
        window=_window(name, op),
        convolution=_convolution_dims(op) if name == "convolution" else None,
    )


def _dimensions(kind: ir.Type) -> Dimensions:
    if not isinstance(kind, ir.RankedTensorType):
        return Dimensions(())
    return Dimensions(tuple(kind.shape), isinstance(kind.element_type, ir.ComplexType))


def _numbers(op: ir.OpView, name: str) -> list[int]:
    return list(ir.DenseI64ArrayAttr(op.attributes[name])) if name in op.attributes else []


def _window(name: str, op: ir.OpView) -> list[Window]:
    """The window of an op, one for each dimension; absent attributes have StableHLO's defaults."""
    sizes = _numbers(op, "window_dimensions")
    if name == "convolution":
        kernel = ir.RankedTensorType(op.operands[1].type).shape
        dims = hlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
        sizes = [kernel[dim] for dim in dims.kernel_spatial_dimensions]
    ones = [1] * len(sizes)
    low = [0] * len(sizes)
    if "padding" in op.attributes and sizes:
        padding = np.array(ir.DenseIntElementsAttr(op.attributes["padding"]))
        low = padding.reshape(-1, 2)[:, 0].tolist()
    base, window = ("lhs_dilation", "rhs_dilation")
    if name == "reduce_window":
        base, window = ("base_dilations", "window_dilations")
    rows = (_numbers(op, "window_strides") or ones, low, _numbers(op, base) or ones)
    return [Window(*row) for row in zip(sizes, *rows, _numbers(op, window) or ones, strict=True)]


def _convolution_dims(op: ir.OpView) -> ConvolutionDims:
    dims = hlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    return ConvolutionDims(
        input_spatial=list(dims.input_spatial_dimensions),
        kernel_input_features=dims.kernel_input_feature_dimension,
        output_batch=dims.output_batch_dimension,
        output_features=dims.output_feature_dimension,
        output_spatial=list(dims.output_spatial_dimensions),
    )


def kind_of(value: ir.Value) -> str:
    """The element type of a tensor, as text."""
    return str(value.type.element_type)
