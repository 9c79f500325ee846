"""StableHLO's elementwise ops and conversions on numpy arrays: exact, or not at all.

Floats are computed in float64 and rounded once to their type. For add, subtract, multiply, divide
and square roots of numbers of p bits the result is correctly rounded: float64 has at least 2p + 2
bits for every p up to that of float32, so rounding twice gives the same result as rounding once.
Remainders, roundings to integers, signs, maxima and minima are exact in any type that holds the
operands. Integers are computed as Python's, then wrapped around.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.values import direction_of

from .compare import OUTCOME

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
    if dtype.kind in "bc":
        defined = _OF_BOOLEANS if dtype.kind == "b" else _OF_COMPLEX
        return np.asarray(_UFUNCS[name](*operands)) if name in defined else None
    if isinstance(element, ir.IntegerType):
        return _integers(name, operands, element)
    return _floats(name, operands) if dtype.name in FLOATS else None


_UFUNCS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "negate": np.negative,
    "abs": np.abs,
}
_OF_BOOLEANS = frozenset(
    ["add", "multiply", "maximum", "minimum", "clamp", "and", "or", "xor", "not"]
)
_OF_COMPLEX = frozenset(["add", "subtract", "negate"])


def _integers(
    name: str, operands: Sequence[np.ndarray], element: ir.IntegerType
) -> np.ndarray | None:
    """The op on Python's integers, wrapped around to the width of `element`."""
    if name in ("divide", "remainder") and (operands[1] == 0).any():
        return None
    width, wide = element.width, np.dtype(np.uint64 if element.is_unsigned else np.int64)
    # in arrays of rank 1 or more: numpy turns those of rank 0 into numbers of fixed width
    numbers = [np.atleast_1d(each).astype(wide).astype(object) for each in operands]
    if name in _UFUNCS:
        found = _UFUNCS[name](*numbers)
    elif name in _INTEGER:
        found = np.frompyfunc(partial(_INTEGER[name], width), len(numbers), 1)(*numbers)
    else:
        return None
    found &= _mask(width)
    found = found if element.is_unsigned else _signed(found, width)
    shape = np.broadcast_shapes(*(each.shape for each in operands))
    return np.asarray(found.astype(wide).astype(operands[0].dtype).reshape(shape))


def _mask(width: int) -> int:
    return (1 << width) - 1


def _signed(bits: Any, width: int) -> Any:
    """Unsigned numbers of `width` bits, read in two's complement."""
    sign = 1 << width - 1
    return (bits ^ sign) - sign


def _quotient(x: int, y: int) -> int:
    """Rounded towards zero."""
    magnitude = abs(x) // abs(y)
    return magnitude if (x < 0) == (y < 0) else -magnitude


def _shift_right(width: int, x: int, y: int) -> int:
    """An arithmetic shift, by an unsigned amount, also of unsigned numbers."""
    return int(_signed(x & _mask(width), width)) >> min(y & _mask(width), width)


_INTEGER: dict[str, Callable[..., int]] = {
    "divide": lambda _, x, y: _quotient(x, y),
    "remainder": lambda _, x, y: x - y * _quotient(x, y),
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
    return rounded(np.asarray(_FLOAT[name](*wide)), operands[0].dtype) if name in _FLOAT else None


def rounded(exact: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """float64 numbers rounded to another float dtype, to nearest even, in one step.

    For small types they first become float32, rounded to odd: an inexact one to the neighbour whose
    last bit is set. The rounding to fewer bits then sees that the number was not exact.
    """
    if dtype in (np.float32, np.float64):
        return exact.astype(dtype)
    near = np.asarray(exact.astype(np.float32))
    back, bits = near.astype(np.float64), near.view(np.uint32)
    below = bits - (np.abs(back) > np.abs(exact))  # the neighbour next to zero
    odd = np.where((back == exact) | np.isnan(exact), bits, below | 1)
    return odd.view(np.float32).astype(dtype)


def _maximum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The maximum: NaN if either is NaN; 0.0 is greater than -0.0."""
    greater = np.where(x == y, np.where(np.signbit(x), y, x), np.where(x > y, x, y))
    return np.where(np.isnan(x) | np.isnan(y), np.nan, greater)


def _minimum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.negative(_maximum(np.negative(x), np.negative(y))))


def _away_from_zero(x: np.ndarray) -> np.ndarray:
    whole = np.trunc(x)
    return np.asarray(np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole))


_FLOAT: dict[str, Callable[..., Any]] = {
    **{name: _UFUNCS[name] for name in ("add", "subtract", "multiply", "negate", "abs")},
    "divide": np.divide,
    "remainder": np.fmod,
    "maximum": _maximum,
    "minimum": _minimum,
    "clamp": lambda low, x, high: _minimum(_maximum(x, low), high),
    "sign": lambda x: np.where((x == 0) | np.isnan(x), x, np.copysign(1, x)),
    "floor": np.floor,
    "ceil": np.ceil,
    "round_nearest_afz": _away_from_zero,
    "round_nearest_even": np.rint,
    "sqrt": np.sqrt,
}


@np.errstate(all="ignore")
def compared(op: hlo.CompareOp, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """The result of `op` on x and y; None for orders of complex numbers, and NaN in total order."""
    direction = direction_of(op)
    if x.dtype.kind == "c" and direction not in ("EQ", "NE"):
        return None
    if "TOTALORDER" in str(op.compare_type):
        if np.isnan(x.astype(np.float64)).any() or np.isnan(y.astype(np.float64)).any():
            return None
        x, y = _in_total_order(x), _in_total_order(y)
    return np.asarray(OUTCOME[direction](x, y))


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
        part = np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
        is_real = array.dtype.kind != "c"
        real = converted(array if is_real else array.real, part)
        imag = np.zeros(array.shape, part) if is_real else converted(array.imag, part)
        return None if real is None or imag is None else joined(real, imag)
    if array.dtype.kind == "c":
        return None if dtype.kind == "b" else converted(array.real, dtype)
    is_whole = _is_integer(array.dtype)
    if is_whole:
        is_unsigned = array.dtype.name.startswith(("u", "bool"))
        numbers = array.astype(np.uint64 if is_unsigned else np.int64)
    else:
        numbers = array.astype(np.float64)
    if dtype.kind == "b":
        return np.asarray(numbers != 0)
    if not is_whole and array.dtype.name not in FLOATS:
        return None
    if dtype.name not in FLOATS:
        return _to_integer(numbers, dtype)
    if not is_whole:
        return _to_float(numbers, dtype)
    if dtype in (np.float32, np.float64):
        return numbers.astype(dtype)
    wide = numbers.astype(np.float64)
    return _to_float(wide, dtype) if (wide.astype(numbers.dtype) == numbers).all() else None


def joined(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    """The complex numbers with these parts (`real + 1j * imag` would lose infinities)."""
    shape = np.broadcast_shapes(real.shape, imag.shape)
    both = np.empty(shape, np.complex64 if real.dtype == np.float32 else np.complex128)
    both.real, both.imag = real, imag
    return both


def _is_integer(dtype: np.dtype) -> bool:
    return dtype.kind in "iub" or dtype.name.lstrip("u") in ("int2", "int4")


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


def _to_integer(numbers: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """Numbers without their fraction as integers; None if one is out of range or not finite."""
    if not _is_integer(dtype) or not np.isfinite(numbers).all():
        return None
    whole = np.asarray(np.frompyfunc(int, 1, 1)(numbers), object)
    info = _integer_limits(dtype)
    if not ((whole >= int(info.min)) & (whole <= int(info.max))).all():
        return None
    return whole.astype(np.uint64 if dtype.name.startswith("u") else np.int64).astype(dtype)


_integer_limits: Callable[[np.dtype], Any] = ml_dtypes.iinfo
