"""Small versions of typical JAX programs, for tests of `simplify` and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def _f32(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, np.float32)


X, V, SQUARE, Q = _f32(4, 8), _f32(8), _f32(8, 8), _f32(2, 6, 3, 8)
IMAGE, KERNEL = _f32(2, 8, 8, 3), _f32(3, 3, 3, 4)
INDEX = jax.ShapeDtypeStruct((4,), np.int32)


def layer_norm(x, scale, bias):
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + bias


def attention(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(8.0)
    scores = jnp.where(jnp.tril(jnp.ones((6, 6), bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


def cross_entropy(x, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1)


def scan(x, w):
    return lax.scan(lambda c, a: (jnp.tanh(c @ w + a), c), jnp.zeros(8), x)[0]


def convolve(x, w):
    return lax.conv_general_dilated(
        x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def swap_twice(x):
    return jnp.swapaxes(jnp.swapaxes(x, 0, 1).reshape(8, 2, 2), 0, 1)


def grad(f: Callable[..., Any], argument: int = 0) -> Callable[..., Any]:
    return jax.grad(lambda *args: f(*args).sum(), argument)


PROGRAMS: dict[str, tuple[Any, ...]] = {
    "softmax": (jax.nn.softmax, X),
    "layer_norm": (layer_norm, X, V, V),
    "attention": (attention, Q, Q, Q),
    "one_hot": (lambda i: jax.nn.one_hot(i, 5), INDEX),
    "take": (lambda x, i: jnp.take(x, i, axis=1), X, INDEX),
    "where": (lambda x: jnp.where(x > 0, x, 0.0), X),
    "roll": (lambda x: jnp.roll(x, 3, 1), X),
    "split": (lambda x: jnp.split(x, 4, 1), X),
    "split_and_join": (lambda x: jnp.concatenate(jnp.split(x, 4, 1), 1), X),
    "stack": (lambda x, y: jnp.stack([x, y], 1)[:, 0], X, X),
    "flip": (lambda x: jnp.flip(jnp.flip(x, 0), 0), X),
    "index": (lambda x: x[1:3, ::2][:, 1], X),
    "pad": (lambda x: jnp.pad(jnp.pad(x, 1), 2), X),
    "repeat": (lambda x: jnp.repeat(x, 2, 1), X),
    "tile": (lambda x: jnp.tile(x, (2, 3)), X),
    "meshgrid": (lambda a, b: jnp.meshgrid(a, b), V, V),
    "outer": (jnp.outer, V, V),
    "swap_twice": (swap_twice, X),
    "triu": (jnp.triu, X),
    "argmax": (lambda x: jnp.argmax(x, 1), X),
    "median": (jnp.median, X),
    "fft_and_back": (lambda x: jnp.fft.ifft(jnp.fft.fft(x)), X),
    "bf16": (grad(lambda x: jax.nn.silu(x.astype(jnp.bfloat16)).astype(jnp.float32)), X),
    "grad_softmax": (grad(jax.nn.softmax), X),
    "grad_layer_norm": (grad(layer_norm), X, V, V),
    "grad_attention": (grad(attention), Q, Q, Q),
    "grad_take": (grad(lambda x, i: jnp.take(x, i, axis=1)), X, INDEX),
    "grad_roll": (grad(lambda x: jnp.roll(x, 3, 1) ** 2), X),
    "grad_split": (grad(lambda x: jnp.split(x, 4, 1)[1] ** 2), X),
    "grad_stack": (grad(lambda x, y: jnp.stack([x, y], 1) ** 2), X, X),
    "grad_index": (grad(lambda x: x[1:3, ::2][:, 1] ** 2), X),
    "grad_gelu": (grad(jax.nn.gelu), X),
    "grad_clip": (grad(lambda x: jnp.clip(x, 0, 1)), X),
    "grad_std": (grad(jnp.std), X),
    "grad_cross_entropy": (grad(cross_entropy), X, INDEX),
    "grad_scan": (grad(scan, 1), X, SQUARE),
    "grad_convolve": (grad(convolve), IMAGE, KERNEL),
    "grad_max_pool": (grad(max_pool), IMAGE),
    "batched_grad": (jax.vmap(grad(lambda w, x: jnp.tanh(w @ x)), (None, 0)), SQUARE, X),
    "hessian": (jax.hessian(lambda v: (jnp.sin(v) ** 2).sum()), V),
}


def lowered_text(name: str) -> str:
    """The program as StableHLO."""
    function, *arguments = PROGRAMS[name]
    return jax.jit(function).lower(*arguments).as_text()
