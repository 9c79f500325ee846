"""How far the results of two callables lie apart, judged as `jxc verify` judges modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .judge import (
    Reference,
    differing_beyond_rounding,
    differing_bits,
    moved_by_ulp,
    precision_of_type,
    rounding_error,
    widest,
)
from .run import widen

DRAWS = 8
"""How many sets of moved inputs are tried before a difference counts as more than rounding.

One draw says little about a program that amplifies small changes: in a training step of
MobileNetV2, the effects of eight draws on one result were between 0.0001 and 0.02 of its scale."""


@dataclass(frozen=True)
class Deviation:
    """How far the results of one callable are from those of another.

    Attributes:
        error: the largest difference, relative to the largest finite magnitude of its output.
        sensitivity: how far rounding can move that output, in the same unit: the effect of one ulp
            of input on the first callable, or one ulp of the output if that is more.
        equal_bits: whether every output has the same bits; all NaNs count as one value.
        output: the index of the output that differs most, in the order of the leaves.
        misplaced: how many elements are NaN or infinite in one result only.
        agrees: whether the difference is rounding, see `judge.differing_beyond_rounding`.
    """

    error: float
    sensitivity: float
    equal_bits: bool
    output: int
    misplaced: int
    agrees: bool


def compare_calls(
    reference: Callable[..., Any],
    other: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Deviation:
    """Run both callables on the same arguments, and the first also on arguments one ulp away.

    The first runs once on such arguments, and up to `DRAWS` times where the results differ by more
    than that run explains.

    Args:
        reference: the callable that is right.
        other: the one in question; returns a pytree of the same structure.
        args: positional arguments, concrete.
        kwargs: keyword arguments, concrete.
    """
    expected, found = (_leaves(each(*args, **kwargs)) for each in (reference, other))

    def moved(draw: int) -> list[np.ndarray]:
        near, near_kwargs = jax.tree.map(lambda leaf: moved_leaf(leaf, draw), (args, kwargs))
        return _leaves(reference(*near, **near_kwargs))

    return deviation_of(expected, map(moved, range(DRAWS)), found)


def deviation_of(
    expected: Sequence[np.ndarray],
    draws: Iterable[Sequence[np.ndarray]],
    found: Sequence[np.ndarray],
) -> Deviation:
    """How far results lie from those of a reference.

    Args:
        expected: the results of the reference.
        draws: its results on arguments that are each one ulp away, at least once. They are read
            until those read so far explain the difference.
        found: the results in question.
    """
    farthest = list(expected)
    for moved in draws:
        farthest = [_farther(*each) for each in zip(expected, farthest, moved, strict=True)]
        deviation = _deviation(expected, farthest, found)
        if deviation.agrees:
            break
    return deviation


def _farther(expected: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """For each element the one of two values that is further from that of `expected`.

    Where `other` is not finite it does not count, see `judge.rounding_error`.
    """
    wide = widest(expected)
    if wide.dtype.kind not in "fc":
        return np.where(one == expected, other, one)
    with np.errstate(all="ignore"):
        known, new = (np.abs(widest(each) - wide) for each in (one, other))
    return np.where(np.isfinite(new) & (new > known), other, one)


def _deviation(
    expected: Sequence[np.ndarray], moved: Sequence[np.ndarray], found: Sequence[np.ndarray]
) -> Deviation:
    rows = [_row(*leaves) for leaves in zip(expected, found, moved, strict=True)]
    worst = max(range(len(rows)), key=lambda i: rows[i][0] / (rows[i][1] or 1.0), default=0)
    error, sensitivity = rows[worst][:2] if rows else (0.0, 0.0)
    return Deviation(
        error=error,
        sensitivity=sensitivity,
        equal_bits=all(_has_same_bits(*pair) for pair in zip(expected, found, strict=True)),
        output=worst,
        misplaced=sum(_misplaced(*pair) for pair in zip(expected, found, strict=True)),
        agrees=all(row[2] for row in rows),
    )


def _leaves(tree: Any) -> list[np.ndarray]:
    return [numbers_of(leaf) for leaf in jax.tree.leaves(tree)]


def numbers_of(array: Any) -> np.ndarray:
    """The numbers of an array; of random keys, those that make them up."""
    return np.asarray(jax.random.key_data(array) if _is_key(array) else array)


def _is_key(array: Any) -> bool:
    return bool(jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key))


def moved_leaf(leaf: Any, draw: int) -> Any:
    """The numbers of an array, each moved by one ulp; keys and what is no array stay themselves."""
    if not hasattr(leaf, "dtype") or _is_key(leaf):
        return leaf
    array = np.asarray(leaf)
    with np.errstate(all="ignore"):
        return moved_by_ulp(array, draw).astype(array.dtype)


def _row(expected: np.ndarray, found: np.ndarray, moved: np.ndarray) -> tuple[float, float, bool]:
    """Error and sensitivity of one output, relative to its scale; whether that is rounding."""
    eps, tiny = precision_of_type(expected.real.dtype)
    error, sensitivity, scale, agrees = 0.0, 0.0, 0.0, True
    for a, b, c in zip(widen(expected), widen(found), widen(moved), strict=True):
        reference = Reference(widest(a), widest(c), eps, tiny)
        agrees &= not differing_beyond_rounding(a, b, reference).any()
        wide, other = (each.astype(np.float64) for each in (a, b))
        finite = np.isfinite(wide) & np.isfinite(other)
        error = max(error, float(np.abs(wide - other)[finite].max(initial=0.0)))
        scale = max(scale, float(np.abs(wide[finite]).max(initial=0.0)))
        if a.dtype.kind == "f":
            sensitivity = max(sensitivity, rounding_error(a, reference))
    return error / (scale or 1.0), sensitivity / (scale or 1.0), agrees


def _misplaced(expected: np.ndarray, found: np.ndarray) -> int:
    a, b = widest(expected), widest(found)
    if a.dtype.kind not in "fc":
        return 0
    nan = np.isnan(a) != np.isnan(b)
    infinite = (np.isinf(a) | np.isinf(b)) & (a != b) & ~(np.isnan(a) | np.isnan(b))
    return int((nan | infinite).sum())


def _has_same_bits(expected: np.ndarray, found: np.ndarray) -> bool:
    pairs = zip(widen(expected), widen(found), strict=True)
    return not any(differing_bits(a, b).any() for a, b in pairs)
