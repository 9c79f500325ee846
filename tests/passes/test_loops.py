"""Loops after the pass, compared with plain JAX in float64, for random bodies."""

from __future__ import annotations

from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

import jxc
from jxc.passes.loops import cost as cost

BEFORE, SUMS, WRITTEN = (
    "products-of-rows-before-loop",
    "sums-of-products-after-loop",
    "written-products-after-loop",
)
PIPELINE = "inline{default-pipeline=},symbol-dce,cse,simplify,loops"


@pytest.fixture(autouse=True)
def always_worthwhile():
    """Apply the rules wherever they hold, whether or not they pay."""
    with (
        patch.object(cost, "product_before_pays", lambda *_: True),
        patch.object(cost, "worthwhile_sums", lambda cuts, _: list(cuts.sums)),
        patch.object(cost, "worthwhile_outputs", lambda cuts: list(cuts.outputs)),
        jax.enable_x64(True),
    ):
        yield


def check(function, *args, rules=None):
    """Compare the results after the pass with plain JAX; the rules that fired."""
    lowered = jxc.lower(function, *args).opt(PIPELINE, target="gpu")
    fired = set(lowered.report.hits) & {BEFORE, SUMS, WRITTEN}
    assert rules is None or fired == set(rules)
    found, expected = lowered.compile()(*args), jax.jit(function)(*args)
    for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    return fired


def arrays(*shapes, seed=0):
    generator = np.random.default_rng(seed)
    return [jnp.asarray(generator.normal(size=shape)) for shape in shapes]


def network(draw):
    """A random recurrence with weights, as a function of the weights and the inputs."""
    before = draw(st.sampled_from([jnp.tanh, lambda x: x, lambda x: x * 2 + 1, jnp.square]))
    side = draw(st.sampled_from(["left", "right", "elementwise", "twice"]))
    emits = draw(st.sampled_from(["h", "product", "both", "rows", "none"]))
    gate = draw(st.booleans())

    def step(w, h, x):
        x = before(x)
        if side == "right":
            z = (w["x"].T @ x.T).T
        elif side == "twice":
            z = jnp.tanh(x @ w["x"]) @ w["h"] + x @ w["x"]
        else:
            z = x @ w["x"]
        if side == "elementwise":
            z = z * x.sum(-1, keepdims=True)
        new = jnp.tanh(z + h @ w["h"] + w["b"])
        h = h * 0.5 + new * (jax.nn.sigmoid(h) if gate else 1.0)
        out = {
            "h": h,
            "product": jnp.sin(h @ w["o"]) + 1,
            "both": (h, h @ w["o"]),
            "rows": x @ w["x"],
            "none": (),
        }
        return h, out[emits]

    return step


@given(
    data=st.data(),
    trips=st.sampled_from([2, 3, 7]),
    rows=st.sampled_from([1, 4]),
    is_reverse=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(max_examples=10, deadline=None)
def test_scan_and_its_gradient(data, trips, rows, is_reverse, seed):
    step = network(data.draw)
    shapes = [(trips, rows, 3), (rows, 5), (3, 5), (5, 5), (5,), (5, 2)]
    x, h, *weights = arrays(*shapes, seed=seed)
    w = dict(zip("xhbo", weights, strict=True))

    def run(w, h, x):
        return lax.scan(lambda h, x: step(w, h, x), h, x, reverse=is_reverse)

    def loss(w, h, x):
        return sum((leaf**2).sum() for leaf in jax.tree.leaves(run(w, h, x)))

    assert BEFORE in check(run, w, h, x)
    assert SUMS in check(jax.grad(loss, argnums=(0, 1, 2)), w, h, x)


def recurrence(w, h, x):
    def step(h, x):
        h = jnp.tanh(x @ w + h)
        return h, h @ w.T

    return lax.scan(step, h, x)


def squares(function):
    return lambda *args: sum((leaf**2).sum() for leaf in jax.tree.leaves(function(*args)))


@pytest.mark.parametrize("in_axes", [(None, 0, 0), (0, 0, 0), (0, None, None)])
def test_scan_of_a_batch(in_axes):
    w, h, x = arrays((3, 5), (4, 5), (6, 4, 3))
    w, h, x = (
        each if axis is None else jnp.stack([each, each + 1])
        for each, axis in zip((w, h, x), in_axes, strict=True)
    )
    batched = jax.vmap(recurrence, in_axes)
    assert check(batched, w, h, x) == {BEFORE, WRITTEN}
    assert SUMS in check(jax.grad(squares(batched)), w, h, x)


def test_nested_scans():
    def outer(w, h, x):
        return lax.scan(lambda h, x: recurrence(w, h, x), h, x)

    w, h, x = arrays((3, 5), (4, 5), (2, 6, 4, 3))
    check(outer, w, h, x, rules=[BEFORE, WRITTEN])
    assert SUMS in check(jax.grad(squares(outer)), w, h, x)


def test_scan_with_remat():
    def run(w, h, x):
        return lax.scan(jax.checkpoint(lambda h, x: (jnp.tanh(x @ w + h), h)), h, x)

    w, h, x = arrays((3, 5), (4, 5), (6, 4, 3))
    check(jax.grad(squares(run)), w, h, x, rules=[BEFORE, SUMS])


def test_fori_loop_with_index_arithmetic():
    def run(w, h, x):
        def body(i, carry):
            h, total = carry
            h = jnp.tanh(x[7 - i] @ w + h)
            return h, total - x[i - 1].T @ h

        return lax.fori_loop(2, 6, body, (h, jnp.ones((3, 5))))

    check(run, *arrays((3, 5), (4, 5), (8, 4, 3)), rules=[BEFORE, SUMS])


def test_sum_that_starts_from_an_argument_and_is_used_twice():
    def run(w, h, x):
        def step(carry, x):
            h, a, b = carry
            h = jnp.tanh(h + x @ w)
            return (h, a + x.T @ h, b + x.T @ h), ()

        (h, a, b), _ = lax.scan(step, (h, w, w), x)
        return a + b, a, h

    assert SUMS in check(run, *arrays((3, 5), (4, 5), (6, 4, 3)))


def test_wide_sum_of_narrow_products():
    def run(h, x):
        def step(carry, x):
            h, total = carry
            h = jnp.tanh(h + x)
            return (h, total + jnp.dot(x.T, h, preferred_element_type=jnp.float32)), ()

        return lax.scan(step, (h, jnp.zeros((5, 5), jnp.float32)), x)[0][1]

    h, x = (each.astype(jnp.bfloat16) for each in arrays((4, 5), (6, 4, 5)))
    lowered = jxc.lower(run, h, x).opt(PIPELINE)
    assert SUMS in lowered.report.hits
    np.testing.assert_allclose(lowered.compile()(h, x), jax.jit(run)(h, x), rtol=1e-2, atol=1e-2)


def test_integers_are_exact():
    def run(w, h, x):
        def step(carry, x):
            h, total = carry
            h = h * 3 + x @ w
            return (h, total + x.T @ h), h @ w.T

        return lax.scan(step, (h, jnp.zeros((3, 5), jnp.int32)), x)

    generator = np.random.default_rng(0)
    args = [
        jnp.asarray(generator.integers(-(2**30), 2**30, shape), jnp.int32)
        for shape in [(3, 5), (4, 5), (6, 4, 3)]
    ]
    lowered = jxc.lower(run, *args).opt(PIPELINE, target="gpu")
    assert {BEFORE, SUMS, WRITTEN} <= set(lowered.report.hits)
    for got, want in zip(
        jax.tree.leaves(lowered.compile()(*args)), jax.tree.leaves(jax.jit(run)(*args)), strict=True
    ):
        np.testing.assert_array_equal(got, want)


def test_nonfinite_rows_stay_in_their_iteration():
    def run(w, h, x):
        return lax.scan(lambda h, x: (h * 0.5, x @ w + h), h, x)[1]

    w, h, x = arrays((3, 5), (4, 5), (6, 4, 3))
    x = x.at[2, 1, 0].set(jnp.inf).at[4, 0, 2].set(jnp.nan)
    found = jxc.lower(run, w, h, x).opt(PIPELINE).compile()(w, h, x)
    np.testing.assert_allclose(found, jax.jit(run)(w, h, x), rtol=1e-9)


def left_alone(function, *args):
    assert not check(function, *args)


def test_dynamic_trip_count_is_left_alone():
    def run(n, w, h, x):
        return lax.fori_loop(0, n, lambda i, h: jnp.tanh(x[i] @ w + h), h)

    left_alone(run, 3, *arrays((3, 5), (4, 5), (6, 4, 3)))


def test_while_that_ends_on_data_is_left_alone():
    def run(w, h, x):
        def body(carry):
            i, h, total = carry
            h = jnp.tanh(x[i] @ w + h)
            return i + 1, h, total + x[i].T @ h

        return lax.while_loop(
            lambda c: (c[0] < 5) & (c[1].sum() < 1), body, (0, h, jnp.zeros((3, 5)))
        )

    left_alone(run, *arrays((3, 5), (4, 5), (6, 4, 3)))


def test_rows_past_the_end_are_left_alone():
    def run(w, h, x):
        return lax.fori_loop(0, 9, lambda i, h: jnp.tanh(x[i] @ w + h), h)

    left_alone(run, *arrays((3, 5), (4, 5), (6, 4, 3)))


def test_callbacks_run_as_often_as_before():
    seen = []

    def run(w, h, x):
        def step(h, x):
            jax.debug.callback(lambda y: seen.append(float(y)), h[0, 0])
            return jnp.tanh(x @ w + h), ()

        return lax.scan(step, h, x)[0]

    args = arrays((3, 5), (4, 5), (6, 4, 3))
    fast = jxc.jit(run, pipeline=PIPELINE)
    np.testing.assert_allclose(fast(*args), jax.jit(run)(*args), rtol=1e-9)
    jax.effects_barrier()
    assert len(seen) == 12


@pytest.mark.parametrize("bounds", [(2.0, 3.0), "arguments"])
def test_scalar_that_depends_on_a_row(bounds):
    x, w = arrays((6, 4, 3), (3, 5))

    def run(x, w, low, high):
        low, high = (low, high) if bounds == "arguments" else bounds

        def step(h, row):
            chosen = lax.select(row[0, 0] > 0, jnp.asarray(low), jnp.asarray(high))
            h = jnp.tanh(h + (lax.clamp(low, row[0, 1], high) * chosen * row) @ w)
            return h, None

        return lax.scan(step, jnp.zeros((4, 5), x.dtype), x)[0]

    check(run, x, w, -0.5, 0.7)
