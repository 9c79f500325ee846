"""Programs to measure on: networks that others wrote (keras), and small ones in plain JAX.

Each entry of `MODELS` is a function that returns what to jit and arguments for it. Weights are
random. What needs a package that is not there raises ImportError.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Program = tuple[Callable[..., Any], tuple[Any, ...]]

_RNG = np.random.default_rng(0)


def _normal(*shape: int, scale: float = 1.0) -> jax.Array:
    return jnp.asarray(_RNG.standard_normal(shape, np.float32) * scale)


def _weights(shapes: dict[str, tuple[int, ...]]) -> dict[str, jax.Array]:
    return {name: _normal(*shape, scale=shape[0] ** -0.5) for name, shape in shapes.items()}


def _keras(name: str, *, training: bool = False, size: int = 96, batch: int = 4) -> Program:
    import keras

    model = getattr(keras.applications, name)(
        weights=None, input_shape=(size, size, 3), classifier_activation=None
    )
    weights = [v.value for v in model.trainable_variables]
    state = [v.value for v in model.non_trainable_variables]
    images = _normal(batch, size, size, 3)

    def forward(weights, state, images):
        return model.stateless_call(weights, state, images, training=training)[0]

    def step(weights, state, images):
        def loss(weights):
            return jnp.mean(forward(weights, state, images) ** 2)

        value, gradients = jax.value_and_grad(loss)(weights)
        return value, [w - 0.01 * g for w, g in zip(weights, gradients, strict=True)]

    return (step if training else forward), (weights, state, images)


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


def _adam(weights, gradients, moments):
    first, second = moments
    tree = jax.tree.map
    first = tree(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = tree(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
    moved = tree(lambda w, m, v: w - 1e-3 * m / (jnp.sqrt(v) + 1e-8), weights, first, second)
    return moved, (first, second)


def transformer_training(layers: int = 4, width: int = 128, length: int = 64) -> Program:
    """A training step of a causal transformer, with Adam: forward, backward, update."""
    shapes = {"norm1": (width,), "norm2": (width,), "qkv": (width, 3 * width)}
    shapes |= {"out": (width, width), "up": (width, 4 * width), "down": (4 * width, width)}
    weights = {"layers": [_weights(shapes) for _ in range(layers)], "embed": _normal(256, width)}
    tokens = jnp.asarray(_RNG.integers(0, 256, (4, length)), jnp.int32)

    def loss(weights, tokens):
        x = weights["embed"][tokens]
        for w in weights["layers"]:
            x = _block(w, x)
        log = jax.nn.log_softmax(x @ weights["embed"].T)[:, :-1]
        return -jnp.take_along_axis(log, tokens[:, 1:, None], -1).mean()

    def step(weights, moments, tokens):
        value, gradients = jax.value_and_grad(loss)(weights, tokens)
        return value, *_adam(weights, gradients, moments)

    zeros = jax.tree.map(jnp.zeros_like, weights)
    return step, (weights, (zeros, zeros), tokens)


def mlp_training(layers: int = 4, width: int = 256) -> Program:
    """A training step of a perceptron, with Adam."""
    weights = [_weights({"w": (width, width), "b": (width,)}) for _ in range(layers)]
    x = _normal(64, width)

    def loss(weights, x):
        y = x
        for w in weights:
            y = jnp.tanh(y @ w["w"] + w["b"])
        return ((y - x) ** 2).mean()

    def step(weights, moments, x):
        value, gradients = jax.value_and_grad(loss)(weights, x)
        return value, *_adam(weights, gradients, moments)

    zeros = jax.tree.map(jnp.zeros_like, weights)
    return step, (weights, (zeros, zeros), x)


def lstm_training(length: int = 32, width: int = 128) -> Program:
    """The gradient of an LSTM over a sequence."""
    weights = _weights({"x": (width, 4 * width), "h": (width, 4 * width)})

    def loss(weights, sequence):
        def step(carry, x):
            h, c = carry
            i, f, o, g = jnp.split(x @ weights["x"] + h @ weights["h"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = jnp.zeros((8, width))
        return (lax.scan(step, (start, start), sequence)[1] ** 2).mean()

    return jax.grad(loss), (weights, _normal(length, 8, width))


def residual_training(blocks: int = 4, channels: int = 16) -> Program:
    """The gradient of a small residual network of ordinary convolutions, max and mean pooling."""
    weights = [
        _weights({"a": (3, 3, channels, channels), "b": (3, 3, channels, channels)})
    ] * blocks

    def convolve(x, w):
        return lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def loss(weights, x):
        for w in weights:
            x = x + convolve(jax.nn.relu(convolve(x, w["a"])), w["b"])
        pooled = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return (pooled.mean((1, 2)) ** 2).sum()

    return jax.grad(loss), (weights, _normal(4, 16, 16, channels))


def graph_training(nodes: int = 128, edges: int = 512, width: int = 32) -> Program:
    """The gradient of graph attention: gathers, segment sums, a segment softmax."""
    weights = _weights({"w": (width, width), "a": (2 * width, 1)})
    ends = jnp.asarray(_RNG.integers(0, nodes, (2, edges)), jnp.int32)

    def loss(weights, x, ends):
        h = x @ weights["w"]
        for _ in range(3):
            pair = jnp.concatenate([h[ends[0]], h[ends[1]]], -1)
            score = jnp.exp(jax.nn.leaky_relu(pair @ weights["a"]))
            total = jax.ops.segment_sum(score, ends[1], nodes)
            h = jax.ops.segment_sum(score / total[ends[1]] * h[ends[0]], ends[1], nodes)
        return (h**2).mean()

    return jax.grad(loss), (weights, _normal(nodes, width), ends)


def signal() -> Program:
    """What is neither a network nor its gradient: FFT, cumulative sums, sort, top-k, quantiles."""

    def analyse(x):
        power = jnp.abs(jnp.fft.rfft(x)) ** 2
        smooth = jnp.cumsum(x, 1)[:, 8:] - jnp.cumsum(x, 1)[:, :-8]
        return power.sum(0), smooth, jnp.quantile(x, 0.9, 1), lax.top_k(x, 5), jnp.sort(x, 0)

    return analyse, (_normal(16, 256),)


def monte_carlo() -> Program:
    """Random walks: threefry, normal deviates, a scan."""

    def walk(key):
        steps = jax.random.normal(key, (64, 256))
        path = lax.scan(lambda p, s: (p * jnp.exp(0.01 * s), p), jnp.ones(256), steps)[1]
        return jnp.maximum(path.mean(0) - 1, 0).mean()

    return walk, (jax.random.key(0),)


MODELS: dict[str, Callable[[], Program]] = {
    "transformer-training": transformer_training,
    "mlp-training": mlp_training,
    "lstm-training": lstm_training,
    "residual-training": residual_training,
    "graph-training": graph_training,
    "signal": signal,
    "monte-carlo": monte_carlo,
    "keras-mobilenetv2": partial(_keras, "MobileNetV2"),
    "keras-mobilenetv2-training": partial(_keras, "MobileNetV2", training=True),
    "keras-resnet50": partial(_keras, "ResNet50"),
    "keras-efficientnetb0": partial(_keras, "EfficientNetB0"),
    "keras-xception": partial(_keras, "Xception"),
    "keras-densenet121": partial(_keras, "DenseNet121"),
    "keras-convnext-tiny": partial(_keras, "ConvNeXtTiny"),
}
