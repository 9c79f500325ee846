"""Scatters with affine indices have the bits of plain JAX; products with one-hot arrays."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import jxc

RULES = "affine-scatter-to-pad", "block-scatter-to-update"
ALWAYS = "{always=true}"
SPECIAL = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e30], np.float32)


def rewritten(function, args, options=""):
    """The results after the pass, and how often its rules for affine scatters fired."""
    pipeline = f"inline{{default-pipeline=}},cse,simplify,indexing{options}"
    lowered = jxc.lower(function, *args).opt(pipeline)
    return lowered.compile()(*args), sum(lowered.report.hits.get(rule, 0) for rule in RULES)


def values(*shape, seed=0):
    return np.random.default_rng(seed).choice(SPECIAL, shape)


def same_bits(found, want):
    assert np.asarray(found).tobytes() == np.asarray(want).tobytes()


_ends = st.one_of(st.none(), st.integers(-8, 8))
_slices = st.builds(slice, _ends, _ends, st.sampled_from([None, 1, 2, 3, -1, -2]))


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    index=st.tuples(_slices, _slices),
    method=st.sampled_from(["set", "add", "multiply", "min", "max", "subtract"]),
)
def test_affine_scatter_of_any_slices_equals_jax(index, method):
    x = values(7, 6)
    taken = x[index]
    assume(taken.size)
    u = values(*taken.shape, seed=1)

    def write(x, u):
        return getattr(x.at[index], method)(u)

    found, _ = rewritten(write, (x, u), ALWAYS)
    with np.errstate(all="ignore"):
        same_bits(jnp.isnan(found), jnp.isnan(jax.jit(write)(x, u)))
        np.testing.assert_array_equal(found, jax.jit(write)(x, u))
        zeros = np.asarray(found) == 0
        same_bits(np.signbit(found)[zeros], np.signbit(jax.jit(write)(x, u))[zeros])


ROWS, COLUMNS = 64, 1024
WRITES = {
    "columns": (lambda x, u: x.at[:, ::2].set(u), (ROWS, COLUMNS // 2)),
    "few columns": (lambda x, u: x.at[:, 1::32].add(u), (ROWS, COLUMNS // 32)),
    "rows": (lambda x, u: x.at[::2].set(u), (ROWS // 2, COLUMNS)),
    "backwards": (lambda x, u: x.at[:, np.arange(1020, -1, -4)].set(u), (ROWS, COLUMNS // 4)),
    "interior": (lambda x, u: x.at[1:-1, 1:-1].add(u), (ROWS - 2, COLUMNS - 2)),
    "array": (lambda x, u: x.at[:, jnp.arange(3, 40)].add(u), (ROWS, 37)),
    "constants": (lambda x, u: x.at[:, np.arange(0, COLUMNS, 16)].mul(u), (ROWS, COLUMNS // 16)),
    "vmap": (jax.vmap(lambda x, u: x.at[::2].set(u)), (ROWS, COLUMNS // 2)),
    "gradient": (
        jax.grad(lambda x, u: jnp.sum(x.at[:, ::2].set(u) ** 2), argnums=(0, 1)),
        (ROWS, COLUMNS // 2),
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_affine_scatter_of_typical_programs_equals_jax(name):
    function, shape = WRITES[name]
    x, u = values(ROWS, COLUMNS), values(*shape, seed=1)
    found, hits = rewritten(function, (x, u), ALWAYS)
    assert hits
    want = jax.jit(function)(x, u)
    for got, expected in zip(jax.tree.leaves(found), jax.tree.leaves(want), strict=True):
        np.testing.assert_array_equal(got, expected)


KEPT = {
    "sparse": lambda x: x.at[::16].set(0.0),
    "unknown": lambda x: x.at[x[0, :3].astype(int)].set(0.0),
    "repeated": lambda x: x.at[:, np.zeros(64, int)].add(1.0),
    "diagonal": lambda x: x.at[jnp.arange(64), jnp.arange(64)].set(1.0),
}


@pytest.mark.parametrize("name", KEPT)
def test_other_scatters_stay(name):
    x = np.zeros((ROWS, COLUMNS), np.float32)
    assert not rewritten(KEPT[name], (x,))[1]


GATHER, SCATTER = "one-hot-product-to-gather", "one-hot-product-to-scatter"
UNTESTED = f"always=true disable-patterns=finite-{GATHER},finite-{SCATTER}"
INDICES = np.random.default_rng(0).integers(-3, 23, 50).astype(np.int32)  # some are out of range


def _embedding(table, x, i):
    return jnp.sum(jnp.tanh(jax.nn.one_hot(i, 20) @ table) * x)


PRODUCTS = {
    "rows": (lambda e, x, i: jax.nn.one_hot(i, 20) @ e, {GATHER: 1}),
    "sums": (lambda e, x, i: jax.nn.one_hot(i, 20).T @ x, {SCATTER: 1}),
    "gradient": (jax.grad(_embedding), {GATHER: 1, SCATTER: 1}),
    "columns": (lambda e, x, i: jax.nn.one_hot(i, 20, axis=0).T @ e, {GATHER: 1}),
    "two": (lambda e, x, i: jax.nn.one_hot(i.reshape(5, 10), 20) @ e, {GATHER: 1}),
    "bfloat16": (
        lambda e, x, i: jax.nn.one_hot(i, 20, dtype=jnp.bfloat16) @ e.astype(jnp.bfloat16),
        {GATHER: 1},
    ),
    "16-bit sums": (
        lambda e, x, i: jax.nn.one_hot(i, 20, dtype=jnp.bfloat16).T @ x.astype(jnp.bfloat16),
        {},
    ),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_one_hot_products_match_numpy(name):
    function, hits = PRODUCTS[name]
    generator = np.random.default_rng(1)
    table, x = (generator.standard_normal((n, 3)).astype(np.float32) for n in (20, 50))
    lowered = jxc.lower(function, table, x, INDICES)
    pipeline = f"inline{{default-pipeline=}},cse,simplify,indexing{{{UNTESTED}}}"
    promised = lowered.opt(pipeline, assume="no-nans")
    assert {rule: promised.report.hits.get(rule, 0) for rule in hits} == hits
    plain = np.asarray(jax.jit(function)(table, x, INDICES), np.float32)
    np.testing.assert_allclose(
        np.asarray(promised.compile()(table, x, INDICES), np.float32), plain, rtol=1e-5, atol=1e-5
    )
    assert not {GATHER, SCATTER} & {
        name for name, n in lowered.opt(pipeline).report.hits.items() if n
    }
