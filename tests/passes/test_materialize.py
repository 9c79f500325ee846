"""Random numbers that XLA would compute in several kernels are stored."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc

KEY = jax.random.PRNGKey(42)
STORED = "call @stored_"
PASSES = "inline{default-pipeline=},symbol-dce,cse,materialize,threefry"


def uniform(key, *shape):
    return jax.random.uniform(key, shape)


X = np.ones((20, 30), np.float32)


def masked(keys, x):
    for each in keys:
        kept = jnp.where(jax.random.bernoulli(each, 0.9, x.shape), x, 0)
        x = kept + jnp.tanh(kept.sum(-1, keepdims=True))
    return x


@pytest.mark.parametrize(
    ("function", "stored"),
    [
        (lambda key: uniform(key, 40).sum(), 0),
        (lambda key: uniform(key, 6, 5) @ jnp.ones((5, 2)), 0),
        (lambda key: uniform(key, 40, 1) * jnp.ones((40, 3)), 0),
        (lambda key: uniform(key, 40).T.reshape(8, 5)[:2], 0),
        (lambda key: jax.random.gumbel(key, (40,)) * jnp.ones((3, 40)), 0),
        (lambda key: jax.random.categorical(key, jnp.ones((300, 40))), 0),
        (lambda key: jnp.cumsum(uniform(key, 40)), 1),
        (lambda key: uniform(key, 40) * jnp.ones((3, 40)), 1),
        (lambda key: uniform(key, 40)[jnp.array([3, 3, 1])], 1),
        (lambda key: (lambda u: (u.sum(0), u.max(0), u.min(1)))(uniform(key, 5, 8)), 1),
        (lambda key: (lambda u: u[0] - 2 * u[1])(uniform(key, 2, 40)), 1),
        (lambda key: (lambda u: u[1:] - u[:-1])(uniform(key, 40)), 1),
        (lambda key: uniform(key, 4, 1) * jnp.ones((4, 500)), 0),
        (lambda key: jax.random.categorical(key, jnp.ones((300, 8))), 1),
        (lambda key: uniform(key, 4, 1, 1) * jnp.ones((4, 50, 3)) @ jnp.ones(3), 1),
    ],
    ids=[
        *("sum", "dot", "columns", "slice", "log", "argmax-of-many"),
        *("cumsum", "rows", "gather", "thrice", "two-rows", "neighbors", "few-along-rows"),
        *("argmax-of-few", "wide-product"),
    ],
)
def test_numbers_that_would_be_computed_again_are_stored(function, stored):
    lowered = jxc.lower(function, KEY).opt(PASSES)
    assert lowered.as_text().count(STORED) == stored
    assert "stablehlo.while" not in lowered.as_text()
    found, plain = lowered.compile()(KEY), jax.jit(function)(KEY)
    for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_mask_is_stored_as_booleans_and_its_key_with_it():
    """A mask is a quarter of its numbers. XLA compiles one kernel for masks with keys in memory."""
    text = (
        jxc.lower(lambda key, x: masked(jax.random.split(key, 3), x), KEY, X).opt(PASSES).as_text()
    )
    assert text.count(STORED + "tensor_20x30xi1") == 3
    assert text.count(STORED + "tensor_1x2xui32") == 3
    assert text.count(STORED) == 3 + 3 + 1  # and the split


def test_one_mask_has_its_key_in_the_kernel():
    text = jxc.lower(lambda key, x: masked([key], x), KEY, X).opt(PASSES).as_text()
    assert text.count(STORED) == text.count(STORED + "tensor_20x30xi1") == 1


@pytest.mark.parametrize("keys", [KEY, jax.random.split(KEY, 40)], ids=["one-key", "many-keys"])
def test_keys_of_keys_are_stored(keys):
    """XLA of jaxlib 0.12 does not compile four splits in one kernel within ten minutes."""

    def numbers(key):
        for _ in range(4):
            key, _ = jax.random.split(key)
        return jax.random.normal(key, (7,))

    function = numbers if keys.ndim == 1 else jax.vmap(numbers)
    lowered = jxc.lower(function, keys).opt()
    assert lowered.as_text().count(STORED) == 4
    assert "stablehlo.while" not in lowered.as_text()
    np.testing.assert_array_equal(lowered.compile()(keys), jax.jit(function)(keys))


def test_programs_for_other_targets_are_left_alone():
    lowered = jxc.lower(lambda key, x: masked(jax.random.split(key), x), KEY, X)
    assert STORED not in lowered.opt(PASSES, target="tpu").as_text()


def test_partitioned_programs_are_left_alone():
    """A call that is not inlined would be computed whole on each device."""
    mesh = jax.make_mesh((2,), ("d",))
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
    x = jax.device_put(X, rows)
    lowered = jxc.lower(lambda key, x: masked(jax.random.split(key), x), KEY, x).opt(PASSES)
    assert STORED not in lowered.as_text()
