"""For each kind of op: whether row i of its results depends on row i of its operands alone.

`RowLayout` says where the rows are in a value. For each op in `_RESULT_DIMS`, a function maps the
dimension of the rows in an operand to that of the rows in the results. The op keeps rows apart if
every operand with rows is mapped to where the results have them. Other ops are taken to mix rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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
    """

    dim: int
    width: int


Layouts = Sequence[RowLayout | None]

ResultDim = Callable[[Any, int, int], int | None]
"""Called with an op, the number of an operand, and the dimension of its rows: the dimension of the
results that holds these rows; None if the op combines several rows."""


def keeps_rows(op: ir.OpView, operands: Layouts, results: Layouts) -> bool | None:
    """Whether row i of the results depends on row i of the operands alone.

    Args:
        op: the op.
        operands, results: the layout of each; None for an operand without rows. All results have
            rows.

    Returns:
        None if the op is not in the table.
    """
    name = op.operation.name.removeprefix("stablehlo.").removeprefix("chlo.")
    result_dim = _RESULT_DIMS.get(name)
    if result_dim is None:
        return None
    if not any(operands):
        return name in ("iota", "broadcast_in_dim")  # all rows are equal, or row i holds i
    if name == "reshape":
        return _in_memory(op.operands[0], operands[0]) == _in_memory(op.results[0], results[0])
    mapped = [
        (result_dim(op, index, rows.dim), rows.width) for index, rows in enumerate(operands) if rows
    ]
    return all((rows.dim, rows.width) == each for rows in results if rows for each in mapped)


def _in_memory(value: ir.Value, rows: RowLayout | None) -> tuple[int, int]:
    """How often the sequence of all rows repeats in memory, and the elements of one row there.

    A reshape keeps the order of elements, so it keeps rows apart if it keeps these two numbers.
    """
    assert rows, "the operand and the result of a reshape have rows"
    shape = shape_of(value)
    return prod(shape[: rows.dim]), rows.width * prod(shape[rows.dim + 1 :])


def _pad(op: hlo.PadOp, index: int, dim: int) -> int | None:
    sides = (op.edge_padding_low, op.edge_padding_high, op.interior_padding)
    return None if any(side[dim] for side in sides) else dim


def _other_than_dimension(op: hlo.ConcatenateOp | hlo.SortOp, index: int, dim: int) -> int | None:
    along = -1 if op.dimension is None else int(ir.IntegerAttr(op.dimension).value)
    return None if dim == along % len(shape_of(op.results[0])) else dim


def _reduce_window(op: hlo.ReduceWindowOp, index: int, dim: int) -> int | None:
    sizes = (op.window_dimensions, op.window_strides, op.base_dilations, op.window_dilations)
    if any(each is not None and each[dim] != 1 for each in sizes):
        return None
    if "padding" not in op.attributes:
        return dim
    padding = ir.DenseIntElementsAttr(op.attributes["padding"])
    return dim if padding[2 * dim] == padding[2 * dim + 1] == 0 else None


def _dot(op: hlo.DotGeneralOp, index: int, dim: int) -> int | None:
    """The results have the batch dimensions, then the free ones of the lhs, then of the rhs."""
    numbers = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
    batch = [list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)]
    summed = [list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)]
    if dim in batch[index]:
        return batch[index].index(dim)
    free = [
        [d for d in range(len(shape_of(operand))) if d not in (*batch[side], *summed[side])]
        for side, operand in enumerate(op.operands)
    ]
    if dim not in free[index]:
        return None
    return len(batch[0]) + index * len(free[0]) + free[index].index(dim)


def _convolution(op: hlo.ConvolutionOp, index: int, dim: int) -> int | None:
    numbers = hlo.ConvDimensionNumbers(op.dimension_numbers)
    is_batch = index == 0 and dim == numbers.input_batch_dimension
    if not is_batch or ir.IntegerAttr(op.batch_group_count).value != 1:
        return None
    return int(numbers.output_batch_dimension)


def _ahead_of_last(count: int, op: Any, index: int, dim: int) -> int | None:
    """For ops that work on the last `count` dimensions, and for all others independently."""
    return dim if dim < len(shape_of(op.operands[index])) - count else None


def _gather(op: hlo.GatherOp, index: int, dim: int) -> int | None:
    """Each row of the indices looks up its own row of the results; a table needs no rows.

    Rows of the operand are kept in a dimension that it shares with the indices, or if each slice
    has all of them.
    """
    numbers = hlo.GatherDimensionNumbers(op.dimension_numbers)
    offset, shared = list(numbers.offset_dims), list(numbers.operand_batching_dims)
    if index == 0 and dim in shared:
        index, dim = 1, list(numbers.start_indices_batching_dims)[shared.index(dim)]
    if index == 1:
        rank = len(shape_of(op.start_indices))
        looked_up = [each for each in range(rank) if each != numbers.index_vector_dim]
        batch = [each for each in range(len(shape_of(op.result))) if each not in offset]
        return batch[looked_up.index(dim)] if dim in looked_up else None
    shape = shape_of(op.operand)
    gone = [*numbers.collapsed_slice_dims, *shared]
    kept = [each for each in range(len(shape)) if each not in gone]
    return offset[kept.index(dim)] if dim in kept and op.slice_sizes[dim] == shape[dim] else None


_UNMOVED = """
    abs acos acosh add and asin asinh atan atan2 atanh bessel_i1e bitcast_convert cbrt ceil
    clamp compare complex conj convert cosh cosine count_leading_zeros digamma divide erf
    erf_inv erfc exponential exponential_minus_one floor imag is_finite is_inf is_neg_inf
    is_pos_inf lgamma log log_plus_one logistic maximum minimum multiply negate next_after not
    or polygamma popcnt power real reduce_precision remainder round_nearest_afz
    round_nearest_even rsqrt select shift_left shift_right_arithmetic shift_right_logical sign
    sine sinh sqrt square subtract tan tanh xor zeta

    iota slice dynamic_slice reshape
""".split()  # noqa: SIM905 - readable as a text
"""Elementwise ops, and others whose results have all rows if the dimension has the same size. A
reshape may also move the rows to another dimension: `keeps_rows` decides."""

_RESULT_DIMS: dict[str, ResultDim] = {
    **dict.fromkeys(_UNMOVED, lambda op, index, dim: dim),
    "broadcast_in_dim": lambda op, index, dim: op.broadcast_dimensions[dim],
    "cholesky": partial(_ahead_of_last, 2),
    "concatenate": _other_than_dimension,
    "convolution": _convolution,
    "dot_general": _dot,
    "dynamic_update_slice": lambda op, index, dim: (
        dim if shape_of(op.update)[dim] == shape_of(op.operand)[dim] else None
    ),
    "fft": lambda op, index, dim: _ahead_of_last(len(list(op.fft_length)), op, index, dim),
    "gather": _gather,
    "pad": _pad,
    "reduce": lambda op, index, dim: (
        None if dim in list(op.dimensions) else dim - sum(each < dim for each in op.dimensions)
    ),
    "reduce_window": _reduce_window,
    "reverse": lambda op, index, dim: None if dim in list(op.dimensions) else dim,
    "sort": _other_than_dimension,
    "top_k": partial(_ahead_of_last, 1),
    "transpose": lambda op, index, dim: list(op.permutation).index(dim),
    "triangular_solve": partial(_ahead_of_last, 2),
}
"""By the name of the op, without the dialect."""
