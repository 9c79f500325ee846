"""Arguments to run a program on: ordinary values, and edge values that expose wrong rewrites."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from ..errors import JxcError
from ..files import whole_number
from ..ir.dtypes import numpy_dtype

KINDS = ("normal", "edge", "small")
"""The kinds of arguments that `make_inputs` draws.

normal: standard normal floats, integers over their whole range, fair booleans.
edge: NaN, infinities, signed zeros, denormals, the least and greatest of each type, and 1 and -1,
    shuffled over the elements.
mild: as edge, without the greatest and least floats (another order of summation may overflow) and
    denormals (XLA:CPU flushes them in some ops). Drawn only where a caller names it.
small: integers from 0 to 3 (`bound`), floats with the values -3 to 3: sums of them are exact.
"""

GIVEN = "given"
"""The kind of arguments that the caller provides, see `fill.operands_of`."""

IN_PLACE = "in place"
"""The kind of arguments of a rewrite that is run alone: the values that reach it."""

finfo: Callable[[np.dtype], Any] = ml_dtypes.finfo
iinfo: Callable[[np.dtype], Any] = ml_dtypes.iinfo

MOST_BYTES = 1 << 33
"""The most that all arguments together may need, in float64."""


def kind_and_seed(how: str) -> tuple[str, int | None]:
    """The parts of "normal:7"; the seed is 0 if none is stated, and None if it is no number."""
    kind, colon, seed = how.partition(":")
    return kind, whole_number(seed) if colon else 0


@dataclass(frozen=True)
class Spec:
    """One argument: its shape and its numpy dtype."""

    shape: tuple[int, ...]
    dtype: np.dtype


class CannotRun(JxcError):
    """This machine cannot run a module, for the reason given; the module may be right."""


def specs_of(types: Sequence[ir.Type]) -> list[Spec]:
    """The shapes and dtypes of arguments of these types.

    Raises:
        CannotRun: a type is not a ranked tensor of static shape and of numbers, or the arguments
            are too large for this machine.
    """
    specs = []
    for kind in types:
        if not isinstance(kind, ir.RankedTensorType):
            raise CannotRun(f"an argument of type {kind}: expected ranked tensors")
        dtype = numpy_dtype(kind.element_type)
        if dtype is None or not kind.has_static_shape:
            raise CannotRun(f"an argument of type {kind}: expected static shapes and numbers")
        specs.append(Spec(tuple(kind.shape), dtype))
    if (size := sum(8 * math.prod(spec.shape) for spec in specs)) > MOST_BYTES:
        raise CannotRun(f"the arguments need {size / 2**30:,.0f} GiB as float64")
    return specs


def make_inputs(
    specs: Sequence[Spec], kind: str, seed: int = 0, *, bound: int = 4
) -> list[np.ndarray]:
    """An array for each spec; the same seed gives the same arrays on every machine.

    Args:
        specs: shapes and dtypes.
        kind: one of `KINDS`, or "mild".
        seed: of the generator.
        bound: small integers are less than this.
    """
    generator = np.random.default_rng(seed)
    return [_drawn(spec, kind, generator, bound) for spec in specs]


def _drawn(spec: Spec, kind: str, generator: np.random.Generator, bound: int) -> np.ndarray:
    if spec.dtype.kind == "c":
        parts = (_drawn(part_of(spec), kind, generator, bound) for _ in range(2))
        return complex_array(spec, *parts)
    if kind == "small":
        return _small(spec, generator, bound)
    if kind == "normal":
        return _normal(spec, generator)
    return _edge(spec, generator, mild=kind == "mild")


def is_float(dtype: np.dtype) -> bool:
    """Whether the dtype is a real float, those of `ml_dtypes` included."""
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


def is_finite(array: np.ndarray) -> bool:
    """Whether no element is a NaN or an infinity."""
    if array.dtype.kind == "c":
        return bool(np.isfinite(array).all())
    return not is_float(array.dtype) or bool(np.isfinite(array.astype(np.float64)).all())


def without_denormals(array: np.ndarray) -> np.ndarray:
    """The array with 0 in place of denormal numbers."""
    if array.dtype.kind == "c":
        spec = Spec(array.shape, array.dtype)
        return complex_array(spec, *map(without_denormals, (array.real, array.imag)))
    if not is_float(array.dtype):
        return array
    magnitudes = np.abs(array.astype(np.float64))
    is_denormal = (magnitudes > 0) & (magnitudes < float(finfo(array.dtype).tiny))
    return np.where(is_denormal, np.zeros_like(array), array) if is_denormal.any() else array


def _is_signed(dtype: np.dtype) -> bool:
    return dtype.kind == "i" or dtype.name in ("int2", "int4")


def _cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype)


def part_of(spec: Spec) -> Spec:
    """The real or imaginary part of a complex argument."""
    return Spec(spec.shape, np.dtype(np.float32 if spec.dtype.itemsize == 8 else np.float64))


def complex_array(spec: Spec, real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    """The array with these parts: `real + 1j * imag` would make NaN of an infinite `imag`."""
    joined = np.empty(spec.shape, spec.dtype)
    joined.real, joined.imag = real, imag
    return joined


def _normal(spec: Spec, generator: np.random.Generator) -> np.ndarray:
    if is_float(spec.dtype):
        return _cast(generator.standard_normal(spec.shape), spec.dtype)
    if spec.dtype.kind == "b":
        return generator.integers(0, 2, spec.shape).astype(bool)
    low, high = _range(spec.dtype)
    wide = np.int64 if _is_signed(spec.dtype) else np.uint64
    return _cast(generator.integers(low, high, spec.shape, wide, endpoint=True), spec.dtype)


def _small(spec: Spec, generator: np.random.Generator, bound: int) -> np.ndarray:
    if is_float(spec.dtype):
        return _cast(generator.integers(-3, 4, spec.shape), spec.dtype)
    high = 2 if spec.dtype.kind == "b" else min(bound, _range(spec.dtype)[1] + 1)
    return _cast(generator.integers(0, high, spec.shape), spec.dtype)


def _edge(spec: Spec, generator: np.random.Generator, *, mild: bool) -> np.ndarray:
    values = edge_values(spec.dtype)
    if mild and is_float(spec.dtype):
        info, magnitudes = finfo(spec.dtype), np.abs(values.astype(np.float64))
        is_denormal = (magnitudes > 0) & (magnitudes < float(info.tiny))
        values = values[(magnitudes != float(info.max)) & ~is_denormal]
    size = int(np.prod(spec.shape))
    chosen = generator.permutation(np.arange(max(size, len(values))) % len(values))[:size]
    return np.asarray(values[chosen].reshape(spec.shape))


def edge_values(dtype: np.dtype) -> np.ndarray:
    """The edge values of a dtype: extremes, zeros, ones, NaN, infinities. Not for complex types."""
    if dtype.kind == "b":
        return np.array([False, True])
    if is_float(dtype):
        info = finfo(dtype)
        tiny, small, most = (float(x) for x in (info.smallest_subnormal, info.tiny, info.max))
        positive = [0.0, tiny, small, 0.5, 1.0, 1 + float(info.eps), 2.0, most, np.inf]
        return _cast(np.array([np.nan, *positive, *(-value for value in positive)]), dtype)
    low, high = _range(dtype)
    ones = [-1] if _is_signed(dtype) else []
    values = [low, low + 1, *ones, 0, 1, high // 2, high // 2 + 1, high - 1, high]
    wide = np.int64 if _is_signed(dtype) else np.uint64
    return _cast(np.array(values, wide), dtype)


def _range(dtype: np.dtype) -> tuple[int, int]:
    info = iinfo(dtype)
    return int(info.min), int(info.max)
