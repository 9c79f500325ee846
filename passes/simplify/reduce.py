"""Reductions over nothing, of rearranged operands, of reductions, and of constants.

StableHLO leaves the order of a reduction open; the reference interpreter starts with the initial
value and combines the elements in row-major order. No rule changes that order, or how often a value
is combined, if the result could differ: sums of floats keep theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost import thresholds
from jxc.ir import build
from jxc.ir.dtypes import numpy_dtype
from jxc.ir.values import (
    element_type,
    is_complex,
    is_float,
    is_same,
    is_splat,
    shape_of,
    splat_of,
    static_shape,
)
from jxc.rewrite import exact, rule

from .._shared.elementwise import is_used_once, size_of
from .._shared.reduce_body import (
    can_inline,
    combiner_of,
    inline,
    is_exact_in_any_order,
    is_idempotent,
    is_neutral,
    with_body_of,
)
from .fold import LITERALS, literal, may_fold
from .fold_arithmetic import FLOATS, evaluate, rounded

_INLINED_OPS = 16  # of a body, where there is nothing to reduce


def _reduced(op: hlo.ReduceOp) -> list[int] | None:
    """The extents of the reduced dimensions; None if an extent is dynamic."""
    shape = static_shape(*op.inputs, *op.results)
    return None if shape is None else [shape[dim] for dim in op.dimensions]


@rule(exact)
def reduce_over_nothing(op: hlo.ReduceOp) -> Sequence[ir.Value] | None:
    """reduce(x, init, []) -> f(init, x): the initial value is combined with each element."""
    shape = static_shape(*op.inputs, *op.results)
    if len(op.dimensions) or shape is None or not can_inline(op, _INLINED_OPS):
        return None
    return _combined_once(op, op.inputs, shape)


def _combined_once(
    op: hlo.ReduceOp | hlo.ReduceWindowOp,
    inputs: Iterable[ir.Value],
    shape: Sequence[int],
    *,
    keep_zero: bool = False,
) -> Sequence[ir.Value]:
    """The body of `op`, in place, on the initial values and `inputs` of that shape."""
    starts = [build.broadcast(value, shape, []) for value in op.init_values]
    return inline(op, [*starts, *inputs], shape, keep_zero=keep_zero)


@rule(exact)
def reduce_over_ones(op: hlo.ReduceOp) -> Sequence[ir.Value] | None:
    """reduce(x, init) -> f(init, reshape(x)), over extents of 1, for a body of one op."""
    reduced = _reduced(op)
    if not reduced or set(reduced) != {1} or not can_inline(op, 1):
        return None
    shape = shape_of(op.results[0])
    return _combined_once(op, (build.reshape(x, shape) for x in op.inputs), shape)


@rule(exact)
def reduce_over_empty(op: hlo.ReduceOp) -> Sequence[ir.Value] | None:
    """reduce(x, init) -> broadcast_in_dim(init), over an extent of 0, for any body."""
    reduced = _reduced(op)
    if reduced is None or 0 not in reduced:
        return None
    pairs = list(zip(op.results, op.init_values, strict=True))
    if any(element_type(result) != element_type(init) for result, init in pairs):
        return None
    return [build.broadcast(init, shape_of(result), []) for result, init in pairs]


@rule(exact, producer=hlo.BroadcastInDimOp)
def reduce_of_broadcast(op: hlo.ReduceOp) -> ir.OpView | None:
    """reduce(broadcast_in_dim(x)) -> reduce(x), without reduced dimensions that x lacks.

    For bodies with f(a, a) = a: max, min, and, or.
    """
    match [value.owner for value in op.inputs]:
        case [hlo.BroadcastInDimOp(operand=x, broadcast_dimensions=dims, result=wide)]:
            name, reduced = combiner_of(op), _reduced(op)
            if name is None or not reduced or 0 in reduced or not is_idempotent(name, x):
                return None
            repeated = set(op.dimensions) - set(dims)
            if not repeated or static_shape(x) is None:
                return None
            left = [dim for dim in range(len(shape_of(wide))) if dim not in repeated]
            own = [left.index(dim) for dim in dims]
            inner = build.broadcast(x, [shape_of(wide)[dim] for dim in left], own)
            rest = [left.index(dim) for dim in op.dimensions if dim in left]
            return with_body_of(op, [inner], op.init_values, rest)
    return None


@rule(exact, producer=hlo.ReshapeOp)
def reduce_of_reshape(op: hlo.ReduceOp) -> ir.OpView | None:
    """reduce(reshape(x)) -> reduce(x), if only extents of 1 come or go, which the result lacks."""
    match [value.owner for value in op.inputs]:
        case [hlo.ReshapeOp(operand=x, result=wide)] if static_shape(x, wide) is not None:
            dims = _dimensions_before(shape_of(x), shape_of(wide), list(op.dimensions))
            if dims is not None and len(op.dimensions):
                return with_body_of(op, [x], op.init_values, dims)
    return None


def _dimensions_before(
    before: Sequence[int], after: Sequence[int], dims: Sequence[int]
) -> list[int] | None:
    """The dimensions of shape `before` to reduce instead of `dims` of shape `after`, or None."""
    large = [dim for dim, extent in enumerate(after) if extent != 1]
    if [after[dim] for dim in large] != [extent for extent in before if extent != 1]:
        return None
    wanted = [extent for dim, extent in enumerate(after) if dim not in dims]
    rest, reduced, found = iter(large), [], 0
    for dim, extent in enumerate(before):
        is_kept = extent == 1 or next(rest) not in dims
        if is_kept and found < len(wanted) and wanted[found] == extent:
            found += 1
        elif is_kept and extent != 1:
            return None
        else:
            reduced.append(dim)
    return reduced if found == len(wanted) else None


@rule(exact, producer=hlo.TransposeOp)
def reduce_of_transpose(op: hlo.ReduceOp) -> ir.OpView | None:
    """reduce(transpose(x)) -> reduce(x), if the kept and the reduced dimensions keep their order.

    The reduced ones may change their order on integers, and for max, min, and, or.
    """
    match [value.owner for value in op.inputs]:
        case [hlo.TransposeOp(operand=x, permutation=order)]:
            dims = dimensions_before_transpose(op, list(order))
            return with_body_of(op, [x], op.init_values, dims) if dims else None
    return None


def dimensions_before_transpose(op: hlo.ReduceOp, order: Sequence[int]) -> list[int] | None:
    """The dimensions of x to reduce if `op`, of one input, reduces the transpose of x by `order`.

    None if the result, or the sum where order matters, would be in another order.
    """
    dims = [order[dim] for dim in op.dimensions]
    kept = [dim for dim in order if dim not in dims]
    if kept != sorted(kept) or not dims:
        return None
    in_order = [dim for dim in order if dim in dims]
    name = combiner_of(op)
    is_free = name is not None and is_exact_in_any_order(name, op.inputs[0])
    return sorted(dims) if in_order == sorted(in_order) or is_free else None


@rule(exact, producer=hlo.ReduceOp)
def reduce_of_reduce(op: hlo.ReduceOp) -> ir.OpView | None:
    """reduce(reduce(x, init), init) -> reduce(x, init), for equal bodies, if order cannot matter.

    On integers, and for max, min, and, or, if the inner initial value is neutral, or the same and
    combined twice gives the same. The inner reduction has no other use.
    """
    match [value.owner for value in op.inputs]:
        case [hlo.ReduceOp() as inner] if is_used_once(op.inputs[0]):
            name, reduced = combiner_of(op), _reduced(op)
            if name is None or name != combiner_of(inner) or not reduced or 0 in reduced:
                return None
            x, start = inner.inputs[0], inner.init_values[0]
            if not is_exact_in_any_order(name, x) or static_shape(x) is None:
                return None
            starts_alike = is_same(start, op.init_values[0])
            if not is_neutral(name, start) and not (starts_alike and is_idempotent(name, x)):
                return None
            left = [dim for dim in range(len(shape_of(x))) if dim not in inner.dimensions]
            dims = sorted([*inner.dimensions, *(left[dim] for dim in op.dimensions)])
            return with_body_of(op, [x], op.init_values, dims)
    return None


@rule(exact, producer=(hlo.CompareOp, hlo.ConvertOp), needs=(hlo.SortOp,))
def reduce_of_sort(op: hlo.ReduceOp) -> ir.OpView | None:
    """reduce(sort(x) == sort(x)) -> reduce(x == x), along the sorted dimension.

    For any comparison of results of one sort and splats, and for its conversion to numbers, if
    order cannot matter: on integers, and where a count of floats is exact.
    """
    name, reduced, x = combiner_of(op), _reduced(op), op.inputs[0]
    counted = x.owner.operand if isinstance(x.owner, hlo.ConvertOp) else x
    if name is None or not reduced or not isinstance(counted.owner, hlo.CompareOp):
        return None
    if not is_exact_in_any_order(name, x) and not _is_exact_count(op, math.prod(reduced)):
        return None
    compared = counted.owner
    sides = [compared.lhs, compared.rhs]
    sort = next((each.owner for each in sides if isinstance(each.owner, hlo.SortOp)), None)
    if sort is None or sort.dimension is None or sort.dimension.value not in op.dimensions:
        return None
    if any(side.owner != sort and splat_of(side) is None for side in sides):
        return None
    own = [
        sort.inputs[ir.OpResult(side).result_number] if side.owner == sort else side
        for side in sides
    ]
    direction, kind = compared.comparison_direction, compared.compare_type
    mask = hlo.compare(*own, direction, compare_type=kind)
    given = build.convert(mask, element_type(x))
    return with_body_of(op, [given], op.init_values, list(op.dimensions))


def _is_exact_count(op: hlo.ReduceOp, elements: int) -> bool:
    """Whether `op` sums so many converted booleans from 0, as floats that are not rounded."""
    dtype = numpy_dtype(element_type(op.inputs[0]))
    if combiner_of(op) != "add" or dtype is None or dtype.name not in FLOATS:
        return False
    return is_splat(op.init_values[0], 0) and elements <= 1 << _float_limits(dtype).nmant


@rule(exact, producer=LITERALS)
def fold_reduce(op: hlo.ReduceOp) -> ir.Value | None:
    """reduce(dense<..>, c) -> dense<..>, if order cannot matter.

    On integers, for max, min, and, or, and for sums of a splat of floats that are never rounded.
    """
    if not isinstance(op.inputs[0].owner, LITERALS):
        return None
    name, reduced = combiner_of(op), _reduced(op)
    if name is None or not reduced or 0 in reduced:
        return None
    init, array = literal(op.init_values[0]), literal(op.inputs[0])
    if init is None or init.ndim or array is None:
        return None
    is_short = size_of(op.results[0]) <= thresholds.FOLDED_FREELY
    if array.ndim and not is_short and not may_fold(op):
        return None
    element, is_free = element_type(op.inputs[0]), is_exact_in_any_order(name, op.inputs[0])

    def combine(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        found = evaluate(name, [x, y], element)
        assert found is not None
        return found

    if evaluate(name, [init, init], element) is None:
        return None
    if array.ndim:
        total = _combined(combine, array, list(op.dimensions)) if is_free else None
    elif is_free:
        total = _repeated(combine, array, math.prod(reduced))
    else:
        total = _exact_sum(name, array, init, math.prod(reduced))
    return None if total is None else build.dense(combine(init, total), op.results[0].type)


_Combine = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _combined(combine: _Combine, array: np.ndarray, dims: list[int]) -> np.ndarray:
    """All elements along `dims` combined, in halves."""
    kept = [dim for dim in range(array.ndim) if dim not in dims]
    shape = [array.shape[dim] for dim in kept]
    count = math.prod(array.shape[dim] for dim in dims)
    rows = array.transpose([*dims, *kept]).reshape([count, *shape])
    while len(rows) > 1:
        half, rest = len(rows) // 2, rows[len(rows) // 2 * 2 :]
        rows = np.concatenate([combine(rows[:half], rows[half : 2 * half]), rest])
    return np.asarray(rows[0])


def _repeated(combine: _Combine, x: np.ndarray, count: int) -> np.ndarray:
    """`count` times x combined, by doubling."""
    if count == 1:
        return x
    half = _repeated(combine, combine(x, x), count // 2)
    return combine(half, x) if count % 2 else half


_float_limits: Callable[[np.dtype], Any] = ml_dtypes.finfo


def _exact_sum(name: str, x: np.ndarray, init: np.ndarray, count: int) -> np.ndarray | None:
    """The sum of `count` equal floats, if no partial sum is rounded."""
    if name != "add" or x.dtype.name not in FLOATS or float(init) != 0:
        return None
    number = float(x)
    if not math.isfinite(number):
        return None
    digits = abs(number).as_integer_ratio()[0]
    whole = digits // (digits & -digits) if digits else 0
    total = rounded(np.asarray(number * count), x.dtype)
    is_exact = whole * count <= 1 << _float_limits(x.dtype).nmant
    return total if is_exact and np.isfinite(total.astype(np.float64)) else None


def _is_kept_in_place(op: hlo.ReduceWindowOp) -> bool:
    """Whether XLA computes the op in the body of `op` to the same bits outside of a window."""
    name, x = combiner_of(op), op.inputs[0]
    if name is None or is_complex(x):
        return False
    is_narrow = is_float(x) and ir.FloatType(element_type(x)).width < 32
    return not is_narrow or is_exact_in_any_order(name, x)


@rule(exact)
def reduce_window_of_one(op: hlo.ReduceWindowOp) -> Sequence[ir.Value] | None:
    """reduce_window(x, init) -> f(init, slice(x)), for windows of one element.

    For sums, products, extrema and logical ops of real numbers, and not for sums and products of
    narrow floats: XLA folds other ops with a constant otherwise than it computes them in a window.
    """
    if any(size != 1 for size in (*op.window_dimensions, *(op.base_dilations or ()))):
        return None
    if op.padding is not None and np.asarray(op.padding).any():
        return None
    shape = static_shape(*op.results, *op.inputs)
    if shape is None or 0 in shape or not _is_kept_in_place(op):
        return None
    strides = list(op.window_strides or [1])
    if all(step == 1 for step in strides):
        return _combined_once(op, op.inputs, shape, keep_zero=True)
    sliced = (hlo.slice(x, [0] * len(shape), shape_of(x), strides) for x in op.inputs)
    return _combined_once(op, sliced, shape, keep_zero=True)
