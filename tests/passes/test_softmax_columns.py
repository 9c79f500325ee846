"""The sum of a softmax as a column of the product after it: attention as users write it."""

from __future__ import annotations

from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jxc
from jxc.passes.reductions import cost as cost

RULES = {"sum-of-softmax-to-column", "product-of-quotients-to-columns"}


def einsum(q, k, v):
    s = jnp.einsum("bqhd,bkhd->bhqk", q, k)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s), v)


def causal(q, k, v):
    s = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32)
    s = jnp.where(jnp.tril(jnp.ones(s.shape[-2:], bool)), s, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s).astype(v.dtype), v)


def heads_first(q, k, v):
    q, k = (lax.transpose(each, (0, 2, 1, 3)) for each in (q, k))
    weights = jax.nn.softmax(q @ lax.transpose(k, (0, 1, 3, 2)), axis=-1)
    return weights @ (lax.transpose(v, (0, 2, 1, 3)) * 2)  # computed after the softmax


def library(q, k, v):
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


FORMS = [einsum, causal, heads_first, library]


def arrays(dtype, positions=24, keys=16):
    shapes = (2, positions, 3, 8), (2, keys, 3, 8), (2, keys, 3, 8)
    random = np.random.default_rng(0)
    return [jnp.asarray(random.standard_normal(each), dtype) for each in shapes]


def rewritten(function, args):
    with patch.object(cost, "column_pays", lambda shape, **sizes: True):
        lowered = jxc.lower(function, *args).opt("O2", target="tpu")
    return lowered.compile()(*args), lowered.report.hits


def exact(function, args):
    with jax.enable_x64(True):
        return jax.jit(function)(*[np.asarray(each, np.float64) for each in args])


@pytest.mark.parametrize("form", FORMS)
def test_attention_sums_its_weights_in_a_column(form):
    args = arrays(jnp.float32)
    found, hits = rewritten(form, args)
    assert {name for name, count in hits.items() if count} >= RULES, hits
    want, plain = exact(form, args), jax.jit(form)(*args)
    errors = [np.abs(np.asarray(each, np.float64) - want).max() for each in (found, plain)]
    assert errors[0] <= 1.5 * errors[1] + 1e-6


@pytest.mark.parametrize("form", [einsum, causal, heads_first])
def test_the_gradient_of_attention_is_the_same(form):
    args = arrays(jnp.float32)
    gradient = jax.grad(lambda *args: (form(*args) ** 2).sum(), (0, 1, 2))
    found, hits = rewritten(gradient, args)
    assert hits.get("sum-of-softmax-to-column"), hits
    for got, want in zip(found, exact(gradient, args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_rows_without_keys_and_infinite_scores_give_the_same_nans():
    q, k, v = arrays(jnp.float32)
    q = q.at[0, 3].set(jnp.inf).at[1, 5].set(jnp.nan)
    v = v.at[0, 2, 1].set(jnp.inf).at[1, 4, 0, 3].set(jnp.nan)

    def masked(q, k, v):
        s = jnp.einsum("bqhd,bkhd->bhqk", q, k)
        s = jnp.where(jnp.arange(s.shape[2])[:, None] % 5 == 0, -jnp.inf, s)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s), v)

    found, hits = rewritten(masked, [q, k, v])
    assert hits.get("product-of-quotients-to-columns"), hits
    np.testing.assert_allclose(found, jax.jit(masked)(q, k, v), rtol=1e-5, atol=1e-6)


def test_weights_that_are_returned_keep_their_sum():
    def weights(q, k, v):
        p = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k))
        return p, jnp.einsum("bhqk,bkhd->bqhd", p, v)

    assert not RULES & set(rewritten(weights, arrays(jnp.float32))[1])
