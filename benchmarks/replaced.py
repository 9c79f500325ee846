"""Replacements of code in third-party packages, and the programs that they are tried on.

They are written as docs/replacements.md describes. Each has a small model of the package, and a
program that differs from the search in one respect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jxc

Program = tuple[Callable[..., Any], tuple[Any, ...]]
HEADS = {"q": "f32[b,s,h,d]", "k": "f32[b,t,h,d]", "v": "f32[b,t,h,d]"}


def normal(*shape: int, seed: int = 0) -> Any:
    return jnp.asarray(np.random.RandomState(seed).standard_normal(shape), jnp.float32)


# The replacements.


@jxc.replacement(jxc.reassociates, **HEADS, divisor=float)
def flax_attention(q, k, v, divisor):
    scores = jnp.einsum("bshd,bthd->bhst", q / divisor, k)
    return jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(scores), v)


@flax_attention.by
def attention_of_jax(q, k, v, divisor):
    return jax.nn.dot_product_attention(q, k, v, scale=1 / divisor)


@jxc.replacement(jxc.reassociates, **HEADS, scale=float)
def keras_attention(q, k, v, scale):
    return jax.nn.dot_product_attention(q, k, v, scale=scale)


@keras_attention.by(when=lambda m: m.s % 4 == 0)
def attention_in_blocks(q, k, v, scale):
    """Scores of a quarter of the queries at a time."""

    def block(rows):
        scores = jnp.einsum("bshd,bthd->bhst", rows * scale, k)
        return jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(scores), v)

    b, s, h, d = q.shape
    blocks = jnp.moveaxis(q.reshape(b, 4, s // 4, h, d), 1, 0)
    return jnp.moveaxis(jax.lax.map(block, blocks), 0, 1).reshape(b, s, h, d)


@jxc.replacement(jxc.reassociates, **HEADS, bias="f32[b,s,t]")
def biased_attention(q, k, v, bias):
    scores = jnp.einsum("bshd,bthd->bhst", q, k) + bias[:, None]
    return jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(scores), v)


@biased_attention.by
def biased_attention_of_jax(q, k, v, bias):
    return jax.nn.dot_product_attention(q, k, v, bias[:, None], scale=1.0)


@jxc.replacement(jxc.reassociates, x="f32[b,s,d]", weight="f32[d]", eps=float)
def rms_norm(x, weight, eps):
    mean = jnp.mean(jnp.square(x), -1, keepdims=True)
    return x * (jax.lax.rsqrt(mean + eps) * weight)


@rms_norm.by
def rms_norm_by_product(x, weight, eps):
    mean = jnp.einsum("bsd,bsd->bs", x, x)[..., None] / x.shape[-1]
    return x * jax.lax.rsqrt(mean + eps) * weight


@jxc.replacement(jxc.exact, x="f32[b,s,h,d]", sin="f32[b,s,d]", cos="f32[b,s,d]")
def rotary(x, sin, cos):
    first, second = jnp.split(x, 2, -1)
    turned = jnp.concatenate([-second, first], -1)
    return x * cos[:, :, None] + turned * sin[:, :, None]


@rotary.by
def rotary_by_halves(x, sin, cos):
    x1, x2 = jnp.split(x, 2, -1)
    s1, s2 = jnp.split(sin[:, :, None], 2, -1)
    c1, c2 = jnp.split(cos[:, :, None], 2, -1)
    return jnp.concatenate([x1 * c1 - x2 * s1, x2 * c2 + x1 * s2], -1)


@jxc.replacement(jxc.reassociates, x="f32[b,s,d]", gate="f32[d,f]", up="f32[d,f]")
def swiglu(x, gate, up):
    return (x @ up) * jax.nn.silu(x @ gate)


@swiglu.by
def swiglu_in_one_product(x, gate, up):
    gated, linear = jnp.split(x @ jnp.concatenate([gate, up], -1), 2, -1)
    return jax.nn.silu(gated) * linear


@jxc.replacement(jxc.reassociates, logits="f32[n,c]", labels="i32[n]")
def cross_entropy(logits, labels):
    import optax

    return optax.softmax_cross_entropy_with_integer_labels(logits, labels)


@cross_entropy.by
def cross_entropy_without_gather(logits, labels):
    shifted = logits - jax.lax.stop_gradient(logits.max(-1, keepdims=True))
    chosen = labels[:, None] == jnp.arange(logits.shape[-1])
    return jnp.log(jnp.exp(shifted).sum(-1)) - jnp.where(chosen, shifted, 0).sum(-1)


@jxc.replacement(jxc.reassociates, x="f32[n]", mean="f32[n]", scale="f32[n]")
def log_density(x, mean, scale):
    return jax.scipy.stats.norm.logpdf(x, mean, scale)


@log_density.by
def log_density_with_one_division(x, mean, scale):
    z = (x - mean) / scale
    return -0.5 * (z * z + np.log(2 * np.pi)) - jnp.log(scale)


@jxc.replacement(
    jxc.reassociates, x="f32[n,d]", up="f32[d,f]", bias="f32[f]", down="f32[f,e]", last="f32[e]"
)
def perceptron(x, up, bias, down, last):
    return jax.nn.gelu(x @ up + bias) @ down + last


@jax.custom_vjp
def fused(x, up, bias, down, last):
    from jax.experimental import pallas as pl

    def kernel(x, up, bias, down, last, result):
        hidden = jax.nn.gelu(x[...] @ up[...] + bias[...])
        result[...] = hidden @ down[...] + last[...]

    shape = jax.ShapeDtypeStruct((x.shape[0], down.shape[1]), x.dtype)
    call = pl.pallas_call(kernel, out_shape=shape, interpret=jax.default_backend() == "cpu")
    return call(x, up, bias[None], down, last[None])


fused.defvjp(
    lambda *arguments: (fused(*arguments), arguments),
    lambda saved, cotangent: jax.vjp(perceptron.function, *saved)[1](cotangent),
)
perceptron.by(fused)


@jxc.replacement(jxc.reassociates, x="f32[n,d]", weight="f32[d]", bias="f32[d]", eps=float)
def layer_norm(x, weight, bias, eps):
    mean = jnp.mean(x, -1, keepdims=True)
    variance = jnp.maximum(jnp.var(x, -1, keepdims=True), 0.0)
    return (x - mean) * jax.lax.rsqrt(variance + eps) * weight + bias


@layer_norm.by
def layer_norm_by_product(x, weight, bias, eps):
    centred = x - jnp.mean(x, -1, keepdims=True)
    variance = jnp.einsum("nd,nd->n", centred, centred)[:, None] / x.shape[-1]
    return centred * jax.lax.rsqrt(variance + eps) * weight + bias


# The programs.


def flax_layer(make: Callable[[Any], Any], *shape: int) -> Program:
    import flax.linen as nn

    layer, x = make(nn), normal(*shape)
    return layer.apply, (layer.init(jax.random.key(0), x), x)


def of_keras() -> Program:
    import keras

    layer, x = keras.layers.MultiHeadAttention(2, 8), normal(2, 8, 16)
    layer(x, x)
    trained = [each.value for each in layer.trainable_variables]
    fixed = [each.value for each in layer.non_trainable_variables]
    return lambda trained, x: layer.stateless_call(trained, fixed, x, x)[0], (trained, x)


def of_transformers(kind: str, **settings: Any) -> Program:
    import transformers

    config = getattr(transformers, f"{kind}Config")(vocab_size=32, **settings)
    model = getattr(transformers, f"Flax{kind}Model")(config)
    words = jnp.arange(16).reshape(2, 8)
    return lambda weights, words: model(words, params=weights, train=False)[0], (
        model.params,
        words,
    )


def gpt_2() -> Program:
    return of_transformers("GPT2", n_embd=16, n_layer=2, n_head=2, n_positions=16)


def llama() -> Program:
    sizes = {"hidden_size": 16, "intermediate_size": 24, "max_position_embeddings": 16}
    return of_transformers("Llama", num_hidden_layers=2, num_attention_heads=2, **sizes)


def of_optax(scale: float = 1.0) -> Program:
    import optax

    def losses(weights, x, labels):
        shifted = x @ weights
        return scale * optax.softmax_cross_entropy_with_integer_labels(shifted, labels)

    return losses, (normal(16, 10), normal(8, 16), jnp.arange(8))


def mixture() -> Program:
    def likelihood(parameters, x):
        mean, scale = parameters[0], jnp.exp(parameters[1])
        densities = jax.scipy.stats.norm.logpdf(x[:, None], mean, scale)
        return jax.scipy.special.logsumexp(densities, axis=-1)

    return likelihood, (normal(2, 5), normal(8))


def of_equinox() -> Program:
    import equinox

    layer = equinox.nn.LayerNorm(16)

    def forward(weights, x):
        changed = equinox.tree_at(lambda each: (each.weight, each.bias), layer, weights)
        return jax.vmap(changed)(x)

    return forward, ((normal(16), normal(16, seed=1)), normal(8, 16))


def program(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Program:
    return function, tuple(normal(*shape, seed=n) for n, shape in enumerate(shapes))


# Programs that differ in one respect.


def attention_over_heads() -> Program:
    """The softmax is over the queries."""

    def attention(q, k, v):
        scores = jax.nn.softmax(jnp.einsum("bshd,bthd->bhst", q / 3.0, k), axis=-2)
        return jnp.einsum("bhst,bthd->bshd", scores, v)

    return program(attention, *[(2, 8, 2, 8)] * 3)


def attention_in_bf16() -> Program:
    """The scores are rounded to bf16."""

    def attention(q, k, v):
        scores = jnp.einsum("bshd,bthd->bhst", q, k).astype(jnp.bfloat16).astype(jnp.float32)
        return jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(0.5 * scores), v)

    return program(attention, *[(2, 8, 2, 8)] * 3)


def multiplied_bias() -> Program:
    def attention(q, k, v, bias):
        scores = jnp.einsum("bshd,bthd->bhst", q / 3.0, k) * bias[:, None]
        return jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(scores), v)

    return program(attention, *[(2, 8, 2, 8)] * 3, (2, 8, 8))


def sum_of_squares() -> Program:
    def norm(x, weight):
        total = jnp.sum(jnp.square(x), -1, keepdims=True)
        return x * (jax.lax.rsqrt(total + 1e-6) * weight)

    return program(norm, (2, 8, 16), (16,))


def unsigned_rotation() -> Program:
    def turn(x, sin, cos):
        first, second = jnp.split(x, 2, -1)
        turned = jnp.concatenate([second, first], -1)
        return x * cos[:, :, None] + turned * sin[:, :, None]

    return program(turn, (2, 8, 2, 8), (2, 8, 8), (2, 8, 8))


def gelu_gate() -> Program:
    return program(lambda x, a, b: (x @ b) * jax.nn.gelu(x @ a), (2, 8, 16), (16, 24), (16, 24))


def smoothed_labels() -> Program:
    import optax

    def losses(logits, labels):
        return optax.softmax_cross_entropy(logits, jax.nn.one_hot(labels, 10) * 0.9 + 0.01)

    return losses, (normal(8, 10), jnp.arange(8))


def laplace() -> Program:
    return program(lambda x, m: jax.scipy.stats.laplace.logpdf(x, m, 2.0), (8,), (8,))


def relu_network() -> Program:
    return flax_layer(lambda nn: nn.Sequential([nn.Dense(32), nn.relu, nn.Dense(16)]), 8, 16)


def norm_without_mean() -> Program:
    def norm(x, weight, bias):
        variance = jnp.maximum(jnp.var(x, -1, keepdims=True), 0.0)
        return x * jax.lax.rsqrt(variance + 1e-5) * weight + bias

    return program(norm, (8, 16), (16,), (16,))


@dataclass(frozen=True)
class Case:
    """A replacement, the program that it is for, and one that it does not fit."""

    package: str
    what: str
    replacement: Any
    program: Callable[[], Program]
    other: Callable[[], Program]


def _heads(nn: Any) -> Any:
    return nn.MultiHeadDotProductAttention(num_heads=2, qkv_features=16)


def _perceptron(nn: Any) -> Any:
    return nn.Sequential([nn.Dense(32), nn.gelu, nn.Dense(16)])


CASES = [
    Case(
        "flax",
        "linen.MultiHeadDotProductAttention",
        flax_attention,
        lambda: flax_layer(_heads, 2, 8, 16),
        attention_over_heads,
    ),
    Case("keras", "MultiHeadAttention", keras_attention, of_keras, attention_in_bf16),
    Case("transformers", "FlaxGPT2Model, 2 layers", biased_attention, gpt_2, multiplied_bias),
    Case(
        "flax",
        "linen.RMSNorm",
        rms_norm,
        lambda: flax_layer(lambda nn: nn.RMSNorm(), 2, 8, 16),
        sum_of_squares,
    ),
    Case(
        "transformers",
        "FlaxLlamaModel, 2 layers, keys and queries",
        rotary,
        llama,
        unsigned_rotation,
    ),
    Case("transformers", "FlaxLlamaModel, 2 layers", swiglu, llama, gelu_gate),
    Case(
        "optax",
        "softmax_cross_entropy_with_integer_labels",
        cross_entropy,
        of_optax,
        smoothed_labels,
    ),
    Case("jax", "scipy.stats.norm.logpdf in a mixture", log_density, mixture, laplace),
    Case(
        "flax",
        "linen.Dense, gelu, Dense: a Pallas kernel",
        perceptron,
        lambda: flax_layer(_perceptron, 8, 16),
        relu_network,
    ),
    Case("equinox", "nn.LayerNorm under vmap", layer_norm, of_equinox, norm_without_mean),
]
