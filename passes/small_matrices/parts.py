"""Elements, rows and columns of a batch of matrices, and back."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from jxc.ir import build
from jxc.ir.values import shape_of


def taken(value: ir.Value, places: dict[int, int]) -> ir.Value:
    """`value` where dimension d is at `places[d]`; those dimensions are left out.

    Dimensions are counted from the end where they are negative.
    """
    extents = shape_of(value)
    start, limit = [0] * len(extents), list(extents)
    for dim, at in places.items():
        start[dim], limit[dim] = at, at + 1
    gone = {dim % len(extents) for dim in places}
    part = stablehlo.slice(value, start, limit, [1] * len(extents))
    return build.reshape(part, [size for dim, size in enumerate(extents) if dim not in gone])


def element(value: ir.Value, row: int, column: int, like: ir.Value) -> ir.Value:
    """An element of each matrix, repeated along the last dimension of `like`."""
    return repeated(taken(value, {-2: row, -1: column}), like)


def repeated(value: ir.Value, like: ir.Value) -> ir.Value:
    """`value`, repeated along a new last dimension to the shape of `like`."""
    return build.broadcast(value, shape_of(like), range(len(shape_of(value))))


def joined(lines: Sequence[ir.Value], dimension: int) -> ir.Value:
    """The lines one after the other along a new `dimension`, counted from the end: -1 or -2."""
    shape = list(shape_of(lines[0]))
    place = len(shape) + 1 + dimension
    shape.insert(place, 1)
    parts = [build.reshape(line, shape) for line in lines]
    return parts[0] if len(parts) == 1 else stablehlo.concatenate(parts, place)
