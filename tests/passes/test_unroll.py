"""Loops after the pass `unroll` compute the same bits, for every trip count."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

import jxc

RULE = "unroll-loop"


def rewritten(function, *args):
    """The function after the pass for a GPU, lowered, and the number of unrolled loops."""
    lowered = jxc.lower(function, *args).opt("O1")
    lowered = lowered.opt("unroll", target="gpu")
    return lowered, lowered.report.hits.get(RULE, 0)


def check(function, *args, loops):
    """Assert the same results on the interpreter, with `loops` loops unrolled."""
    lowered, hits = rewritten(function, *args)
    assert hits == loops
    plain = jxc.lower(function, *args)
    for got, want in zip(run(lowered, args), run(plain, args), strict=True):
        assert np.asarray(got).tobytes() == np.asarray(want).tobytes()


def run(lowered, args):
    return [np.asarray(each) for each in jax.tree.leaves(lowered.compile()(*args))]


@settings(deadline=None, max_examples=25)
@given(st.integers(-3, 3), st.integers(0, 13), st.sampled_from([jnp.int8, jnp.int32]))
def test_every_trip_count_of_integer_loops(first, trips, dtype):
    def function(x):
        def body(i, carried):
            x, rows = carried
            return x * 3 + i.astype(x.dtype), lax.dynamic_update_index_in_dim(rows, x, i - first, 0)

        rows = jnp.zeros((max(trips, 1), 3), jnp.int32)
        ends = jnp.asarray(first, dtype), jnp.asarray(first + trips, dtype)
        return lax.fori_loop(*ends, body, (x, rows))

    lowered, hits = rewritten(function, jnp.arange(3, dtype=jnp.int32))
    x = jnp.arange(3, dtype=jnp.int32)
    assert hits == (trips >= 2)
    for got, want in zip(run(lowered, [x]), jax.tree.leaves(function(x)), strict=True):
        np.testing.assert_array_equal(got, np.asarray(want))


def test_carried_values_that_are_swapped():
    check(lambda x, y: lax.fori_loop(0, 7, lambda i, c: (c[1], c[0] + i), (x, y)), *pair(), loops=1)


def test_results_of_scans_in_reverse():
    def function(xs, h):
        return lax.scan(lambda h, x: (h * 2 + x, h), h, xs, reverse=True)

    check(function, jnp.arange(11), jnp.asarray(3), loops=1)


def test_loops_in_loops_unroll_the_inner_one():
    def inner(x):
        return lax.fori_loop(0, 6, lambda i, x: x * 5 + i, x)

    check(lambda x: lax.fori_loop(0, 9, lambda i, x: inner(x) + i, x), jnp.arange(4), loops=1)


def test_an_unrolled_loop_is_left_alone():
    lowered, _ = rewritten(lambda x: lax.fori_loop(0, 64, lambda i, x: x + i, x), jnp.arange(4))
    assert not lowered.opt("unroll", target="gpu").report.hits


def test_callbacks_are_called_as_often_as_before():
    def body(i, x):
        jax.debug.callback(lambda i: None, i)
        return x + 1

    _, hits = rewritten(lambda x: lax.fori_loop(0, 8, body, x), jnp.arange(4))
    assert not hits


def pair():
    return jnp.arange(3), jnp.arange(3, 6)


@pytest.mark.parametrize("trips", range(2, 40))
def test_copies_are_bounded(trips):
    def function(x):
        return lax.fori_loop(0, trips, lambda i, x: jnp.sin(x) * 2, x)

    lowered, hits = rewritten(function, jnp.ones(3))
    assert hits == 1
    assert lowered.as_text().count("stablehlo.sine") <= 5


def test_large_tensors_may_be_written_in_place_on_gpu():
    def function(x):
        return lax.scan(lambda x, _: (jnp.sin(x), x), x, None, length=64)[1]

    _, hits = rewritten(function, jnp.ones(1 << 16))
    assert hits == 1
    lowered = jxc.lower(function, jnp.ones(1 << 16)).opt("O1").opt("unroll", target="tpu")
    assert RULE not in lowered.report.hits
