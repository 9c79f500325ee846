"""A sort by booleans as a partition: each element is moved to a position that is counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import direction_of, element_type, is_boolean, shape_of, static_shape
from jxc.rewrite import exact, rule

from .keys import axis_of
from .top_k import take_along_axis

_LARGEST_AXIS = 1 << 31


@rule(exact, targets=("cpu",), priced=True)
def sort_of_booleans_to_partition(op: hlo.SortOp) -> Sequence[ir.Value] | None:
    """sort(mask, y) -> y gathered at scatter(position, iota), and iota >= the number of False.

    For stable sorts by the mask alone. The position of an element that is False is the
    number of those before it; that of a True one is the same plus the number of all False.
    """
    shape, dim = static_shape(*op.operands), axis_of(op)
    if len(op.inputs) < 2 or not shape or 0 in shape or not 1 < shape[dim] < _LARGEST_AXIS:
        return None
    if not is_boolean(op.inputs[0]) or not _is_stable_ascending(op):
        return None
    mask = op.inputs[0]
    i32 = ir.RankedTensorType.get(shape, ir.IntegerType.get_signless(32))
    position = hlo.iota(i32, dim)
    trues = _running_sum(build.convert(mask, i32.element_type), dim)
    total = build.slice_along(trues, {dim: range(shape[dim] - 1, shape[dim])})
    every = build.broadcast(total, shape, list(range(len(shape))))
    falses = hlo.subtract(build.splat(shape[dim], i32), every)
    one = build.splat(1, i32)
    behind = hlo.subtract(hlo.add(falses, trues), one)
    moved = hlo.select(mask, behind, hlo.subtract(position, trues))
    origin = _scattered(position, moved, dim)
    return [
        build.compare("GE", position, falses)
        if each == mask
        else take_along_axis(each, origin, dim)
        for each in op.inputs
    ]


def _is_stable_ascending(op: hlo.SortOp) -> bool:
    """Whether `op` is stable and compares the first operand alone, False before True."""
    if op.is_stable is None or not op.is_stable.value:
        return False
    block = op.comparator.blocks[0]
    match compared := block.operations[len(block.operations) - 1].operands[0].owner:
        case hlo.CompareOp(lhs=lhs, rhs=rhs) if direction_of(compared) == "LT":
            return [lhs, rhs] == list(block.arguments)[:2]
    return False


def _running_sum(x: ir.Value, dim: int) -> ir.Value:
    """The sum of the elements up to each along `dim`, as the pass `scans` recognises it."""
    shape = shape_of(x)
    window, padding = [1] * len(shape), [[0, 0] for _ in shape]
    window[dim], padding[dim] = shape[dim], [shape[dim] - 1, 0]
    zero = build.scalar(0, element_type(x))
    op = hlo.ReduceWindowOp(
        [x.type], [x], [zero], window, padding=ir.DenseElementsAttr.get(np.array(padding, np.int64))
    )
    build.append_combiner(op.body, zero.type, hlo.add)
    return op.results[0]


def _scattered(updates: ir.Value, positions: ir.Value, dim: int) -> ir.Value:
    """The elements of `updates` moved to `positions` along `dim`, a permutation."""
    shape = shape_of(updates)
    others = [each for each in range(len(shape)) if each != dim]
    numbers = hlo.ScatterDimensionNumbers.get([], [dim], others, others, [dim], len(shape))
    indices = build.reshape(positions, [*shape, 1])
    empty = build.splat(0, updates.type)
    op = hlo.ScatterOp([updates.type], [empty], indices, [updates], numbers, unique_indices=True)
    scalar = ir.RankedTensorType.get((), element_type(updates))
    build.append_combiner(op.update_computation, scalar, lambda _, new: new)
    return op.results[0]
