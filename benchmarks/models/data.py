"""Random weights and inputs, from one seed."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

RNG = np.random.default_rng(0)


def normal(*shape: int, scale: float = 1.0) -> jax.Array:
    return jnp.asarray(RNG.standard_normal(shape, np.float32) * scale)


def uniform(*shape: int, low: float = 0.0, high: float = 1.0) -> jax.Array:
    return jnp.asarray(RNG.uniform(low, high, shape).astype(np.float32))


def integers(limit: int, *shape: int) -> jax.Array:
    return jnp.asarray(RNG.integers(0, limit, shape), jnp.int32)


def weights(shapes: dict[str, tuple[int, ...]]) -> dict[str, jax.Array]:
    """A matrix or kernel for each name, scaled by the number of inputs of each output."""
    return {
        name: normal(*shape, scale=float(np.prod(shape[:-1], dtype=int)) ** -0.5)
        for name, shape in shapes.items()
    }


def descend(loss: Any, rate: float = 0.01) -> Any:
    """A training step: the loss, and the weights after one step of gradient descent."""

    def step(weights: Any, *inputs: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(weights, *inputs)
        return value, jax.tree.map(lambda w, g: w - rate * g, weights, gradients)

    return step
