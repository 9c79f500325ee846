"""Transformers: GPT-2, a vision transformer, a large vocabulary, a mixture of experts."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from fit.registry import Task, integers, program, shapes
from fit.variants import Variant

DROPPED = 0.1


def dropout(key: Any, x: Any, rate: float) -> Any:
    """The values with a share of them set to 0; unchanged for a rate of 0."""
    if not rate:
        return x
    is_kept = jax.random.bernoulli(key, 1 - rate, x.shape)
    return jnp.where(is_kept, x / (1 - rate), 0).astype(x.dtype)


def layer_norm(w: Any, x: Any) -> Any:
    """The values of each position with mean 0 and variance 1, scaled; computed in f32."""
    y = x.astype(jnp.float32)
    y = (y - y.mean(-1, keepdims=True)) * lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
    return y.astype(x.dtype) * w


def attention(w: Any, x: Any, *, heads: int, causal: bool) -> Any:
    """Attention of `heads` heads over x[batch, position, feature], with a softmax in f32."""
    batch, length, width = x.shape
    q, k, v = jnp.split((x @ w["qkv"] + w["qkv_bias"]).reshape(batch, length, 3 * heads, -1), 3, 2)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (width // heads) ** -0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    weights = jax.nn.softmax(scores.astype(jnp.float32)).astype(x.dtype)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v)
    return mixed.reshape(x.shape) @ w["out"] + w["out_bias"]


def layer(w: Any, x: Any, key: Any, *, heads: int, causal: bool, rate: float) -> Any:
    """A layer: attention and a perceptron, each after a norm and before a residual.

    Args:
        w: the parameters of `layer_shapes`.
        x: of shape [batch, position, feature].
        key: of the random numbers.
        heads: the number of heads.
        causal: whether a position attends to no later one.
        rate: of the dropout before each residual.
    """
    w = jax.tree.map(lambda leaf: leaf.astype(x.dtype), w)
    first, second = jax.random.split(key)
    mixed = attention(w, layer_norm(w["norm1"], x), heads=heads, causal=causal)
    x = x + dropout(first, mixed, rate)
    hidden = jax.nn.gelu(layer_norm(w["norm2"], x) @ w["up"] + w["up_bias"])
    return x + dropout(second, hidden @ w["down"] + w["down_bias"], rate)


def layer_shapes(width: int) -> dict[str, tuple[int, ...]]:
    """The sizes of the parameters of a layer."""
    found: dict[str, tuple[int, ...]] = {"norm1": (width,), "norm2": (width,)}
    sides = {"qkv": (1, 3), "out": (1, 1), "up": (1, 4), "down": (4, 1)}
    for name, (rows, columns) in sides.items():
        found |= {name: (rows * width, columns * width), f"{name}_bias": (columns * width,)}
    return found


def next_token_loss(embed: Any, x: Any, tokens: Any) -> Any:
    """The mean of the negated logarithms of the next tokens' probabilities, in f32."""
    logits = (x @ embed.astype(x.dtype).T).astype(jnp.float32)[:, :-1]
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1).mean()


def language_model(
    how: Variant,
    *,
    layers: int,
    width: int,
    heads: int,
    length: int,
    words: int,
    batch: int,
    dtype: str,
    rate: float = DROPPED,
    scan: bool = False,
    head: bool = False,
) -> Task:
    """A causal transformer whose embedding is also its last product.

    Args:
        how: the variant.
        layers, width, heads, length, words, batch: its sizes.
        dtype: of the activations; parameters are f32.
        rate: of the dropout before each residual.
        scan: whether the layers are stacked, under one `lax.scan`.
        head: whether the loss over the vocabulary is a block too.
    """
    one = how.block(partial(layer, heads=heads, causal=True, rate=rate))
    last = how.block(next_token_loss) if head else next_token_loss

    def loss(w: Any, state: Any, tokens: Any, key: Any) -> tuple[Any, Any]:
        x = (w["embed"][tokens] + w["positions"]).astype(dtype)
        keys = jax.random.split(key, layers)
        if scan:
            x, _ = lax.scan(
                lambda x, each: (one(each[0], x, each[1]), None), x, (w["layers"], keys)
            )
        else:
            for each, its_key in zip(w["layers"], keys, strict=True):
                x = one(each, x, its_key)
        return last(w["embed"], layer_norm(w["norm"].astype(dtype), x), tokens), state

    each = layer_shapes(width)
    stacked = {name: (layers, *sizes) for name, sizes in each.items()}
    params = {"embed": (words, width), "positions": (length, width), "norm": (width,)}
    inner = stacked if scan else [each] * layers
    return Task(loss, shapes(params | {"layers": inner}), integers(batch, length))


_SMALL = {"layers": 4, "width": 128, "heads": 4, "length": 256, "words": 1024, "batch": 4}
_SMALL |= {"dtype": "float32"}
_GPT2 = {"length": 4096, "words": 50257, "batch": 4, "dtype": "bfloat16"}
_NETWORKS = {
    "gpt2-small": {"layers": 12, "width": 768, "heads": 12},
    "gpt2-medium": {"layers": 24, "width": 1024, "heads": 16},
}
for _name, _sizes in _NETWORKS.items():
    for _suffix, _scan in (("", False), ("-scan", True)):
        program(_SMALL, _GPT2 | _sizes, {"batch": 16}, name=_name + _suffix)(
            partial(language_model, scan=_scan)
        )

program(
    _SMALL | {"layers": 1, "words": 16384, "length": 128},
    {"layers": 2, "width": 768, "heads": 12, "length": 1024, "words": 262144}
    | {"batch": 16, "dtype": "bfloat16"},
    {"batch": 64},
    name="vocabulary",
)(partial(language_model, rate=0.0, head=True))


@program(
    {"layers": 4, "width": 128, "heads": 4, "image": 64, "batch": 8, "dtype": "float32"},
    {"layers": 24, "width": 1024, "heads": 16, "image": 224, "batch": 256, "dtype": "bfloat16"},
    {"batch": 1024},
)
def vit_large(
    how: Variant, *, layers: int, width: int, heads: int, image: int, batch: int, dtype: str
) -> Task:
    """A vision transformer over patches of 16 by 16 pixels, with dropout and 1,000 classes."""
    count = (image // 16) ** 2
    one = how.block(partial(layer, heads=heads, causal=False, rate=DROPPED))

    def loss(w: Any, state: Any, batch: Any, key: Any) -> tuple[Any, Any]:
        images, labels = batch
        patches = images.reshape(-1, image // 16, 16, image // 16, 16, 3).swapaxes(2, 3)
        x = (patches.reshape(-1, count, 768) @ w["patch"] + w["positions"]).astype(dtype)
        for each, its_key in zip(w["layers"], jax.random.split(key, layers), strict=True):
            x = one(each, x, its_key)
        x = layer_norm(w["norm"].astype(dtype), x).mean(1).astype(jnp.float32)
        log = jax.nn.log_softmax(x @ w["head"])
        return -jnp.take_along_axis(log, labels[:, None], -1).mean(), state

    params = {"patch": (768, width), "positions": (count, width), "norm": (width,)}
    params |= {"head": (width, 1000), "layers": [layer_shapes(width)] * layers}
    return Task(loss, shapes(params), (shapes((batch, image, image, 3)), integers(batch)))


def experts(w: Any, x: Any, capacity: int) -> tuple[Any, Any]:
    """The results of the two best experts of each token, and the loss that balances them.

    Each expert takes at most `capacity` tokens of a sequence; others pass unchanged. Sequences are
    routed independently, so that the gradient of a batch is the mean of those of its parts.
    """
    count = w["router"].shape[-1]
    chances = jax.nn.softmax((x @ w["router"]).astype(jnp.float32))
    gates, best = lax.top_k(chances, 2)
    gates = gates / gates.sum(-1, keepdims=True)
    combine = jnp.zeros((*chances.shape, capacity), x.dtype)
    used = jnp.zeros((x.shape[0], 1, count), jnp.int32)
    for at in range(2):
        chosen = jax.nn.one_hot(best[..., at], count, dtype=jnp.int32)
        place = (jnp.cumsum(chosen, 1) - 1 + used) * chosen - (1 - chosen)  # -1 where not chosen
        used = used + chosen.sum(1, keepdims=True)
        slots = jax.nn.one_hot(place, capacity, dtype=x.dtype)  # zeros outside the capacity
        combine = combine + gates[..., at, None, None].astype(x.dtype) * slots
    taken = jnp.einsum("btec,btd->becd", (combine > 0).astype(x.dtype), x)
    hidden = jax.nn.gelu(jnp.einsum("becd,edf->becf", taken, w["up"]))
    made = jnp.einsum("becf,efd->becd", hidden, w["down"])
    first = jax.nn.one_hot(best[..., 0], count).mean(1)
    balance = count * (first * chances.mean(1)).sum(-1).mean()
    return jnp.einsum("btec,becd->btd", combine, made), balance


@program(
    {"layers": 2, "width": 128, "heads": 4, "experts_count": 4, "length": 128, "words": 1024}
    | {"batch": 4, "dtype": "float32"},
    {"layers": 6, "width": 1024, "heads": 16, "experts_count": 8, "length": 2048, "words": 32000}
    | {"batch": 16, "dtype": "bfloat16"},
    {"batch": 64},
)
def mixture_of_experts(
    how: Variant,
    *,
    layers: int,
    width: int,
    heads: int,
    experts_count: int,
    length: int,
    words: int,
    batch: int,
    dtype: str,
) -> Task:
    """A causal transformer whose perceptrons are the two best of several experts."""
    capacity = length * 5 // (2 * experts_count)

    def block(w: Any, x: Any) -> tuple[Any, Any]:
        w = jax.tree.map(lambda leaf: leaf.astype(x.dtype), w)
        y = layer_norm(w["norm1"], x)
        x = x + attention(w, y, heads=heads, causal=True)
        made, balance = experts(w, layer_norm(w["norm2"], x), capacity)
        return x + made, balance

    one = how.block(block)

    def loss(w: Any, state: Any, tokens: Any, key: Any) -> tuple[Any, Any]:
        x, total = (w["embed"][tokens] + w["positions"]).astype(dtype), 0.0
        for each in w["layers"]:
            x, balance = one(each, x)
            total += balance
        x = layer_norm(w["norm"].astype(dtype), x)
        return next_token_loss(w["embed"], x, tokens) + 0.01 * total, state

    each = {k: v for k, v in layer_shapes(width).items() if not k.startswith(("up", "down"))}
    each |= {"router": (width, experts_count), "up": (experts_count, width, 4 * width)}
    each |= {"down": (experts_count, 4 * width, width)}
    params = {"embed": (words, width), "positions": (length, width), "norm": (width,)}
    return Task(loss, shapes(params | {"layers": [each] * layers}), integers(batch, length))
