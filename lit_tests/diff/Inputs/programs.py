"""Programs of a few ops."""

import jax.numpy as jnp


def step(x, w):
    for _ in range(3):
        x = jnp.tanh(x @ w)
    return x


def biased(x, w):
    for _ in range(3):
        x = jnp.tanh(x @ w + 1)
    return x


def wave(x):
    return jnp.sin(x) * 2
