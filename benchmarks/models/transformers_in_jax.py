"""A transformer and a perceptron in plain JAX, trained by Adam."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .data import integers, normal, weights
from .registry import Program, model


def _layer_norm(x, scale):
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale


def _block(w, x):
    heads, length = 4, x.shape[1]
    y = _layer_norm(x, w["norm1"])
    q, k, v = (z.reshape(*x.shape[:2], heads, -1) for z in jnp.split(y @ w["qkv"], 3, -1))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape)
    x = x + mixed @ w["out"]
    return x + jax.nn.gelu(_layer_norm(x, w["norm2"]) @ w["up"]) @ w["down"]


def _adam(parameters, gradients, moments):
    first, second = moments
    tree = jax.tree.map
    first = tree(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = tree(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
    moved = tree(lambda w, m, v: w - 1e-3 * m / (jnp.sqrt(v) + 1e-8), parameters, first, second)
    return moved, (first, second)


def _training(loss, parameters, *inputs) -> Program:
    def step(parameters, moments, *inputs):
        value, gradients = jax.value_and_grad(loss)(parameters, *inputs)
        return value, *_adam(parameters, gradients, moments)

    zeros = jax.tree.map(jnp.zeros_like, parameters)
    return step, (parameters, (zeros, zeros), *inputs)


@model()
def transformer_training(layers: int = 4, width: int = 128, length: int = 64) -> Program:
    """A training step of a causal transformer, with Adam: forward, backward, update."""
    shapes: dict[str, tuple[int, ...]] = {"norm1": (width,), "norm2": (width,)}
    shapes |= {"qkv": (width, 3 * width), "out": (width, width)}
    shapes |= {"up": (width, 4 * width), "down": (4 * width, width)}
    parameters = {"layers": [weights(shapes) for _ in range(layers)], "embed": normal(256, width)}

    def loss(parameters, tokens):
        x = parameters["embed"][tokens]
        for w in parameters["layers"]:
            x = _block(w, x)
        log = jax.nn.log_softmax(x @ parameters["embed"].T)[:, :-1]
        return -jnp.take_along_axis(log, tokens[:, 1:, None], -1).mean()

    return _training(loss, parameters, integers(256, 4, length))


@model(quick=True)
def mlp_training(layers: int = 4, width: int = 256) -> Program:
    """A training step of a perceptron, with Adam."""
    parameters = [weights({"w": (width, width), "b": (width,)}) for _ in range(layers)]

    def loss(parameters, x):
        y = x
        for w in parameters:
            y = jnp.tanh(y @ w["w"] + w["b"])
        return ((y - x) ** 2).mean()

    return _training(loss, parameters, normal(64, width))
