"""How far two runs of a program lie apart, beside how far one ulp of input moves the first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import ml_dtypes
import numpy as np

_MARGIN = 16.0
"""Times plain JAX's own sensitivity (or the rounding of its type) that a rewrite may move a result.

Another order of summation moves each of many partial sums by an ulp or so, one ulp of input moves
all of them at once: the two are of one size, and this leaves room for chance.
"""


@dataclass(frozen=True)
class Difference:
    """What comparing results gave.

    Attributes:
        error: the largest difference, relative to the largest finite magnitude of its output.
        sensitivity: the same between the reference and itself with inputs one ulp away.
        equal_bits: whether every output is the same, all NaNs being equal.
        output: the index of the output that differs most, in the order of the leaves.
        misplaced: how many elements are NaN or infinite in one and not so in the other.
    """

    error: float
    sensitivity: float
    equal_bits: bool
    output: int
    misplaced: int

    @property
    def agrees(self) -> bool:
        """Whether the difference is rounding, judged by the program's own sensitivity."""
        return self.misplaced == 0 and self.error <= _MARGIN * self.sensitivity


def compare(
    reference: Callable[..., Any], other: Callable[..., Any], args: tuple[Any, ...], kwargs: dict
) -> Difference:
    """Run both on the same arguments and on ones an ulp away, and measure.

    Args:
        reference: the program taken to be right.
        other: the one in question; must return a pytree of the same structure.
        args: positional arguments, concrete.
        kwargs: keyword arguments, concrete.
    """
    expected = _leaves(reference(*args, **kwargs))
    found = _leaves(other(*args, **kwargs))
    near_args, near_kwargs = jax.tree.map(_next_ulp, (args, kwargs))
    near = _leaves(reference(*near_args, **near_kwargs))
    errors = [_relative(e, f) for e, f in zip(expected, found, strict=True)]
    worst = max(range(len(errors)), key=errors.__getitem__, default=0)
    moved = max((_relative(e, n) for e, n in zip(expected, near, strict=True)), default=0.0)
    floor = max((_epsilon(e) for e in expected), default=0.0)
    return Difference(
        error=max(errors, default=0.0),
        sensitivity=max(moved, floor),
        equal_bits=all(_same_bits(e, f) for e, f in zip(expected, found, strict=True)),
        output=worst,
        misplaced=sum(_misplaced(e, f) for e, f in zip(expected, found, strict=True)),
    )


def _leaves(tree: Any) -> list[np.ndarray]:
    leaves = jax.tree.leaves(tree)
    keys = jax.dtypes.prng_key
    data = [jax.random.key_data(x) if jax.dtypes.issubdtype(x.dtype, keys) else x for x in leaves]
    return [np.asarray(x) for x in data]


def _is_inexact(array: np.ndarray) -> bool:
    return array.dtype.kind in "fc" or "float" in array.dtype.name


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _relative(expected: np.ndarray, found: np.ndarray) -> float:
    a, b = _wide(expected), _wide(found)
    finite = np.isfinite(a) & np.isfinite(b)
    if not finite.any():
        return 0.0
    scale = np.abs(a[finite]).max() or 1.0
    return float(np.abs(a[finite] - b[finite]).max() / scale)


def _misplaced(expected: np.ndarray, found: np.ndarray) -> int:
    if not _is_inexact(expected):
        return 0
    a, b = _wide(expected), _wide(found)
    nan = np.isnan(a) != np.isnan(b)
    infinite = (np.isinf(a) | np.isinf(b)) & (a != b) & ~(np.isnan(a) | np.isnan(b))
    return int((nan | infinite).sum())


def _same_bits(expected: np.ndarray, found: np.ndarray) -> bool:
    both_nan = np.isnan(_wide(expected)) & np.isnan(_wide(found))
    same = np.frombuffer(expected.tobytes(), np.uint8) == np.frombuffer(found.tobytes(), np.uint8)
    per_element = same.reshape(expected.size, -1).all(axis=1) if expected.size else same
    return bool((per_element | both_nan.reshape(-1)).all()) if expected.size else True


def _epsilon(array: np.ndarray) -> float:
    if not _is_inexact(array):
        return 0.0
    return float(ml_dtypes.finfo(array.dtype).eps)


def _next_ulp(leaf: Any) -> Any:
    """The argument, each float one ulp further from zero; others as they are."""
    if not hasattr(leaf, "dtype") or jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return leaf
    array = np.asarray(leaf)
    if array.dtype.kind == "f" and array.dtype.itemsize > 1:
        return np.nextafter(array, np.copysign(np.inf, array).astype(array.dtype))
    if _is_inexact(array) and array.dtype.kind != "c":
        factor = 1 + float(ml_dtypes.finfo(array.dtype).eps)
        return (array.astype(np.float32) * factor).astype(array.dtype)
    return array
