"""Sums over windows of a constant: how often it is counted, as a product over the dimensions.

Average pooling divides by such a sum. XLA computes it element by element when it compiles, which
took minutes for images of 512 x 512 (https://github.com/google-deepmind/dm-haiku/issues/539).
"""

from __future__ import annotations

from functools import reduce
from math import prod

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost import thresholds
from jxc.ir import build
from jxc.ir.bounds import type_bounds
from jxc.ir.dtypes import numpy_dtype
from jxc.ir.values import SPLATS, element_type, is_boolean, is_splat, shape_of, splat_of
from jxc.rewrite import exact, rule

from .._shared.reduce_body import combiner_of
from .._shared.window import WindowAxis, axes_of_window

_DIGITS: dict[type, int] = {ir.BF16Type: 8, ir.F16Type: 11, ir.F32Type: 24, ir.F64Type: 53}
"""The bits of the significands: integers up to 2 to that power are exact."""


@rule(exact, producer=SPLATS)
def window_sum_of_splat(op: hlo.ReduceWindowOp) -> ir.Value | None:
    """reduce_window(dense<c>, 0) -> counts * counts * c, for sums that are never rounded.

    One vector of counts for each dimension along which windows hold different numbers of elements.
    """
    axes, value = axes_of_window(op), splat_of(op.inputs[0])
    if axes is None or value is None or combiner_of(op) != "add":
        return None
    if not is_splat(op.init_values[0], 0):
        return None
    most = prod(axis.window for axis in axes)
    if not _is_whole_up_to(op.inputs[0], value, most):
        return None
    if any(axis.out > thresholds.FOLDED_ELEMENTS for axis in axes):
        return None
    shape, element = shape_of(op.results[0]), element_type(op.inputs[0])
    factor, varying = int(value), []
    for dim, axis in enumerate(axes):
        counts = _counts(axis)
        if np.all(counts == counts[:1]):
            factor *= int(counts[0]) if counts.size else 1
        else:
            varying.append((dim, counts))
    if not varying or not factor:
        return build.splat(factor, op.results[0].type)
    dtype = numpy_dtype(element)
    vectors = []
    for number, (dim, counts) in enumerate(varying):
        scaled = counts * (1 if number else factor)
        kind = ir.RankedTensorType.get([len(counts)], element)
        vectors.append(build.broadcast(build.dense(scaled.astype(dtype), kind), shape, [dim]))
    return reduce(hlo.multiply, vectors)


def _is_whole_up_to(x: ir.Value, value: float, times: int) -> bool:
    """Whether a positive `value`, added up so many times, is an integer that the type of x holds.

    Of -0.0 the sum would be 0.0, and the product -0.0.
    """
    element, total = element_type(x), value * times
    if not value > 0 or value != value // 1:
        return False
    if (digits := _DIGITS.get(type(element))) is not None:
        return bool(total <= 2**digits)
    bounds = type_bounds(element)
    return bounds is not None and not is_boolean(x) and total <= bounds.high


def _counts(axis: WindowAxis) -> np.ndarray:
    """The number of elements, without padding, in each window along a dimension."""
    starts = np.arange(axis.out) * axis.stride - axis.low
    found = starts[:, None] + np.arange(axis.window) * axis.window_dilation
    inside = (found >= 0) & (found <= (axis.size - 1) * axis.base_dilation)
    counts: np.ndarray = (inside & (found % axis.base_dilation == 0)).sum(axis=1)
    return counts
