"""The training step of a transformer, whose layers Python's loop writes out."""

import jax
import jax.numpy as jnp

LAYERS, LENGTH, WIDTH = 8, 16, 32


def step(layers, x):
    value, gradients = jax.value_and_grad(loss)(layers, x)
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, layers, gradients)


def loss(layers, x):
    for p in layers:
        x = layer(p, x)
    return jnp.mean(x * x)


def layer(p, x):
    x = normalised(x)
    scores = jax.nn.softmax(x @ p["query"] @ (x @ p["key"]).T)
    x = normalised(x + scores @ (x @ p["value"]))
    return x + jax.nn.gelu(x @ p["up"]) @ p["down"]


def normalised(x):
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-6)


def arguments():
    square = jax.ShapeDtypeStruct((WIDTH, WIDTH), jnp.float32)
    p = dict.fromkeys(("query", "key", "value", "up", "down"), square)
    return [p] * LAYERS, jax.ShapeDtypeStruct((LENGTH, WIDTH), jnp.float32)
