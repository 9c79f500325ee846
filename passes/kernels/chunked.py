"""Losses over a large vocabulary, by parts of the vocabulary.

The logits of one part are in memory at a time. The gradient computes them again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import cost


def log_likelihood(x: Any, w: Any, t: Any) -> Any:
    """log_softmax(x w^T) at the labels t; NaN for labels outside of the vocabulary.

    Args:
        x: f[n,d], features of tokens.
        w: f[v,d], of words.
        t: i32[n], from -v to v - 1.
    """
    import jax.numpy as jnp

    normalizer, picked, is_word = _parts(x, w, t)
    return jnp.where(is_word, picked - normalizer, jnp.nan)


def normalizer_and_logit(x: Any, w: Any, t: Any) -> tuple[Any, Any]:
    """logsumexp(x w^T), and x w^T at the labels; NaN for labels outside of the vocabulary."""
    import jax.numpy as jnp

    normalizer, picked, is_word = _parts(x, w, t)
    return normalizer, jnp.where(is_word, picked, jnp.nan)


def _parts(x: Any, w: Any, t: Any) -> tuple[Any, Any, Any]:
    """logsumexp(x w^T), the logits at the labels, and whether these are in the vocabulary."""
    import jax
    import jax.numpy as jnp

    labels = jnp.where(t < 0, t + w.shape[0], t)
    function = jax.custom_vjp(lambda *arguments: _forward(*arguments)[0])
    function.defvjp(_forward, _backward)
    return *function(x, w, labels), (labels >= 0) & (labels < w.shape[0])


def _forward(x: Any, w: Any, t: Any) -> tuple[tuple[Any, Any], tuple[Any, ...]]:
    import jax.numpy as jnp

    lowest = float(jnp.finfo(jnp.float32).min)  # finite, so that parts of -inf give no NaN
    start = (jnp.full(t.shape, lowest), jnp.zeros(t.shape), jnp.zeros(t.shape))

    def step(carry: Any, part: Any, first: Any) -> tuple[Any, None]:
        most, total, picked = carry
        logits = _logits(x, part)
        higher = jnp.maximum(most, logits.max(-1))
        scaled = total * jnp.exp(most - higher) + jnp.exp(logits - higher[:, None]).sum(-1)
        chosen = jnp.where(_is_label(t, first, part), logits, 0).sum(-1)
        return (higher, scaled, picked + chosen), None

    (most, total, picked), _ = _over_parts(step, start, w)
    normalizer = most + jnp.log(total)
    return (normalizer, picked), (x, w, t, normalizer)


def _backward(kept: tuple[Any, ...], cotangents: Any) -> tuple[Any, Any, None]:
    import jax.numpy as jnp

    x, w, t, normalizer = kept
    of_normalizer, of_picked = (each[:, None] for each in cotangents)

    def step(dx: Any, part: Any, first: Any) -> tuple[Any, Any]:
        weights = jnp.exp(_logits(x, part) - normalizer[:, None])
        found = weights * of_normalizer + jnp.where(_is_label(t, first, part), of_picked, 0)
        found = found.astype(x.dtype)
        added = jnp.matmul(found, part, preferred_element_type=jnp.float32)
        return dx + added, (found.T @ x).astype(w.dtype)

    dx, dw = _over_parts(step, jnp.zeros(x.shape, jnp.float32), w)
    return dx.astype(x.dtype), dw, None


def _logits(x: Any, part: Any) -> Any:
    import jax.numpy as jnp

    return jnp.matmul(x, part.T, preferred_element_type=jnp.float32)


def _is_label(t: Any, first: Any, part: Any) -> Any:
    """Whether each word of a part is the label of each token."""
    import jax.numpy as jnp

    return (t - first)[:, None] == jnp.arange(part.shape[0])


def _over_parts(step: Callable[..., Any], start: Any, w: Any) -> tuple[Any, Any]:
    """The last carry, and the results of all parts one after the other.

    `step` takes the carry, the words of a part, and the number of the first one.
    """
    import jax
    import jax.numpy as jnp

    size = cost.WORDS_IN_PART
    count = w.shape[0] // size

    def one(carry: Any, number: Any) -> Any:
        part = jax.lax.dynamic_slice_in_dim(w, number * size, size)
        return step(carry, part, number * size)

    carry, found = jax.lax.scan(one, start, jnp.arange(count))
    found = jax.tree.map(lambda each: each.reshape(-1, *each.shape[2:]), found)
    if count * size == w.shape[0]:
        return carry, found
    carry, last = step(carry, w[count * size :], count * size)
    return carry, jax.tree.map(_joined, found, last)


def _joined(first: Any, last: Any) -> Any:
    import jax.numpy as jnp

    return jnp.concatenate([first, last])
