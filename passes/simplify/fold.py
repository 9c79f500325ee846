"""Ops on constants: elementwise ones, evaluated as StableHLO defines them, and rearrangements.

Not folded: transcendental functions, whose last bit differs between libraries; integer divisions by
zero; conversions whose result StableHLO leaves to the implementation. A result that is not a splat
becomes a constant only if it replaces constants of as many elements (`may_fold`). Splats of any
size are rearranged by `rearrange`.
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
from jxc.ir.dtypes import numpy_dtype
from jxc.ir.elementwise import Elementwise
from jxc.ir.values import element_type, is_complex, shape_of, splat_attr
from jxc.rewrite import exact, rule

from .._shared.elementwise import is_used_once, size_of
from .fold_arithmetic import compared, converted, evaluate, joined

LITERALS = (hlo.ConstantOp, hlo.BroadcastInDimOp, hlo.IotaOp)
"""The ops whose result may be known: the `producer` of rules that fold."""


def literals(op: ir.OpView) -> list[np.ndarray] | None:
    """The operands of an elementwise op as arrays, or None if the op must not be folded.

    Operands may be constants, broadcasts of constants, and iotas. Splats are arrays of rank 0, the
    others have the shape of the result. Unless all are splats, one operand must be a constant of
    the result's shape, whose place the result takes.
    """
    if not all(map(_is_known, op.operands)) or not is_plain(op.results[0]):
        return None
    if any(splat_attr(value) is None for value in op.operands) and not may_fold(op):
        return None
    found = [array for value in op.operands if (array := literal(value)) is not None]
    return found if len(found) == len(op.operands) else None


def _is_known(value: ir.Value) -> bool:
    op = value.owner
    if isinstance(op, hlo.BroadcastInDimOp):
        op = op.operand.owner
    return isinstance(op, (hlo.ConstantOp, hlo.IotaOp))


def is_plain(value: ir.Value) -> bool:
    """Whether a value is a tensor of static shape without an encoding."""
    kind = value.type
    return isinstance(kind, ir.RankedTensorType) and kind.has_static_shape and kind.encoding is None


def may_fold(op: ir.OpView) -> bool:
    """Whether the result may become a constant that is not a splat.

    It may have as many elements as the constants that are dead without the op, or very few.
    """
    size = size_of(op.results[0])
    dense = [
        value
        for value in op.operands
        if isinstance(value.owner, hlo.ConstantOp) and splat_attr(value) is None
    ]
    if size <= thresholds.FOLDED_FREELY:
        return bool(dense)
    freed = sum(size_of(value) for value in dense if is_used_once(value))
    return size <= min(freed, thresholds.FOLDED_ELEMENTS)


def literal(value: ir.Value) -> np.ndarray | None:
    """The elements of a constant, a broadcast of one or an iota; of rank 0 for a splat."""
    op, is_small = value.owner, size_of(value) <= thresholds.FOLDED_ELEMENTS
    if isinstance(op, hlo.BroadcastInDimOp) and is_plain(value):
        array = literal(op.operand)
        if array is None or not array.ndim:
            return array
        dims = list(op.broadcast_dimensions)
        return expanded(array, shape_of(value), dims) if is_small else None
    if isinstance(op, hlo.IotaOp) and is_plain(value) and is_small:
        return _positions(op)
    if not isinstance(op, hlo.ConstantOp) or (is_complex(value) and not is_small):
        return None  # reading complex elements is slow
    array = array_of(value)
    if array is not None and array.size and (array.size == 1 or not any(array.strides)):
        return array[tuple(slice(1) for _ in array.shape)].reshape(())
    return array if is_small else None


def _positions(op: hlo.IotaOp) -> np.ndarray | None:
    shape, dim = shape_of(op.result), op.iota_dimension.value
    dtype = numpy_dtype(ir.RankedTensorType(op.result.type).element_type)
    if dtype is None or dtype.kind not in "iu" or shape[dim] > np.iinfo(dtype).max:
        return None  # floats round, and small integers wrap around
    along = [extent if i == dim else 1 for i, extent in enumerate(shape)]
    return np.broadcast_to(np.arange(shape[dim]).astype(dtype).reshape(along), shape)


def expanded(array: np.ndarray, shape: tuple[int, ...], dims: list[int]) -> np.ndarray:
    """`broadcast_in_dim`: dimension i of `array` becomes dimension `dims[i]` of the result."""
    order = sorted(range(len(dims)), key=dims.__getitem__)
    sizes = {dims[i]: array.shape[i] for i in order}
    aligned = array.transpose(order).reshape([sizes.get(i, 1) for i in range(len(shape))])
    return np.broadcast_to(aligned, shape)


def _folded(op: ir.OpView, compute: Callable[..., np.ndarray | None]) -> ir.Value | None:
    """The result of `compute` on the operands as a constant, if `op` may be folded."""
    operands = literals(op)
    array = None if operands is None else compute(*operands)
    return None if array is None else build.dense(array, op.results[0].type)


@rule(exact, producer=LITERALS)
def fold_arithmetic(op: Elementwise) -> ir.Value | None:
    """f(c, d) -> dense<f(c, d)>: integers wrap around, floats are rounded correctly.

    Not for transcendental functions, whose last bit differs between libraries.
    """
    name = op.operation.name.removeprefix("stablehlo.")
    return _folded(op, lambda *x: evaluate(name, x, element_type(op.operands[-1])))


@rule(exact, producer=LITERALS)
def fold_compare(op: hlo.CompareOp) -> ir.Value | None:
    """c < d -> dense<c < d>; booleans are unsigned; in the total order -0.0 < 0.0."""
    return _folded(op, lambda x, y: compared(op, x, y))


@rule(exact, producer=LITERALS)
def fold_select(op: hlo.SelectOp) -> ir.Value | None:
    """select(c, d, e) -> dense<..>."""
    return _folded(op, np.where)


@rule(exact, producer=LITERALS)
def fold_convert(op: hlo.ConvertOp) -> ir.Value | None:
    """convert(dense<c>) -> dense<c>, if every implementation gives the same number."""
    dtype = numpy_dtype(element_type(op.result))
    return None if dtype is None else _folded(op, lambda x: converted(x, dtype))


@rule(exact, producer=LITERALS)
def fold_complex(op: hlo.ComplexOp) -> ir.Value | None:
    """complex(c, d) -> dense<(c, d)>."""
    return _folded(op, joined)


@rule(exact, producer=LITERALS)
def fold_part(op: hlo.RealOp | hlo.ImagOp) -> ir.Value | None:
    """real(dense<(c, d)>) -> dense<c>, imag(dense<(c, d)>) -> dense<d>."""
    if not is_complex(op.operand):
        return None
    return _folded(op, lambda x: x.real if isinstance(op, hlo.RealOp) else x.imag)


@rule(exact, producer=LITERALS)
def fold_bitcast(op: hlo.BitcastConvertOp) -> ir.Value | None:
    """bitcast_convert(dense<c>) -> dense<..>, between types of the same number of bytes."""
    dtype = numpy_dtype(element_type(op.result))

    def bits(x: np.ndarray) -> np.ndarray | None:
        if dtype is None or x.dtype.itemsize != dtype.itemsize or x.shape != shape_of(op.result):
            return None
        is_whole = _are_bytes(x.dtype) and _are_bytes(dtype)
        return np.ascontiguousarray(x).view(dtype).reshape(x.shape) if is_whole else None

    return _folded(op, bits)


def _are_bytes(dtype: np.dtype) -> bool:
    return dtype.kind != "b" and dtype.name.lstrip("u") not in ("int2", "int4", "float4_e2m1fn")


def _moved(op: ir.OpView, compute: Callable[..., np.ndarray]) -> ir.Value | None:
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
    return _moved(op, lambda x: _rearranged(op, x))


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
    return _moved(op, lambda *parts: np.concatenate(parts, op.dimension.value))


@rule(exact, producer=hlo.ConstantOp)
def fold_pad(op: hlo.PadOp) -> ir.Value | None:
    """pad(dense<..>, c) -> dense<..>."""
    return _moved(op, lambda x, value: _padded(op, x, value))


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
    return _moved(op, _updated)


def _updated(x: np.ndarray, update: np.ndarray, *starts: np.ndarray) -> np.ndarray:
    found = np.array(x)
    sizes = zip(starts, update.shape, x.shape, strict=True)
    first = [min(max(int(start), 0), extent - size) for start, size, extent in sizes]
    found[tuple(map(slice, first, map(operator.add, first, update.shape)))] = update
    return found


@rule(exact, producer=hlo.ConstantOp)
def fold_gather(op: hlo.GatherOp) -> ir.Value | None:
    """gather(dense<..>, constants) -> dense<..>, with indices in their signedness, clamped."""
    if 0 in op.slice_sizes or not shape_of(op.operand):
        return None
    return _moved(op, lambda x, indices: _gathered(op, x, indices))


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
    places = np.arange(x.size).reshape(x.shape)  # numpy has no views of windows of f8E5M2
    windows = np.lib.stride_tricks.sliding_window_view(places, tuple(op.slice_sizes))
    first = [  # as Python's integers, which hold every index
        np.asarray(np.clip(start.astype(object), 0, count - 1), int)
        for start, count in zip(starts, windows.shape, strict=False)
    ]
    left_out = [*numbers.collapsed_slice_dims, *numbers.operand_batching_dims]
    found = windows[tuple(first)].squeeze(tuple(len(batch) + dim for dim in left_out))
    offsets = range(len(batch), found.ndim)
    moved: np.ndarray = x.reshape(-1)[np.moveaxis(found, offsets, list(numbers.offset_dims))]
    return moved
