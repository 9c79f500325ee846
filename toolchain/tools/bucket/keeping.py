"""For each kind of op: when row i of its results is made of row i of its operands alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from ...ir.values import shape_of


@dataclass(frozen=True)
class Rows:
    """Where rows are in a value.

    Attributes:
        dim: the dimension.
        each: how many of its indices, side by side, are one row.
        shape: of the value.
    """

    dim: int
    each: int
    shape: tuple[int, ...]

    @property
    def ahead(self) -> int:
        """How often all rows are there, one behind the other."""
        return prod(self.shape[: self.dim])

    @property
    def stride(self) -> int:
        """How many elements, side by side in memory, are of one row."""
        return self.each * prod(self.shape[self.dim + 1 :])


Given = Sequence[Rows | None]
Keeps = Callable[[Any, Given, Given], bool]
"""Asked only where every result has rows."""


def _elementwise(op: Any, given: Given, made: Given) -> bool:
    """Shapes are equal, so the rows lie in the same place; scalars have none."""
    return all(each is None or _is_alike(each, made[0]) for each in given)


def _is_alike(one: Rows | None, other: Rows | None) -> bool:
    return one is not None and other is not None and (one.dim, one.each) == (other.dim, other.each)


def _iota(op: Any, given: Given, made: Given) -> bool:
    return True  # counts from the first row


def _broadcast(op: stablehlo.BroadcastInDimOp, given: Given, made: Given) -> bool:
    if given[0] is None:
        return True
    dim = list(op.broadcast_dimensions)[given[0].dim]
    return made[0] is not None and (dim, given[0].each) == (made[0].dim, made[0].each)


def _reshape(op: Any, given: Given, made: Given) -> bool:
    """The elements stay in their order: rows as far apart, and all of them as often."""
    one, other = given[0], made[0]
    if one is None or other is None:
        return False
    return (one.ahead, one.stride) == (other.ahead, other.stride)


def _transpose(op: stablehlo.TransposeOp, given: Given, made: Given) -> bool:
    one, other = given[0], made[0]
    return one is not None and other is not None and list(op.permutation)[other.dim] == one.dim


def _slice(op: stablehlo.SliceOp, given: Given, made: Given) -> bool:
    return _is_whole(given[0], made[0])


def _is_whole(one: Rows | None, other: Rows | None) -> bool:
    """Whether a part of a value has all its rows, in the same dimension."""
    return _is_alike(one, other) and _extent(one) == _extent(other)


def _extent(rows: Rows | None) -> int:
    return 0 if rows is None else rows.shape[rows.dim]


def _dynamic_slice(op: Any, given: Given, made: Given) -> bool:
    return _is_whole(given[0], made[0]) and not any(given[1:])


def _dynamic_update_slice(op: Any, given: Given, made: Given) -> bool:
    whole = _is_whole(given[0], made[0]) and _is_whole(given[1], made[0])
    return whole and not any(given[2:])


def _pad(op: stablehlo.PadOp, given: Given, made: Given) -> bool:
    one = given[0]
    if one is None or given[1] is not None or not _is_alike(one, made[0]):
        return False
    sides = (op.edge_padding_low, op.edge_padding_high, op.interior_padding)
    return not any(list(side)[one.dim] for side in sides)


def _concatenate(op: stablehlo.ConcatenateOp, given: Given, made: Given) -> bool:
    return all(_is_whole(each, made[0]) and each.dim != _int(op.dimension) for each in given)  # type: ignore[union-attr]


def _int(attribute: Any) -> int:
    return ir.IntegerAttr(attribute).value


def _reverse(op: stablehlo.ReverseOp, given: Given, made: Given) -> bool:
    return given[0] is not None and given[0].dim not in list(op.dimensions)


def _reduce(op: stablehlo.ReduceOp, given: Given, made: Given) -> bool:
    count, over = len(op.results), list(op.dimensions)
    inputs, initial = given[:count], given[count:]
    if any(initial):
        return False
    for one, other in zip(inputs, made, strict=True):
        if one is None or other is None or one.dim in over or one.each != other.each:
            return False
        if one.dim - sum(dim < one.dim for dim in over) != other.dim:
            return False
    return True


def _reduce_window(op: stablehlo.ReduceWindowOp, given: Given, made: Given) -> bool:
    count = len(op.results)
    if any(given[count:]) or not all(_is_whole(g, m) for g, m in zip(given, made, strict=False)):
        return False
    dim = made[0].dim  # type: ignore[union-attr]
    named = (op.window_dimensions, op.window_strides, op.base_dilations, op.window_dilations)
    plain = all(each is None or list(each)[dim] == 1 for each in named)
    if not plain or "padding" not in op.attributes:
        return plain
    padding = ir.DenseIntElementsAttr(op.attributes["padding"])
    return padding[2 * dim] == padding[2 * dim + 1] == 0


def _dot(op: stablehlo.DotGeneralOp, given: Given, made: Given) -> bool:
    numbers = stablehlo.DotDimensionNumbers(op.dot_dimension_numbers)
    batch = [list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)]
    summed = [list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)]
    places = []
    for side, one in enumerate(given):
        if one is None:
            continue
        if one.dim in summed[side]:
            return False
        if one.dim in batch[side]:
            places.append((batch[side].index(one.dim), one.each))
            continue
        free = [dim for dim in range(len(one.shape)) if dim not in (*batch[side], *summed[side])]
        ahead = len(batch[0])
        if side:
            ahead += len(shape_of(op.operands[0])) - len(batch[0]) - len(summed[0])
        places.append((ahead + free.index(one.dim), one.each))
    expected = made[0]
    return expected is not None and all(each == (expected.dim, expected.each) for each in places)


def _convolution(op: stablehlo.ConvolutionOp, given: Given, made: Given) -> bool:
    numbers = stablehlo.ConvDimensionNumbers(op.dimension_numbers)
    one, other = given[0], made[0]
    if one is None or other is None or given[1] is not None or _int(op.batch_group_count) != 1:
        return False
    dims = (numbers.input_batch_dimension, numbers.output_batch_dimension)
    return (one.dim, other.dim) == dims and one.each == other.each


def _sort(op: stablehlo.SortOp, given: Given, made: Given) -> bool:
    dim = _int(op.dimension) if op.dimension is not None else len(shape_of(op.results[0])) - 1
    return all(_is_alike(g, m) and g.dim != dim for g, m in zip(given, made, strict=True))  # type: ignore[union-attr]


def _ahead_of_last(count: int) -> Keeps:
    """Of ops that work on the last `count` dimensions, for all others alike."""

    def keeps(op: Any, given: Given, made: Given) -> bool:
        found = [each for each in (*given, *made) if each is not None]
        ahead = all(each.dim < len(each.shape) - count for each in found)
        return ahead and all(_is_alike(each, made[0]) for each in found)

    return keeps


def _fft(op: stablehlo.FftOp, given: Given, made: Given) -> bool:
    return _ahead_of_last(len(list(op.fft_length)))(op, given, made)


def _gather(op: stablehlo.GatherOp, given: Given, made: Given) -> bool:
    numbers = stablehlo.GatherDimensionNumbers(op.dimension_numbers)
    operand, indices = given
    result = made[0]
    if result is None:
        return False
    offset = list(numbers.offset_dims)
    batch = [dim for dim in range(len(result.shape)) if dim not in offset]
    if indices is None:
        return _gathers_whole(op, numbers, operand, result)
    vector = numbers.index_vector_dim
    places = [dim for dim in range(len(indices.shape)) if dim != vector]
    if indices.dim not in places or result.dim not in batch or indices.each != result.each:
        return False
    if places.index(indices.dim) != batch.index(result.dim):
        return False
    if operand is None:  # rows of a table that is the same for all
        return True
    theirs = list(numbers.operand_batching_dims)
    mine = list(numbers.start_indices_batching_dims)
    is_batched = operand.dim in theirs and mine[theirs.index(operand.dim)] == indices.dim
    return is_batched and operand.each == result.each


def _gathers_whole(
    op: stablehlo.GatherOp, numbers: Any, operand: Rows | None, result: Rows
) -> bool:
    """Whether what is gathered has all rows, whatever the indices are."""
    if operand is None:
        return False
    gone = [*numbers.collapsed_slice_dims, *numbers.operand_batching_dims]
    kept = [dim for dim in range(len(operand.shape)) if dim not in gone]
    if operand.dim not in kept or list(op.slice_sizes)[operand.dim] != _extent(operand):
        return False
    place = list(numbers.offset_dims)[kept.index(operand.dim)]
    return (place, operand.each) == (result.dim, result.each)


_ELEMENTWISE = (
    *(
        "abs",
        "add",
        "and",
        "atan2",
        "bitcast_convert",
        "cbrt",
        "ceil",
        "clamp",
        "compare",
        "complex",
        "convert",
    ),
    *("cosine", "count_leading_zeros", "divide", "exponential", "exponential_minus_one", "floor"),
    *("imag", "is_finite", "log", "log_plus_one", "logistic", "maximum", "minimum", "multiply"),
    *("negate", "not", "or", "popcnt", "power", "real", "reduce_precision", "remainder"),
    *("round_nearest_afz", "round_nearest_even", "rsqrt", "select", "shift_left"),
    *("shift_right_arithmetic", "shift_right_logical", "sign", "sine", "sqrt", "subtract", "tan"),
    *("tanh", "xor"),
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "conj", "cosh", "digamma"),
    *("erf", "erf_inv", "erfc", "is_inf", "is_neg_inf", "is_pos_inf", "lgamma", "next_after"),
    *("polygamma", "sinh", "square", "zeta"),
)

KEEPS: dict[str, Keeps] = {
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
"""By name, without the dialect. What is not here is refused where it has rows."""
