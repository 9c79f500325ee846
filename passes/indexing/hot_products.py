"""Sums of products with one-hot vectors, as losses with one-hot labels have them.

A product with 0 is NaN if the other factor is infinite or NaN. Whether one is can be read from the
least and the greatest factor of a row; a softmax computes the greatest anyway.

XLA computes a product with converted booleans as a `select`, whose result is finite: losses use
this to exclude classes with logits of -inf. The extremes are then multiplied with booleans too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, is_before, is_splat, shape_of, static_shape, users
from jxc.rewrite import exact, rule

from .._shared.elementwise import is_converted_boolean, with_shape
from .._shared.reduce_body import combiner_of
from .._shared.signed_zero import plus_zero
from .hits import Hit, hit_of
from .one_hot import is_row

_INFINITE = ir.BF16Type | ir.F16Type | ir.F32Type | ir.F64Type  # types with infinities
_DEPTH = 4  # additions and subtractions between the array and the product


class _Shifted(NamedTuple):
    """An array plus and minus values without a dimension.

    Attributes:
        x: the array.
        maximum: the reduction to its greatest element along the dimension.
        shift: computes the same sums of another value in place of x, without the dimension.
    """

    x: ir.Value
    maximum: hlo.ReduceOp
    shift: Callable[[ir.Value], ir.Value]


@rule(exact, producer=hlo.MulOp, priced=True)
def sum_of_one_hot_product(op: hlo.ReduceOp) -> ir.Value | None:
    """sum(one_hot(i) * (x - y)) -> x[i] - y + 0 * (min(x) - y) + 0 * (max(x) - y), in each row.

    For y without the summed dimension, where max(x) is computed anyway. The products with 0 are NaN
    where a term of the sum is; x is not read once more.
    """
    if combiner_of(op) != "add" or not is_splat(op.init_values[0], 0):
        return None
    product = op.inputs[0]
    shape = static_shape(product, op.results[0])
    if shape is None or 0 in shape or not isinstance(product.owner, hlo.MulOp):
        return None
    if not isinstance(element_type(product), _INFINITE):
        return None
    factors = product.owner.lhs, product.owner.rhs
    for dim in reversed(list(op.dimensions)):
        for labels, values in (factors, factors[::-1]):
            shifted = _shifted(values, dim, _DEPTH)
            hit = hit_of(labels, dim) if shifted is not None else None
            if shifted is None or hit is None or hit.position is None:
                continue
            if hit.elsewhere.known is not None and hit.elsewhere.known == 0:
                rest = [each - (each > dim) for each in op.dimensions if each != dim]
                is_selected = is_converted_boolean(labels)
                total = _total(hit, shifted, dim, op, is_selected=is_selected)
                return build.reduce_sum(total, rest)
    return None


def _shifted(value: ir.Value, dim: int, depth: int) -> _Shifted | None:
    """How `value` is an array whose maximum along `dim` is known, plus and minus other values."""
    if static_shape(value) is None:
        return None
    for user in users(value):
        if _is_maximum(user, dim):
            return _Shifted(value, user, lambda row: row)
    owner = value.owner
    if not depth or not isinstance(owner, hlo.AddOp | hlo.SubtractOp):
        return None
    shifted, other = _shifted(owner.lhs, dim, depth - 1), hit_of(owner.rhs, dim)
    if shifted is None or other is None or other.position is not None:
        return None
    make = hlo.add if isinstance(owner, hlo.AddOp) else hlo.subtract
    shift, by = shifted.shift, other.elsewhere
    return shifted._replace(shift=lambda row: make(shift(row), by.build()))


def _is_maximum(user: ir.OpView, dim: int) -> bool:
    return (
        isinstance(user, hlo.ReduceOp)
        and list(user.dimensions) == [dim]
        and combiner_of(user) == "maximum"
    )


def _total(
    hit: Hit, shifted: _Shifted, dim: int, op: hlo.ReduceOp, *, is_selected: bool
) -> ir.Value:
    """The sum along `dim` that replaces `op`.

    If `is_selected`, XLA computes products with 0 as a `select`.
    """
    assert hit.position is not None
    x, index = shifted.x, hit.position.build()
    there = shifted.shift(_read(x, index, dim))
    found = plus_zero(hlo.multiply(hit.there.build(), there))
    zero = build.splat(0, found.type)
    is_there = is_row(index, shape_of(x)[dim])
    total = found if is_there is None else hlo.select(is_there, found, zero)
    least = _extreme(x, dim, hlo.minimum)
    greatest = shifted.maximum.results[0]
    if not is_before(shifted.maximum, op):
        greatest = _extreme(x, dim, hlo.maximum)
    if is_selected:  # never true, but compilers cannot prove that
        zero = build.convert(build.compare("GT", least, greatest), element_type(x))
    for extreme in (least, greatest):
        total = hlo.add(total, hlo.multiply(shifted.shift(extreme), zero))
    return total


def _extreme(x: ir.Value, dim: int, choose: Callable[..., ir.Value]) -> ir.Value:
    first = float("inf" if choose is hlo.minimum else "-inf")
    return build.reduce(x, build.scalar(first, element_type(x)), [dim], choose)


def _read(x: ir.Value, index: ir.Value, dim: int) -> ir.Value:
    """The element of `x` at the index along `dim`, for each position along the others."""
    rank = len(shape_of(x))
    rest = [each for each in range(rank) if each != dim]
    numbers = hlo.GatherDimensionNumbers.get(
        offset_dims=[],
        collapsed_slice_dims=[dim],
        operand_batching_dims=rest,
        start_indices_batching_dims=list(range(rank - 1)),
        start_index_map=[dim],
        index_vector_dim=rank - 1,
    )
    kind = with_shape(x, [shape_of(x)[each] for each in rest])
    return hlo.gather(x, index, numbers, [1] * rank, results=[kind])
