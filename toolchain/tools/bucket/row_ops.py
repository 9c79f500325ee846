"""For each kind of op: whether row i of its results depends on row i of its operands alone.

`RowLayout` says where the rows are in a value. A function here takes an op and the layouts of its
operands and results, None for a value without rows, and returns whether the op keeps rows apart. It
is called only if every result has rows. Ops that are not in `KEEPS_ROWS` are taken to mix rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ...ir.values import shape_of


@dataclass(frozen=True)
class RowLayout:
    """Where the rows are in a value.

    Attributes:
        dim: the dimension of the rows.
        width: how many consecutive indices of that dimension are one row.
        shape: of the value.
    """

    dim: int
    width: int
    shape: tuple[int, ...]

    @property
    def repeats(self) -> int:
        """How often the sequence of all rows occurs in memory, one after the other."""
        return prod(self.shape[: self.dim])

    @property
    def stride(self) -> int:
        """How many consecutive elements in memory belong to one row."""
        return self.width * prod(self.shape[self.dim + 1 :])


Layouts = Sequence[RowLayout | None]
KeepsRows = Callable[[Any, Layouts, Layouts], bool]


def _elementwise(op: Any, operands: Layouts, results: Layouts) -> bool:
    """All shapes are equal, so rows must have one layout; scalars have none."""
    return all(each is None or _is_alike(each, results[0]) for each in operands)


def _is_alike(one: RowLayout | None, other: RowLayout | None) -> bool:
    return (
        one is not None and other is not None and (one.dim, one.width) == (other.dim, other.width)
    )


def _iota(op: Any, operands: Layouts, results: Layouts) -> bool:
    return True  # row i holds i, whatever rows follow


def _broadcast(op: hlo.BroadcastInDimOp, operands: Layouts, results: Layouts) -> bool:
    if operands[0] is None:
        return True
    dim = list(op.broadcast_dimensions)[operands[0].dim]
    return results[0] is not None and (dim, operands[0].width) == (results[0].dim, results[0].width)


def _reshape(op: Any, operands: Layouts, results: Layouts) -> bool:
    """Elements keep their order, so rows must keep their stride and their number of repeats."""
    one, other = operands[0], results[0]
    if one is None or other is None:
        return False
    return (one.repeats, one.stride) == (other.repeats, other.stride)


def _transpose(op: hlo.TransposeOp, operands: Layouts, results: Layouts) -> bool:
    one, other = operands[0], results[0]
    return one is not None and other is not None and list(op.permutation)[other.dim] == one.dim


def _slice(op: hlo.SliceOp, operands: Layouts, results: Layouts) -> bool:
    return _is_whole(operands[0], results[0])


def _is_whole(one: RowLayout | None, other: RowLayout | None) -> bool:
    """Whether one value has all rows of the other, in the same dimension."""
    return _is_alike(one, other) and _extent(one) == _extent(other)


def _extent(rows: RowLayout | None) -> int:
    return 0 if rows is None else rows.shape[rows.dim]


def _dynamic_slice(op: Any, operands: Layouts, results: Layouts) -> bool:
    return _is_whole(operands[0], results[0]) and not any(operands[1:])


def _dynamic_update_slice(op: Any, operands: Layouts, results: Layouts) -> bool:
    whole = _is_whole(operands[0], results[0]) and _is_whole(operands[1], results[0])
    return whole and not any(operands[2:])


def _pad(op: hlo.PadOp, operands: Layouts, results: Layouts) -> bool:
    one = operands[0]
    if one is None or operands[1] is not None or not _is_alike(one, results[0]):
        return False
    sides = (op.edge_padding_low, op.edge_padding_high, op.interior_padding)
    return not any(list(side)[one.dim] for side in sides)


def _concatenate(op: hlo.ConcatenateOp, operands: Layouts, results: Layouts) -> bool:
    return all(_is_whole(each, results[0]) and each.dim != _int(op.dimension) for each in operands)  # type: ignore[union-attr]


def _int(attribute: Any) -> int:
    return int(ir.IntegerAttr(attribute).value)


def _reverse(op: hlo.ReverseOp, operands: Layouts, results: Layouts) -> bool:
    return operands[0] is not None and operands[0].dim not in list(op.dimensions)


def _reduce(op: hlo.ReduceOp, operands: Layouts, results: Layouts) -> bool:
    count, over = len(op.results), list(op.dimensions)
    inputs, initial = operands[:count], operands[count:]
    if any(initial):
        return False
    for one, other in zip(inputs, results, strict=True):
        if one is None or other is None or one.dim in over or one.width != other.width:
            return False
        if one.dim - sum(dim < one.dim for dim in over) != other.dim:
            return False
    return True


def _reduce_window(op: hlo.ReduceWindowOp, operands: Layouts, results: Layouts) -> bool:
    count = len(op.results)
    if any(operands[count:]) or not all(map(_is_whole, operands, results)):
        return False
    dim = results[0].dim  # type: ignore[union-attr]
    named = (op.window_dimensions, op.window_strides, op.base_dilations, op.window_dilations)
    plain = all(each is None or list(each)[dim] == 1 for each in named)
    if not plain or "padding" not in op.attributes:
        return plain
    padding = ir.DenseIntElementsAttr(op.attributes["padding"])
    return bool(padding[2 * dim] == padding[2 * dim + 1] == 0)


def _dot(op: hlo.DotGeneralOp, operands: Layouts, results: Layouts) -> bool:
    numbers = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
    batch = [list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)]
    summed = [list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)]
    positions = []
    for side, one in enumerate(operands):
        if one is None:
            continue
        if one.dim in summed[side]:
            return False
        if one.dim in batch[side]:
            positions.append((batch[side].index(one.dim), one.width))
            continue
        free = [dim for dim in range(len(one.shape)) if dim not in (*batch[side], *summed[side])]
        ahead = len(batch[0])
        if side:
            ahead += len(shape_of(op.operands[0])) - len(batch[0]) - len(summed[0])
        positions.append((ahead + free.index(one.dim), one.width))
    expected = results[0]
    return expected is not None and all(
        each == (expected.dim, expected.width) for each in positions
    )


def _convolution(op: hlo.ConvolutionOp, operands: Layouts, results: Layouts) -> bool:
    numbers = hlo.ConvDimensionNumbers(op.dimension_numbers)
    one, other = operands[0], results[0]
    if one is None or other is None or operands[1] is not None or _int(op.batch_group_count) != 1:
        return False
    dims = (numbers.input_batch_dimension, numbers.output_batch_dimension)
    return (one.dim, other.dim) == dims and one.width == other.width


def _sort(op: hlo.SortOp, operands: Layouts, results: Layouts) -> bool:
    dim = _int(op.dimension) if op.dimension is not None else len(shape_of(op.results[0])) - 1
    return all(_is_alike(g, m) and g.dim != dim for g, m in zip(operands, results, strict=True))  # type: ignore[union-attr]


def _ahead_of_last(count: int) -> KeepsRows:
    """For ops that work on the last `count` dimensions, and for all others independently."""

    def keeps(op: Any, operands: Layouts, results: Layouts) -> bool:
        found = [each for each in (*operands, *results) if each is not None]
        ahead = all(each.dim < len(each.shape) - count for each in found)
        return ahead and all(_is_alike(each, results[0]) for each in found)

    return keeps


def _fft(op: hlo.FftOp, operands: Layouts, results: Layouts) -> bool:
    return _ahead_of_last(len(list(op.fft_length)))(op, operands, results)


def _gather(op: hlo.GatherOp, operands: Layouts, results: Layouts) -> bool:
    numbers = hlo.GatherDimensionNumbers(op.dimension_numbers)
    operand, indices = operands
    result = results[0]
    if result is None:
        return False
    offset = list(numbers.offset_dims)
    batch = [dim for dim in range(len(result.shape)) if dim not in offset]
    if indices is None:
        return _gathers_whole(op, numbers, operand, result)
    vector = numbers.index_vector_dim
    index_dims = [dim for dim in range(len(indices.shape)) if dim != vector]
    if indices.dim not in index_dims or result.dim not in batch or indices.width != result.width:
        return False
    if index_dims.index(indices.dim) != batch.index(result.dim):
        return False
    if operand is None:  # a table without rows: each index looks up its own
        return True
    operand_dims = list(numbers.operand_batching_dims)
    index_batch_dims = list(numbers.start_indices_batching_dims)
    pairs = zip(operand_dims, index_batch_dims, strict=True)
    return (operand.dim, indices.dim) in pairs and operand.width == result.width


def _gathers_whole(
    op: hlo.GatherOp, numbers: Any, operand: RowLayout | None, result: RowLayout
) -> bool:
    """Whether each gathered slice has all rows, whatever the indices are."""
    if operand is None:
        return False
    gone = [*numbers.collapsed_slice_dims, *numbers.operand_batching_dims]
    kept = [dim for dim in range(len(operand.shape)) if dim not in gone]
    if operand.dim not in kept or list(op.slice_sizes)[operand.dim] != _extent(operand):
        return False
    result_dim = list(numbers.offset_dims)[kept.index(operand.dim)]
    return (result_dim, operand.width) == (result.dim, result.width)


_ELEMENTWISE = """
    abs acos acosh add and asin asinh atan atan2 atanh bessel_i1e bitcast_convert cbrt ceil
    clamp compare complex conj convert cosh cosine count_leading_zeros digamma divide erf
    erf_inv erfc exponential exponential_minus_one floor imag is_finite is_inf is_neg_inf
    is_pos_inf lgamma log log_plus_one logistic maximum minimum multiply negate next_after not
    or polygamma popcnt power real reduce_precision remainder round_nearest_afz
    round_nearest_even rsqrt select shift_left shift_right_arithmetic shift_right_logical sign
    sine sinh sqrt square subtract tan tanh xor zeta
""".split()  # noqa: SIM905 - readable as a text

KEEPS_ROWS: dict[str, KeepsRows] = {
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    "broadcast_in_dim": _broadcast,
    "cholesky": _ahead_of_last(2),
    "concatenate": _concatenate,
    "convolution": _convolution,
    "dot_general": _dot,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "fft": _fft,
    "gather": _gather,
    "iota": _iota,
    "pad": _pad,
    "reduce": _reduce,
    "reduce_window": _reduce_window,
    "reshape": _reshape,
    "reverse": _reverse,
    "slice": _slice,
    "sort": _sort,
    "top_k": _ahead_of_last(1),
    "transpose": _transpose,
    "triangular_solve": _ahead_of_last(2),
}
"""By the name of the op, without the dialect."""
