"""Training steps for the tests of the pass microbatch: `step(params, ...)` and its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

Step = tuple[Callable[..., Any], tuple[Any, ...]]

B, T, F, H, C = 8, 6, 5, 12, 4


def _keys(count: int) -> list[jax.Array]:
    return list(jax.random.split(jax.random.key(7), count))


def _with_sgd(loss: Callable[..., Any]) -> Callable[..., Any]:
    def step(params: Any, *data: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, *data)
        return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    return step


def _mlp_params(scale: float = 0.4) -> dict[str, jax.Array]:
    a, b, c, d = _keys(4)
    return {
        "w1": scale * jax.random.normal(a, (F, H)),
        "b1": 0.1 * jax.random.normal(b, (H,)),
        "w2": scale * jax.random.normal(c, (H, C)),
        "b2": 0.1 * jax.random.normal(d, (C,)),
    }


def _rows() -> tuple[jax.Array, jax.Array]:
    return jax.random.normal(jax.random.key(1), (B, F)), jnp.arange(B) % C


def _logits(p: Any, x: jax.Array) -> jax.Array:
    return jax.nn.relu(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


def _cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    picked = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return jax.nn.logsumexp(logits, -1) - picked


def mlp() -> Step:
    def loss(p: Any, x: Any, y: Any) -> Any:
        logp = jax.nn.log_softmax(_logits(p, x))
        return -logp[jnp.arange(B), y].mean()

    return _with_sgd(loss), (_mlp_params(), *_rows())


def mlp_one_hot() -> Step:
    def loss(p: Any, x: Any, y: Any) -> Any:
        return -(jax.nn.one_hot(y, C) * jax.nn.log_softmax(_logits(p, x))).sum(-1).mean()

    return _with_sgd(loss), (_mlp_params(), *_rows())


def mlp_integer_labels() -> Step:
    def loss(p: Any, x: Any, y: Any) -> Any:
        return _cross_entropy(_logits(p, x), y).mean()

    return _with_sgd(loss), (_mlp_params(), *_rows())


def dropout() -> Step:
    def loss(p: Any, x: Any, y: Any, key: Any) -> Any:
        h = jax.nn.gelu(x @ p["w1"] + p["b1"])
        h = jnp.where(jax.random.bernoulli(key, 0.8, h.shape), h / 0.8, 0)
        return (((h @ p["w2"] + p["b2"])[:, 0] - y) ** 2).mean() + h.mean()

    return _with_sgd(loss), (_mlp_params(), *_rows(), jax.random.key(3))


def metrics() -> Step:
    def loss(p: Any, x: Any, y: Any) -> Any:
        logits = _logits(p, x)
        each = _cross_entropy(logits, y)
        right = logits.argmax(-1) == y
        extra = {
            "accuracy": right.mean(),
            "each": each,
            "worst": each.max(),
            "logits": logits,
            "any": right.any(),
            "all": right.all(),
        }
        return each.mean(), extra

    def step(p: Any, x: Any, y: Any) -> Any:
        (value, extra), grads = jax.value_and_grad(loss, has_aux=True)(p, x, y)
        return value, extra, grads

    return step, (_mlp_params(), *_rows())


def adam() -> Step:
    def step(p: Any, state: Any, x: Any, y: Any) -> Any:
        value, grads = jax.value_and_grad(lambda p: _cross_entropy(_logits(p, x), y).mean())(p)
        norm = jnp.sqrt(sum((g**2).sum() for g in jax.tree.leaves(grads)))
        grads = jax.tree.map(lambda g: g * jnp.minimum(1, 0.5 / norm), grads)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], grads)
        second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g**2, state["v"], grads)
        p = jax.tree.map(lambda p, m, v: p - 0.01 * m / (jnp.sqrt(v) + 1e-3), p, first, second)
        return value, p, {"m": first, "v": second}

    p = _mlp_params()
    zeros = jax.tree.map(jnp.zeros_like, p)
    return step, (p, {"m": zeros, "v": zeros}, *_rows())


def masked_mean() -> Step:
    def loss(p: Any, tokens: Any, mask: Any) -> Any:
        h = p["embed"][tokens]
        h = jax.nn.tanh(h @ p["w"])
        logits = h @ p["embed"].T
        each = _cross_entropy(logits[:, :-1], tokens[:, 1:])
        m = mask[:, 1:].astype(each.dtype)
        return (each * m).sum() / m.sum()

    a, b, c, d = _keys(4)
    p = {"embed": jax.random.normal(a, (11, H)), "w": jax.random.normal(b, (H, H)) / 4}
    tokens = jax.random.randint(c, (B, T), 0, 11)
    return _with_sgd(loss), (p, tokens, jax.random.bernoulli(d, 0.7, (B, T)))


def transformer() -> Step:
    def norm(x: Any, g: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g

    def block(x: Any, p: Any, key: Any) -> Any:
        h = norm(x, p["g"])
        q, k, v = jnp.split(h @ p["qkv"], 3, -1)
        q, k, v = (a.reshape(B, T, 2, H // 2).transpose(0, 2, 1, 3) for a in (q, k, v))
        scores = q @ k.transpose(0, 1, 3, 2) / 3
        scores = jnp.where(jnp.tril(jnp.ones((T, T), bool)), scores, -1e9)
        weights = jax.nn.softmax(scores)
        keep = jax.random.bernoulli(key, 0.9, weights.shape)
        out = (jnp.where(keep, weights / 0.9, 0) @ v).transpose(0, 2, 1, 3).reshape(B, T, H)
        x = x + out @ p["out"]
        return x + jax.nn.gelu((x.reshape(B * T, H) @ p["up"]).reshape(B, T, -1)) @ p["down"]

    def loss(p: Any, tokens: Any, key: Any) -> Any:
        x = p["embed"][tokens] + p["position"]

        def layer(carry: Any, p: Any) -> Any:
            x, key = carry
            key, mine = jax.random.split(key)
            return (jax.checkpoint(block)(x, p, mine), key), None

        (x, _), _ = jax.lax.scan(layer, (x, key), p["layers"])
        logp = jax.nn.log_softmax(x @ p["embed"].T)
        return -jnp.take_along_axis(logp[:, :-1], tokens[:, 1:, None], -1).mean()

    a, b, c, d, e, f, g = _keys(7)
    layers = {
        "g": jnp.ones((2, H)),
        "qkv": jax.random.normal(a, (2, H, 3 * H)) / 4,
        "out": jax.random.normal(b, (2, H, H)) / 4,
        "up": jax.random.normal(c, (2, H, 2 * H)) / 4,
        "down": jax.random.normal(d, (2, 2 * H, H)) / 4,
    }
    p = {
        "embed": jax.random.normal(e, (11, H)),
        "position": jax.random.normal(f, (T, H)),
        "layers": layers,
    }
    return _with_sgd(loss), (p, jax.random.randint(g, (B, T), 0, 11), jax.random.key(5))


def _conv(x: jax.Array, w: jax.Array, groups: int = 1) -> jax.Array:
    dims = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=dims, feature_group_count=groups
    )


def convnet() -> Step:
    def loss(p: Any, x: Any, y: Any) -> Any:
        h = jax.nn.relu(_conv(x, p["k1"]))
        h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        h = jax.nn.relu(_conv(h, p["k2"], 6))
        h = jax.lax.reduce_window(h, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        logits = h.reshape(B, -1) @ p["w"]
        return _cross_entropy(logits, y).mean()

    a, b, c, d = _keys(4)
    p = {
        "k1": jax.random.normal(a, (3, 3, 2, 6)) / 3,
        "k2": jax.random.normal(b, (3, 3, 1, 6)) / 3,
        "w": jax.random.normal(c, (24, C)) / 4,
    }
    return _with_sgd(loss), (p, jax.random.normal(d, (B, 8, 8, 2)), jnp.arange(B) % C)


def lstm() -> Step:
    def loss(p: Any, x: Any, y: Any) -> Any:
        def cell(carry: Any, x: Any) -> Any:
            h, c = carry
            i, f, g, o = jnp.split(x @ p["wx"] + h @ p["wh"] + p["b"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = (jnp.zeros((B, H)), jnp.zeros((B, H)))
        _, hs = jax.lax.scan(cell, start, x.transpose(1, 0, 2))
        return ((hs.mean(0)[:, 0] - y) ** 2).mean()

    a, b, c = _keys(3)
    p = {
        "wx": jax.random.normal(a, (F, 4 * H)) / 3,
        "wh": jax.random.normal(b, (H, 4 * H)) / 3,
        "b": jnp.zeros(4 * H),
    }
    return _with_sgd(loss), (p, jax.random.normal(c, (B, T, F)), jnp.linspace(-1, 1, B))


def shared_weights() -> Step:
    def loss(p: Any, x: Any, y: Any) -> Any:
        h = x
        for _ in range(3):
            h = jnp.tanh(h @ p["w"]) + h
        return ((h.sum(-1) - y) ** 2).mean() + 0.01 * (p["w"] ** 2).sum()

    a, b = _keys(2)
    return _with_sgd(loss), (
        {"w": jax.random.normal(a, (F, F)) / 3},
        jax.random.normal(b, (B, F)),
        jnp.linspace(-1, 1, B),
    )


def per_example_gradients() -> Step:
    def loss(p: Any, x: Any, y: Any) -> Any:
        return _cross_entropy(_logits(p, x), y)

    def step(p: Any, x: Any, y: Any) -> Any:
        grads = jax.vmap(jax.grad(loss), (None, 0, 0))(p, x, y)
        squares = sum((g**2).reshape(B, -1).sum(-1) for g in jax.tree.leaves(grads))
        scale = 1 / jnp.maximum(1, jnp.sqrt(squares))
        clipped = jax.tree.map(lambda g: jnp.tensordot(scale, g, 1) / B, grads)
        return jax.tree.map(lambda p, g: p - 0.1 * g, p, clipped), squares

    return step, (_mlp_params(), *_rows())


def remat() -> Step:
    @jax.checkpoint
    def layer(h: Any, w: Any, key: Any) -> Any:
        h = jnp.tanh(h @ w)
        return jnp.where(jax.random.bernoulli(key, 0.7, h.shape), h, 0)

    def loss(p: Any, x: Any, y: Any, key: Any) -> Any:
        h = x
        for w, k in zip(p["w"], jax.random.split(key, 3), strict=True):
            h = layer(h, w, k) + h
        return ((h.sum(-1) - y) ** 2).mean()

    a, b = _keys(2)
    return _with_sgd(loss), (
        {"w": list(jax.random.normal(a, (3, F, F)) / 2)},
        jax.random.normal(b, (B, F)),
        jnp.linspace(-1, 1, B),
        jax.random.key(9),
    )


def standardized_inputs() -> Step:
    def loss(p: Any, x: Any, y: Any) -> Any:
        x = (x - x.mean(0)) / (x.std(0) + 1e-3)
        return ((_logits(p, x).sum(-1) - y) ** 2).mean()

    return _with_sgd(loss), (_mlp_params(), *_rows())


def mixed_precision() -> Step:
    def loss(p: Any, x: Any, y: Any) -> Any:
        p = jax.tree.map(lambda a: a.astype(jnp.bfloat16), p)
        logits = _logits(p, x.astype(jnp.bfloat16)).astype(jnp.float32)
        return _cross_entropy(logits, y).mean()

    return _with_sgd(loss), (_mlp_params(), *_rows())


def switched() -> Step:
    def loss(p: Any, x: Any, y: Any, kind: Any) -> Any:
        h = x @ p["w1"]
        h = jax.lax.switch(kind, [jnp.tanh, jax.nn.relu, lambda h: h * p["b1"]], h)
        h = jax.lax.fori_loop(0, 3, lambda i, h: jnp.sin(h) + i, h)
        return ((h @ p["w2"]).sum(-1) - y).mean()

    def step(p: Any, x: Any, y: Any, kind: Any) -> Any:
        return _with_sgd(loss)(p, x, y, kind)

    return step, (_mlp_params(), *_rows(), jnp.int32(1))


MODELS: dict[str, Callable[[], Step]] = {
    each.__name__: each
    for each in (
        *(mlp, mlp_one_hot, mlp_integer_labels, dropout, metrics, adam, masked_mean, transformer),
        *(convnet, lstm, shared_weights, per_example_gradients, remat, standardized_inputs),
        *(mixed_precision, switched),
    )
}
