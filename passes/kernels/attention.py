"""Attention as libraries write it, and the kernels that replace it.

The scores are scaled, or the queries were (then `scale` is 1). A causal mask replaces scores by a
large negative number, which is minus infinity in plain JAX, the lowest number in Flax, and -0.7
times the largest one in `jax.nn.dot_product_attention` and Keras; transformers adds it. Scores of
bf16 are computed in f32 by `jax.nn`, elsewhere in bf16.
"""

from __future__ import annotations

from typing import Any

from jxc.patterns import replacement
from jxc.rewrite import reassociates

from . import cost
from .flash import on_gpu, on_tpu

_QUERIES, _KEYS = "f32|bf16[b,h,s,d]", "f32|bf16[b,h,t,d]"


# Causal attention


@replacement(reassociates, q=_QUERIES, k=_QUERIES, v=_QUERIES, scale=float, masked=float)
def causal_attention(q: Any, k: Any, v: Any, scale: Any, masked: Any) -> Any:
    """softmax(q k^T * scale, causal) v, with its gradient -> JAX's flash attention.

    For lengths that the kernels divide into blocks, on GPU for up to 128 features. The number that
    replaces masked scores is at most -1e30, and scores are taken to be larger.
    """
    return weighted(causal(scores(q, k) * scale, masked), v)


@causal_attention.search()
def _of_jax(q: Any, k: Any, v: Any, scale: Any, masked: Any) -> Any:
    return weighted(causal(scores_of_jax(q, k) * scale, masked), v)


@causal_attention.search(divisor=float, scale=lambda match: 1 / match.divisor)
def _divided(q: Any, k: Any, v: Any, masked: Any, divisor: Any) -> Any:
    return weighted(causal(scores(q, k) / divisor, masked), v)


@causal_attention.search(scale=1.0)
def _unscaled(q: Any, k: Any, v: Any, masked: Any) -> Any:
    return weighted(causal(scores(q, k), masked), v)


@causal_attention.search(scale=1.0)
def _with_bias(q: Any, k: Any, v: Any, masked: Any) -> Any:
    import jax.numpy as jnp

    found = scores(q, k)
    return weighted(found + causal(jnp.zeros_like(found), masked), v)


@causal_attention.by(targets="tpu", when=cost.pays_on_tpu)
def _causal_on_tpu(q: Any, k: Any, v: Any, scale: Any, masked: Any) -> Any:
    return on_tpu(q, k, v, scale, causal=True)


@causal_attention.by(targets="gpu", when=cost.pays_on_gpu)
def _causal_on_gpu(q: Any, k: Any, v: Any, scale: Any, masked: Any) -> Any:
    return on_gpu(q, k, v, scale, causal=True)


# Attention to all positions


@replacement(reassociates, q=_QUERIES, k=_KEYS, v=_KEYS, scale=float)
def attention(q: Any, k: Any, v: Any, scale: Any) -> Any:
    """softmax(q k^T * scale) v, with its gradient -> JAX's flash attention."""
    return weighted(scores(q, k) * scale, v)


@attention.search()
def _all_of_jax(q: Any, k: Any, v: Any, scale: Any) -> Any:
    return weighted(scores_of_jax(q, k) * scale, v)


@attention.search(divisor=float, scale=lambda match: 1 / match.divisor)
def _all_divided(q: Any, k: Any, v: Any, divisor: Any) -> Any:
    return weighted(scores(q, k) / divisor, v)


@attention.search(scale=1.0)
def _all_unscaled(q: Any, k: Any, v: Any) -> Any:
    return weighted(scores(q, k), v)


@attention.by(targets="tpu", when=cost.pays_on_tpu)
def _all_on_tpu(q: Any, k: Any, v: Any, scale: Any) -> Any:
    return on_tpu(q, k, v, scale, causal=False)


@attention.by(targets="gpu", when=cost.pays_on_gpu)
def _all_on_gpu(q: Any, k: Any, v: Any, scale: Any) -> Any:
    return on_gpu(q, k, v, scale, causal=False)


# The parts of attention


def scores(q: Any, k: Any) -> Any:
    """q k^T, in the type of q."""
    import jax.numpy as jnp

    return jnp.einsum("bhsd,bhtd->bhst", q, k)


def scores_of_jax(q: Any, k: Any, dims: str = "bhsd,bhtd->bhst") -> Any:
    """q k^T in f32, as `jax.nn.dot_product_attention` computes it from bf16."""
    import jax
    import jax.numpy as jnp

    is_half = q.dtype == jnp.bfloat16
    precision = jax.lax.DotAlgorithmPreset.BF16_BF16_F32 if is_half else None
    return jnp.einsum(dims, q, k, precision=precision, preferred_element_type=jnp.float32)


def causal(found: Any, masked: Any) -> Any:
    """The scores, with the number `masked` where a query is before its key."""
    import jax.numpy as jnp

    seen = jnp.tril(jnp.ones(found.shape[-2:], bool))
    return jnp.where(seen, found, jnp.asarray(masked, found.dtype))


def weighted(found: Any, v: Any, dims: str = "bhst,bhtd->bhsd") -> Any:
    """softmax(scores) v."""
    import jax
    import jax.numpy as jnp

    return jnp.einsum(dims, jax.nn.softmax(found).astype(v.dtype), v)
