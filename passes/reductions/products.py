"""Sums of products: of a matrix and a vector as a dot, of others without dimensions of extent 1."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, is_splat, shape_of, static_shape, users
from jxc.rewrite import exact, reassociates, rule

from .._shared.reduce_body import combiner_of

_IN_MEMORY = (
    *(
        hlo.ConstantOp,
        hlo.ConvolutionOp,
        hlo.CustomCallOp,
        hlo.DotGeneralOp,
        hlo.ReduceOp,
        hlo.SortOp,
        hlo.WhileOp,
    ),
    func.CallOp,
)
_FLOATS = (ir.F32Type, ir.F64Type)


@rule(reassociates, producer=hlo.MulOp, priced=True)
def product_to_dot(op: hlo.ReduceOp) -> ir.Value | None:
    """reduce(x * broadcast_in_dim(v), 0) -> dot_general(x, v), over the last dimensions.

    For f32 and f64, if x is in memory: XLA stores the operands of a dot.
    """
    shape = static_shape(*op.inputs)
    if shape is None or not _is_over_last(op, shape) or not _is_plain_sum(op):
        return None
    match op.inputs[0].owner:
        case hlo.MulOp(lhs=lhs, rhs=rhs, result=products) if len(users(products)) == 1:
            for x, repeated in ((lhs, rhs), (rhs, lhs)):
                dims = _dimensions(op, repeated)
                if dims is not None and _is_in_memory(x, op):
                    return _dot(op, x, repeated.owner.operand, dims)
    return None


@rule(exact, producer=hlo.MulOp, priced=True)
def sum_of_product_without_units(op: hlo.ReduceOp) -> ir.Value | None:
    """reduce(x * y, 0) -> reshape(reduce(reshape(x) * reshape(y), 0)), without extents of 1.

    For sums over one dimension. XLA undoes it for columns that are computed.
    """
    shape = static_shape(*op.inputs)
    if shape is None or len(op.dimensions) != 1 or not _is_plain_sum(op):
        return None
    over = op.dimensions[0]
    kept = [dim for dim, size in enumerate(shape) if size != 1 or dim == over]
    match op.inputs[0].owner:
        case hlo.MulOp(lhs=lhs, rhs=rhs, result=products) if len(users(products)) == 1:
            if lhs == rhs or len(kept) == len(shape):
                return None
            if shape[-1] == 1 and not (_is_in_memory(lhs, op) and _is_in_memory(rhs, op)):
                return None
            x, y = (build.reshape(each, [shape[dim] for dim in kept]) for each in (lhs, rhs))
            found = build.reduce_sum(hlo.multiply(x, y), [kept.index(over)])
            return build.reshape(found, shape_of(op.results[0]))
    return None


def _is_over_last(op: hlo.ReduceOp, shape: Sequence[int]) -> bool:
    """Whether it sums over the last dimensions: over others, a dot gains little."""
    rank, dims = len(shape), sorted(op.dimensions)
    return bool(dims) and dims == list(range(rank - len(dims), rank))


def _is_plain_sum(op: hlo.ReduceOp) -> bool:
    """Whether it sums floats from 0.0 on, the last dimensions of one operand."""
    if len(op.inputs) != 1 or combiner_of(op) != "add" or not is_splat(op.init_values[0], 0):
        return False
    return isinstance(element_type(op.inputs[0]), _FLOATS)


def _dimensions(op: hlo.ReduceOp, repeated: ir.Value) -> list[int] | None:
    """For each dimension of the broadcast operand, its dimension in the summed operand.

    None if a summed dimension is not among these, or the result would have another order.
    """
    match repeated.owner:
        case hlo.BroadcastInDimOp(operand=v, broadcast_dimensions=to) if (
            static_shape(v) is not None
        ):
            dims, shape = list(to), shape_of(repeated)
            kept = [dim for dim in dims if dim not in op.dimensions]
            if list(shape_of(v)) != [shape[dim] for dim in dims]:
                return None
            if not set(op.dimensions) <= set(dims) or kept != list(range(len(kept))):
                return None
            return dims
    return None


def _is_in_memory(value: ir.Value, op: ir.OpView) -> bool:
    """Whether `value` is in memory before `op`: an argument, or a result of a library or a loop."""
    owner, block = value.owner, op.operation.block
    if isinstance(owner, ir.Block) or owner.operation.block != block:
        return True
    if any(user.operation.block != block for user in users(value)):
        return True
    if isinstance(owner, hlo.ReshapeOp):
        return _is_in_memory(owner.operand, op)
    return isinstance(owner, _IN_MEMORY)


def _dot(op: hlo.ReduceOp, x: ir.Value, v: ir.Value, dims: Sequence[int]) -> ir.Value:
    summed = sorted(op.dimensions)
    batch = [dim for dim in dims if dim not in summed]
    numbers = hlo.DotDimensionNumbers.get(
        batch, [dims.index(dim) for dim in batch], summed, [dims.index(dim) for dim in summed]
    )
    return hlo.dot_general(op.results[0].type, x, v, numbers)
