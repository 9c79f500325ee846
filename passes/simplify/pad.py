"""Pads: removed if they add nothing, merged, moved in front of transposes and broadcasts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import as_result, is_same, is_splat, shape_of, static_shape
from jxc.rewrite import exact, rule

from .._shared.elementwise import is_used_once, numeric_shape


class Edge(NamedTuple):
    """The padding along one dimension; a negative `low` or `high` removes elements."""

    low: int
    high: int
    interior: int


NO_EDGE = Edge(0, 0, 0)


def edges_of(op: hlo.PadOp) -> list[Edge]:
    """The padding of `op` along each dimension."""
    sides = (op.edge_padding_low, op.edge_padding_high, op.interior_padding)
    return [Edge(*edge) for edge in zip(*sides, strict=True)]


def pad(x: ir.Value, value: ir.Value, edges: Sequence[Edge]) -> ir.Value:
    """`x` padded with the scalar `value`; `x` itself if nothing is added."""
    if all(edge == NO_EDGE for edge in edges):
        return x
    low, high, interior = zip(*edges, strict=True)
    return hlo.pad(x, value, low, high, interior)


@rule(exact)
def identity_pad(op: hlo.PadOp) -> ir.Value | None:
    """pad(x, 0 everywhere) -> x."""
    return as_result(op.operand, op) if all(e == NO_EDGE for e in edges_of(op)) else None


@rule(exact, producer=hlo.PadOp)
def pad_of_pad(op: hlo.PadOp) -> ir.Value | None:
    """pad(pad(x, c), c) -> pad(x, c), if the inner one removes nothing."""
    match op.operand.owner:
        case hlo.PadOp(operand=x, padding_value=value) as producer:
            sizes = static_shape(x, op.result)
            if sizes is None or not is_same(value, op.padding_value):
                return None
            inner, outer = edges_of(producer), edges_of(op)
            if any(edge.low < 0 or edge.high < 0 for edge in inner) or 0 in sizes:
                return None
            merged = [_merge(*each) for each in zip(inner, outer, sizes, strict=True)]
            return pad(x, value, merged)
    return None


def _merge(inner: Edge, outer: Edge, size: int) -> Edge:
    """The padding of both pads: the outer interior padding dilates the inner padding too."""
    step = outer.interior + 1
    interior = (inner.interior + 1) * step - 1 if size > 1 else 0
    return Edge(outer.low + inner.low * step, outer.high + inner.high * step, interior)


@rule(exact)
def negative_pad_to_slice(op: hlo.PadOp) -> ir.Value | None:
    """pad(x) -> slice(x), if it only removes elements."""
    edges, shape = edges_of(op), static_shape(op.operand, op.result)
    if shape is None or any(edge.low > 0 or edge.high > 0 or edge.interior for edge in edges):
        return None
    limits = [size + edge.high for size, edge in zip(shape, edges, strict=True)]
    return hlo.slice(op.operand, [-edge.low for edge in edges], limits, [1] * len(shape))


@rule(exact)
def pad_of_empty(op: hlo.PadOp) -> ir.Value | None:
    """pad(x, c) -> broadcast_in_dim(c), if x has no elements."""
    shape = static_shape(op.operand, op.result)
    if shape is None or 0 not in shape:
        return None
    return hlo.broadcast_in_dim(op.result.type, op.padding_value, [])


@rule(exact, producer=hlo.TransposeOp)
def pad_of_transpose(op: hlo.PadOp) -> ir.Value | None:
    """pad(transpose(x), c) -> transpose(pad(x, c)), if the transpose has no other use."""
    match op.operand.owner:
        case hlo.TransposeOp(operand=x, permutation=permutation) if is_used_once(op.operand):
            if numeric_shape(x, op.result) is None:
                return None
            order, edges = list(permutation), edges_of(op)
            own = [edges[order.index(dim)] for dim in range(len(order))]
            return hlo.transpose(pad(x, op.padding_value, own), order)
    return None


@rule(exact, producer=hlo.BroadcastInDimOp)
def pad_of_broadcast(op: hlo.PadOp) -> ir.Value | None:
    """pad(broadcast_in_dim(x), c) -> broadcast_in_dim(pad(x, c)).

    If only dimensions that x has in full are padded, and the broadcast has no other use.
    """
    match op.operand.owner:
        case hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims) if is_used_once(op.operand):
            if numeric_shape(x, op.operand, op.result) is None or not dims:
                return None
            edges, sizes = edges_of(op), shape_of(op.operand)
            own = dict(zip(dims, shape_of(x), strict=True))
            if any(e != NO_EDGE and own.get(dim) != sizes[dim] for dim, e in enumerate(edges)):
                return None
            padded = pad(x, op.padding_value, [edges[dim] for dim in dims])
            return hlo.broadcast_in_dim(op.result.type, padded, dims)
    return None


@rule(exact, producer=hlo.PadOp)
def add_of_pads(op: hlo.AddOp) -> ir.Value | None:
    """pad(x, 0) + pad(y, 0) -> pad(concatenate(x, y), 0), if y starts where x ends.

    On integers, and on floats padded with -0.0: -0.0 + 0.0 is 0.0.
    """
    return joined_pads(op, partial(is_splat, number=-0.0))


def joined_pads(op: hlo.AddOp, is_neutral: Callable[[ir.Value], bool]) -> ir.Value | None:
    """The sum of two pads as a pad of a concatenation, if each lies in the other's padding."""
    match op.lhs.owner, op.rhs.owner:
        case hlo.PadOp(operand=x) as left, hlo.PadOp(operand=y) as right:
            if not is_neutral(left.padding_value) or not is_neutral(right.padding_value):
                return None
            if numeric_shape(op.result, x, y) is None:
                return None
            if not is_used_once(op.lhs) or not is_used_once(op.rhs):
                return None
            axes = list(zip(edges_of(left), edges_of(right), strict=True))
            dims = [dim for dim, both in enumerate(axes) if both != (NO_EDGE, NO_EDGE)]
            if len(dims) != 1:
                return None
            pairs = zip(axes[dims[0]], (x, y), strict=True)
            (first, x), (second, y) = sorted(pairs, key=lambda pair: pair[0].low)
            if first.low < 0 or second.high < 0 or first.interior or second.interior:
                return None
            if first.low + shape_of(x)[dims[0]] != second.low:
                return None
            around = [NO_EDGE] * len(axes)
            around[dims[0]] = Edge(first.low, second.high, 0)
            return pad(hlo.concatenate([x, y], dims[0]), left.padding_value, around)
    return None
