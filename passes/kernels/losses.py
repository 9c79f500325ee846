"""Losses by class labels whose logits are a product with the features of the words.

The logits of one part of the vocabulary are in memory at a time, and the gradient computes them
again. Each replacement exists for tokens in one and in two dimensions.
"""

from __future__ import annotations

from typing import Any

from jxc.patterns import replacement
from jxc.rewrite import reassociates

from . import chunked, cost as cost

_BATCHES, _LABELS = "f32[b,n,d]", "i32[b,n]"
_ROWS, _LABELS_OF_ROWS = "f32[n,d]", "i32[n]"
_WORDS = "f32[v,d]"


@replacement(reassociates, x=_BATCHES, w=_WORDS, t=_LABELS)
def log_likelihood(x: Any, w: Any, t: Any) -> Any:
    """log_softmax(x w^T) at the labels t, with its gradient -> the same by parts of the words.

    On GPU it takes a fifth more time and a quarter of the memory, and is applied from 2 GiB of
    logits on.
    """
    return _log_likelihood(x, w, t)


@replacement(reassociates, x=_ROWS, w=_WORDS, t=_LABELS_OF_ROWS)
def log_likelihood_of_rows(x: Any, w: Any, t: Any) -> Any:
    """log_softmax(x w^T) at the labels t, with its gradient -> the same by parts of the words.

    As `log-likelihood`, for tokens in one dimension.
    """
    return _log_likelihood(x, w, t)


@log_likelihood.by(targets="tpu,gpu", when=cost.parts_pay)
def _log_likelihood_by_parts(x: Any, w: Any, t: Any) -> Any:
    return chunked.log_likelihood(x.reshape(-1, x.shape[-1]), w, t.reshape(-1)).reshape(t.shape)


@log_likelihood_of_rows.by(targets="tpu,gpu", when=cost.parts_pay)
def _log_likelihood_of_rows_by_parts(x: Any, w: Any, t: Any) -> Any:
    return chunked.log_likelihood(x, w, t)


@replacement(reassociates, x=_BATCHES, w=_WORDS, t=_LABELS)
def normalizer_and_logit(x: Any, w: Any, t: Any) -> Any:
    """logsumexp(x w^T) and x w^T at the labels t, with gradients -> both by parts of the words.

    Cross entropy is their difference, as `optax.softmax_cross_entropy_with_integer_labels` writes
    it. It takes up to a fifth more time and two fifths of the memory, and is applied from 2 GiB of
    logits on.
    """
    return _normalizer_and_logit(x, w, t)


@replacement(reassociates, x=_ROWS, w=_WORDS, t=_LABELS_OF_ROWS)
def normalizer_and_logit_of_rows(x: Any, w: Any, t: Any) -> Any:
    """logsumexp(x w^T) and x w^T at the labels t, with gradients -> both by parts of the words.

    As `normalizer-and-logit`, for tokens in one dimension.
    """
    return _normalizer_and_logit(x, w, t)


@normalizer_and_logit.by(targets="tpu", when=cost.parts_of_normalizer_pay)
def _normalizer_and_logit_by_parts(x: Any, w: Any, t: Any) -> Any:
    found = chunked.normalizer_and_logit(x.reshape(-1, x.shape[-1]), w, t.reshape(-1))
    return tuple(each.reshape(t.shape) for each in found)


@normalizer_and_logit_of_rows.by(targets="tpu", when=cost.parts_of_normalizer_pay)
def _normalizer_and_logit_of_rows_by_parts(x: Any, w: Any, t: Any) -> Any:
    return chunked.normalizer_and_logit(x, w, t)


def _log_likelihood(x: Any, w: Any, t: Any) -> Any:
    import jax

    return _at_labels(jax.nn.log_softmax(x @ w.T), t)


def _normalizer_and_logit(x: Any, w: Any, t: Any) -> Any:
    import jax

    logits = x @ w.T
    return jax.nn.logsumexp(logits, axis=-1), _at_labels(logits, t)


def _at_labels(logits: Any, t: Any) -> Any:
    import jax.numpy as jnp

    return jnp.take_along_axis(logits, t[..., None], axis=-1)[..., 0]
