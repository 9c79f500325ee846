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

LEAST_ELEMENTS = 1024
"""The least number of elements for which a formula is built to be priced.

64 elements gave 0.25 to 0.55, 256 gave 0.3 to 1.1, 512 alone 0.6 to 1.3.
"""

XLA_EXPONENTS = (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0)
"""Exponents for which XLA itself uses products or roots."""

GREATEST_PRODUCT = 7.5
"""The greatest |n| for which x^n is a product: 1/x^n does not leave f64 for any f32 x."""


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
