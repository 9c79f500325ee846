"""Convolutional networks in plain JAX: residual, with pooling, a variational autoencoder."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from .data import descend, integers, normal, weights
from .registry import Program, model

_LAYOUT = ("NHWC", "HWIO", "NHWC")


def _convolve(x, w, stride: int = 1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=_LAYOUT)


def _max_pool(x, window: int, stride: int):
    sizes, strides = (1, window, window, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, sizes, strides, "SAME")


def _mean_pool(x, window: int, stride: int):
    sizes, strides = (1, window, window, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, 0.0, lax.add, sizes, strides, "SAME") / window**2


def _cross_entropy(logits, labels):
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], -1)
    return -chosen.mean()


@model(windows=True, small={"batch": 1, "channels": 8}, large={"batch": 16, "channels": 32})
def residual_training(blocks: int = 4, channels: int = 16, batch: int = 8) -> Program:
    """The gradient of a small residual network of ordinary convolutions, max and mean pooling."""
    kernels = [
        weights({"a": (3, 3, channels, channels), "b": (3, 3, channels, channels)})
        for _ in range(blocks)
    ]

    def loss(kernels, x):
        for w in kernels:
            x = x + _convolve(jax.nn.relu(_convolve(x, w["a"])), w["b"])
        return (_max_pool(x, 2, 2).mean((1, 2)) ** 2).sum()

    return jax.grad(loss), (kernels, normal(batch, 32, 32, channels))


def _pooled(pool, batch: int) -> Program:
    """A training step of three convolutions, with pooling after each, and a dense layer."""
    shapes: dict[str, tuple[int, ...]] = {"a": (3, 3, 1, 32), "b": (3, 3, 32, 64)}
    kernels = weights(shapes | {"c": (3, 3, 64, 64), "out": (4 * 4 * 64, 10)})

    def loss(kernels, images, labels):
        x = images
        for name in "abc":
            x = pool(jax.nn.relu(_convolve(x, kernels[name])))
        return _cross_entropy(x.reshape(len(x), -1) @ kernels["out"], labels)

    return descend(loss), (kernels, normal(batch, 28, 28, 1), integers(10, batch))


@model(windows=True, quick=True, small={"batch": 2}, large={"batch": 128})
def max_pool_training(batch: int = 32) -> Program:
    """Disjoint 2x2 windows, as in most small networks."""
    return _pooled(partial(_max_pool, window=2, stride=2), batch)


@model(windows=True, small={"batch": 2}, large={"batch": 128})
def overlapping_max_pool_training(batch: int = 32) -> Program:
    """Overlapping 3x3 windows, as in AlexNet, ResNet's stem and Inception."""
    return _pooled(partial(_max_pool, window=3, stride=2), batch)


@model(windows=True, small={"batch": 2}, large={"batch": 128})
def mean_pool_training(batch: int = 32) -> Program:
    """Averages of overlapping 3x3 windows."""
    return _pooled(partial(_mean_pool, window=3, stride=2), batch)


@model(windows=True, quick=True, small={"batch": 2}, large={"batch": 128})
def vae_training(batch: int = 32) -> Program:
    """A training step of a convolutional variational autoencoder on 28x28 images."""
    shapes: dict[str, tuple[int, ...]] = {"a": (4, 4, 1, 32), "b": (4, 4, 32, 64)}
    shapes |= {"mean": (7 * 7 * 64, 16), "spread": (7 * 7 * 64, 16), "up": (16, 7 * 7 * 64)}
    kernels = weights(shapes | {"c": (4, 4, 64, 32), "d": (4, 4, 32, 1)})

    def grow(x, w):
        return lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=_LAYOUT)

    def loss(kernels, images, key):
        x = jax.nn.relu(_convolve(images, kernels["a"], 2))
        x = jax.nn.relu(_convolve(x, kernels["b"], 2)).reshape(len(images), -1)
        mean, spread = x @ kernels["mean"], x @ kernels["spread"]
        code = mean + jnp.exp(0.5 * spread) * jax.random.normal(key, mean.shape)
        y = jax.nn.relu(code @ kernels["up"]).reshape(-1, 7, 7, 64)
        y = grow(jax.nn.relu(grow(y, kernels["c"])), kernels["d"])
        wrong = jnp.maximum(y, 0) - y * images + jnp.log1p(jnp.exp(-jnp.abs(y)))
        prior = 0.5 * (jnp.exp(spread) + mean**2 - 1 - spread)
        return wrong.sum((1, 2, 3)).mean() + prior.sum(1).mean()

    images = (normal(batch, 28, 28, 1) > 0).astype(jnp.float32)
    return descend(loss), (kernels, images, jax.random.key(0))
