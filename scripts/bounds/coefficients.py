"""Print the coefficients of the polynomials in `passes/elementary`, and their relative errors.

Each polynomial minimizes the largest relative error among those of its degree. It is found in
float64 by Lawson's iteration: weighted least squares whose weights grow where the error is large.
The coefficients in `passes/elementary/tables.py` are the output of this script.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

NODES = 4001
ITERATIONS = 400


def fit(
    target: Callable[[np.ndarray], np.ndarray], low: float, high: float, count: int
) -> tuple[np.ndarray, float]:
    """The `count` coefficients for `target` on [low, high], lowest first, and their error."""
    middle, half = (high + low) / 2, (high - low) / 2
    x = middle + half * np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
    wanted = target(x)
    scaled = x / max(abs(low), abs(high))
    columns = np.stack([scaled**k for k in range(count)], 1) / wanted[:, None]
    weights = np.full(NODES, 1.0 / NODES)
    best, least = np.zeros(count), np.inf
    for _ in range(ITERATIONS):
        root = np.sqrt(weights)
        found = np.linalg.lstsq(columns * root[:, None], root, rcond=None)[0]
        errors = np.abs(columns @ found - 1)
        if errors.max() < least:
            best, least = found, errors.max()
        weights *= errors + 1e-30
        weights /= weights.sum()
    return best / max(abs(low), abs(high)) ** np.arange(count), float(least)


def odd(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """function(x) / x, of x squared."""
    return lambda z: function(np.sqrt(z)) / np.sqrt(z)


QUARTER = 0.2501**2
EIGHTH = 0.1251**2
LOG_SPAN = (2**0.5 - 1) / (2**0.5 + 1)

POLYNOMIALS = {
    "SINE": (odd(lambda t: np.sin(2 * np.pi * t)), 1e-12, QUARTER, 6),
    "SINE_EIGHTH": (odd(lambda t: np.sin(2 * np.pi * t)), 1e-12, EIGHTH, 5),
    "COSINE_EIGHTH": (lambda z: np.cos(2 * np.pi * np.sqrt(z)), 0.0, EIGHTH, 5),
    "ARCTANGENT": (odd(np.arctan), 1e-12, 1.0, 13),
    "ARCSINE": (odd(np.arcsin), 1e-12, 0.25, 8),
    "LOGARITHM": (
        odd(lambda s: 2 * np.arctanh(s) / np.log(2)), 1e-12, LOG_SPAN**2 * 1.001, 6,
    ),
    "LOGARITHM_OF_SUM": (odd(lambda s: 2 * np.arctanh(s)), 1e-12, 1.001 / 9, 7),
    "EXPONENTIAL": (np.exp2, -0.5, 0.5, 8),
}  # fmt: skip


def main() -> None:
    """Print a table for each polynomial."""
    for name, arguments in POLYNOMIALS.items():
        coefficients, error = fit(*arguments)
        print(f"# relative error 2^{np.log2(error):.1f}")
        print(f"{name} = (\n" + "".join(f"    {float(c)!r},\n" for c in coefficients) + ")")


if __name__ == "__main__":
    main()
