"""Products in a batch whose factor is repeated, as keys and values that heads of attention share.

`jnp.repeat(keys, n, axis)` copies each of the keys n times, for n heads of the queries. A product
in the batch of the keys as they were has n times the rows and copies nothing.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import is_float, shape_of
from jxc.rewrite import reassociates, rule

from .._shared.dot import OperandDims, dot, sides_of, swapped
from .._shared.elementwise import numeric_shape


class _Repeated(NamedTuple):
    """A value in which each element along a dimension is repeated several times in a row.

    Attributes:
        x: the value with each element once.
        times: how many times.
    """

    x: ir.Value
    times: int


@rule(
    reassociates,
    producer=(hlo.ReshapeOp, hlo.BroadcastInDimOp),
    priced=True,
)
def product_of_repeated(op: hlo.DotGeneralOp) -> ir.Value | None:
    """dot_general(q, repeat(k)) -> reshape(dot_general(reshape(q), k)), repeated along a batch.

    On either side; the last batching dimension.
    """
    if op.algorithm is not None or numeric_shape(op.result, op.lhs, op.rhs) is None:
        return None
    if not sides_of(op)[0].batch or not all(map(is_float, op.operands)):
        return None
    if 0 in (*shape_of(op.lhs), *shape_of(op.rhs)):
        return None
    for i, value in enumerate((op.lhs, op.rhs)):
        found = _repeated(value, sides_of(op)[i].batch[-1])
        if found is not None:
            return _grouped(op, i, found)
    return None


def _repeated(value: ir.Value, dim: int) -> _Repeated | None:
    """How elements of `value` repeat along `dim`, if they do."""
    shape = shape_of(value)
    match value.owner:
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims):
            kept = [each for each in dims if each != dim]
            own = [size for each, size in zip(dims, shape_of(x), strict=True) if each != dim]
            single = [*shape[:dim], 1, *shape[dim + 1 :]]
            is_in_order = kept == sorted(kept) and own == [shape[each] for each in kept]
            is_constant = prod(own) == prod(shape_of(x))
            is_one = is_in_order and is_constant and prod(own) == prod(single)
            return _Repeated(build.reshape(x, single), shape[dim]) if is_one else None
        case hlo.ReshapeOp(operand=wide):
            match wide.owner:
                case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims):
                    split = shape_of(wide)
                    kept = [each for each in range(len(split)) if each != dim + 1]
                    if list(dims) != kept or shape_of(x) != tuple(split[each] for each in kept):
                        return None
                    merged = (*split[:dim], prod(split[dim : dim + 2]), *split[dim + 2 :])
                    return _Repeated(x, split[dim + 1]) if merged == shape else None
    return None


def _grouped(op: hlo.DotGeneralOp, i: int, repeated: _Repeated) -> ir.Value:
    """The product of what operand `i` repeats with more rows of the other operand."""
    sides, other = sides_of(op), op.operands[1 - i]
    shape, side = list(shape_of(other)), sides[1 - i]
    split = side.batch[-1]
    groups = shape[split] // repeated.times
    new = [dim + (dim > split) for dim in range(len(shape))]
    free = [new[dim] for dim in side.free(len(shape))]
    shape[split : split + 1] = [groups, repeated.times]
    batch, summed = side.renumbered(new)
    # the rows of a group follow its batching dimension, as they do in the result
    order = [*batch, split + 1, *free, *summed]
    rows = build.transpose(build.reshape(other, shape), order)
    first, last = len(batch), len(order) - len(summed)
    plain = OperandDims(tuple(range(first)), tuple(range(last, len(order))))
    precision = op.precision_config if i else swapped(op.precision_config)
    product = dot(op, [rows, repeated.x], [plain, sides[i]], precision)
    extents = list(shape_of(product))
    extents[first - 1 : first + 1] = [extents[first - 1] * repeated.times]
    merged = build.reshape(product, extents)
    if i:
        return merged
    middle, end = first + len(free), len(extents)
    return build.transpose(merged, [*range(first), *range(middle, end), *range(first, middle)])
