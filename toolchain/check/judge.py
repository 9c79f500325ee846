"""Decide whether the difference between two runs is none, rounding, or an error.

`jxc verify`, the checker of rules and `jxc compile --diff-plain` use it, all with one `MARGIN`.
Each output comes with a `Reference`: its value without the program's rounding, and its value after
each input is moved by one ulp. `reference` evaluates the module in float64. `deviation` has
callables only, and uses the results of the first. A contract of `approximates(ulps=n)` is held to n
ulps if the program rounds only once, see `differing_beyond_ulps`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .inputs import finfo, is_float

MARGIN = 8.0
"""How many times larger than the first program's error, or one ulp of input, rounding may be.

Another order of summation moves each of many partial sums by about one ulp; one ulp of input moves
all of them at once. Both have the same size, and this factor leaves room for chance."""


@dataclass(frozen=True)
class Reference:
    """One output of the program without its rounding, as far as that is known.

    Attributes:
        exact: the values: in float64, or as the program itself gives them; integers as they are.
        moved: the same on inputs that are each one ulp away, see `moved_by_ulp`.
        eps: relative spacing of the type that the output has in the program; 0 for integers.
        tiny: the smallest normal number of that type.
        rounds_once: whether `exact` is in float64 and the program has at most one op that rounds.
        judges_finite_only: whether elements that are not finite in the program are not judged.
    """

    exact: np.ndarray
    moved: np.ndarray
    eps: float
    tiny: float
    rounds_once: bool = False
    judges_finite_only: bool = False


def differing_bits(expected: np.ndarray, found: np.ndarray) -> np.ndarray:
    """A mask of the elements that differ in any bit; all NaNs count as one value."""
    if expected.dtype.kind != "f":
        return np.asarray(expected != found)
    both_nan = np.isnan(expected) & np.isnan(found)
    same = (expected == found) & (np.signbit(expected) == np.signbit(found))
    return np.asarray(~(same | both_nan))


def differing_beyond_rounding(
    expected: np.ndarray, found: np.ndarray, reference: Reference, margin: float = MARGIN
) -> np.ndarray:
    """A mask of the elements of `found` that differ from the true value by more than rounding.

    All elements of an output have the same bound: `margin` times the largest of three errors, which
    are the error of `expected`, the effect of one ulp of input, and one ulp of the largest
    magnitude. An element that is NaN or infinite in both `expected` and the reference must be so in
    `found`. If only one of them is, the program overflows on the way; another order of operations
    may overflow elsewhere, so the element is not judged. An integer may differ only if rounding
    decides its value: the reference, or the reference one ulp away, differs from `expected` too.
    """
    exact = reference.exact
    if expected.dtype.kind != "f":
        return np.asarray((expected != found) & (exact == expected) & (reference.moved == exact))
    finite = np.isfinite(expected) & np.isfinite(exact)
    bound = margin * rounding_error(expected, reference)
    wanted = np.where(finite, exact, expected.astype(np.float64))
    return np.asarray(_is_decided(expected, reference) & ~_is_near(wanted, found, bound))


def differing_beyond_ulps(
    expected: np.ndarray, found: np.ndarray, reference: Reference, ulps: float
) -> np.ndarray:
    """A mask of the elements of `found` that break the contract `approximates(ulps=...)`.

    If the program rounds once, an element may be `ulps` units in the last place from the float64
    value. The unit is the spacing of the element's own type at that value. A float64 output gets
    one ulp more, for the error of the reference itself. If the program rounds more than once, other
    roundings hide a few ulps, and the bound is that of `differing_beyond_rounding`, with `ulps` as
    its margin if that is larger.
    """
    if expected.dtype.kind != "f" or not reference.rounds_once:
        return differing_beyond_rounding(expected, found, reference, max(MARGIN, ulps))
    exact = reference.exact
    finite = np.isfinite(expected) & np.isfinite(exact)
    unit = _spacing(np.where(finite, exact, 0.0), reference)
    allowed = ulps + (reference.eps <= np.finfo(np.float64).eps)
    # XLA flushes denormal numbers to zero: the smallest normal number is within the bound.
    bound = np.maximum(allowed * unit, reference.tiny)
    wanted = np.where(finite, exact, expected.astype(np.float64))
    return np.asarray(_is_decided(expected, reference) & ~_is_near(wanted, found, bound))


def rounding_error(expected: np.ndarray, reference: Reference) -> float:
    """The largest error that rounding explains in one output: of `expected`, or of one ulp."""
    exact, moved = reference.exact, reference.moved
    finite = np.isfinite(expected) & np.isfinite(exact)
    with np.errstate(all="ignore"):
        return max(
            _largest(expected - exact, finite),
            _largest(moved - exact, finite & np.isfinite(moved)),
            reference.eps * _largest(exact, np.isfinite(exact)),
            reference.tiny,
        )


def moved_by_ulp(array: np.ndarray, draw: int = 0, eps: float = 0.0) -> np.ndarray:
    """The array in float64 (or complex128), each float one ulp of its own type up or down.

    If `eps`, the relative spacing of another type, is larger, an ulp is that of the other type.

    The directions are random, and the same for each `draw`: errors of one sign would cancel in
    differences. Other types stay as they are.
    """
    if array.dtype.kind != "c" and not is_float(array.dtype):
        return array
    part = array.real.dtype if array.dtype.kind == "c" else array.dtype
    signs = np.random.default_rng(draw).choice((-1.0, 1.0), array.shape)
    with np.errstate(all="ignore"):
        return widest(array) * (1 + signs * max(eps, precision_of_type(part)[0]))


def widest(array: np.ndarray) -> np.ndarray:
    """The array in float64 or complex128; integers as they are."""
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64) if is_float(array.dtype) else array


def precision_of_type(dtype: np.dtype) -> tuple[float, float]:
    """Relative spacing and smallest normal number of a float type; zeros for other types."""
    if not is_float(dtype):
        return 0.0, 0.0
    info = finfo(dtype)
    return float(info.eps), float(info.tiny)


def _spacing(values: np.ndarray, reference: Reference) -> np.ndarray:
    """The distance between neighbours of the output's type at each value."""
    _, exponents = np.frexp(np.maximum(np.abs(values), reference.tiny))
    return np.asarray(np.ldexp(reference.eps, exponents - 1))


def _is_decided(expected: np.ndarray, reference: Reference) -> np.ndarray:
    exact = reference.exact
    finite = np.isfinite(expected) & np.isfinite(exact)
    if reference.judges_finite_only:
        return np.asarray(finite)
    return np.asarray(finite | (np.isnan(expected) & np.isnan(exact)) | (expected == exact))


def _largest(errors: np.ndarray, where: np.ndarray) -> float:
    return float(np.abs(errors[where]).max(initial=0.0))


def _is_near(expected: np.ndarray, found: np.ndarray, bound: float | np.ndarray) -> np.ndarray:
    both_nan = np.isnan(expected) & np.isnan(found)
    with np.errstate(all="ignore"):
        near = np.abs(expected.astype(np.float64) - found) <= bound
    return np.asarray(near | (expected == found) | both_nan)
