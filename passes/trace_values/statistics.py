"""Statistics of a value: minimum, maximum, mean, and the numbers of NaNs, infinities, zeros."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.build import compare, convert, reduce, reshape, scalar, splat
from jxc.ir.values import element_type, is_complex, shape_of

NAMES = ("min", "max", "mean", "nan", "inf", "zeros")
COUNT = len(NAMES)


def is_numeric(value: ir.Value) -> bool:
    """Whether there are numbers of static shape in a value, booleans included."""
    if not isinstance(value.type, ir.RankedTensorType):
        return False
    kind = ir.RankedTensorType(value.type)
    numbers = (ir.IntegerType, ir.FloatType, ir.ComplexType)
    return kind.has_static_shape and isinstance(kind.element_type, numbers)


def statistics(value: ir.Value, element: ir.Type) -> ir.Value:
    """The six numbers as a vector of `element`.

    The minimum and maximum ignore NaNs, and are +inf and -inf if there are no other elements. The
    mean is over all elements, and NaN if there are none. Complex numbers count by their absolute
    values, booleans as 0 and 1.
    """
    numbers = _real(value, element)
    infinity = float("inf")
    is_nan = compare("NE", numbers, numbers)
    size = hlo.abs(numbers)
    counted = (
        is_nan,
        compare("EQ", size, splat(infinity, numbers.type)),
        compare("EQ", size, splat(0.0, numbers.type)),
    )
    total = reduced(numbers, 0.0, hlo.add)
    found = [
        reduced(_select(is_nan, infinity, numbers), infinity, hlo.minimum),
        reduced(_select(is_nan, -infinity, numbers), -infinity, hlo.maximum),
        hlo.divide(total, scalar(float(prod(shape_of(value))), element)),
        *(convert(_count(each), element) for each in counted),
    ]
    return hlo.concatenate([reshape(each, (1,)) for each in found], 0)


def _real(value: ir.Value, element: ir.Type) -> ir.Value:
    if not is_complex(value):
        return convert(value, element)
    parts = [hlo.real(value), hlo.imag(value)]
    nans = [compare("NE", part, part) for part in parts]
    size = convert(hlo.abs(value), element)
    return _select(hlo.or_(*nans), float("nan"), size)


def _select(mask: ir.Value, number: float, other: ir.Value) -> ir.Value:
    return hlo.select(mask, splat(number, other.type), other)


def _count(mask: ir.Value) -> ir.Value:
    i32 = ir.IntegerType.get_signless(32)
    return reduced(convert(mask, i32), 0, hlo.add)


def reduced(
    value: ir.Value, start: float, combine: Callable[[ir.Value, ir.Value], ir.Value]
) -> ir.Value:
    """All elements of a value combined into a scalar."""
    dims = range(len(shape_of(value)))
    return reduce(value, scalar(start, element_type(value)), dims, combine) if dims else value
