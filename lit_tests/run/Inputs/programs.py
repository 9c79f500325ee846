"""Functions to save."""

import jax
import jax.numpy as jnp


def solve(a, b):
    return {"x": jnp.linalg.solve(a + 9 * jnp.eye(3), b), "left": b}


def shouting(x):
    jax.debug.print("x is {}", x)
    return x


def scaled(x):
    return x * 2
