"""Ops that move elements of constants, if the result has not many more elements than the operands.

Splats of any size are folded by `rearrange`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost import thresholds
from jxc.ir import build
from jxc.ir.constants import array_of
from jxc.ir.values import shape_of
from jxc.rewrite import exact, rule

from .._shared.elementwise import size_of
from .fold import expanded, is_plain, may_fold


def _folded(op: ir.OpView, compute: Callable[..., np.ndarray]) -> ir.Value | None:
    """The result of `compute` on the operands as a constant, if all are small constants."""
    if not all(isinstance(value.owner, hlo.ConstantOp) for value in op.operands):
        return None
    if not is_plain(op.results[0]) or not may_fold(op):
        return None
    if any(size_of(value) > thresholds.FOLDED_ELEMENTS for value in op.operands):
        return None
    arrays = [array_of(value) for value in op.operands]
    if any(array is None for array in arrays):
        return None
    return build.dense(compute(*arrays), op.results[0].type)


@rule(exact, producer=hlo.ConstantOp)
def fold_rearrangement(
    op: hlo.BroadcastInDimOp | hlo.ReshapeOp | hlo.ReverseOp | hlo.SliceOp | hlo.TransposeOp,
) -> ir.Value | None:
    """broadcast_in_dim, reshape, reverse, slice, transpose of dense<..> -> dense<..>."""
    return _folded(op, lambda x: _rearranged(op, x))


def _rearranged(op: ir.OpView, x: np.ndarray) -> np.ndarray:
    match op:
        case hlo.BroadcastInDimOp(broadcast_dimensions=dims):
            return expanded(x, shape_of(op.result), list(dims))
        case hlo.ReshapeOp():
            return x.reshape(shape_of(op.result))
        case hlo.ReverseOp(dimensions=dims):
            return np.flip(x, tuple(dims))
        case hlo.SliceOp(start_indices=starts, limit_indices=limits, strides=strides):
            return x[tuple(map(slice, starts, limits, strides))]
        case hlo.TransposeOp(permutation=order):
            return x.transpose(list(order))
    raise AssertionError(op)


@rule(exact, producer=hlo.ConstantOp)
def fold_concatenate(op: hlo.ConcatenateOp) -> ir.Value | None:
    """concatenate(dense<..>, dense<..>) -> dense<..>."""
    return _folded(op, lambda *parts: np.concatenate(parts, op.dimension.value))


@rule(exact, producer=hlo.ConstantOp)
def fold_pad(op: hlo.PadOp) -> ir.Value | None:
    """pad(dense<..>, c) -> dense<..>."""
    return _folded(op, lambda x, value: _padded(op, x, value))


def _padded(op: hlo.PadOp, x: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The padded array: x is placed on a canvas, of which negative edges are cut off."""
    low, high = list(op.edge_padding_low), list(op.edge_padding_high)
    steps = [between + 1 for between in op.interior_padding]
    dilated = [(n - 1) * step + 1 if n else 0 for n, step in zip(x.shape, steps, strict=True)]
    sizes = [max(a, 0) + n + max(b, 0) for a, n, b in zip(low, dilated, high, strict=True)]
    canvas = np.full(sizes, value)
    inner = zip(low, dilated, steps, strict=True)
    canvas[tuple(slice(max(a, 0), max(a, 0) + n, step) for a, n, step in inner)] = x
    kept = zip(low, high, sizes, strict=True)
    return canvas[tuple(slice(max(-a, 0), size - max(-b, 0)) for a, b, size in kept)]


@rule(exact, producer=hlo.ConstantOp)
def fold_dynamic_update_slice(op: hlo.DynamicUpdateSliceOp) -> ir.Value | None:
    """dynamic_update_slice(dense<..>, dense<..>, constants) -> dense<..>, with clamped starts."""
    return _folded(op, _updated)


def _updated(x: np.ndarray, update: np.ndarray, *starts: np.ndarray) -> np.ndarray:
    found = np.array(x)
    sizes = zip(starts, update.shape, x.shape, strict=True)
    first = [min(max(int(start), 0), extent - size) for start, size, extent in sizes]
    found[tuple(map(slice, first, map(operator.add, first, update.shape)))] = update
    return found


@rule(exact, targets=("cpu", "tpu"), producer=hlo.ConstantOp)
def fold_gather(op: hlo.GatherOp) -> ir.Value | None:
    """gather(dense<..>, constants) -> dense<..>: indices are read in their signedness and clamped.

    Not for GPU: in the simulation of a humanoid XLA fused less around such constants, with 13 more
    kernels of 235, together with `gather-of-affine-indices`.
    """
    if 0 in op.slice_sizes or not shape_of(op.operand):
        return None
    return _folded(op, lambda x, indices: _gathered(op, x, indices))


def _gathered(op: hlo.GatherOp, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The windows of x at the clamped starts, with their dimensions where the result has them."""
    numbers = hlo.GatherDimensionNumbers(op.dimension_numbers)
    vector = numbers.index_vector_dim
    rows = np.moveaxis(indices, vector, -1) if vector < indices.ndim else indices[..., None]
    batch = rows.shape[:-1]
    starts = [np.zeros(batch, int)] * x.ndim
    for number, dim in enumerate(numbers.start_index_map):
        starts[dim] = rows[..., number]
    pairs = zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    for dim, of in pairs:
        starts[dim] = np.indices(batch)[of - (of > vector)]
    windows = np.lib.stride_tricks.sliding_window_view(x, tuple(op.slice_sizes))
    first = [  # as Python's integers, which hold every index
        np.asarray(np.clip(start.astype(object), 0, count - 1), int)
        for start, count in zip(starts, windows.shape, strict=False)
    ]
    left_out = [*numbers.collapsed_slice_dims, *numbers.operand_batching_dims]
    found = windows[tuple(first)].squeeze(tuple(len(batch) + dim for dim in left_out))
    return np.moveaxis(found, range(len(batch), found.ndim), list(numbers.offset_dims))
