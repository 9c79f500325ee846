"""Where elementary functions written as formulas of f64 pay on CPU.

Measured under XLA:CPU of jaxlib 0.10.2 and 0.12.0.1 on two x86 cores with AVX-512, on 64 to 2^20
elements of f32, f16 and bf16, alone, in loops, and fused with what makes and what uses them; both
programs in one process, interleaved, medians. XLA calls the C library for each element, which takes
4 to 30 ns; a formula takes one operation on f64 in 0.02 ns. Tangents, arc functions of two
arguments, cube roots and remainders gained 5 to 100 times wherever they were measured.
"""

from __future__ import annotations

from math import frexp, inf, isfinite

from jaxlib.version import __version__

from ...cost.rates import Rate, Rates

LEAST_ELEMENTS = 64
"""Fewer are left alone, for the 10 to 50 ms more that a formula compiles.

In a loop sines gained from 8 elements on, 1.7 times, and lost below, up to half.
"""

PARALLEL_ELEMENTS = 2**16
"""From so many elements on XLA runs a formula on all cores.

Calls of the C library, which it takes for dearer, it runs so from fewer. General powers, which gain
twice at best, lost on 2^14 elements (0.6 to 1.5) and gained on 2^16 (1 to 2) and 2^19 (2 to 3).
"""

SOFTPLUS_ELEMENTS = 2**15
"""Elements from which a softplus pays: XLA calls nothing, and makes two kernels of the formula.

From so many on 1.1 to 1.5 times faster, on 2^11 to 2^13 0.5 to 1.1 with a load on the machine; in
loops of small products 0.6 to 1.3.
"""

SINE_OPERATIONS = 60
ARCTANGENT_OPERATIONS = 55
POWER_OPERATIONS = 100
EXPONENTIAL_OPERATIONS = 40
PRODUCT_OPERATIONS = 25
SOFTPLUS_OPERATIONS = 50
"""How much longer than one operation these formulas take."""

XLA_EXPONENTS = (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0)
"""Powers that XLA writes as products or roots itself."""

GREATEST_PRODUCT = 7.5
"""Up to here x^n, n a multiple of 1/2, is a product: 1/x^n stays within f64 for every f32."""

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


def sine_pays(rates: Rates, *, is_reduced: bool) -> bool:
    """Whether a sine, cosine or tangent is better a formula.

    Args:
        rates: of the target.
        is_reduced: whether XLA may make one kernel of it and a `reduce`.
    """
    return rates[SUMMED_SINE if is_reduced else SINE] > SINE_OPERATIONS * rates[OPERATION]


def arctangent_pays(rates: Rates) -> bool:
    """Whether an arc tangent of one argument is better a formula."""
    return rates[ARCTANGENT] > ARCTANGENT_OPERATIONS * rates[OPERATION]


def product_pays(rates: Rates) -> bool:
    """Whether a power is better a product of few factors."""
    return rates[POWER] > PRODUCT_OPERATIONS * rates[OPERATION]


def exponential_pays(rates: Rates) -> bool:
    """Whether a power of a known base is better a formula."""
    return rates[POWER] > EXPONENTIAL_OPERATIONS * rates[OPERATION]


def power_pays(rates: Rates, *, elements: int) -> bool:
    """Whether any other power of so many elements is better a formula."""
    if elements < PARALLEL_ELEMENTS:
        return False
    return rates[POWER] > POWER_OPERATIONS * rates[OPERATION]


def softplus_pays(rates: Rates, *, elements: int, is_reduced: bool) -> bool:
    """Whether log(1 + exp(x)) is better a formula: not in one kernel with a `reduce`."""
    if elements < SOFTPLUS_ELEMENTS:
        return False
    return not is_reduced and rates[SOFTPLUS] > SOFTPLUS_OPERATIONS * rates[OPERATION]


def is_left_to_xla(base: float | None, exponent: float | None) -> bool:
    """Whether XLA itself writes this power otherwise, or nobody should; None for what varies."""
    if exponent is not None:
        return base is not None or not isfinite(exponent) or exponent in XLA_EXPONENTS
    return base is not None and not (0 < base < inf and base != 1)


def is_short_product(exponent: float) -> bool:
    """Whether a power is a product of few factors and a square root, and XLA does not see it."""
    if exponent in XLA_EXPONENTS:
        return False
    return abs(exponent) <= GREATEST_PRODUCT and not exponent * 2 % 1


def is_long_division(divisor: float) -> bool:
    """Whether XLA calls the C library for a remainder by this number: not for powers of two."""
    return isfinite(divisor) and abs(frexp(divisor)[0]) not in (0.0, 0.5)
