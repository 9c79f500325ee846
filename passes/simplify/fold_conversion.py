"""Converting numpy arrays as `stablehlo.convert` does, where every implementation does alike."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from .fold_arithmetic import FLOATS, rounded


@np.errstate(all="ignore")
def converted(array: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """The elements as `dtype`; None where that is left to the implementation.

    Left to it are integers out of range, NaN and infinities as integers, and roundings that come
    out otherwise by way of float32 or float16, as some compilers go.
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
    """The complex numbers with these parts, bit for bit: `real + 1j * imag` loses infinities."""
    shape = np.broadcast_shapes(real.shape, imag.shape)
    both = np.empty(shape, np.complex64 if real.dtype == np.float32 else np.complex128)
    both.real, both.imag = real, imag
    return both


def _is_integer(dtype: np.dtype) -> bool:
    return dtype.kind in "iub" or dtype.name.lstrip("u") in ("int2", "int4")


def _numbers(array: np.ndarray) -> np.ndarray:
    """Integers in 64 bits of the same signedness, floats as float64."""
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


def _in_range(whole: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """Integers as others, where all of them are in range."""
    if not _is_integer(dtype):
        return None
    info = ml_dtypes.iinfo(dtype)
    if not ((whole >= int(info.min)) & (whole <= int(info.max))).all():
        return None
    wide = np.dtype(np.uint64 if dtype.name.startswith("u") else np.int64)
    return whole.astype(wide).astype(dtype)


def _whole_to_float(whole: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    wide = whole.astype(np.float64)
    if dtype in (np.float32, np.float64):
        return whole.astype(dtype)
    return _to_float(wide, dtype) if (wide.astype(whole.dtype) == whole).all() else None
