"""The sum of a softmax as one more column of the product that follows it.

softmax(s) @ v is (e @ v) / (e @ 1) with e = exp(s - max(s)), so that one product with [v, 1] gives
both. A TPU multiplies columns in groups of 128 and reads e once; a sum of its own reads e again.

A TPU rounds the factors of such a product to bf16, so that this sum is one of rounded exponentials,
as the product is. That costs no accuracy: with both roundings simulated, for 128 to 4096 keys, the
relative error of the quotient went from 2.2e-3 to 2.4e-3 down to 1.7e-3 to 2.3e-3, and that of the
gradient stayed at 2.4e-3.

Two rules do so, as each replaces the results of one op: the sum becomes the last column of the
product, and the product with the quotients becomes the other columns, divided. The values may be
computed after the sum. They are then computed a second time before it, which `cse` undoes.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.module import is_pure
from jxc.ir.values import element_type, is_splat, shape_of, users
from jxc.passes._shared.dot import OperandDims, dot, sides_of
from jxc.passes._shared.elementwise import numeric_shape, rebuilt, with_shape
from jxc.passes._shared.reduce_body import combiner_of
from jxc.passes.products.work import is_alike, is_plain
from jxc.passes.reductions import cost as cost
from jxc.rewrite import reassociates, rule

_ENDS = ("func.return", "stablehlo.return")
_MOST_COPIED = 8  # ops that are computed before the sum instead of after it


class _Product(NamedTuple):
    """A product of exponentials, or of these divided by a factor of each row, and of values.

    Attributes:
        op: the product.
        side: which operand the exponentials are.
        exponentials: these.
        divisor: a broadcast value by which they are divided.
    """

    op: hlo.DotGeneralOp
    side: int
    exponentials: ir.Value
    divisor: ir.Value

    @property
    def values(self) -> ir.Value:
        """The other operand."""
        return self.op.operands[1 - self.side]

    @property
    def sides(self) -> list[OperandDims]:
        """The dimensions of both operands."""
        return sides_of(self.op)

    @property
    def keys(self) -> int:
        """The dimension of the exponentials that is summed."""
        return self.sides[self.side].summed[0]

    @property
    def rows(self) -> list[int]:
        """The dimensions of the exponentials in the order in which the result has them."""
        own = self.sides[self.side]
        return [*own.batch, *own.free(len(shape_of(self.exponentials)))]

    @property
    def features(self) -> int:
        """The dimension of the values that the exponentials do not have."""
        return self.sides[1 - self.side].free(len(shape_of(self.values)))[0]

    @property
    def column(self) -> int:
        """The dimension of the result that numbers the features."""
        batch = len(self.sides[0].batch)
        return batch if self.side == 1 else len(self.rows)


@rule(reassociates, targets=("tpu",), producer=hlo.ExpOp, partitioned=False)
def sum_of_softmax_to_column(op: hlo.ReduceOp) -> ir.Value | None:
    """sum over k of e -> the last column of e @ [v, 1], where e / sum(e) is multiplied by v.

    For e = exp(s - max(s)), whose sum is at least 1, in f32 at default precision.
    """
    if len(op.inputs) != 1 or len(op.dimensions) != 1 or combiner_of(op) != "add":
        return None
    if not is_splat(op.init_values[0], 0):
        return None
    (keys,), e = op.dimensions, op.inputs[0]
    if not _is_softmax(e, keys):
        return None
    for found in _products(e):
        if found.keys != keys or not _is_made_of(found.divisor, op.results[0]):
            continue
        if not _pays(found) or not _is_before(op, found.op):
            continue
        if (values := _values_before(found.values, op)) is not None:
            return _last_column(found, values)
    return None


@rule(reassociates, targets=("tpu",), producer=hlo.DivOp, partitioned=False)
def product_of_quotients_to_columns(op: hlo.DotGeneralOp) -> ir.Value | None:
    """(e / s) @ v -> columns of e @ [v, 1], divided by s, where that product exists already.

    For e = exp(x - max(x)), which is at most 1.
    """
    for side, value in enumerate(op.operands):
        quotient = value.owner
        if not isinstance(quotient, hlo.DivOp):
            continue
        for found in _products(quotient.lhs):
            if found.op != op or found.side != side or not _is_softmax(quotient.lhs, found.keys):
                continue
            if (wide := _wide_product(found)) is not None:
                return _columns_divided(found, wide)
    return None


def _is_softmax(e: ir.Value, keys: int) -> bool:
    """Whether `e` is exp(s - max(s)) with the maximum over `keys`."""
    match e.owner:
        case hlo.ExpOp(operand=x):
            match x.owner:
                case hlo.SubtractOp(lhs=s, rhs=largest):
                    return _is_maximum(largest, s, keys)
    return False


def _is_maximum(value: ir.Value, s: ir.Value, keys: int) -> bool:
    """Whether `value` is the maximum of `s` over `keys`, broadcast along them."""
    shape = numeric_shape(s)
    if shape is None or not _is_along_rows(value, shape, keys):
        return False
    op = value.owner.operand.owner
    while isinstance(op, hlo.ReshapeOp):
        op = op.operand.owner
    if not isinstance(op, hlo.ReduceOp) or len(op.inputs) != 1 or list(op.dimensions) != [keys]:
        return False
    return combiner_of(op) == "maximum" and op.inputs[0] == s


def _is_along_rows(value: ir.Value, shape: tuple[int, ...], keys: int) -> bool:
    """Whether `value` is broadcast along `keys` and no other dimension, which stay in order."""
    match value.owner:
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims) if (
            numeric_shape(x) is not None
        ):
            sizes = zip(dims, shape_of(x), strict=True)
            rows = [dim for dim, size in enumerate(shape) if size != 1 and dim != keys]
            return [dim for dim, size in sizes if size != 1] == rows
    return False


def _is_made_of(divisor: ir.Value, total: ir.Value) -> bool:
    """Whether the broadcast `divisor` is `total`, but for dimensions of extent 1."""
    value = divisor.owner.operand
    extents = [size for size in shape_of(value) if size != 1]
    while value != total and isinstance(value.owner, hlo.ReshapeOp):
        value = value.owner.operand
    return value == total and [size for size in shape_of(total) if size != 1] == extents


def _products(e: ir.Value) -> Iterator[_Product]:
    """The products of e / s and of values, unless e / s is a result of the program itself."""
    for quotient in users(e):
        if not isinstance(quotient, hlo.DivOp) or quotient.lhs != e:
            continue
        following = users(quotient.result)
        if any(each.operation.name in _ENDS for each in following):
            continue
        for user in following:
            if (found := _product(user, quotient)) is not None:
                yield found


def _product(user: ir.OpView, quotient: hlo.DivOp) -> _Product | None:
    """The product `user` of the quotient with values of one dimension of features."""
    if not isinstance(user, hlo.DotGeneralOp) or not is_plain(user) or user.lhs == user.rhs:
        return None
    if not isinstance(element_type(user.result), ir.F32Type) or not _is_at_default(user):
        return None
    side = 0 if user.lhs == quotient.result else 1
    own, other = sides_of(user)[side], sides_of(user)[1 - side]
    values = shape_of(user.operands[1 - side])
    if len(own.summed) != 1 or len(other.free(len(values))) != 1:
        return None
    if not _is_along_rows(quotient.rhs, shape_of(quotient.lhs), own.summed[0]):
        return None
    return _Product(user, side, quotient.lhs, quotient.rhs)


def _is_at_default(op: hlo.DotGeneralOp) -> bool:
    """Whether its operands have the default precision."""
    given = op.precision_config or ()
    return {str(hlo.PrecisionAttr(each).value) for each in given} <= {"DEFAULT"}


def _pays(found: _Product) -> bool:
    shape = shape_of(found.exponentials)
    rows = prod(shape[dim] for dim in found.sides[found.side].free(len(shape)))
    features = shape_of(found.values)[found.features]
    return cost.column_pays(shape, rows=rows, keys=shape[found.keys], features=features)


def _last_column(found: _Product, values: ir.Value) -> ir.Value:
    """The sum over the keys, from the product of the exponentials with the values and ones."""
    shape = list(shape_of(values))
    number, shape[found.features] = shape[found.features], 1
    ones = build.splat(1, with_shape(values, shape))
    operands = [hlo.concatenate([values, ones], found.features)] * 2
    operands[found.side] = found.exponentials
    wide = dot(found.op, operands, found.sides)
    column = build.slice_along(wide, {found.column: range(number, number + 1)})
    rows = found.rows
    column = build.reshape(column, [shape_of(found.exponentials)[dim] for dim in rows])
    return build.transpose(column, [rows.index(dim) for dim in sorted(rows)])


def _wide_product(found: _Product) -> hlo.DotGeneralOp | None:
    """The product of the same exponentials with the same values and more columns."""
    for user in users(found.exponentials):
        if not isinstance(user, hlo.DotGeneralOp) or not _is_before(user, found.op):
            continue
        if user.operands[found.side] != found.exponentials or not is_alike(user, found.op):
            continue
        if user.dot_dimension_numbers != found.op.dot_dimension_numbers:
            continue
        match user.operands[1 - found.side].owner:
            case hlo.ConcatenateOp(inputs=[values, *_], dimension=dim):
                if dim.value == found.features and _is_copy(values, found.values):
                    return user
    return None


def _columns_divided(found: _Product, wide: hlo.DotGeneralOp) -> ir.Value:
    """The first columns of the wide product divided by the divisor of each row."""
    number = shape_of(found.values)[found.features]
    total = build.slice_along(wide.result, {found.column: range(number)})
    scale, shape = found.divisor.owner.operand, shape_of(found.exponentials)
    kept = [dim for dim in sorted(found.rows) if shape[dim] != 1]
    scale = build.reshape(scale, [shape[dim] for dim in kept])
    order = [dim for dim in found.rows if shape[dim] != 1]
    scale = build.transpose(scale, [kept.index(dim) for dim in order])
    places = [dim for dim in range(len(shape_of(total))) if dim != found.column]
    at = [place for place, dim in zip(places, found.rows, strict=True) if shape[dim] != 1]
    return hlo.divide(total, build.broadcast(scale, shape_of(total), at))


def _is_before(first: ir.OpView, second: ir.OpView) -> bool:
    """Whether both are in one block, in this order."""
    if first.operation.block != second.operation.block:
        return False
    return bool(first.operation.is_before_in_block(second.operation))


def _values_before(value: ir.Value, op: ir.OpView) -> ir.Value | None:
    """`value` if it is computed before `op`, or else a copy of it; None if that takes many ops."""
    late: list[ir.Value] = []
    if not _collect_late(value, op, late):
        return None
    copies: dict[ir.Value, ir.Value] = {}
    for each in late:
        operands = [copies.get(operand, operand) for operand in each.owner.operands]
        copies[each] = rebuilt(each.owner, operands, shape_of(each))
    return copies.get(value, value)


def _collect_late(value: ir.Value, op: ir.OpView, late: list[ir.Value]) -> bool:
    """Append to `late`, operands first, what `value` needs that is computed after `op`."""
    owner = value.owner
    if isinstance(owner, ir.Block) or value in late:
        return True
    if owner.operation.block != op.operation.block or _is_before(owner, op):
        return True
    if len(late) >= _MOST_COPIED or len(owner.results) != 1 or len(owner.regions):
        return False
    if not is_pure(owner) or not all(_collect_late(each, op, late) for each in owner.operands):
        return False
    late.append(value)
    return len(late) <= _MOST_COPIED


def _is_copy(value: ir.Value, other: ir.Value, most: int = _MOST_COPIED) -> bool:
    """Whether both are one value, or computed by the same ops from the same values."""
    if value == other:
        return True
    mine, theirs = value.owner, other.owner
    if isinstance(mine, ir.Block) or isinstance(theirs, ir.Block) or not most:
        return False
    if mine.operation.name != theirs.operation.name or value.type != other.type:
        return False
    if len(mine.results) != 1 or len(mine.regions) or not is_pure(mine):
        return False
    attributes = [tuple(op.operation.attributes.items()) for op in (mine, theirs)]
    if attributes[0] != attributes[1]:
        return False
    pairs = zip(mine.operands, theirs.operands, strict=True)
    return all(_is_copy(x, y, most - 1) for x, y in pairs)
