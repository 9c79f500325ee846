"""A transformer and a perceptron in plain JAX, trained by Adam."""

from __future__ import annotations

from typing import Any

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


def _transformer(layers: int, width: int, words: int) -> dict[str, Any]:
    """The weights of a causal transformer whose embedding is also its last product."""
    shapes: dict[str, tuple[int, ...]] = {"norm1": (width,), "norm2": (width,)}
    shapes |= {"qkv": (width, 3 * width), "out": (width, width)}
    shapes |= {"up": (width, 4 * width), "down": (4 * width, width)}
    layer = [weights(shapes) for _ in range(layers)]
    return {"layers": layer, "embed": normal(words, width, scale=width**-0.5)}


def _logits(parameters, tokens):
    x = parameters["embed"][tokens]
    for w in parameters["layers"]:
        x = _block(w, x)
    return x @ parameters["embed"].T


@model(
    small={"layers": 2, "width": 32, "length": 16, "words": 64, "batch": 1},
    large={"layers": 6, "width": 256, "length": 128, "words": 4096},
)
def transformer_training(
    layers: int = 4, width: int = 128, length: int = 64, words: int = 256, batch: int = 4
) -> Program:
    """A training step of a causal transformer, with Adam: forward, backward, update."""

    def loss(parameters, tokens):
        log = jax.nn.log_softmax(_logits(parameters, tokens))[:, :-1]
        return -jnp.take_along_axis(log, tokens[:, 1:, None], -1).mean()

    return _training(loss, _transformer(layers, width, words), integers(words, batch, length))


@model(
    small={"length": 32, "words": 8192, "batch": 1},
    large={"length": 256, "words": 50257},
)
def vocabulary_training(
    layers: int = 2, width: int = 128, length: int = 128, words: int = 32000, batch: int = 4
) -> Program:
    """The same for a large vocabulary, whose logits are most of the work."""
    return transformer_training(layers, width, length, words, batch)


@model(
    small={"layers": 2, "width": 64, "length": 16, "words": 512, "batch": 1},
    large={"length": 1024, "words": 50257},
)
def next_token(
    layers: int = 4, width: int = 256, length: int = 128, words: int = 32000, batch: int = 4
) -> Program:
    """The most likely next token of each text, by a causal transformer."""

    def choose(parameters, tokens):
        return _logits(parameters, tokens)[:, -1].argmax(-1)

    return choose, (_transformer(layers, width, words), integers(words, batch, length))


@model(
    quick=True,
    small={"layers": 2, "width": 32, "batch": 4},
    large={"layers": 6, "width": 1024},
)
def mlp_training(layers: int = 4, width: int = 256, batch: int = 64) -> Program:
    """A training step of a perceptron, with Adam."""
    parameters = [weights({"w": (width, width), "b": (width,)}) for _ in range(layers)]

    def loss(parameters, x):
        y = x
        for w in parameters:
            y = jnp.tanh(y @ w["w"] + w["b"])
        return ((y - x) ** 2).mean()

    return _training(loss, parameters, normal(batch, width))
