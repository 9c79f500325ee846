"""Whether two outputs are the same: bit for bit, or as near as rounding explains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MARGIN = 8.0
"""Times the error that the first program makes, or that an ulp of its inputs makes, that the second
may make. Another order of summation moves each of many partial sums by an ulp or so, one ulp of
input moves all of them at once: the two are of one size, and this leaves room for chance."""

SPREAD = 64.0
"""How many ulps, of the largest magnitude in an output, it may move where there is no evaluation in
float64 to judge by. Rounding errors of a sum grow with the root of its length and with its largest
terms, and the largest magnitude of the output stands for these."""


@dataclass(frozen=True)
class Reference:
    """One output of the program evaluated without its rounding.

    Attributes:
        exact: in float64; integers as they are.
        moved: the same on inputs one ulp away.
        eps: of the type that the output has in the program itself; 0 where it is not a float.
        tiny: the least normal number of that type.
    """

    exact: np.ndarray
    moved: np.ndarray
    eps: float
    tiny: float


def differing_bits(expected: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Where two outputs differ in any bit, all NaNs being one."""
    if expected.dtype.kind != "f":
        return np.asarray(expected != found)
    both_nan = np.isnan(expected) & np.isnan(found)
    same = (expected == found) & (np.signbit(expected) == np.signbit(found))
    return ~(same | both_nan)


def differing_by_spread(expected: np.ndarray, found: np.ndarray, eps: float) -> np.ndarray:
    """Where two outputs lie more than `SPREAD` ulps of the largest magnitude apart."""
    if expected.dtype.kind != "f":
        return np.asarray(expected != found)
    bound = SPREAD * eps * _scale(expected)
    return ~_is_near(expected, found, bound)


def differing_beyond_rounding(
    expected: np.ndarray, found: np.ndarray, reference: Reference
) -> np.ndarray:
    """Where `found` is further from the true value than rounding can bring it.

    The bound is over the output: `MARGIN` times the largest error of `expected` against the float64
    evaluation, or what an ulp of input moves that by, or an ulp of its largest magnitude. What is
    NaN or infinite in both must be so in `found`; where `expected` and float64 disagree on that,
    the program overflows on the way, another order may do so elsewhere, and the element decides
    nothing. An integer may differ only where rounding decides it: float64, or float64 an ulp away,
    differs from `expected` too.
    """
    exact = reference.exact
    if expected.dtype.kind != "f":
        return np.asarray((expected != found) & (exact == expected) & (reference.moved == exact))
    finite = np.isfinite(expected) & np.isfinite(exact)
    with np.errstate(all="ignore"):
        errors = [
            _largest(expected - exact, finite),
            _largest(reference.moved - exact, finite & np.isfinite(reference.moved)),
            reference.eps * _scale(exact[finite]),
            reference.tiny,
        ]
    decided = finite | (np.isnan(expected) & np.isnan(exact)) | (expected == exact)
    wanted = np.where(finite, exact, expected.astype(np.float64))
    return decided & ~_is_near(wanted, found, MARGIN * max(errors))


def _largest(errors: np.ndarray, where: np.ndarray) -> float:
    return float(np.abs(errors[where]).max(initial=0.0))


def _scale(values: np.ndarray) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


def _is_near(expected: np.ndarray, found: np.ndarray, bound: float) -> np.ndarray:
    both_nan = np.isnan(expected) & np.isnan(found)
    with np.errstate(all="ignore"):
        near = np.abs(expected.astype(np.float64) - found) <= bound
    return near | (expected == found) | both_nan
