"""Rules for products, convolutions, gathers and scatters of which an operand is split.

A product that contracts the batch gives summands, and so does a scatter of the batch into
zeros, which is the gradient of an embedding. A gather or scatter may read the rows of the batch
only at its own row: along batching dimensions, or where its indices count the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import shape_of

from .._shared.dot import sides_of
from .rows import has_row_numbers
from .states import (
    SAME,
    CannotSplit,
    OpPlan,
    Parted,
    Partial,
    Plain,
    Rule,
    State,
    is_neutral,
    the_dim,
)


def _dot(op: hlo.DotGeneralOp, states: Sequence[State], parts: int) -> OpPlan:
    sides, ranks = sides_of(op), [len(shape_of(value)) for value in op.operands]
    for at, state in enumerate(states):
        if not isinstance(state, Parted):
            continue
        side, other, theirs = sides[at], sides[1 - at], states[1 - at]
        both = enumerate(zip(side.batch, other.batch, strict=True))
        pairs: list[tuple[int, int, State]] = [(d, e, Parted(i)) for i, (d, e) in both]
        pairs += [(d, e, Partial("add")) for d, e in zip(side.summed, other.summed, strict=True)]
        for mine, yours, result in pairs:
            if state.dim == mine:
                if isinstance(theirs, Parted) and theirs.dim != yours:
                    raise CannotSplit(
                        "it multiplies each example by each other example of the batch"
                    )
                forms = (state, Parted(yours)) if at == 0 else (Parted(yours), state)
                return OpPlan(forms, (result,))
        if isinstance(theirs, Parted):
            raise CannotSplit("it multiplies each example by each other example of the batch")
        to = len(side.batch) + side.free(ranks[at]).index(state.dim)
        to += len(sides[0].free(ranks[0])) if at == 1 else 0
        return OpPlan((state, SAME) if at == 0 else (SAME, state), (Parted(to),))
    raise CannotSplit("no operand is split")


def _convolution(op: hlo.ConvolutionOp, states: Sequence[State], parts: int) -> OpPlan:
    dims = hlo.ConvDimensionNumbers(op.dimension_numbers)
    lhs, rhs = (each.dim if isinstance(each, Parted) else None for each in states)
    features, batches = op.feature_group_count.value, op.batch_group_count.value
    batch, feature = dims.input_batch_dimension, dims.input_feature_dimension
    inner, outer = dims.kernel_input_feature_dimension, dims.kernel_output_feature_dimension
    if lhs == batch and rhs is None and batches == 1:
        return OpPlan((Parted(batch), SAME), (Parted(dims.output_batch_dimension),))
    if features == 1 and lhs in (feature, None) and rhs in (inner, None):
        return OpPlan((Parted(feature), Parted(inner)), (Partial("add"),))
    if lhs is None and rhs == outer and features == batches == 1:
        return OpPlan((SAME, Parted(outer)), (Parted(dims.output_feature_dimension),))
    if rhs in (outer, None) and lhs == feature and features > 1 and features % parts == 0:
        return OpPlan((Parted(feature), Parted(outer)), (Parted(dims.output_feature_dimension),))
    raise CannotSplit("the convolution mixes the examples of the batch")


def _kept(rank: int, without: Sequence[int]) -> list[int]:
    return [dim for dim in range(rank) if dim not in without]


def _gather(op: hlo.GatherOp, states: Sequence[State], parts: int) -> OpPlan:
    dims = hlo.GatherDimensionNumbers(op.dimension_numbers)
    indices, shape = op.start_indices, shape_of(op.operand)
    rows = _kept(len(shape_of(indices)), [dims.index_vector_dim])
    places = _kept(len(shape_of(op.result)), dims.offset_dims)

    def by_row(dim: int, index: int, position: int | None = None) -> OpPlan:
        if isinstance(states[1], Parted) and states[1].dim != index:
            raise CannotSplit("its indices are of other examples of the batch")
        return OpPlan((Parted(dim), Parted(index)), (Parted(places[rows.index(index)]),), position)

    if not isinstance(states[0], Parted):
        index = the_dim(states)
        if index == dims.index_vector_dim:
            raise CannotSplit("the batch is a dimension of its index vectors")
        if index in (batching := list(dims.start_indices_batching_dims)):
            return by_row(list(dims.operand_batching_dims)[batching.index(index)], index)
        return OpPlan((SAME, Parted(index)), (Parted(places[rows.index(index)]),))
    dim = states[0].dim
    if dim in (batching := list(dims.operand_batching_dims)):
        return by_row(dim, list(dims.start_indices_batching_dims)[batching.index(dim)])
    if dim not in dims.collapsed_slice_dims and op.slice_sizes[dim] == shape[dim]:
        if isinstance(states[1], Parted):
            raise CannotSplit("it reads every example of the batch at each index")
        kept = _kept(len(shape), [*dims.collapsed_slice_dims, *dims.operand_batching_dims])
        return OpPlan((Parted(dim), SAME), (Parted(list(dims.offset_dims)[kept.index(dim)]),))
    return by_row(dim, *_own_row(indices, dim, shape[dim], list(dims.start_index_map), dims, rows))


def _own_row(
    indices: ir.Value,
    dim: int,
    size: int,
    index_map: Sequence[int],
    dims: hlo.GatherDimensionNumbers | hlo.ScatterDimensionNumbers,
    rows: Sequence[int],
) -> tuple[int, int]:
    """The dimension of the indices along which they count the rows, and their position."""
    position = list(index_map).index(dim) if dim in index_map else None
    if position is not None:
        for index in (each for each in rows if shape_of(indices)[each] == size):
            if has_row_numbers(indices, dims.index_vector_dim, position, index):
                return index, position
    raise CannotSplit("its indices may be those of other examples of the batch")


def _scatter(op: hlo.ScatterOp, states: Sequence[State], parts: int) -> OpPlan:
    if len(op.inputs) != 1:
        raise CannotSplit("it scatters several arrays")
    dims = hlo.ScatterDimensionNumbers(op.scatter_dimension_numbers)
    (operand, indices, updates), (whole, index, update) = op.operands, states
    shape, windows = shape_of(operand), list(dims.update_window_dims)
    rows = _kept(len(shape_of(indices)), [dims.index_vector_dim])
    places = _kept(len(shape_of(updates)), windows)
    kept = _kept(len(shape), [*dims.inserted_window_dims, *dims.input_batching_dims])
    if isinstance(update, Parted) and update.dim in windows:
        dim = kept[windows.index(update.dim)]
        fits = shape[dim] == shape_of(updates)[update.dim]
        if not fits or isinstance(index, Parted) or whole not in _or_whole(whole, dim):
            raise CannotSplit("its updates are of some examples of the batch")
        return OpPlan((Parted(dim), SAME, update), (Parted(dim),))
    at = _scattered_along(states, rows, places, dims, kept, shape, shape_of(updates), windows)
    if isinstance(at, OpPlan):
        return at
    found = _rows_of(op, dims, at, rows, shape)
    if found is not None:
        dim, position = found
        if whole not in _or_whole(whole, dim):
            raise CannotSplit("its indices are of other examples of the batch")
        forms = (Parted(dim), Parted(at), Parted(places[rows.index(at)]))
        return OpPlan(forms, (Parted(dim),), position)
    if isinstance(whole, Parted):
        raise CannotSplit("its indices may be those of other examples of the batch")
    combine = combiner_in(op)
    if combine is None or not (whole is Plain.ZERO or is_neutral(combine, operand)):
        raise CannotSplit("it writes the examples of the batch into an array that is not zero")
    return OpPlan((SAME, Parted(at), Parted(places[rows.index(at)])), (Partial(combine),))


def _or_whole(state: State, dim: int) -> tuple[State, ...]:
    return (state,) if not isinstance(state, Parted) else (Parted(dim),)


def _scattered_along(
    states: Sequence[State],
    rows: Sequence[int],
    places: Sequence[int],
    dims: hlo.ScatterDimensionNumbers,
    kept: Sequence[int],
    shape: Sequence[int],
    updates: Sequence[int],
    windows: Sequence[int],
) -> int | OpPlan:
    """The dimension of the indices that is split, or the plan for a split window."""
    whole, index, update = states
    if isinstance(index, Parted):
        at = index.dim
        if at not in rows:
            raise CannotSplit("the batch is a dimension of its index vectors")
        if isinstance(update, Parted) and update.dim != places[rows.index(at)]:
            raise CannotSplit("its updates are of other examples of the batch")
        return at
    if isinstance(update, Parted):
        return rows[places.index(update.dim)]
    assert isinstance(whole, Parted)
    if whole.dim in kept:
        window = windows[kept.index(whole.dim)]
        if updates[window] == shape[whole.dim]:
            return OpPlan((whole, SAME, Parted(window)), (whole,))
    batching = list(dims.input_batching_dims)
    if whole.dim in batching:
        return int(list(dims.scatter_indices_batching_dims)[batching.index(whole.dim)])
    for at in rows:
        return at
    raise CannotSplit("it writes to some examples of the batch")


def _rows_of(
    op: hlo.ScatterOp,
    dims: hlo.ScatterDimensionNumbers,
    at: int,
    rows: Sequence[int],
    shape: Sequence[int],
) -> tuple[int, int | None] | None:
    """The dimension of the operand whose rows the indices count along `at`, and the position."""
    indexed = list(dims.scatter_indices_batching_dims)
    if at in indexed:
        return list(dims.input_batching_dims)[indexed.index(at)], None
    indices = op.operands[1]
    for position, dim in enumerate(dims.scattered_dims_to_operand_dims):
        is_row = dim in dims.inserted_window_dims and shape[dim] == shape_of(indices)[at]
        if is_row and has_row_numbers(indices, dims.index_vector_dim, position, at):
            return dim, position
    return None


def combiner_in(op: hlo.ScatterOp) -> str | None:
    """The op that combines an element and its update; None if it is anything else."""
    ops = list(op.update_computation.blocks[0].operations)
    names = ("add", "maximum", "minimum", "multiply", "and", "or")
    name = ops[0].operation.name.removeprefix("stablehlo.")
    is_one = len(ops) == 2 and list(ops[1].operands) == list(ops[0].results)
    arguments = list(op.update_computation.blocks[0].arguments)
    uses = list(ops[0].operands)
    in_order = uses == arguments or uses == arguments[::-1]
    return name if is_one and name in names and in_order else None


PRODUCTS: dict[str, Rule] = {
    "dot_general": _dot,
    "convolution": _convolution,
    "gather": _gather,
    "scatter": _scatter,
}
