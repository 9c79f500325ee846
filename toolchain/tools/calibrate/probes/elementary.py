"""How fast XLA's elementary functions are, and operations on f64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....passes.elementary import cost as cost
from . import Probe

_ELEMENTS = 2**16
_STEPS = 16
_CHAINS = 4

_Program = tuple[Callable[..., Any], Sequence[Any]]


def _random(count: int = 1) -> list[np.ndarray]:
    """The C library's branches depend on the argument: on random ones they are not foreseen."""
    random = np.random.default_rng(0)
    return list(random.uniform(0.1, 10, (count, _ELEMENTS)).astype(np.float32))


def _of_numpy(name: str, count: int = 1) -> _Program:
    import jax.numpy as jnp

    return getattr(jnp, name), _random(count)


def _sum() -> _Program:
    import jax.numpy as jnp

    return lambda x: jnp.sin(x).sum(), _random()


def _softplus() -> _Program:
    import jax.numpy as jnp

    return lambda x: jnp.log1p(jnp.exp(-x)), _random()


def _formula() -> _Program:
    import jax
    import jax.numpy as jnp

    def program(x: Any) -> Any:
        with jax.enable_x64(True):
            wide = x.astype(jnp.float64)
            chains = [wide + i for i in range(_CHAINS)]
            for _ in range(_STEPS):
                chains = [chain * wide + 0.5 for chain in chains]
            return sum(chains).astype(jnp.float32)

    return program, _random()


PROBES = [
    Probe(cost.SINE, lambda: _of_numpy("sin"), _ELEMENTS),
    Probe(cost.SUMMED_SINE, _sum, _ELEMENTS),
    Probe(cost.POWER, lambda: _of_numpy("power", 2), _ELEMENTS),
    Probe(cost.ARCTANGENT, lambda: _of_numpy("arctan"), _ELEMENTS),
    Probe(cost.SOFTPLUS, _softplus, _ELEMENTS),
    Probe(cost.OPERATION, _formula, _ELEMENTS * _CHAINS * _STEPS * 2),
]
