"""The rates of the roofline: main memory, the cache, arithmetic, functions, and launches."""

from __future__ import annotations

from typing import Any

from ....cost import roofline as cost
from . import Probe

_BYTES = 1 << 26
_SIZE = 1024
_CACHED = 1 << 18  # elements, of 1 MiB
_SMALL = 1 << 14  # elements that the first caches hold
_ITERATIONS, _STEPS = 64, 16


def _sum() -> Any:
    """Reads alone: what is written first goes to pages that the system must find."""
    import jax.numpy as jnp

    return jnp.sum, [jnp.zeros(_BYTES // 4, jnp.float32)]


def _product() -> Any:
    import jax.numpy as jnp

    return jnp.matmul, [jnp.ones((_SIZE, _SIZE), jnp.float32)] * 2


def _repeated(step: Any, elements: int) -> Any:
    """A loop of `_ITERATIONS` over an array: no call costs as much as what is measured."""
    import jax
    import jax.numpy as jnp

    def program(x: Any) -> Any:
        return jax.lax.fori_loop(0, _ITERATIONS, lambda _, h: step(h), x)

    return program, [jnp.full(elements, 0.5, jnp.float32)]


def _scaled() -> Any:
    return _repeated(lambda h: h * 0.5 + 0.25, _CACHED)


def _polynomial() -> Any:
    def step(h: Any) -> Any:
        for _ in range(_STEPS):
            h = h * 0.5 + 0.25
        return h

    return _repeated(step, _SMALL)


def _exponential() -> Any:
    import jax.numpy as jnp

    return _repeated(lambda h: jnp.exp(h) * 0.5, _SMALL)


def _power() -> Any:
    return _repeated(lambda h: h ** (h + 0.5), _SMALL)


def _chain() -> Any:
    import jax.numpy as jnp

    def program(x: Any, w: Any) -> Any:
        for _ in range(_ITERATIONS):
            x = x @ w
        return x

    return program, [jnp.ones((8, 8), jnp.float32)] * 2


PROBES = [
    Probe(cost.BYTE, _sum, _BYTES),
    Probe(cost.CACHED_BYTE, _scaled, _ITERATIONS * 2 * 4 * _CACHED),
    Probe(cost.PRODUCT, _product, _SIZE**3),
    Probe(cost.ELEMENTWISE, _polynomial, _ITERATIONS * _STEPS * 2 * _SMALL),
    Probe(cost.FUNCTION, _exponential, _ITERATIONS * _SMALL),
    Probe(cost.SCALAR_FUNCTION, _power, _ITERATIONS * _SMALL),
    Probe(cost.LAUNCH, _chain, _ITERATIONS),
]
