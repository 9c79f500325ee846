"""Unrolled products of small matrices, compared with float64; small integers are exact."""

from __future__ import annotations

from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

import jxc
from jxc.passes.small_matrices import product

SMALL = "small-product-to-multiply-add"
TALL = "tall-product-to-multiply-add"
TURNED = "transposed-matrix-by-vector"


def rewritten(function, args, hits):
    """The results after the pass; `hits` is how often each rule must have fired."""
    lowered = jxc.lower(function, *args).opt("inline,cse,small-matrices{always=true}")
    fired = {name: count for name, count in lowered.report.hits.items() if count}
    assert fired == hits
    return lowered.compile()(*args)


@st.composite
def products(draw):
    """Two shapes with dimension numbers in any order."""
    groups = {kind: draw(st.lists(st.integers(1, 3), max_size=2)) for kind in "bklr"}
    sizes, numbers = [], []
    for own in "lr":
        labels = [(kind, i) for kind in f"bk{own}" for i in range(len(groups[kind]))]
        order = draw(st.permutations(labels))
        sizes.append([groups[kind][i] for kind, i in order])
        numbers.append([[order.index((k, i)) for i in range(len(groups[k]))] for k in "kb"])
    (summed, batch), (right_summed, right_batch) = numbers
    return sizes, ((summed, right_summed), (batch, right_batch))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(case=products(), dtype=st.sampled_from([np.float32, np.float64]), seed=st.integers(0, 9))
def test_small_product_with_any_dimension_numbers(case, dtype, seed):
    shapes, numbers = case
    generator = np.random.default_rng(seed)
    with jax.enable_x64(True):
        x, y = (jnp.asarray(generator.integers(-9, 10, shape), dtype) for shape in shapes)
        with patch.object(product, "_may_pay", lambda *_: True):
            found = rewritten(lambda x, y: lax.dot_general(x, y, numbers), (x, y), {SMALL: 1})
        np.testing.assert_array_equal(found, lax.dot_general(x, y, numbers))


def _normal(*shape, seed=0):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), jnp.float32)


def _filter(f, q):
    def step(p, _):
        p = f @ p @ f.T * 0.1 + q
        return p, jnp.trace(p)

    return lax.scan(step, q, None, length=5)


MODELS = {
    "matmul": (jnp.matmul, [(9, 4, 4), (9, 4, 4)], {SMALL: 1}),
    "vmap": (jax.vmap(jnp.matmul, (0, None)), [(9, 5, 6), (6, 4)], {}),  # one matrix for all
    "einsum": (lambda x, y: jnp.einsum("bki,bkj->bij", x, y), [(9, 6, 5), (9, 6, 3)], {SMALL: 1}),
    "gradient": (
        jax.grad(lambda x, y: jnp.sum(jnp.tanh(x @ y)), argnums=(0, 1)),
        [(9, 4, 4), (9, 4, 4)],
        {SMALL: 3},
    ),
    "scan": (jax.vmap(_filter), [(9, 4, 4), (9, 4, 4)], {SMALL: 2}),
    "one in a scan": (_filter, [(6, 6), (6, 6)], {SMALL: 2}),
    "short": (jnp.matmul, [(64, 8, 4), (64, 4, 4)], {SMALL: 1}),
    "points": (lambda x, r: jnp.tanh(x @ r.T), [(1000, 3), (3, 3)], {TALL: 1}),
    "step": (lambda x, w: w - 0.1 * (x.T @ jnp.tanh(x @ w)), [(1000, 16), (16,)], {TURNED: 1}),
}


@pytest.mark.parametrize("name", MODELS)
def test_small_products_of_typical_programs(name):
    function, shapes, hits = MODELS[name]
    args = [_normal(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    found = rewritten(function, args, hits)
    with jax.enable_x64(True):
        exact = jax.jit(function)(*(np.asarray(arg, np.float64) for arg in args))
    for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(exact), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5 * np.abs(want).max())


SPECIAL = np.array([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan, 1e-40, 1e18], np.float32)


def test_small_product_of_special_values():
    """Products and sums follow IEEE 754, as in XLA; only the sign of a zero sum may differ."""
    generator = np.random.default_rng(0)
    x, y = (jnp.asarray(generator.choice(SPECIAL, (500, 4, 4), p=_RARELY)) for _ in range(2))
    found = np.asarray(rewritten(jnp.matmul, (x, y), {SMALL: 1}))
    want = np.asarray(jax.jit(jnp.matmul)(x, y))
    assert np.isnan(want).any() and np.isinf(want).any() and (want == 0).any()
    np.testing.assert_array_equal(np.isnan(found), np.isnan(want))
    np.testing.assert_allclose(found, want, rtol=1e-6, atol=2e-38)


_RARELY = [0.2, 0.2, 0.25, 0.25, 0.02, 0.02, 0.02, 0.02, 0.02]


def test_small_products_stay_on_other_targets():
    lowered = jxc.lower(jnp.matmul, _normal(9, 4, 4), _normal(9, 4, 4))
    assert not any(lowered.opt("small-matrices", target="gpu").report.hits.values())
