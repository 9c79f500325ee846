import jax
import jax.numpy as jnp


def layer(x, w):
    return jnp.sin(x @ w), None


def step(params, x):
    return jax.grad(lambda p: jax.lax.scan(layer, x, p)[0].sum())(params)


def straight(w, x):
    return jax.grad(lambda w: layer(layer(x, w)[0], w)[0].sum())(w)
