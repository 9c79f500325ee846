"""Cost conditions of the pass `elementary`: when a formula of f64 is faster than XLA's function.

Measured with XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512, on 64 to 2^20
elements of f32, f16 and bf16, alone, in loops, and fused with their producers and consumers. Both
programs ran alternately in one process; the ratios are of medians. XLA calls the C library for each
element, which takes 4 to 30 ns; a formula takes 0.02 ns for each operation on f64. Tangents, arc
functions of two arguments, cube roots and remainders gained 5 to 100 times on large tensors. The
least numbers of elements are from two cores with AVX2 (jaxlib 0.10.2), where formulas are 2 to 4
times slower.
"""

from __future__ import annotations

from math import frexp, inf, isfinite

from jaxlib.version import __version__

from ...cost.rates import Rate, Rates

LEAST_ELEMENTS = 1024
"""The least number of elements, with AVX2: 1.2 to 1.5 times faster alone, 2 to 4 in loops.

XLA distributes the formula among threads, and calls of the C library for few elements not: 64
elements gave 0.25 to 0.55, 256 gave 0.3 to 1.1, 512 alone 0.6 to 1.3.
"""

SINE_ELEMENTS = 2**16
"""The least number of elements of a sine or cosine: XLA runs the formula on all cores from here on.

The C library takes 2 ns for an angle below 0.1, 3 below 1, 5 below 3 and 10 for large ones; the
formula takes the same time for all. With AVX2, alone, summed, concatenated and with other users,
2^16 to 2^18 angles below 1 gave 1.5 to 2.2, below 100 2.2 to 3.7, below 0.1 0.5 to 1.1. 2^15 gave
0.9 to 2.2 below 1 and above, 2^12 and 2^14 0.3 to 1.5. A pole on a cart in 2^13 environments: 0.65.
"""

PARALLEL_ELEMENTS = 2**16
"""The least number of elements for which XLA runs a formula on all cores.

It runs calls of the C library, which it counts as more expensive, on all cores from fewer. General
powers, which gain twice at best, lost on 2^14 elements (0.6 to 1.5) and gained on 2^16 (1 to 2) and
2^19 (2 to 3).
"""

SOFTPLUS_ELEMENTS = 2**16
"""The least number of elements of a softplus, for which XLA calls no library.

XLA makes two kernels of the formula: with AVX2 1.3 to 1.7 times faster from here on, 0.8 to 0.9 on
2^15; 0.5 to 1.1 on 2^11 to 2^13 on a loaded machine, 0.6 to 1.3 in loops of small products.
"""

SINE_OPERATIONS = 60
ARCTANGENT_OPERATIONS = 55
POWER_OPERATIONS = 100
EXPONENTIAL_OPERATIONS = 40
PRODUCT_OPERATIONS = 25
SOFTPLUS_OPERATIONS = 50
"""The time of these formulas, in operations on f64."""

XLA_EXPONENTS = (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0)
"""Exponents for which XLA itself uses products or roots."""

GREATEST_PRODUCT = 7.5
"""The greatest |n| for which x^n is a product: 1/x^n does not leave f64 for any f32 x."""

_IS_OLD = tuple(map(int, __version__.split(".")[:2])) < (0, 11)

SINE = Rate("sine-of-xla", "one element of stablehlo.sine on f32, in ns", 8.0)
SUMMED_SINE = Rate(
    "summed-sine-of-xla",
    "one element of a sum of sines, which newer versions of XLA make a kernel of, in ns",
    2.2 if _IS_OLD else 0.5,
)
POWER = Rate("power-of-xla", "one element of stablehlo.power on f32, in ns", 5.0)
ARCTANGENT = Rate(
    "arctangent-of-xla",
    "one element of chlo.atan on f32, a call of the C library in older versions of XLA, in ns",
    10.0 if _IS_OLD else 0.8,
)
SOFTPLUS = Rate("softplus-of-xla", "one element of log_plus_one of exponential on f32, in ns", 2.2)
OPERATION = Rate("f64-operation", "one operation on f64 in a long formula, in ns", 0.02)


def sine_pays(rates: Rates, *, elements: int, is_reduced: bool) -> bool:
    """Whether so many sines or cosines are faster as a formula; `is_reduced` as for tangents."""
    return elements >= SINE_ELEMENTS and tangent_pays(rates, is_reduced=is_reduced)


def tangent_pays(rates: Rates, *, is_reduced: bool) -> bool:
    """Whether a tangent, or both parts of a complex exponential, are faster as a formula.

    Args:
        rates: of the target.
        is_reduced: whether XLA may fuse it with a `reduce`.
    """
    return rates[SUMMED_SINE if is_reduced else SINE] > SINE_OPERATIONS * rates[OPERATION]


def arctangent_pays(rates: Rates) -> bool:
    """Whether an arc tangent of one argument is faster as a formula."""
    return rates[ARCTANGENT] > ARCTANGENT_OPERATIONS * rates[OPERATION]


def product_pays(rates: Rates) -> bool:
    """Whether a power is faster as a product of few factors."""
    return rates[POWER] > PRODUCT_OPERATIONS * rates[OPERATION]


def power_pays(rates: Rates, base: float | None, *, elements: int) -> bool:
    """Whether a power of so many elements is faster as a formula; `base` is None if it varies."""
    if base is not None:
        return rates[POWER] > EXPONENTIAL_OPERATIONS * rates[OPERATION]
    return elements >= PARALLEL_ELEMENTS and rates[POWER] > POWER_OPERATIONS * rates[OPERATION]


def softplus_pays(rates: Rates, *, elements: int, is_reduced: bool) -> bool:
    """Whether log(1 + exp(x)) is faster as a formula: not if fused with a `reduce`."""
    if elements < SOFTPLUS_ELEMENTS or is_reduced:
        return False
    return rates[SOFTPLUS] > SOFTPLUS_OPERATIONS * rates[OPERATION]


def is_left_to_xla(base: float | None, exponent: float | None) -> bool:
    """Whether XLA rewrites this power itself, or it has no formula; None for no constant."""
    if exponent is not None:
        return base is not None or not isfinite(exponent) or exponent in XLA_EXPONENTS
    return base is not None and not (0 < base < inf and base != 1)


def is_short_product(exponent: float) -> bool:
    """Whether a power that XLA does not simplify is a product of few factors and a square root."""
    if exponent in XLA_EXPONENTS:
        return False
    return abs(exponent) <= GREATEST_PRODUCT and not exponent * 2 % 1


def is_long_division(divisor: float) -> bool:
    """Whether XLA calls the C library for a remainder by this number: not a power of 2."""
    return isfinite(divisor) and abs(frexp(divisor)[0]) not in (0.0, 0.5)
