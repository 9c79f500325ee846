"""Pooling and its gradients after the pass, compared with jit and the interpreter."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from jax import lax
from jaxlib.mlir import ir

import jxc
from jxc.check.run import shared_interpreter
from jxc.ir import walk

MAX, SUM, SPREAD = (
    "window-of-any-order-to-slices",
    "window-sum-to-slices",
    "window-of-dilated-to-broadcast",
)
SIDE_BY_SIDE = ((1, 2, 2, 1), (1, 2, 2, 1), "VALID")
STEPS = "general-window-to-slices"
BLOCKS, SHIFTED = "disjoint-select-and-scatter-to-compare", "select-and-scatter-to-compare"
EDGES = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1.0, 2.0, 1e-45, -3.0], np.float32)


def pool(kind, window, strides, padding):
    """Max, min, sum or product pooling as flax and keras call it."""
    start, combine = {
        "max": (-np.inf, lax.max),
        "min": (np.inf, lax.min),
        "sum": (0.0, lax.add),
        "product": (1.0, lax.mul),
    }[kind]

    def pooled(x):
        if not jnp.issubdtype(x.dtype, jnp.floating) and np.isinf(start):
            info = jnp.iinfo(x.dtype)
            return lax.reduce_window(
                x,
                x.dtype.type(info.min if start < 0 else info.max),
                combine,
                window,
                strides,
                padding,
            )
        return lax.reduce_window(x, x.dtype.type(start), combine, window, strides, padding)

    return pooled


def rewritten(function, args, *rules):
    """The function after the pass; exactly these rules must have fired."""
    lowered = jxc.lower(function, *args).opt("inline,pooling{always=true}")
    assert set(lowered.report.hits) == set(rules)
    assert not {"reduce_window", "select_and_scatter"} & _ops(lowered.as_text())
    return lowered.compile()(*args)


def _ops(text):
    return {word for word in ("reduce_window", "select_and_scatter") if word in text}


def weighted(function, weights):
    """A function whose gradient gives every position of the window its own weight."""
    return jax.grad(lambda x: (function(x) * weights).sum())


LAYOUTS = {
    "nhwc-k2s2": ((2, 6, 8, 5), (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
    "nhwc-odd-k2s2": ((2, 5, 7, 5), (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
    "nhwc-k3s2": ((2, 7, 8, 5), (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
    "nhwc-k3s1": ((2, 6, 6, 5), (1, 3, 3, 1), (1, 1, 1, 1), "SAME"),
    "nchw-k2s2": ((2, 5, 6, 8), (1, 1, 2, 2), (1, 1, 2, 2), "SAME"),
    "nchw-k3s2": ((2, 3, 7, 8), (1, 1, 3, 3), (1, 1, 2, 2), "SAME"),
    "nhc-k2s3": ((2, 9, 5), (1, 2, 1), (1, 3, 1), "VALID"),
    "ndhwc-k2s1": ((1, 3, 4, 4, 2), (1, 2, 2, 2, 1), (1, 1, 1, 1, 1), "VALID"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_max_pooling_and_its_gradient(layout):
    shape, window, strides, padding = LAYOUTS[layout]
    generator = np.random.default_rng(0)
    x = generator.integers(-3, 4, shape).astype(np.float32)  # many are equal
    pooled = pool("max", window, strides, padding)
    w = generator.integers(-9, 10, jax.eval_shape(pooled, x).shape).astype(np.float32)
    np.testing.assert_array_equal(rewritten(pooled, [x], MAX), pooled(x))
    gradient = weighted(pooled, w)
    apart = layout in ("nhwc-k2s2", "nchw-k2s2")
    found = rewritten(gradient, [x], BLOCKS if apart else SHIFTED)
    np.testing.assert_array_equal(found, jax.jit(gradient)(x))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_average_pooling_and_its_gradient(layout):
    shape, window, strides, padding = LAYOUTS[layout]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    pooled = pool("sum", window, strides, padding)
    w = np.random.default_rng(1).standard_normal(jax.eval_shape(pooled, x).shape)
    np.testing.assert_allclose(rewritten(pooled, [x], SUM), pooled(x), rtol=1e-5, atol=1e-5)
    gradient = weighted(pooled, w.astype(np.float32))
    rule = SPREAD if "k2s2" in layout else SUM
    found = rewritten(gradient, [x], rule)
    np.testing.assert_allclose(found, jax.jit(gradient)(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["min", "product"])
def test_min_and_product_pooling(kind):
    x = np.random.default_rng(0).standard_normal((2, 6, 6, 3)).astype(np.float32)
    pooled = pool(kind, (1, 3, 2, 1), (1, 1, 2, 1), "SAME")
    found = rewritten(pooled, [x], MAX if kind == "min" else SUM)
    np.testing.assert_allclose(found, pooled(x), rtol=1e-5)


def test_pooling_under_vmap():
    x = np.random.default_rng(0).standard_normal((3, 2, 6, 6, 3)).astype(np.float32)
    pooled = pool("max", (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    gradient = jax.vmap(jax.grad(lambda x: (pooled(x) ** 2).sum()))
    found = rewritten(gradient, [x], MAX, BLOCKS)
    np.testing.assert_array_equal(found, jax.jit(gradient)(x))


@pytest.mark.parametrize("layout", ["nhwc-k2s2", "nhwc-odd-k2s2"])
def test_jvp_of_max_pooling(layout):
    """`jax.jvp` writes windows of pairs; NaN and ties are compared with the interpreter."""
    shape, window, strides, padding = LAYOUTS[layout]
    generator = np.random.default_rng(0)
    x, t = generator.choice(EDGES, shape), generator.standard_normal(shape).astype(np.float32)
    pooled = pool("max", window, strides, padding)

    def derivative(x, t):
        return jax.jvp(pooled, (x,), (t,))[1]

    rewritten(derivative, [x, t], STEPS)
    lowered = jxc.lower(derivative, x, t).opt("inline")
    run = shared_interpreter().run
    want, got = (run(each.module, [x, t])[0] for each in (lowered, lowered.opt("pooling")))
    assert want.tobytes() == got.tobytes()


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16, np.int32, np.uint8])
def test_pooling_of_other_element_types(dtype):
    x = jnp.asarray(np.random.default_rng(0).integers(0, 9, (2, 6, 6, 3)), dtype)
    for kind in ("max", "sum"):
        pooled = pool(kind, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        rule = SUM if kind == "sum" and jnp.issubdtype(dtype, jnp.floating) else MAX
        np.testing.assert_array_equal(rewritten(pooled, [x], rule), pooled(x))


@st.composite
def windows(draw):
    rank = draw(st.integers(1, 3))

    def each(low, high):
        return draw(st.tuples(*[st.integers(low, high)] * rank))

    shape, window, strides = each(1, 6), each(1, 3), each(1, 3)
    padding = tuple(zip(each(0, 2), each(0, 2), strict=True))
    assume(any(size > 1 for size in window))
    for size, extent, (low, high) in zip(window, shape, padding, strict=True):
        assume(size <= extent + low + high)
        assume(low < size and high < size)
    return shape, window, strides, padding


def interpreted(function, x):
    """The interpreter's results before and after the pass."""
    lowered = jxc.lower(function, x).opt("inline")
    after = lowered.opt("pooling{always=true}")
    run = shared_interpreter().run
    return [run(each.module, [x])[0] for each in (lowered, after)], set(after.report.hits)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(case=windows(), kind=st.sampled_from(["max", "min"]), seed=st.integers(0, 9))
def test_max_pooling_gradient_selects_the_same_element(case, kind, seed):
    """Ties and NaN give the same bits; sums of small integers are exact."""
    shape, window, strides, padding = case
    generator = np.random.default_rng(seed)
    x = generator.choice(EDGES, shape)
    pooled = pool(kind, window, strides, padding)
    w = generator.integers(1, 9, jax.eval_shape(pooled, x).shape).astype(np.float32)
    (before, after), hits = interpreted(weighted(pooled, w), x)
    assert hits & {BLOCKS, SHIFTED}
    assert before.tobytes() == after.tobytes()


@settings(max_examples=40, deadline=None, derandomize=True)
@given(case=windows(), kind=st.sampled_from(["max", "min", "sum"]), seed=st.integers(0, 9))
def test_pooling_of_edge_values_equals_the_interpreter(case, kind, seed):
    shape, window, strides, padding = case
    x = np.random.default_rng(seed).choice(EDGES, shape)
    (before, after), _ = interpreted(pool(kind, window, strides, padding), x)
    np.testing.assert_array_equal(before, after)
    signs = [np.signbit(each)[~np.isnan(each)] for each in (before, after)]
    np.testing.assert_array_equal(*signs)


def test_sum_pooling_of_negative_zeros_is_zero():
    """A sum starts with 0.0, which is not neutral for -0.0; the same holds for a gradient."""
    x, w = (np.full((1, size, size, 1), -0.0, np.float32) for size in (4, 2))
    pull = jax.vjp(pool("sum", *SIDE_BY_SIDE), x)[1]
    chosen = weighted(pool("max", *SIDE_BY_SIDE), w)
    for function, arg in ((pool("sum", *SIDE_BY_SIDE), x), (lambda w: pull(w)[0], w), (chosen, x)):
        (before, after), hits = interpreted(function, arg)
        assert hits
        assert not np.signbit(before).any() and not np.signbit(after).any()


def test_pooling_stays_on_other_targets():
    pooled = pool("max", *SIDE_BY_SIDE)
    lowered = jxc.lower(pooled, np.ones((8, 64, 64, 8), np.float32))
    assert lowered.opt("pooling", target="cpu").report.hits
    assert not lowered.opt("pooling", target="gpu").report.hits


def test_running_sums_and_long_windows_stay():
    x = np.ones((4, 40), np.float32)
    for padding in (((0, 0), (0, 0)), ((0, 0), (39, 0))):
        function = pool("sum", (1, 40), (1, 1), padding)
        assert not jxc.lower(function, x).opt("pooling").report.hits


PADDED_WINDOWS = {
    "padding": {"padding": ((2, 1), (1, 0))},
    "base dilation": {"padding": "VALID", "base_dilation": (2, 1)},
}


@pytest.mark.parametrize("window", PADDED_WINDOWS)
@pytest.mark.parametrize("combine", [lax.add, lax.mul, lax.max, lambda x, y: x + abs(y)])
def test_padding_counts_as_in_xla(window, combine):
    """XLA combines no padding; StableHLO combines the initial value with itself for each."""
    x = jnp.asarray(np.random.default_rng(0).uniform(0.5, 1.5, (9, 8)), jnp.float32)

    def pooled(x):
        return lax.reduce_window(x, x.dtype.type(1.25), combine, (3, 2), **PADDED_WINDOWS[window])

    np.testing.assert_allclose(jxc.jit(pooled)(x), jax.jit(pooled)(x), rtol=1e-6)


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("window", [3, 33])
@pytest.mark.parametrize("stride", [1, 2])
def test_average_pooling_leaves_no_window_of_a_constant(level, window, stride):
    """XLA computes such a window when it compiles, which takes minutes for large images."""

    def average(x):
        def pool(x):
            size, steps = (1, window, window, 1), (1, stride, stride, 1)
            return lax.reduce_window(x, 0.0, lax.add, size, steps, "SAME")

        return pool(x) / pool(jnp.ones_like(x))

    lowered = jxc.lower(average, jax.ShapeDtypeStruct((1, 512, 512, 8), jnp.float32)).opt(level)
    ops = list(walk(lowered.module.operation))
    windows = [op for op in ops if op.operation.name == "stablehlo.reduce_window"]
    assert len(windows) <= 1  # of the image: level O1 leaves it to XLA
    assert not any(isinstance(op.operands[0].owner, ir.Operation | ir.OpView) for op in windows)
    assert "stablehlo.divide" in [op.operation.name for op in ops]
