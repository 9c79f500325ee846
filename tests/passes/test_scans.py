"""Running reductions after the pass, compared with jit and the interpreter."""

from __future__ import annotations

from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

import jxc
from jxc.check.run import shared_interpreter
from jxc.cost.rates import Rates
from jxc.passes.scans import cost as cost
from jxc.passes.scans.cost import Level, Scan

EXACT, SUM = "running-reduction-to-loop", "running-sum-to-loop"
RUNNING = {
    "cumsum": (lax.cumsum, SUM),
    "cumprod": (lax.cumprod, SUM),
    "cumlogsumexp": (lax.cumlogsumexp, SUM),
    "cummax": (lax.cummax, EXACT),
    "cummin": (lax.cummin, EXACT),
}
EDGES = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.0, 1e-45, 3e38], np.float32)


def rewritten(function, args, *rules):
    """The function after the pass; exactly these rules must have fired."""
    lowered = jxc.lower(function, *args).opt("inline,scans")
    assert set(lowered.report.hits) == set(rules)
    assert "reduce_window" not in lowered.as_text() and "while" in lowered.as_text()
    return lowered.compile()(*args)


def planned(lowered, blocks, is_transposed):
    """The function after the pass, with these blocks instead of the fastest ones."""

    def plan(rates, scan):
        found = []
        length = scan.length
        for block in fitting(blocks, scan.length):
            length = -(-length // block)
            found.append(Level(block, is_transposed and scan.outer * length > 1))
        return tuple(found)

    with patch.object(cost, "plan_of", plan):
        return lowered.opt("scans")


def fitting(blocks, length):
    """`blocks`, and one more for the remaining totals."""
    for block in blocks:
        length = -(-length // block)
    return (*blocks, length)


def near(got, want, rtol=3e-5):
    np.testing.assert_allclose(
        np.asarray(got, np.float64), np.asarray(want, np.float64), rtol=rtol, atol=rtol
    )


PLACES = {
    "first": ((40, 300), 0, False),
    "between": ((3, 40, 100), 1, True),
    "last": ((100, 200), 1, False),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", RUNNING)
def test_running_reductions_equal_jit(name, place):
    (shape, axis, reverse), (function, rule) = PLACES[place], RUNNING[name]
    reverse = reverse and name != "cumprod"
    x = np.random.default_rng(0).uniform(-1.1, 1.1, shape).astype(np.float32)

    def running(x):
        return function(x, axis=axis, reverse=reverse)

    near(rewritten(running, [x], rule), running(x))


def test_long_rows_are_scanned_in_blocks():
    x = np.random.default_rng(0).standard_normal((2000, 40)).astype(np.float32)
    found = rewritten(lambda x: lax.cumsum(x, axis=0), [x], SUM)
    exact = np.cumsum(x.astype(np.float64), 0)
    assert np.abs(found - exact).max() < 1e-4
    row = x[:, 0]
    near(rewritten(lax.cumlogsumexp, [row], SUM), lax.cumlogsumexp(row))


def test_running_sum_under_grad_and_vmap():
    x = np.random.default_rng(0).standard_normal((4, 50, 64)).astype(np.float32)
    gradient = jax.vmap(jax.grad(lambda x: (jnp.cumsum(x, axis=0) ** 2).sum()))
    near(rewritten(gradient, [x], SUM), jax.jit(gradient)(x), rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.bool_])
def test_running_sum_of_integers_is_exact(dtype):
    x = np.random.default_rng(0).integers(0, 200, (32, 500)).astype(dtype)
    for function in (jnp.cumsum, jnp.cumprod):
        found = rewritten(lambda x, f=function: f(x, axis=0), [x], EXACT)
        np.testing.assert_array_equal(found, jax.jit(lambda x, f=function: f(x, axis=0))(x))


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16])
def test_16_bit_sums_are_rounded_once(dtype):
    """600 ones: a bf16 sum of ones cannot exceed 256."""
    ones = jnp.ones((600, 300), dtype)
    found = rewritten(lambda x: lax.cumsum(x, axis=0), [ones], SUM)
    np.testing.assert_array_equal(found, np.cumsum(np.ones((600, 300)), 0).astype(dtype))


@st.composite
def runs(draw):
    shape = draw(st.tuples(st.integers(1, 5), st.integers(16, 40), st.integers(1, 3)))
    blocks = draw(st.sampled_from([(), (4,), (16,), (3, 5)]))
    name, reverse = draw(st.sampled_from(list(RUNNING))), draw(st.booleans())
    return shape, name, reverse, blocks, draw(st.booleans())


@settings(max_examples=40, deadline=None, derandomize=True)
@given(run=runs(), seed=st.integers(0, 9))
def test_running_reduction_of_edge_values_equals_the_interpreter(run, seed):
    """NaN, infinities and signed zeros equal the interpreter's, in blocks too."""
    shape, name, reverse, blocks, is_transposed = run
    function, rule = RUNNING[name]
    generator = np.random.default_rng(seed)
    x = np.where(generator.random(shape) < 0.1, generator.choice(EDGES, shape), 1.0)
    x = x.astype(np.float32)
    lowered = jxc.lower(lambda x: function(x, axis=1, reverse=reverse), x).opt("inline")
    after = planned(lowered, blocks, is_transposed)
    keeps_order = name == "cumprod" and (reverse or blocks)
    assert set(after.report.hits) == (set() if keeps_order else {rule})
    want, got = (shared_interpreter().run(each.module, [x])[0] for each in (lowered, after))
    with np.errstate(over="ignore", invalid="ignore"):
        np.testing.assert_allclose(got, want, rtol=1e-5)
    zeros = (want == 0) & (got == 0)
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]))


def test_rows_are_transposed():
    x = np.random.default_rng(0).integers(-9, 9, (2100, 50)).astype(np.float32)
    found = rewritten(lambda x: lax.cumsum(x, axis=1), [x], SUM)
    np.testing.assert_array_equal(found, np.cumsum(x, 1))


def test_plan_chooses_loops_and_blocks():
    """One loop for wide or few rows; blocks for a single row; no plan for what XLA does well."""

    def plan(outer, length, inner, is_log=False, is_ordered=False):
        is_rounded = not is_ordered
        scan = Scan(outer, length, inner, 4, is_log, is_rounded, is_ordered)
        return cost.plan_of(Rates("cpu"), scan)

    assert plan(1, 512, 512) == (Level(512, False),)
    assert plan(20_000, 50, 1) == (Level(50, True),)
    assert plan(512, 512, 1) == (Level(512, True),)
    assert plan(1, 2000, 64)[0].block < 2000
    assert len(plan(1, 100_000, 1)) == 3
    assert len(plan(1, 100_000, 1, is_log=True)) > 1
    assert plan(1, 100_000, 1, is_ordered=True) == (Level(100_000, False, 8),)
    assert plan(1, 8, 100_000) is None
    assert plan(1, 1000, 1) is None
    assert plan(65_536, 64, 1) is None


def test_running_reductions_stay_on_other_targets():
    lowered = jxc.lower(lambda x: lax.cumsum(x, axis=0), np.ones((64, 512), np.float32))
    assert lowered.opt("inline,scans", target="cpu").report.hits
    assert not lowered.opt("inline,scans", target="gpu").report.hits
