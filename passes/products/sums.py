"""Sums, traces and diagonals of products, and sums of products with a common factor."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import direction_of, element_type, is_splat, shape_of
from jxc.rewrite import reassociates, rule

from .._shared.dot import dot, may_be_hoisted, sides_of
from .._shared.reduce_body import combiner_of
from .work import is_alike, is_plain, is_single

_WIDE = (ir.F32Type, ir.F64Type)  # the sums of others would be rounded


@rule(reassociates, producer=hlo.DotGeneralOp, priced=True)
def sum_of_product(op: hlo.ReduceOp) -> ir.Value | None:
    """reduce_add(A @ B) -> dot_general(reduce_add(A), B), over free dimensions of A, of B, or both.

    For f32 and f64, if the product has no other use.
    """
    if not _is_sum(op) or not isinstance(op.inputs[0].owner, hlo.DotGeneralOp):
        return None
    product = op.inputs[0].owner
    if not _is_summable(product, op):
        return None
    sides, operands = sides_of(product), [product.lhs, product.rhs]
    end = len(sides[0].batch)
    if any(dim < end for dim in op.dimensions):
        return None
    summed = []
    for value, side in zip(operands, sides, strict=True):
        free, start = side.free(len(shape_of(value))), end
        end += len(free)
        summed.append([dim for i, dim in enumerate(free) if start + i in op.dimensions])
    for i, (value, dims) in enumerate(zip(operands, summed, strict=True)):
        left = [dim for dim in range(len(shape_of(value))) if dim not in dims]
        operands[i] = build.reduce_sum(value, dims)
        sides[i] = sides[i].renumbered(
            [left.index(d) if d in left else -1 for d in range(len(shape_of(value)))]
        )
    return dot(product, operands, sides)


def _is_sum(op: hlo.ReduceOp) -> bool:
    """Whether `op` adds up the elements of one operand, from 0 on."""
    return len(op.inputs) == 1 and combiner_of(op) == "add" and is_splat(op.init_values[0], 0)


def _is_summable(product: hlo.DotGeneralOp, user: ir.OpView) -> bool:
    """Whether sums may move into the operands of `product`, whose only use is `user`."""
    is_wide = isinstance(element_type(product.result), _WIDE)
    is_alone = is_single(product.result, user) and not may_be_hoisted(product)
    return is_wide and is_alone and is_plain(product)


@rule(reassociates, producer=hlo.SelectOp, priced=True)
def trace_of_product(op: hlo.ReduceOp) -> ir.Value | None:
    """trace(A @ B) -> sum over i and k of A[i, k] * B[k, i], with batch dimensions too.

    As `jnp.trace` writes it: a sum over what `select` takes where two iotas are equal. For f32 and
    f64, if the product has no other use.
    """
    if not _is_sum(op):
        return None
    match op.inputs[0].owner:
        case (
            hlo.SelectOp(pred=mask, on_true=ir.Value(owner=hlo.DotGeneralOp() as product)) as taken
        ):
            rank = len(shape_of(product.result))
            if sorted(op.dimensions) != [rank - 2, rank - 1] or not is_splat(taken.on_false, 0):
                return None
            if not is_single(op.inputs[0], op) or not _is_diagonal(mask, rank):
                return None
            return _diagonal(product, taken, is_summed=True)
    return None


@rule(reassociates, producer=hlo.DotGeneralOp, priced=True)
def diagonal_of_product(op: hlo.GatherOp) -> ir.Value | None:
    """diagonal(A @ B) -> sum over k of A[i, k] * B[k, i], for square A @ B.

    As `jnp.diagonal` writes it: a gather at the indices (i, i). For f32 and f64, if the product has
    no other use.
    """
    product = op.operand.owner
    if not isinstance(product, hlo.DotGeneralOp) or not isinstance(
        op.start_indices.owner, hlo.IotaOp
    ):
        return None
    dims = hlo.GatherDimensionNumbers(op.dimension_numbers)
    shape, indices = shape_of(product.result), shape_of(op.start_indices)
    if len(shape) != 2 or list(dims.collapsed_slice_dims) != [0, 1] or dims.index_vector_dim != 1:
        return None
    if indices != (shape[0], 2) or op.start_indices.owner.iota_dimension.value != 0:
        return None
    return _diagonal(product, op, is_summed=False)


def _is_diagonal(mask: ir.Value, rank: int) -> bool:
    """Whether `mask` is true where the last two of `rank` positions are equal."""
    dims = [rank - 2, rank - 1]
    if isinstance(mask.owner, hlo.BroadcastInDimOp):
        if list(mask.owner.broadcast_dimensions) != dims:
            return False
        mask, dims = mask.owner.operand, [0, 1]
    match mask.owner:
        case (
            hlo.CompareOp(
                lhs=ir.Value(owner=hlo.IotaOp() as x), rhs=ir.Value(owner=hlo.IotaOp() as y)
            ) as op
        ):
            found = [x.iota_dimension.value, y.iota_dimension.value]
            return direction_of(op) == "EQ" and sorted(found) == dims
    return False


def _diagonal(product: hlo.DotGeneralOp, user: ir.OpView, *, is_summed: bool) -> ir.Value | None:
    """The diagonal of a batch of square products, or its sum; None for other products."""
    if not _is_summable(product, user):
        return None
    sides, factors = sides_of(product), []
    batch, rest = len(sides[0].batch), len(sides[0].summed)
    extents = shape_of(product.result)[batch:]
    free = [
        side.free(len(shape_of(v)))
        for v, side in zip((product.lhs, product.rhs), sides, strict=True)
    ]
    if list(map(len, free)) != [1, 1] or extents[0] != extents[1]:
        return None
    for value, side, own in zip((product.lhs, product.rhs), sides, free, strict=True):
        factors.append(build.transpose(value, [*side.batch, *own, *side.summed]))
    over = range(batch + (0 if is_summed else 1), batch + 1 + rest)
    return build.reduce_sum(hlo.multiply(*factors), list(over))


@rule(reassociates, producer=hlo.DotGeneralOp, priced=True)
def sum_of_products_with_common_factor(op: hlo.AddOp | hlo.SubtractOp) -> ir.Value | None:
    """A @ B + A @ C -> A @ (B + C), and B @ A + C @ A -> (B + C) @ A, and differences.

    If neither product has another use.
    """
    first, second = op.lhs.owner, op.rhs.owner
    if not isinstance(first, hlo.DotGeneralOp) or not isinstance(second, hlo.DotGeneralOp):
        return None
    if not (is_single(op.lhs, op) and is_single(op.rhs, op) and is_plain(first)):
        return None
    if may_be_hoisted(first) or may_be_hoisted(second):
        return None
    if not is_plain(second) or not is_alike(first, second) or sides_of(first) != sides_of(second):
        return None
    for i in (0, 1):
        x, y = first.operands[1 - i], second.operands[1 - i]
        if first.operands[i] == second.operands[i] and x.type == y.type:
            kind = hlo.add if isinstance(op, hlo.AddOp) else hlo.subtract
            operands = list(first.operands)
            operands[1 - i] = kind(x, y)
            return dot(first, operands, sides_of(first))
    return None
