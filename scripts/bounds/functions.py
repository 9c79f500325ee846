"""The functions whose errors are measured: in JAX, and in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

Wide = Callable[..., np.ndarray]


@dataclass(frozen=True)
class Function:
    """One function of f32.

    Attributes:
        rule: the rule that rewrites it.
        program: in JAX, of one array or two.
        exact: the same in float64, the reference for errors.
        arguments: the number of arguments.
        parity: -1 where f(-x) = -f(x), 1 where f(-x) = f(x): half the reference is enough; else 0.
        pairs: for two arguments, the number of pairs to draw.
    """

    rule: str
    program: Callable[..., Any]
    exact: Wide
    arguments: int = 1
    parity: int = 0
    pairs: int = 0


def _power(exponent: float) -> Function:
    """x^exponent, a multiple of 1/2: as products, which numpy computes faster than powers."""
    whole, half = int(abs(exponent)), abs(exponent) % 1

    def exact(x: np.ndarray) -> np.ndarray:
        size = reduce(np.multiply, [x] * whole) if whole else np.ones_like(x)
        if half:
            size = np.where(x == -np.inf, np.inf, np.abs(size * np.sqrt(x)))
        return 1 / size if exponent < 0 else size

    return Function("power-to-products", lambda x: jnp.power(x, exponent), exact)


def _by(divisor: float) -> Function:
    wide = float(np.float32(divisor))
    return Function(
        "remainder-to-long-division",
        lambda x: lax.rem(x, jnp.full_like(x, divisor)),
        lambda x: np.fmod(x, wide),
        parity=-1,
    )


def _exponential(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    z = np.empty(x.shape, np.complex128)
    z.real, z.imag = x, y
    z[(x == -np.inf) & ~np.isfinite(y)] = -np.inf  # the exponential of this is zero
    return np.exp(z)


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.log1p(np.exp(-np.abs(x)))


FUNCTIONS = {
    "sine": Function("sine-to-polynomial", jnp.sin, np.sin, parity=-1),
    "cosine": Function("cosine-to-polynomial", jnp.cos, np.cos, parity=1),
    "tangent": Function("tangent-to-polynomials", jnp.tan, np.tan, parity=-1),
    "arcsine": Function("arcsine-to-polynomial", jnp.arcsin, np.arcsin, parity=-1),
    "arccosine": Function("arccosine-to-polynomial", jnp.arccos, np.arccos),
    "arctangent": Function("arctangent-to-polynomial", jnp.arctan, np.arctan, parity=-1),
    "cube-root": Function("cube-root-to-iteration", jnp.cbrt, np.cbrt, parity=-1),
    "power-1.5": _power(1.5),
    "power-2.5": _power(2.5),
    "power--0.5": _power(-0.5),
    "power--2": _power(-2.0),
    "power-7": _power(7.0),
    "power-of-2": Function(
        "power-to-polynomials", lambda x: jnp.power(2.0, x), np.exp2
    ),
    "power-third": Function(
        "power-to-polynomials",
        lambda x: jnp.power(x, 1 / 3),
        lambda x: np.power(x, np.float64(np.float32(1 / 3))),
    ),
    "power": Function("power-to-polynomials", jnp.power, np.power, 2, pairs=2**27),
    "arctangent-of-quotient": Function(
        "arctangent-to-polynomial", jnp.arctan2, np.arctan2, 2, pairs=2**28
    ),
    "softplus": Function(
        "softplus-to-polynomials", lambda x: jnp.log1p(jnp.exp(-jnp.abs(x))), _softplus, parity=1
    ),
    "complex-exponential-real": Function(
        "complex-exponential-to-polynomials",
        lambda x, y: jnp.exp(lax.complex(x, y)).real,
        lambda x, y: _exponential(x, y).real,
        arguments=2,
        pairs=2**27,
    ),
    "complex-exponential-imaginary": Function(
        "complex-exponential-to-polynomials",
        lambda x, y: jnp.exp(lax.complex(x, y)).imag,
        lambda x, y: _exponential(x, y).imag,
        arguments=2,
        pairs=2**27,
    ),
    "remainder": Function("remainder-to-long-division", lax.rem, np.fmod, 2, pairs=2**24),
    "remainder-by-12": _by(12.0),
}  # fmt: skip
"""The functions by their names in `passes/elementary/bounds.json`."""
