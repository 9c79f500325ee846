"""Products of matrices: transposes, slices and broadcasts are merged into them or move past them.

Each element of the result remains the sum of the same products in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.thresholds import ROWS_OF_TPU
from jxc.ir import build
from jxc.ir.values import SPLATS, element_type, is_complex, shape_of, splat_attr, users
from jxc.rewrite import PassContext, exact, rule

from .._shared.dot import OperandDims, dot, may_be_hoisted, sides_of, swapped
from .._shared.elementwise import is_used_once, numeric_shape, with_shape
from .slice import cuts_of, shifted, take

_T = TypeVar("_T")


@rule(exact, producer=hlo.TransposeOp)
def dot_of_transpose(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(transpose(x), y) -> dot_general(x, y), if free dimensions of x keep their order.

    Without batching dimensions.
    """
    return _of_untransposed(op, is_batched=False)


@rule(exact, producer=hlo.TransposeOp, priced=True)
def batched_dot_of_transpose(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(transpose(x), y) -> dot_general(x, y), with batching dimensions.

    If free dimensions of x keep their order.
    """
    return _of_untransposed(op, is_batched=True)


def _of_untransposed(op: hlo.DotGeneralOp, *, is_batched: bool) -> ir.Value | None:
    values, sides = [op.lhs, op.rhs], sides_of(op)
    if bool(sides[0].batch) != is_batched:
        return None
    for i, value in enumerate(values):
        match value.owner:
            case hlo.TransposeOp(operand=x, permutation=permutation):
                moved = [permutation[dim] for dim in sides[i].free(len(permutation))]
                if moved == sorted(moved) and numeric_shape(x, op.result) is not None:
                    values[i], sides[i] = x, sides[i].renumbered(permutation)
    if values == [op.lhs, op.rhs]:
        return None
    return dot(op, values, sides)


@rule(exact, producer=hlo.DotGeneralOp, priced=True)
def transpose_of_dot(op: hlo.TransposeOp) -> ir.Value | None:
    """transpose(dot_general(x, y)) -> dot_general(y, x), if it swaps the dimensions of x and y.

    Not on complex numbers, where the order of the factors affects rounding, nor for one term, which
    XLA multiplies in the order of the transpose. The compilers for GPU and TPU choose the layout of
    the result themselves: the transpose has no price there.
    """
    match op.operand.owner:
        case hlo.DotGeneralOp(lhs=x, rhs=y, precision_config=precision) as product:
            if not is_used_once(op.operand) or product.algorithm is not None:
                return None
            if numeric_shape(x, y, op.result) is None or is_complex(op.result):
                return None
            if any(isinstance(user, hlo.TransposeOp) for user in users(op.result)):
                return None  # the two transposes become one
            left, right = sides_of(product)
            if math.prod(shape_of(x)[dim] for dim in left.summed) == 1:
                return None
            batch, own = len(left.batch), len(left.free(len(shape_of(x))))
            rank = len(op.permutation)
            exchange = [*range(batch), *range(batch + own, rank), *range(batch, batch + own)]
            if list(op.permutation) != exchange:
                return None
            return dot(product, [y, x], [right, left], swapped(precision))
    return None


@rule(exact, producer=hlo.DotGeneralOp, priced=True)
def slice_of_dot(op: hlo.SliceOp, context: PassContext) -> ir.Value | None:
    """slice(dot_general(x, y)) -> dot_general(slice(x), slice(y)), if the product has one use.

    On TPU a single row or column is sliced from a product of several.
    """
    match op.operand.owner:
        case hlo.DotGeneralOp(lhs=x, rhs=y) as product if is_used_once(op.operand):
            cuts = cuts_of(op)
            if cuts is None or numeric_shape(x, y, op.result) is None:
                return None
            sides = sides_of(product)
            is_tpu = context.target == "tpu"
            wide = _several_rows(cuts, product, sides, context) if is_tpu else cuts
            taken = [
                _of_operand(wide, list(map(range, shape_of(value))), each)
                for value, each in zip((x, y), _positions(product), strict=True)
            ]
            sizes = [list(map(len, own)) for own in taken]
            if not _is_any_cut(product, sizes):
                return None
            narrow = dot(product, list(map(take, (x, y), taken)), sides)
            return take(narrow, [_within(cut, of) for cut, of in zip(cuts, wide, strict=True)])
    return None


@rule(exact, producer=hlo.DotGeneralOp, priced=True)
def dynamic_slice_of_dot(op: hlo.DynamicSliceOp) -> ir.Value | None:
    """dynamic_slice(dot_general(x, y), i) -> dot_general(dynamic_slice(x, i), y), or of both.

    If the product has one use, in the same block. Starts are clamped to the same bounds.
    """
    match op.operand.owner:
        case hlo.DotGeneralOp(lhs=x, rhs=y) as product if is_used_once(op.operand):
            if numeric_shape(x, y, op.result) is None or 0 in shape_of(op.result):
                return None
            if op.operation.block != product.operation.block or may_be_hoisted(product):
                return None
            sizes = [
                _of_operand(op.slice_sizes, shape_of(value), each)
                for value, each in zip((x, y), _positions(product), strict=True)
            ]
            if not _is_any_cut(product, sizes):
                return None
            zero = build.scalar(0, element_type(op.start_indices[0]))
            values = []
            for value, size, each in zip((x, y), sizes, _positions(product), strict=True):
                starts = _of_operand(op.start_indices, [zero] * len(size), each)
                is_cut = tuple(size) != shape_of(value)
                values.append(hlo.dynamic_slice(value, starts, size) if is_cut else value)
            return dot(product, values, sides_of(product))
    return None


def _several_rows(
    cuts: Sequence[range],
    product: hlo.DotGeneralOp,
    sides: Sequence[OperandDims],
    context: PassContext,
) -> list[range]:
    """The cuts of a product, widened where they take one row or column of several on a device."""
    wide, shape = list(cuts), shape_of(product.result)
    start = len(sides[0].batch)
    for value, side in zip((product.lhs, product.rhs), sides, strict=True):
        end = start + len(side.free(len(shape_of(value))))
        own = [len(wide[dim]) // context.parts(product.result, dim) for dim in range(start, end)]
        single = [dim for dim in range(start, end) if len(wide[dim]) == 1]
        if single and math.prod(own) <= 1:
            dim = max(single, key=lambda i: shape[i])
            wide[dim] = _tile_around(wide[dim][0], shape[dim])
        start = end
    return wide


def _tile_around(index: int, extent: int) -> range:
    """`ROWS_OF_TPU` indices that contain `index`, aligned if the extent allows; or all of them."""
    first = max(0, min(index // ROWS_OF_TPU * ROWS_OF_TPU, extent - ROWS_OF_TPU))
    return range(first, min(first + ROWS_OF_TPU, extent))


def _within(cut: range, of: range) -> range:
    """`cut` as indices of the elements of `of`, which is `cut` or a range that contains it."""
    return range(len(cut)) if cut == of else shifted(cut, -of.start)


def _positions(op: hlo.DotGeneralOp) -> list[dict[int, int]]:
    """For each operand: its batching and free dimensions, and their dimensions in the result."""
    sides = sides_of(op)
    end = len(sides[0].batch)
    found = []
    for value, side in zip((op.lhs, op.rhs), sides, strict=True):
        start, free = end, side.free(len(shape_of(value)))
        end = start + len(free)
        own = dict(zip(side.batch, range(len(side.batch)), strict=True))
        found.append(own | dict(zip(free, range(start, end), strict=True)))
    return found


def _of_operand(of_result: Sequence[_T], own: Sequence[_T], positions: dict[int, int]) -> list[_T]:
    """`own`, with the item of the result for each dimension that the operand shares with it."""
    return [of_result[positions[dim]] if dim in positions else each for dim, each in enumerate(own)]


def _is_any_cut(op: hlo.DotGeneralOp, sizes: Sequence[Sequence[int]]) -> bool:
    """Whether `sizes` are smaller than the shapes of the operands of a product."""
    return [tuple(size) for size in sizes] != [shape_of(op.lhs), shape_of(op.rhs)]


def _left_out(shape: Sequence[int], dims: Sequence[int]) -> tuple[list[int], list[int]]:
    """The shape without `dims`, and the new number of each other dimension (-1 for `dims`)."""
    kept = [dim for dim in range(len(shape)) if dim not in dims]
    new_dims = [kept.index(dim) if dim in kept else -1 for dim in range(len(shape))]
    return [shape[dim] for dim in kept], new_dims


@rule(exact, producer=hlo.BroadcastInDimOp)
def dot_of_broadcast_batch(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(x, broadcast_in_dim(y)) -> dot_general(x, y), if y lacks a batching dimension.

    That becomes a free dimension of x; the dimensions of the result must keep their order.
    """
    if not sides_of(op)[0].batch or numeric_shape(op.lhs, op.rhs, op.result) is None:
        return None
    for i, value in enumerate((op.lhs, op.rhs)):
        match value.owner:
            case hlo.BroadcastInDimOp(operand=y, broadcast_dimensions=dims):
                if (product := _without_batch(op, i, y, list(dims))) is not None:
                    return product
    return None


def _without_batch(op: hlo.DotGeneralOp, i: int, y: ir.Value, dims: list[int]) -> ir.Value | None:
    """The product if operand i, a broadcast of y by `dims`, loses the dimensions that y lacks."""
    values, sides = [op.lhs, op.rhs], sides_of(op)
    mine, theirs = sides[i], sides[1 - i]
    pairs = list(zip(mine.batch, theirs.batch, strict=True))
    kept = [pair for pair in pairs if pair[0] in dims]
    if kept == pairs or kept != pairs[: len(kept)]:
        return None
    # the freed dimensions of the other operand follow the batching ones in the result
    following = [dim for _, dim in pairs[len(kept) :]] + theirs.free(len(shape_of(values[1 - i])))
    if following != sorted(following) or (i == 0 and mine.free(len(shape_of(values[i])))):
        return None
    narrow, new_dims = _left_out(shape_of(values[i]), [dim for dim, _ in pairs[len(kept) :]])
    values[i] = build.broadcast(y, narrow, [new_dims[dim] for dim in dims])
    batch, others = tuple(dim for dim, _ in kept), tuple(dim for _, dim in kept)
    sides[i] = OperandDims(batch, mine.summed).renumbered(new_dims)
    sides[1 - i] = OperandDims(others, theirs.summed)
    return dot(op, values, sides)


@rule(exact, producer=SPLATS)
def dot_of_broadcast_free(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(x, broadcast_in_dim(y)) -> broadcast_in_dim(dot_general(x, y)).

    For a free dimension along which y, or a splat, is constant: all sums along it are equal.
    """
    sides = sides_of(op)
    for i, value in enumerate((op.lhs, op.rhs)):
        if not isinstance(value.owner, hlo.BroadcastInDimOp | hlo.ConstantOp):
            continue
        if numeric_shape(op.lhs, op.rhs, op.result) is None:
            return None
        if splat_attr(value) is not None:
            varying: Sequence[int] = ()
        elif isinstance(value.owner, hlo.BroadcastInDimOp):
            varying = value.owner.broadcast_dimensions
        else:
            continue
        free = sides[i].free(len(shape_of(value)))
        repeated = [dim for dim in free if shape_of(value)[dim] > 1 and dim not in varying]
        if repeated:
            return _broadcast_after(op, i, repeated)
    return None


def _broadcast_after(op: hlo.DotGeneralOp, i: int, repeated: Sequence[int]) -> ir.Value:
    """The product without the dimensions `repeated` of operand i, broadcast along them."""
    values, sides = [op.lhs, op.rhs], sides_of(op)
    free = [side.free(len(shape_of(value))) for side, value in zip(sides, values, strict=True)]
    start = len(sides[0].batch) + (len(free[0]) if i else 0)
    gone = [start + k for k, dim in enumerate(free[i]) if dim in repeated]
    narrow, new_dims = _left_out(shape_of(values[i]), repeated)
    if (element := splat_attr(values[i])) is not None:
        values[i] = build.splat(element, with_shape(values[i], narrow))
    else:
        broadcast = values[i].owner
        dims = [new_dims[dim] for dim in broadcast.broadcast_dimensions]
        values[i] = build.broadcast(broadcast.operand, narrow, dims)
    sides[i] = sides[i].renumbered(new_dims)
    product = dot(op, values, sides)
    kept = [dim for dim in range(len(shape_of(op.result))) if dim not in gone]
    return hlo.broadcast_in_dim(op.result.type, product, kept)
