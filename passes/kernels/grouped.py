"""Attention in which groups of heads share keys and values."""

from __future__ import annotations

from typing import Any

from jxc.patterns import replacement
from jxc.rewrite import reassociates

from . import cost
from .attention import causal, scores_of_jax, weighted
from .flash import on_gpu, on_tpu

_KEYS = "f32|bf16[b,n,t,d]"


@replacement(reassociates, q="f32|bf16[b,n,g,s,d]", k=_KEYS, v=_KEYS, scale=float)
def grouped_attention(q: Any, k: Any, v: Any, scale: Any) -> Any:
    """softmax(q k^T * scale) v for groups of g heads -> JAX's flash attention.

    As `jax.nn.dot_product_attention` writes it. Keys and values are repeated for the kernel.
    """
    return _weighted(_scores(q, k) * scale, v)


@grouped_attention.by(targets="tpu", when=cost.pays_on_tpu)
def _grouped_on_tpu(q: Any, k: Any, v: Any, scale: Any) -> Any:
    return on_tpu(*_repeated(q, k, v), scale, causal=False).reshape(q.shape)


@grouped_attention.by(targets="gpu", when=cost.pays_on_gpu)
def _grouped_on_gpu(q: Any, k: Any, v: Any, scale: Any) -> Any:
    return on_gpu(*_repeated(q, k, v), scale, causal=False).reshape(q.shape)


_CAUSAL_KEYS = "f32|bf16[b,n,s,d]"


@replacement(
    reassociates,
    q="f32|bf16[b,n,g,s,d]",
    k=_CAUSAL_KEYS,
    v=_CAUSAL_KEYS,
    scale=float,
    masked=float,
)
def grouped_causal_attention(q: Any, k: Any, v: Any, scale: Any, masked: Any) -> Any:
    """softmax(q k^T * scale, causal) v for groups of g heads -> JAX's flash attention.

    As `jax.nn.dot_product_attention` writes it. Keys and values are repeated for the kernel.
    """
    return _weighted(causal(_scores(q, k) * scale, masked), v)


@grouped_causal_attention.by(targets="tpu", when=cost.pays_on_tpu)
def _grouped_causal_on_tpu(q: Any, k: Any, v: Any, scale: Any, masked: Any) -> Any:
    return on_tpu(*_repeated(q, k, v), scale, causal=True).reshape(q.shape)


@grouped_causal_attention.by(targets="gpu", when=cost.pays_on_gpu)
def _grouped_causal_on_gpu(q: Any, k: Any, v: Any, scale: Any, masked: Any) -> Any:
    return on_gpu(*_repeated(q, k, v), scale, causal=True).reshape(q.shape)


def _scores(q: Any, k: Any) -> Any:
    return scores_of_jax(q, k, "bngsd,bntd->bngst")


def _weighted(found: Any, v: Any) -> Any:
    return weighted(found, v, "bngst,bntd->bngsd")


def _repeated(q: Any, k: Any, v: Any) -> tuple[Any, Any, Any]:
    """Queries, keys and values with one dimension of heads."""
    import jax.numpy as jnp

    b, n, g, _, d = q.shape
    k, v = (jnp.repeat(each, g, axis=1) for each in (k, v))
    return q.reshape(b, n * g, -1, d), k, v
