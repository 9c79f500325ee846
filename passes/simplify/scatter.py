"""Scatters that change nothing, and scatters of one window.

A scatter drops a window that does not lie within the operand; a `dynamic_update_slice` clamps its
start. So one becomes the other only if the index is known to be in range.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import Bounds, bounds_of, few_elements
from jxc.ir.elementwise import is_elementwise
from jxc.ir.values import (
    SPLATS,
    element_type,
    is_all_ones,
    is_complex,
    is_float,
    is_integer,
    is_splat,
    shape_of,
    static_shape,
)
from jxc.rewrite import exact, rule

from .._shared.elementwise import rebuilt
from .gather import components_of


def _unchanged(op: hlo.ScatterOp) -> list[ir.Value] | None:
    """The operands, if they have the types of the results."""
    operands = list(op.inputs)
    pairs = zip(operands, op.results, strict=True)
    return operands if all(x.type == result.type for x, result in pairs) else None


@rule(exact)
def scatter_of_nothing(op: hlo.ScatterOp) -> list[ir.Value] | None:
    """scatter(x, indices, u) -> x, if u is empty."""
    return _unchanged(op) if 0 in shape_of(op.updates[0]) else None


@rule(exact)
def scatter_of_own_value(op: hlo.ScatterOp) -> list[ir.Value] | None:
    """scatter(x, indices, u) -> x, if the body returns the old value."""
    body = op.update_computation.blocks[0]
    count = len(op.inputs)
    if list(body.operations[-1].operands) != list(body.arguments)[:count]:
        return None
    return _unchanged(op)


@rule(exact, producer=SPLATS)
def scatter_of_neutral(op: hlo.ScatterOp) -> list[ir.Value] | None:
    """scatter(x, indices, 0) -> x, if it adds; also for neutral elements of -, *, &, | and ^.

    On floats -0.0 is the neutral element of +, and 0.0 that of -.
    """
    body, update = op.update_computation.blocks[0], op.updates[0]
    if len(op.inputs) != 1 or len(body.operations) != 2 or is_complex(update):
        return None
    (combine, end), (x, u) = body.operations, body.arguments
    if end.operands[0] != combine.results[0]:
        return None
    taken = list(combine.operands)
    if taken != [x, u] and (isinstance(combine, hlo.SubtractOp) or taken != [u, x]):
        return None
    return _unchanged(op) if _is_neutral(combine, update) else None


def _is_neutral(combine: ir.OpView, update: ir.Value) -> bool:
    match combine:
        case hlo.AddOp():
            return is_splat(update, -0.0 if is_float(update) else 0)
        case hlo.SubtractOp() | hlo.OrOp() | hlo.XorOp():
            return is_splat(update, 0)
        case hlo.MulOp():
            return is_splat(update, 1)
    return isinstance(combine, hlo.AndOp) and is_all_ones(update)


class _Window(NamedTuple):
    """The one window of a scatter: its extents, its starts, its greatest starts."""

    sizes: list[int]
    starts: list[ir.Value | int]
    most: list[int]


def _window_of(op: hlo.ScatterOp) -> _Window | None:
    """The window of a scatter of one operand with a single index, or None."""
    if len(op.inputs) != 1:
        return None
    indices, update = op.scatter_indices, op.updates[0]
    shape = static_shape(op.inputs[0], indices, update, op.results[0])
    if shape is None or 0 in shape_of(update) or not is_integer(indices):
        return None
    numbers = hlo.ScatterDimensionNumbers(op.scatter_dimension_numbers)
    extents, windows = shape_of(update), numbers.update_window_dims
    if any(size != 1 for dim, size in enumerate(extents) if dim not in windows):
        return None
    gone = {*numbers.inserted_window_dims, *numbers.input_batching_dims}
    left = iter(windows)
    sizes = [1 if dim in gone else extents[next(left)] for dim in range(len(shape))]
    components: Sequence[ir.Value | int] | None
    if 0 in shape_of(indices):
        components = []
    elif isinstance(indices.owner, hlo.ConstantOp) and (known := few_elements(indices)) is not None:
        components = [int(number) for number in known.flat]
    else:
        components = components_of(indices, numbers.index_vector_dim)
    if components is None:
        return None
    starts = dict(zip(numbers.scattered_dims_to_operand_dims, components, strict=True))
    most = list(map(operator.sub, shape, sizes))
    return _Window(sizes, [starts.get(dim, 0) for dim in range(len(shape))], most)


@rule(exact)
def scatter_out_of_range(op: hlo.ScatterOp) -> list[ir.Value] | None:
    """scatter(x, index, u) -> x, for one window that never lies within x."""
    window = _window_of(op)
    if window is None:
        return None
    for start, size, most in zip(window.starts, window.sizes, window.most, strict=True):
        found = _bounds(start)
        if found is not None and (found.low >= most + size or found.high <= -size):
            return _unchanged(op)
    return None


def _bounds(start: ir.Value | int) -> Bounds | None:
    return bounds_of(start) if isinstance(start, ir.Value) else Bounds(start, start)


def _is_in_range(start: ir.Value | int, most: int) -> bool:
    found = _bounds(start)
    return found is not None and found.low >= 0 and found.high <= most


@rule(exact)
def scatter_to_dynamic_update_slice(op: hlo.ScatterOp) -> ir.Value | None:
    """scatter(x, index, u) -> dynamic_update_slice(x, u, index), if it overwrites, in range."""
    body = op.update_computation.blocks[0]
    if len(op.inputs) != 1 or body.operations[-1].operands[0] != body.arguments[1]:
        return None
    x, update = op.inputs[0], op.updates[0]
    if x.type != op.results[0].type or element_type(x) != element_type(update):
        return None
    window = _window_of(op)
    if window is None or not all(map(_is_in_range, window.starts, window.most)):
        return None
    element = element_type(op.scatter_indices)
    starts = [
        build.reshape(start, ()) if isinstance(start, ir.Value) else build.scalar(start, element)
        for start in window.starts
    ]
    return hlo.dynamic_update_slice(x, build.reshape(update, window.sizes), starts)


@rule(exact)
def scatter_of_whole(op: hlo.ScatterOp) -> ir.Value | None:
    """scatter(x, index, u) -> f(x, u), for one window that is all of x and a body f of one op."""
    body = op.update_computation.blocks[0]
    if len(op.inputs) != 1 or len(body.operations) != 2:
        return None
    (combine, end), (mine, theirs) = body.operations, body.arguments
    if not is_elementwise(combine) or not mine.type == theirs.type == combine.results[0].type:
        return None
    if not {*combine.operands} <= {mine, theirs} or end.operands[0] != combine.results[0]:
        return None
    x, update, window = op.inputs[0], op.updates[0], _window_of(op)
    if window is None or any(window.most) or x.type != op.results[0].type:
        return None
    if not element_type(x) == element_type(update) == element_type(mine):
        return None
    if not all(map(_is_in_range, window.starts, window.most)):
        return None
    given = {mine: x, theirs: build.reshape(update, window.sizes)}
    return rebuilt(combine, [given[operand] for operand in combine.operands], window.sizes)
