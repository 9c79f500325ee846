"""Indices of a type that cannot hold the last start of a window.

XLA computes that start in the type of the indices, where it wraps around: the last start of a
window of one element in 300 is 299, which is 43 in ui8. XLA then treats the wrong updates as in
range, and a `dynamic_update_slice` at a wrapped start writes outside of its operand.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.bounds import type_bounds
from jxc.ir.values import element_type, shape_of, static_shape
from jxc.rewrite import exact, rule

from .._shared.region import copy_regions


def _wide_enough(indices: ir.Value, most: Iterable[int]) -> ir.Type | None:
    """The least signed type of 32 bits or more that holds `most`, if that of `indices` does not."""
    bounds, last = type_bounds(element_type(indices)), max(most, default=0)
    if bounds is None or bounds.high >= last:
        return None
    return ir.IntegerType.get_signless(32 if last < 2**31 else 64)


@rule(exact)
def widen_update_index(op: hlo.DynamicUpdateSliceOp) -> ir.Value | None:
    """dynamic_update_slice(x, u, i) -> dynamic_update_slice(x, u, convert(i)).

    If the type of i cannot hold the last start.
    """
    shape = static_shape(op.operand, op.update)
    if not shape:
        return None
    wide = _wide_enough(op.start_indices[0], map(operator.sub, shape, shape_of(op.update)))
    if wide is None:
        return None
    starts = [build.convert(start, wide) for start in op.start_indices]
    return hlo.dynamic_update_slice(op.operand, op.update, starts, results=[op.result.type])


@rule(exact)
def widen_scatter_index(op: hlo.ScatterOp) -> hlo.ScatterOp | None:
    """scatter(x, i, u) -> scatter(x, convert(i), u), if the type of i cannot hold a last start.

    XLA computes the last starts along all dimensions of x, with an index or without.
    """
    shape = static_shape(op.inputs[0], op.scatter_indices, op.updates[0])
    if shape is None:
        return None
    wide = _wide_enough(op.scatter_indices, map(operator.sub, shape, _windows(op)))
    if wide is None:
        return None
    made = hlo.ScatterOp(
        [result.type for result in op.results],
        op.inputs,
        build.convert(op.scatter_indices, wide),
        op.updates,
        op.scatter_dimension_numbers,
        indices_are_sorted=op.indices_are_sorted,
        unique_indices=op.unique_indices,
    )
    copy_regions(op, made)
    return made


def _windows(op: hlo.ScatterOp) -> Iterator[int]:
    """The extent of a window of updates along each dimension of the operand."""
    numbers = hlo.ScatterDimensionNumbers(op.scatter_dimension_numbers)
    updates = shape_of(op.updates[0])
    extents = iter([updates[dim] for dim in numbers.update_window_dims])
    ones = {*numbers.inserted_window_dims, *numbers.input_batching_dims}
    for dim in range(len(shape_of(op.inputs[0]))):
        yield 1 if dim in ones else next(extents)
