"""The speeds of products and convolutions as XLA:CPU compiles them.

XLA calls a library, or compiles loops where the library does not take the layout, the dimensions
or the groups. It copies operands into the layout that the library takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ..ir.values import shape_of
from . import cpu, roofline
from .flops import Matrices, bytes_of, kind_of, known_flops, matrices_of
from .rates import IS_OLD, Rates

_DOT_COPY = 5.0  # copying an element in the order of the copy, relative to a transpose
_ROW_START = 1.5  # adding a row to the result, relative to an op on a short row
_START_NS = 10_000.0  # starting the threads of the library for convolutions
_CALL_NS = 3_000.0  # calling that library without starting threads
_FEW_OUTPUTS = 10.0  # a multiply-add to one output, relative to one to 64, by 5x5 and more
_UNPACKED = 0.6  # its speed if it cannot pack inputs in fours, relative to one input a group


def copied_operands(op: ir.OpView) -> list[int]:
    """The elements of the operands, and of a result, that XLA copies for a library."""
    if isinstance(op, hlo.DotGeneralOp):
        return [copy.elements for copy in copies_for_dot(op)]
    return _Convolution.of(op).copied() if isinstance(op, hlo.ConvolutionOp) else []


def is_tiny_product(rows: int, columns: int, terms: int) -> bool:
    """Whether XLA calls a generic product for each matrix of a batch, which is slowest."""
    return 4 <= terms < 8 and 4 <= max(rows, columns) < 8 and min(rows, columns) > 1


def dot_ns(op: hlo.DotGeneralOp, rates: Rates) -> float:
    """The time of a product, in ns."""
    found = matrices_of(op)
    each = _across(op, rates, found)
    if each is None:
        each = _one_product(rates, found) + _packing(op, rates)
    ns = found.batch * each * _type_factor(op.result)
    copied = sum(copy.elements for copy in copies_for_dot(op))
    return ns + copied * _DOT_COPY * rates[cpu.TRANSPOSED]


def _packing(op: hlo.DotGeneralOp, rates: Rates) -> float:
    """What reading the left operand of a product across its rows takes, in ns.

    The library packs its elements for each row of the result, as (2048, 784) x (2048, 32) in 0.3 ns
    each; fewer of the rows fit into the cache if their addresses differ by a power of two.
    """
    numbers, shape = hlo.DotDimensionNumbers(op.dot_dimension_numbers), shape_of(op.lhs)
    if len(shape) != 2 or list(numbers.lhs_contracting_dimensions) != [0]:
        return 0.0
    distance = bytes_of(op.lhs.type) // max(shape[0], 1)
    if shape[0] * distance <= cpu.FIRST_CACHE:
        return 0.0
    competing = cpu.lines_in_sets(distance)
    most = cpu.PAGE // cpu.LINE
    return float(prod(shape) * rates[cpu.OF_COLUMNS] * (competing / most) ** 0.46)


def _across(op: hlo.DotGeneralOp, rates: Rates, matrices: Matrices) -> float | None:
    """The time of a product of a vector and a matrix, in ns, if no adjacent elements are summed.

    None for other products.
    """
    batch, rows, terms, columns = matrices
    if batch > 1 or max(rows, columns) == 1 or min(rows, columns) > 1:
        return None
    dims = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
    matrix, summed = op.rhs, dims.rhs_contracting_dimensions
    if columns == 1:
        matrix, summed = op.lhs, dims.lhs_contracting_dimensions
    if len(shape_of(matrix)) - 1 in summed:
        return None
    if columns == 1:
        return rows * terms * rates[cpu.OF_VECTOR_BY_COLUMNS]
    row: float = _ROW_START * rates[cpu.ROW_OP] + columns * rates[cpu.OF_VECTOR_BY_ROWS]
    return terms * row


class Copy(NamedTuple):
    """A copy of an operand with its dimensions in another order.

    Attributes:
        elements: of the operand.
        moves_last: whether elements adjacent in the copy are not adjacent in the operand.
    """

    elements: int
    moves_last: bool


def copies_for_dot(op: hlo.DotGeneralOp) -> list[Copy]:
    """The operands that XLA copies for a product.

    The copies have the batch dimensions first. The summed dimensions are the last of the left
    operand, and the next ones of the right operand.
    """
    numbers = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
    batching = numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions
    summed = numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions
    copies = []
    for side, value in enumerate((op.lhs, op.rhs)):
        rank, shared, added = len(shape_of(value)), list(batching[side]), list(summed[side])
        if _lies_as_matrices(rank, shared, added):
            continue
        free = [dim for dim in range(rank) if dim not in (*shared, *added)]
        inside = [*added, *free] if side else [*free, *added]
        copies.append(Copy(prod(shape_of(value)), [*shared, *inside][-1] != rank - 1))
    return copies


def _lies_as_matrices(rank: int, shared: Sequence[int], added: Sequence[int]) -> bool:
    """Whether an operand of a product lies in memory as matrices one after the other."""
    order = [dim in added for dim in range(rank) if dim not in shared]
    is_split = sum(a != b for a, b in pairwise(order)) > 1
    return not is_split and sorted(shared) == list(range(len(shared)))


def _one_product(rates: Rates, matrices: Matrices) -> float:
    batch, rows, terms, columns = matrices
    size, longest = rows * columns * terms, max(rows, columns)
    if is_tiny_product(rows, columns, terms):
        return rates[cpu.TINY_PRODUCT] if batch > 1 or longest > 4 else rates[cpu.SHORT_PRODUCT]
    if min(rows, columns) == 1:
        if terms * longest >= 1024 or batch == 1:
            return size * rates[cpu.OF_VECTOR]
        return size * rates[cpu.NAIVE] / 2
    if max(longest, terms) < 8:
        return size * rates[cpu.NAIVE]
    start = rates[cpu.SHORT_PRODUCT] if batch > 1 else 0.0
    if batch > 1 and size <= 1024:
        return start + size * rates[roofline.PRODUCT]
    if rows > columns and min(columns, terms) < 64:
        return start + size * rates[roofline.PRODUCT] + rows * _row_ns(rates, terms, columns)
    slower: float = max(1.0, 64 / min(rows, columns, terms)) ** 0.7
    return start + size * rates[roofline.PRODUCT] * slower


def _row_ns(rates: Rates, terms: int, columns: int) -> float:
    """The time that each row of a narrow product takes besides its multiply-adds, in ns."""
    row: float = rates[cpu.TALL_PRODUCT] * cpu.TALL_ROW
    if not IS_OLD:
        return row * (1.3 if columns % 8 else 0.5)
    if terms == 3:
        return row * min(1.0, 16 / columns)
    return row * (0.4 if terms % 4 else 0.2)


def _type_factor(value: ir.Value) -> float:
    return {"f64": 2.0, "bf16": 1.5, "f16": 1.5}.get(kind_of(value), 1.0)


def has_foreign_layout(op: hlo.ConvolutionOp) -> bool:
    """Whether XLA compiles plain loops for a convolution because of its layout.

    XLA transposes operands for the library in the entry computation, not in loops and branches.
    """
    if op.operation.parent.name == "func.func":
        return False
    dims = hlo.ConvDimensionNumbers(op.dimension_numbers)
    rank = len(dims.kernel_spatial_dimensions)
    image = [dims.input_batch_dimension, *dims.input_spatial_dimensions]
    window = [*dims.kernel_spatial_dimensions, dims.kernel_input_feature_dimension]
    result = [dims.output_batch_dimension, *dims.output_spatial_dimensions]
    return any(order != list(range(rank + 1)) for order in (image, window, result))


class _Convolution(NamedTuple):
    """What the time of a convolution depends on.

    Attributes:
        op: the convolution.
        dims: its dimension numbers.
        groups, batches: how many groups its features, or its images, are split into.
        inputs, outputs: features of the kernel.
        taps, pixels: positions in the window, and in the image.
        images: extent of the batch dimension of the image.
    """

    op: hlo.ConvolutionOp
    dims: hlo.ConvDimensionNumbers
    groups: int
    batches: int
    inputs: int
    outputs: int
    taps: int
    pixels: int
    images: int

    @classmethod
    def of(cls, op: hlo.ConvolutionOp) -> _Convolution:
        dims = hlo.ConvDimensionNumbers(op.dimension_numbers)
        image, kernel = shape_of(op.lhs), shape_of(op.rhs)
        return cls(
            op,
            dims,
            op.feature_group_count.value,
            op.batch_group_count.value,
            kernel[dims.kernel_input_feature_dimension],
            kernel[dims.kernel_output_feature_dimension],
            prod(kernel[dim] for dim in dims.kernel_spatial_dimensions),
            prod(image[dim] for dim in dims.input_spatial_dimensions),
            image[dims.input_batch_dimension],
        )

    @property
    def rank(self) -> int:
        """The number of spatial dimensions."""
        return len(self.dims.kernel_spatial_dimensions)

    @property
    def products(self) -> int:
        """Multiply-adds of one group, with those of padding and holes."""
        return prod(shape_of(self.op.result)) * self.taps * self.inputs

    @property
    def is_of_library(self) -> bool:
        """Whether it is of one group, and the library takes its dimensions."""
        rank, reversal = self.rank, self.op.window_reversal
        holes = self.op.lhs_dilation
        if rank > 3 or (rank == 3 and holes is not None and max(holes) > 1):
            return False
        if rank == 1 and kind_of(self.op.result) == "f64":
            return False
        if (reversal is not None and any(reversal)) or self.taps > self.pixels:
            return False
        if has_foreign_layout(self.op):
            return False
        return self.batches == 1 or max(self.images, self.outputs) == self.batches

    def copied(self) -> list[int]:
        """The elements of the operands and of the result that are not in the library's layout."""
        last = self.rank + 1
        dims, found = self.dims, []
        if self.groups > 1 or not self.is_of_library:
            return []
        image, result, kernel = map(shape_of, (self.op.lhs, self.op.result, self.op.rhs))
        if dims.input_feature_dimension < last and _moves(image, dims.input_feature_dimension):
            found.append(prod(image))
        if dims.output_feature_dimension < last and _moves(result, dims.output_feature_dimension):
            found.append(prod(result))
        if dims.kernel_input_feature_dimension > dims.kernel_output_feature_dimension and (
            sum(size > 1 for size in kernel) > 1
        ):
            found.append(prod(kernel))
        return found


def _moves(shape: Sequence[int], dim: int) -> bool:
    """Whether elements move if a dimension becomes the last."""
    return shape[dim] > 1 and prod(shape[dim + 1 :]) > 1


def convolution_ns(op: hlo.ConvolutionOp, rates: Rates) -> float:
    """The time of a convolution, in ns.

    With batch groups, XLA computes the convolution of each group with all others, and uses few of
    the results.
    """
    conv = _Convolution.of(op)
    factor = 2.0 if kind_of(op.result) == "f64" else 1.0
    inputs, outputs = conv.inputs, conv.outputs
    if conv.groups > 1:
        # The library packs 4 inputs of a group at a time, and adds to all its outputs at once.
        packed = inputs / 4 if inputs % 4 == 0 else _UNPACKED if inputs > 4 else 1.0
        alone = rates[roofline.DEPTHWISE_CONVOLUTION] * conv.groups / (outputs * packed)
        each = max(alone, rates[roofline.CONVOLUTION])
        return _START_NS + conv.products * each * factor
    if not conv.is_of_library:
        each = rates[cpu.GROUPED_BATCH if conv.batches > 1 else cpu.NAIVE_CONVOLUTION]
        met = conv.products if conv.rank > 2 else known_flops(op) / 2  # loops over holes as well
        return met * conv.batches * each
    each = rates[roofline.CONVOLUTION]
    if conv.rank > 2:
        each += rates[cpu.VOLUME_TAP] / outputs / (4 if inputs % 4 == 0 else 1)
    else:
        rows = prod(shape_of(op.result)) * conv.batches / outputs
        most = _FEW_OUTPUTS / (4 if inputs % 8 == 0 else 1)  # inputs are packed in fours
        few = 1 + min((16 / outputs) ** 1.5, most) + 16 / (inputs * conv.taps)
        few += 160 / (inputs * outputs) * min(1, 9 / conv.taps) + 140 / rows
        each *= few
    ns: float = conv.products * conv.batches * each * factor
    copies = sum(conv.copied()) * rates[cpu.TRANSPOSED] / cpu.CORES
    return min(_START_NS, _CALL_NS + ns) + ns + copies
