"""Bounds on the difference between a sum of products and its float64 value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def assert_within_rounding(
    found: Any, function: Callable[..., Any], args: Sequence[Any], *, least: float = 0.0
) -> None:
    """Assert that each result is within eight roundings of the sum of magnitudes of float64's.

    Args:
        found: one array or a tuple of arrays, finite.
        function: computes them as sums of products of its arguments; run with x64 enabled.
        args: its arguments.
        least: the allowed difference where nothing is summed.
    """
    wide = [np.asarray(arg, np.float64) for arg in args]
    exact = jax.jit(function)
    results = (found, exact(*wide), exact(*map(np.abs, wide)))
    for got, want, magnitude in zip(*map(jax.tree.leaves, results), strict=True):
        bound = 8 * float(jnp.finfo(got.dtype).eps) * np.asarray(magnitude) + least
        difference = np.abs(np.asarray(got, np.float64) - np.asarray(want))
        np.testing.assert_array_less(difference, bound)
