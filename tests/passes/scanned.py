"""Gradients of scans, for the tests of `rematerialize`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st
from jax import lax


def arrays(*shapes, seed=0):
    generator = np.random.default_rng(seed)
    return [jnp.asarray(generator.normal(size=shape) / 2, jnp.float32) for shape in shapes]


def gradient(function):
    """The value and the gradient by all arguments."""

    def apply(*args):
        loss = jax.value_and_grad(lambda *args: function(*args).sum(), tuple(range(len(args))))
        return loss(*args)

    return apply


def layer(carry, w):
    hidden = jnp.tanh(carry @ w)
    return jnp.sin(hidden) * hidden + carry, hidden.sum()


def layers(x, ws):
    carry, sums = lax.scan(layer, x, ws)
    return carry * sums.sum()


def attention_layers(x, ws, prepared=lambda mask: mask):
    """Layers of causal attention over x[batch, position, feature], after `prepared` of the mask."""
    batch, length, _ = x.shape
    mask = jnp.tril(jnp.ones((length, length), bool))
    mask = prepared(jnp.broadcast_to(mask, (batch, length, length)))

    def attention(x, w):
        q, k, v = jnp.split(x @ w, 3, -1)
        scores = jnp.where(mask, jnp.einsum("bqd,bkd->bqk", q, k), -1e9)
        return x + jax.nn.softmax(scores) @ v, None

    return lax.scan(attention, x, ws)[0]


def _step(draw):
    """A random step of a scan over weights; its carry is (floats, integer, key bits)."""
    names = st.sampled_from(["product", "sin", "square", "mask", "branch", "inner", "count", "mix"])
    parts = draw(st.lists(names, min_size=1, max_size=4))
    emits = draw(st.sampled_from(["none", "carry", "value", "count"]))

    def apply(name, c, number, bits, w):
        match name:
            case "product":
                return jnp.tanh(c @ w), number, bits
            case "sin":
                return jnp.sin(c) * c, number, bits
            case "square":
                return c * c * 0.5, number, bits
            case "mask":
                mask = jax.random.bernoulli(jax.random.wrap_key_data(bits), 0.6, c.shape)
                return jnp.where(mask, c, c * 0.5), number, bits + 1
            case "branch":
                done = lax.cond(number % 3 == 1, lambda c: jnp.cos(c) * c, lambda c: c @ w, c)
                return done, number, bits
            case "inner":
                body = lambda i, c: jnp.tanh(c + i) * c  # noqa: E731
                return lax.fori_loop(0, 2, body, c), number, bits
            case "count":
                return c * (1 + 0.1 * number), number * 3 + 1, bits
        return c[:, ::-1] + c.mean(), number, bits

    def step(carry, w):
        c, number, bits = carry
        middle = c
        for name in parts:
            middle = c
            c, number, bits = apply(name, c, number, bits, w)
        emitted = {"none": None, "carry": c, "value": jnp.exp(middle), "count": number}[emits]
        return (c, number, bits), emitted

    return step


@st.composite
def programs(draw, lengths):
    """A random gradient, and its arguments; `lengths` is a strategy for trip counts."""
    step, length = _step(draw), draw(lengths)
    options = {"reverse": draw(st.booleans()), "unroll": draw(st.sampled_from([1, 1, 1, 2]))}
    is_batched, twice = draw(st.booleans()), draw(st.booleans())
    if draw(st.integers(0, 4)) == 0:
        step = jax.checkpoint(step)

    def run(x, ws, bits):
        (c, number, bits), ys = lax.scan(step, (x, 1, bits), ws, **options)
        if twice:
            (c, number, bits), _ = lax.scan(step, (c * 0.5, number, bits), ws)
        return c, ys

    def loss(x, ws, bits):
        c, ys = jax.vmap(run, (0, None, None))(x, ws, bits) if is_batched else run(x, ws, bits)
        rest = 0 if ys is None else jnp.asarray(ys, jnp.float32).sum() * 0.1
        return (c**2).sum() + rest + x.sum() + ws.sum(), (ys, bits + 1)

    x, ws = arrays((2, 3, 4) if is_batched else (3, 4), (length, 4, 4))
    return jax.value_and_grad(loss, (0, 1), has_aux=True), x, ws, jnp.array([3, 4], jnp.uint32)
