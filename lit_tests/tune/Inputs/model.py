"""A function with a window reduction, and one with a callback."""

import jax
import jax.numpy as jnp


def pool(x):
    y = jnp.tanh(x @ x)
    return jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 3), (1, 1), "SAME")


def report(x):
    y = jnp.cumsum(jnp.tanh(x @ x))
    jax.debug.print("{}", y[-1])
    return y * 2
