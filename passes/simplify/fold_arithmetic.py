"""StableHLO's elementwise ops and conversions on numpy arrays: exact, or not at all.

Floats are computed in float64 and rounded once to their type. For add, subtract, multiply, divide
and square roots of numbers of p bits the result is correctly rounded: float64 has at least 2p + 2
bits for every p up to that of float32, so that its own rounding never decides the second one.
Remainders, roundings to integers, signs, maxima and minima are exact in any type that holds the
operands. Integers are computed as Python's, then wrapped around.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

_SMALL = ("e4m3fn", "e5m2", "e4m3", "e4m3b11fnuz", "e4m3fnuz", "e5m2fnuz")


FLOATS = frozenset(
    ["float16", "bfloat16", "float32", "float64", *(f"float8_{each}" for each in _SMALL)]
)
"""The float dtypes with IEEE arithmetic; some lack infinities or -0.0."""


@np.errstate(all="ignore")
def evaluate(name: str, operands: Sequence[np.ndarray], element: ir.Type) -> np.ndarray | None:
    """The op called `name` on operands of type `element`, broadcast to each other.

    Returns:
        The result in its own dtype; None if this module does not define the op.
    """
    dtype = operands[0].dtype
    if dtype.kind == "b":
        return _apply(_BOOLEAN.get(name), operands)
    if dtype.kind == "c":
        return _apply(_COMPLEX.get(name), operands)
    if isinstance(element, ir.IntegerType):
        return _integers(name, operands, element)
    return _floats(name, operands) if dtype.name in FLOATS else None


def _apply(
    compute: Callable[..., np.ndarray] | None, operands: Sequence[np.ndarray]
) -> np.ndarray | None:
    return None if compute is None else np.asarray(compute(*operands))


_BOOLEAN: dict[str, Callable[..., np.ndarray]] = {
    "add": np.logical_or,
    "multiply": np.logical_and,
    "maximum": np.logical_or,
    "minimum": np.logical_and,
    "or": np.logical_or,
    "and": np.logical_and,
    "xor": np.logical_xor,
    "not": np.logical_not,
    "clamp": lambda low, x, high: (x | low) & high,
}


_COMPLEX: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "subtract": np.subtract,
    "negate": np.negative,
}


def _integers(
    name: str, operands: Sequence[np.ndarray], element: ir.IntegerType
) -> np.ndarray | None:
    """The op on Python's integers, wrapped around to the width of `element`."""
    compute = _INTEGER.get(name)
    if compute is None or (name in ("divide", "remainder") and (operands[1] == 0).any()):
        return None
    width, wide = element.width, np.dtype(np.uint64 if element.is_unsigned else np.int64)

    def wrapped(*numbers: int) -> int:
        number = compute(width, *numbers) & _mask(width)
        return number if element.is_unsigned else _signed(number, width)

    numbers = [each.astype(wide).astype(object) for each in operands]
    found = np.asarray(np.frompyfunc(wrapped, len(numbers), 1)(*numbers), object)
    return found.astype(wide).astype(operands[0].dtype)


def _mask(width: int) -> int:
    return (1 << width) - 1


def _signed(bits: int, width: int) -> int:
    return bits - (1 << width) if bits >> width - 1 else bits


def _quotient(x: int, y: int) -> int:
    """Rounded towards zero."""
    magnitude = abs(x) // abs(y)
    return magnitude if (x < 0) == (y < 0) else -magnitude


def _shift_right(width: int, x: int, y: int) -> int:
    """An arithmetic shift, by an unsigned amount, also of unsigned numbers."""
    return _signed(x & _mask(width), width) >> min(y & _mask(width), width)


_INTEGER: dict[str, Callable[..., int]] = {
    "add": lambda _, x, y: x + y,
    "subtract": lambda _, x, y: x - y,
    "multiply": lambda _, x, y: x * y,
    "divide": lambda _, x, y: _quotient(x, y),
    "remainder": lambda _, x, y: x - y * _quotient(x, y),
    "maximum": lambda _, x, y: max(x, y),
    "minimum": lambda _, x, y: min(x, y),
    "clamp": lambda _, low, x, high: min(max(x, low), high),
    "and": lambda _, x, y: x & y,
    "or": lambda _, x, y: x | y,
    "xor": lambda _, x, y: x ^ y,
    "not": lambda _, x: ~x,
    "negate": lambda _, x: -x,
    "abs": lambda _, x: abs(x),
    "sign": lambda _, x: (x > 0) - (x < 0),
    "popcnt": lambda width, x: (x & _mask(width)).bit_count(),
    "count_leading_zeros": lambda width, x: width - (x & _mask(width)).bit_length(),
    "shift_left": lambda width, x, y: x << min(y & _mask(width), width),
    "shift_right_arithmetic": _shift_right,
    "shift_right_logical": lambda width, x, y: (x & _mask(width)) >> min(y & _mask(width), width),
}


def _floats(name: str, operands: Sequence[np.ndarray]) -> np.ndarray | None:
    wide = [each.astype(np.float64) for each in operands]
    if name == "is_finite":
        return np.asarray(np.isfinite(wide[0]))
    found = _apply(_FLOAT.get(name), wide)
    return None if found is None else rounded(found, operands[0].dtype)


def rounded(exact: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """float64 numbers rounded to another float dtype, to nearest even, in one step."""
    if dtype in (np.float32, np.float64):
        return exact.astype(dtype)
    return _rounded_to_odd(exact).astype(dtype)


def _rounded_to_odd(exact: np.ndarray) -> np.ndarray:
    """The numbers as float32, rounded to odd: if inexact, to the neighbour whose last bit is set.

    A later rounding to fewer bits then sees that the number was not exact.
    """
    near = np.asarray(exact.astype(np.float32))
    back, bits = near.astype(np.float64), near.view(np.uint32)
    below = bits - (np.abs(back) > np.abs(exact))  # the neighbour next to zero
    return np.where((back == exact) | np.isnan(exact), bits, below | 1).view(np.float32)


def _maximum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The maximum: NaN if either is NaN; 0.0 is greater than -0.0."""
    greater = np.where(x == y, np.where(np.signbit(x), y, x), np.where(x > y, x, y))
    return np.where(np.isnan(x) | np.isnan(y), np.nan, greater)


def _minimum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.negative(_maximum(np.negative(x), np.negative(y))))


def _sign(x: np.ndarray) -> np.ndarray:
    return np.where((x == 0) | np.isnan(x), x, np.copysign(1, x))


def _away_from_zero(x: np.ndarray) -> np.ndarray:
    whole = np.trunc(x)
    found: np.ndarray = np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole)
    return found


_FLOAT: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "remainder": np.fmod,
    "maximum": _maximum,
    "minimum": _minimum,
    "clamp": lambda low, x, high: _minimum(_maximum(x, low), high),
    "negate": np.negative,
    "abs": np.abs,
    "sign": _sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "round_nearest_afz": _away_from_zero,
    "round_nearest_even": np.rint,
    "sqrt": np.sqrt,
}


_DIRECTIONS: dict[str, Callable[..., np.ndarray]] = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}


@np.errstate(all="ignore")
def compare(
    direction: str, x: np.ndarray, y: np.ndarray, *, in_total_order: bool
) -> np.ndarray | None:
    """The comparison of x and y; None for complex numbers, and for NaN in the total order."""
    if x.dtype.kind == "c" and direction not in ("EQ", "NE"):
        return None
    if in_total_order:
        if np.isnan(x.astype(np.float64)).any() or np.isnan(y.astype(np.float64)).any():
            return None
        x, y = _in_total_order(x), _in_total_order(y)
    return np.asarray(_DIRECTIONS[direction](x, y))


def _in_total_order(x: np.ndarray) -> np.ndarray:
    """Integers in the order of `TOTALORDER`, where -0.0 is before 0.0."""
    bits = np.asarray(x.astype(np.float64)).view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))


@np.errstate(all="ignore")
def converted(array: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """The elements converted to `dtype`; None if the result depends on the implementation.

    That is so for floats out of the range of an integer type, and for roundings that differ if the
    implementation converts by way of float32 or float16.
    """
    if dtype.kind == "c":
        return _to_complex(array, dtype)
    if array.dtype.kind == "c":
        return None if dtype.kind == "b" else converted(array.real, dtype)
    if dtype.kind == "b":
        return np.asarray(_numbers(array) != 0)
    if array.dtype.name in FLOATS:
        wide = array.astype(np.float64)
        return _to_float(wide, dtype) if dtype.name in FLOATS else _to_integer(wide, dtype)
    if _is_integer(array.dtype):
        whole = _numbers(array)
        return _whole_to_float(whole, dtype) if dtype.name in FLOATS else _in_range(whole, dtype)
    return None


def _to_complex(array: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    part = np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
    real = converted(array.real if array.dtype.kind == "c" else array, part)
    imag = converted(array.imag, part) if array.dtype.kind == "c" else np.zeros(array.shape, part)
    if real is None or imag is None:
        return None
    return joined(real, imag)


def joined(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    """The complex numbers with these parts (`real + 1j * imag` would lose infinities)."""
    shape = np.broadcast_shapes(real.shape, imag.shape)
    both = np.empty(shape, np.complex64 if real.dtype == np.float32 else np.complex128)
    both.real, both.imag = real, imag
    return both


def _is_integer(dtype: np.dtype) -> bool:
    return dtype.kind in "iub" or dtype.name.lstrip("u") in ("int2", "int4")


def _numbers(array: np.ndarray) -> np.ndarray:
    """Integers as 64-bit integers of the same signedness, floats as float64."""
    if not _is_integer(array.dtype):
        return array.astype(np.float64)
    return array.astype(np.uint64 if array.dtype.name.startswith(("u", "bool")) else np.int64)


def _to_float(wide: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    found = np.asarray(rounded(wide, dtype))
    back = found.astype(np.float64)
    is_nan = np.isnan(wide)
    if (np.isnan(back) != is_nan).any() or ((np.signbit(back) != np.signbit(wide)) & ~is_nan).any():
        return None
    ways = [np.float32, np.float16] if dtype.itemsize == 1 else [np.float32]
    routes = [wide.astype(way).astype(np.float64) for way in ways if dtype.itemsize < 4]
    same = [((rounded(way, dtype).astype(np.float64) == back) | is_nan).all() for way in routes]
    return found if all(same) else None


def _to_integer(wide: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    if not _is_integer(dtype) or not np.isfinite(wide).all():
        return None
    whole = np.frompyfunc(int, 1, 1)(np.trunc(wide))
    return _in_range(np.asarray(whole, object), dtype)


_integer_limits: Callable[[np.dtype], Any] = ml_dtypes.iinfo


def _in_range(whole: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """Integers as another integer type; None if one is out of range."""
    if not _is_integer(dtype):
        return None
    info = _integer_limits(dtype)
    if not ((whole >= int(info.min)) & (whole <= int(info.max))).all():
        return None
    wide = np.dtype(np.uint64 if dtype.name.startswith("u") else np.int64)
    return whole.astype(wide).astype(dtype)


def _whole_to_float(whole: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    wide = whole.astype(np.float64)
    if dtype in (np.float32, np.float64):
        return whole.astype(dtype)
    return _to_float(wide, dtype) if (wide.astype(whole.dtype) == whole).all() else None
