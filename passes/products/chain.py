"""Chains of products, multiplied in the order that needs fewer multiply-adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import shape_of
from jxc.rewrite import reassociates, rule

from .._shared.dot import (
    OperandDims,
    dot,
    is_in_loop,
    may_be_hoisted,
    shape_of_product,
    sides_of,
)
from .work import (
    is_alike,
    is_plain,
    is_single,
    multiply_adds,
    multiply_adds_of,
)


class _Factor(NamedTuple):
    """An operand of a product: its value and the meaning of its dimensions."""

    value: ir.Value
    dims: OperandDims

    @property
    def rank(self) -> int:
        return len(shape_of(self.value))


class _Order(NamedTuple):
    """The other order of a chain: `inner` is multiplied first, then by `last`.

    Attributes:
        inner: the operands of the first product, left and right.
        last: the remaining factor.
        of_first: the dimensions of the first product in the second.
        on_left: whether `last` is the left operand of the second product.
    """

    inner: tuple[_Factor, _Factor]
    last: _Factor
    of_first: OperandDims
    on_left: bool


@rule(reassociates, producer=hlo.DotGeneralOp, priced=True)
def chain_of_products(op: hlo.DotGeneralOp) -> ir.Value | None:
    """(A @ B) @ C -> A @ (B @ C), and the other way round, if that multiplies less.

    For products of any dimensions, in a batch too, if A @ B has no other use. In a loop A @ B is
    not counted, as the compiler may hoist it.
    """
    if not is_plain(op):
        return None
    for i, value in enumerate((op.lhs, op.rhs)):
        product = value.owner
        if not isinstance(product, hlo.DotGeneralOp) or not is_single(value, op):
            continue
        if not is_plain(product) or not is_alike(op, product):
            continue
        order = _other_order(op, i, product)
        if order is not None and _multiplies_less(op, product, order):
            first = dot(
                op, [each.value for each in order.inner], [each.dims for each in order.inner]
            )
            pair = [_Factor(first, order.of_first), order.last]
            pair = pair[::-1] if order.on_left else pair
            return dot(op, [each.value for each in pair], [each.dims for each in pair])
    return None


def _other_order(op: hlo.DotGeneralOp, i: int, product: hlo.DotGeneralOp) -> _Order | None:
    """The other order of `op`, whose operand i is `product`.

    None if the factor that is multiplied with the third one is not unique, or if the result would
    have its dimensions in another order.
    """
    outer, inner = sides_of(op), sides_of(product)
    mine, theirs = outer[i], _Factor((op.lhs, op.rhs)[1 - i], outer[1 - i])
    batch = len(inner[0].batch)
    if mine.batch != tuple(range(batch)):
        return None
    factors = [_Factor(v, d) for v, d in zip((product.lhs, product.rhs), inner, strict=True)]
    free = [each.dims.free(each.rank) for each in factors]
    # the factor, and its dimension, that each contracted dimension of the product belongs to
    places = [(0, dim) for dim in free[0]] + [(1, dim) for dim in free[1]]
    met = [places[dim - batch] for dim in mine.summed]
    if len({which for which, _ in met}) != 1:
        return None
    which = met[0][0]
    taken = tuple(dim for _, dim in met)
    near, far = factors[which], factors[1 - which]
    # if the far factor stays on its side of the near one, the order of the result is kept
    rest = [dim for dim in free[which] if dim not in taken]
    if rest and which == i:
        return None
    return _ordered(near, far, taken, theirs, is_left=i == 0)


def _ordered(
    near: _Factor, far: _Factor, taken: Sequence[int], third: _Factor, *, is_left: bool
) -> _Order:
    """The order in which `near` and `third` are multiplied first, over `taken` of `near`.

    Args:
        near, far: the factors of the given product.
        taken: the dimensions of `near` that are summed with those of `third`.
        third: the other operand.
        is_left: whether the given product is the left operand.
    """
    own = _Factor(near.value, OperandDims(near.dims.batch, tuple(taken)))
    inner = (own, third) if is_left else (third, own)
    kept = own.dims.free(near.rank)
    batch = len(near.dims.batch)
    start = batch if is_left else batch + len(third.dims.free(third.rank))
    position = {dim: start + i for i, dim in enumerate(kept)}
    summed = tuple(position[dim] for dim in near.dims.summed)
    return _Order(inner, far, OperandDims(tuple(range(batch)), summed), is_left)


def _multiplies_less(op: hlo.DotGeneralOp, product: hlo.DotGeneralOp, order: _Order) -> bool:
    shapes = [shape_of(each.value) for each in order.inner]
    dims = [each.dims for each in order.inner]
    last = [shape_of(order.last.value), shape_of_product(shapes, dims)]
    after = multiply_adds(shapes, dims) + multiply_adds(last, [order.last.dims, order.of_first])
    is_counted = not is_in_loop(op) and not may_be_hoisted(product)
    before = multiply_adds_of(op) + (multiply_adds_of(product) if is_counted else 0)
    return after < before
