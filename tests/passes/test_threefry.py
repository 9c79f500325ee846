"""JAX's random functions give the same bits with unrolled rounds."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc.passes.threefry import cost as cost

RULE = "unroll-integer-loop"
KEY = jax.random.PRNGKey(42)


def check(function, *args, loops, left=0):
    """Assert the same bits after the pass, with `loops` loops unrolled and `left` remaining."""
    lowered = jxc.lower(function, *args).opt("inline{default-pipeline=},symbol-dce,cse,threefry")
    assert lowered.report.hits == ({RULE: loops} if loops else {})
    assert lowered.as_text().count("stablehlo.while") == left
    found, plain = lowered.compile()(*args), jax.jit(function)(*args)
    for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(plain), strict=True):
        assert np.asarray(got).tobytes() == np.asarray(want).tobytes()


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64"])
def test_random_bits_are_unchanged(partitionable, dtype):
    with jax.enable_x64(True), jax.threefry_partitionable(partitionable):
        check(lambda key: jax.random.bits(key, (3, 5), dtype), KEY, loops=1)


@pytest.mark.parametrize(
    "function",
    [
        jax.random.split,
        lambda key: jax.random.fold_in(key, 7),
        lambda key: jax.random.normal(key, (5,)),
        lambda key: jax.random.uniform(key, (2, 3), jnp.bfloat16),
        lambda key: jax.random.bernoulli(key, 0.3, (4, 4)),
        lambda key: jax.random.categorical(key, jnp.arange(12.0).reshape(3, 4)),
    ],
    ids=["split", "fold-in", "normal", "uniform", "bernoulli", "categorical"],
)
def test_random_distributions_are_unchanged(function):
    check(function, KEY, loops=1)


def test_random_numbers_under_grad():
    check(jax.grad(lambda x: (x * jax.random.normal(KEY, x.shape)).sum()), jnp.ones(3), loops=1)


def test_random_permutation_is_unchanged():
    check(lambda key: jax.random.permutation(key, 9), KEY, loops=2)


def test_random_bits_of_batched_keys():
    check(jax.vmap(lambda key: jax.random.bits(key, (3,))), jax.random.split(KEY, 4), loops=1)


def test_random_bits_inside_a_scan():
    def step(key, _):
        key, now = jax.random.split(key)
        return key, jax.random.normal(now, (3,))

    check(lambda key: jax.lax.scan(step, key, None, length=5), KEY, loops=2, left=1)


@pytest.mark.parametrize("iterations", [1, 3, 8, 9])
def test_integer_loop_with_enough_work_is_unrolled(iterations):
    """A counter from 5 with step 2, a captured value, and two carried values that are swapped."""
    outside = jnp.arange(6, dtype=jnp.int32)

    def step(carried):
        i, x, y = carried
        for shift in range(1, 5):
            x, y = y + outside, (x << shift) ^ (y >> shift) ^ x - i
        return i + 2, x, y

    def loop(x):
        start = jnp.int32(5)
        return jax.lax.while_loop(lambda c: c[0] < 5 + 2 * iterations, step, (start, x, x ^ 3))

    left = int(iterations > cost.MOST_ITERATIONS)
    check(loop, outside * 12345, loops=1 - left, left=left)


def test_loop_with_a_wrapping_counter_stays():
    """The counter overflows its type, so the limits do not determine the trip count."""

    def step(carried):
        i, x = carried
        for shift in range(1, 6):
            x = (x << shift) ^ (x >> shift) ^ x + shift
        return i + jnp.int8(100), x

    def loop(x):
        return jax.lax.while_loop(lambda c: c[0] < jnp.int8(120), step, (jnp.int8(0), x))

    lowered = jxc.lower(loop, jnp.arange(4)).opt("threefry")
    assert not lowered.report.hits
