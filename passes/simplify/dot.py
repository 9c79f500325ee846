"""Products of matrices: transposes, slices and broadcasts are merged into them or move past them.

Each element of the result remains the sum of the same products in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.thresholds import pays_to_slice_operands
from jxc.ir import build
from jxc.ir.values import SPLATS, is_complex, shape_of, splat_attr
from jxc.rewrite import exact, rule

from .._shared.elementwise import is_used_once, numeric_shape, size_of, with_shape
from .slice import cuts_of, take


class _OperandDims(NamedTuple):
    """The batching and the contracting dimensions of one operand of a product."""

    batch: tuple[int, ...]
    summed: tuple[int, ...]

    def free(self, rank: int) -> list[int]:
        """The other dimensions, in the order in which the result has them."""
        return [dim for dim in range(rank) if dim not in self.batch and dim not in self.summed]

    def renumbered(self, new: Sequence[int]) -> _OperandDims:
        """The same after dimension i became dimension `new[i]`."""
        return _OperandDims(*(tuple(new[dim] for dim in dims) for dims in self))


def _sides_of(op: hlo.DotGeneralOp) -> list[_OperandDims]:
    dims = hlo.DotDimensionNumbers(op.dot_dimension_numbers)
    return [
        _OperandDims(tuple(dims.lhs_batching_dimensions), tuple(dims.lhs_contracting_dimensions)),
        _OperandDims(tuple(dims.rhs_batching_dimensions), tuple(dims.rhs_contracting_dimensions)),
    ]


def _dot(
    like: hlo.DotGeneralOp,
    operands: Sequence[ir.Value],
    sides: Sequence[_OperandDims],
    kind: ir.Type,
    precision: ir.Attribute | None = None,
) -> ir.Value:
    """The product of other operands with the precision and algorithm of `like`."""
    left, right = sides
    numbers = hlo.DotDimensionNumbers.get(left.batch, right.batch, left.summed, right.summed)
    config = precision or like.precision_config
    return hlo.dot_general(
        kind, *operands, numbers, precision_config=config, algorithm=like.algorithm
    )


@rule(exact, targets=("cpu",), producer=hlo.TransposeOp)
def dot_of_transpose(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(transpose(x), y) -> dot_general(x, y), if free dimensions of x keep their order.

    Only on CPU: the other compilers choose better layouts for the original, in attention and chains
    of products. BERT took 6.4% longer on TPU v5e by the compiler's estimate, its training 2.6%,
    GPT-2 0.3% less; a chain of products took 5.4% longer on H100, with one more kernel.
    """
    values, sides = [op.lhs, op.rhs], _sides_of(op)
    for i, value in enumerate(values):
        match value.owner:
            case hlo.TransposeOp(operand=x, permutation=permutation):
                moved = [permutation[dim] for dim in sides[i].free(len(permutation))]
                if moved == sorted(moved) and numeric_shape(x, op.result) is not None:
                    values[i], sides[i] = x, sides[i].renumbered(permutation)
    if values == [op.lhs, op.rhs]:
        return None
    return _dot(op, values, sides, op.result.type)


@rule(exact, targets=("cpu", "tpu"), producer=hlo.DotGeneralOp)
def transpose_of_dot(op: hlo.TransposeOp) -> ir.Value | None:
    """transpose(dot_general(x, y)) -> dot_general(y, x), if it swaps the dimensions of x and y.

    Not on complex numbers, where the order of the factors affects rounding. Not for GPU, where XLA
    chooses the layout of the result: training BERT on H100 took 8 more kernels, 2.1% of the time by
    their rooflines.
    """
    match op.operand.owner:
        case hlo.DotGeneralOp(lhs=x, rhs=y, precision_config=precision) as dot:
            if not is_used_once(op.operand) or dot.algorithm is not None:
                return None
            if numeric_shape(x, y, op.result) is None or is_complex(op.result):
                return None
            left, right = _sides_of(dot)
            batch, own = len(left.batch), len(left.free(len(shape_of(x))))
            rank = len(op.permutation)
            swapped = [*range(batch), *range(batch + own, rank), *range(batch, batch + own)]
            if list(op.permutation) != swapped:
                return None
            precision = precision and ir.ArrayAttr.get([*precision][::-1])
            return _dot(dot, [y, x], [right, left], op.result.type, precision)
    return None


@rule(exact, producer=hlo.DotGeneralOp, partitioned=False)
def slice_of_dot(op: hlo.SliceOp) -> ir.Value | None:
    """slice(dot_general(x, y)) -> dot_general(slice(x), slice(y)), if the product has one use.

    And if it saves more than the slices of x and y, which are copies, cost.
    """
    match op.operand.owner:
        case hlo.DotGeneralOp(lhs=x, rhs=y) as dot if is_used_once(op.operand):
            cuts = cuts_of(op)
            if cuts is None or numeric_shape(x, y, op.result) is None:
                return None
            sides = _sides_of(dot)
            taken = _cuts_of_operands(cuts, [shape_of(x), shape_of(y)], sides)
            copied = sum(
                math.prod(map(len, own))
                for own, value in zip(taken, (x, y), strict=True)
                if own != list(map(range, shape_of(value)))
            )
            terms = math.prod(shape_of(x)[dim] for dim in sides[0].summed)
            if not pays_to_slice_operands(
                (size_of(op.operand) - size_of(op.result)) * terms, copied
            ):
                return None
            return _dot(dot, list(map(take, (x, y), taken)), sides, op.result.type)
    return None


def _cuts_of_operands(
    cuts: Sequence[range], shapes: Sequence[Sequence[int]], sides: Sequence[_OperandDims]
) -> list[list[range]]:
    """The cuts of each operand that correspond to the cuts of the result."""
    batch = len(sides[0].batch)
    rest = iter(cuts[batch:])
    taken = []
    for shape, side in zip(shapes, sides, strict=True):
        own = list(map(range, shape))
        for dim, cut in zip(side.batch, cuts[:batch], strict=True):
            own[dim] = cut
        for dim in side.free(len(shape)):
            own[dim] = next(rest)
        taken.append(own)
    return taken


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
    if not _sides_of(op)[0].batch or numeric_shape(op.lhs, op.rhs, op.result) is None:
        return None
    for i, value in enumerate((op.lhs, op.rhs)):
        match value.owner:
            case hlo.BroadcastInDimOp(operand=y, broadcast_dimensions=dims):
                if (product := _without_batch(op, i, y, list(dims))) is not None:
                    return product
    return None


def _without_batch(op: hlo.DotGeneralOp, i: int, y: ir.Value, dims: list[int]) -> ir.Value | None:
    """The product if operand i, a broadcast of y by `dims`, loses the dimensions that y lacks."""
    values, sides = [op.lhs, op.rhs], _sides_of(op)
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
    sides[i] = _OperandDims(batch, mine.summed).renumbered(new_dims)
    sides[1 - i] = _OperandDims(others, theirs.summed)
    return _dot(op, values, sides, op.result.type)


@rule(exact, producer=SPLATS)
def dot_of_broadcast_free(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(x, broadcast_in_dim(y)) -> broadcast_in_dim(dot_general(x, y)).

    For a free dimension along which y, or a splat, is constant: all sums along it are equal.
    """
    sides = _sides_of(op)
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
    values, sides = [op.lhs, op.rhs], _sides_of(op)
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
    shape, _ = _left_out(shape_of(op.result), gone)
    product = _dot(op, values, sides, with_shape(op.result, shape))
    kept = [dim for dim in range(len(shape_of(op.result))) if dim not in gone]
    return hlo.broadcast_in_dim(op.result.type, product, kept)
