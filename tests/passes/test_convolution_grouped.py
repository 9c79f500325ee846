"""Grouped convolutions and gradients after the pass, compared with float64 and by group."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jxc

from .rounding import assert_within_rounding

RULE, LOOP = "grouped-weight-gradient-to-products", "grouped-to-loop"
LAST, FIRST = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")


PASS = "convolution{always=true disable-patterns=convolution-to-product}"


def weight_gradient(specs, groups, stride, padding, dilation=(1, 1)):
    """A function of x, w and dy that returns JAX's gradient by w."""

    def convolve(x, w):
        return lax.conv_general_dilated(
            x, w, stride, padding, None, dilation, specs, feature_group_count=groups
        )

    def gradient(x, w, dy):
        return jax.vjp(lambda w: convolve(x, w), w)[1](dy)[0]

    return convolve, gradient


CASES = {
    "plain": (LAST, 2, (1, 1), "SAME", (1, 1)),
    "channels-first, stride 2": (FIRST, 4, (2, 1), ((1, 1), (0, 2)), (1, 1)),
    "dilated window, cut edge": (LAST, 2, (1, 2), ((2, -1), (2, 2)), (2, 1)),
}


def operands(case, dtype):
    specs, groups, *_ = case
    generator = np.random.default_rng(0)
    shapes = [(3, 7, 8, 8), (3, 3, 8 // groups, 12)]
    if specs is FIRST:
        shapes = [(3, 8, 7, 8), (12, 8 // groups, 3, 3)]
    x, w = (generator.standard_normal(shape).astype(dtype) for shape in shapes)
    y = jax.eval_shape(weight_gradient(*case)[0], x, w)
    return x, w, generator.standard_normal(y.shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, jnp.bfloat16])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_grouped_weight_gradient_matches_float64(case, dtype):
    gradient = weight_gradient(*case)[1]
    with jax.enable_x64(True):
        args = operands(case, dtype)
        lowered = jxc.lower(gradient, *args).opt(PASS)
        assert lowered.report.hits == {RULE: 1}
        found = np.asarray(lowered.compile()(*args))
        assert_within_rounding(found, gradient, args)


def test_grouped_weight_gradient_keeps_nan_in_its_group():
    """NaN stays in its group. In XLA's own rewrite, the NaN of one group reaches the others."""
    specs, groups, *rest = case = CASES["plain"]
    x, w, dy = operands(case, np.float32)
    x[0, 2, 3, 1], dy[1, 3, 3, 5], dy[2, 0, 0, 11] = np.nan, np.inf, -np.inf
    lowered = jxc.lower(weight_gradient(*case)[1], x, w, dy).opt(PASS)
    assert lowered.report.hits == {RULE: 1}
    alone = jax.jit(weight_gradient(specs, 1, *rest)[1])
    parts = zip(np.split(x, groups, -1), np.split(dy, groups, -1), strict=True)
    w_alone = w[..., : w.shape[-1] // groups]
    want = np.concatenate([alone(x, w_alone, dy) for x, dy in parts], -1)
    assert np.isnan(want).any() and np.isinf(want).any()
    np.testing.assert_allclose(lowered.compile()(x, w, dy), want, rtol=1e-4, atol=1e-5)


WIDE = {  # specs, shapes of image and kernel, groups, stride, padding, dilation of the window
    "overwritten": (LAST, (2, 16, 16, 32), (3, 3, 16, 32), 2, (1, 1), "SAME", (1, 1)),
    "channels first": (FIRST, (6, 32, 16, 15), (48, 8, 3, 3), 4, (2, 1), ((0, 2), (2, -1)), (1, 1)),
    "as many outputs, stride 2": (LAST, (3, 9, 20, 48), (3, 5, 16, 48), 3, (1, 2), "SAME", (2, 1)),
    "1x1": (FIRST, (4, 64, 16, 16), (64, 32, 1, 1), 2, (1, 1), "VALID", (1, 1)),
}


def convolutions(specs, groups, stride, padding, dilation):
    """A convolution, and a function that also returns its input gradient."""

    def convolve(x, w):
        return lax.conv_general_dilated(
            x, w, stride, padding, None, dilation, specs, feature_group_count=groups
        )

    def both(x, w, dy):
        y, pull = jax.vjp(lambda x: convolve(x, w), x)
        return y, pull(dy)[0]

    return convolve, both


def wide(case, dtype=np.float32):
    """Two functions from `convolutions`, and arguments for the second."""
    specs, image, kernel, *rest = case
    convolve, both = convolutions(specs, *rest)
    generator = np.random.default_rng(0)
    x, w = (generator.standard_normal(shape).astype(dtype) for shape in (image, kernel))
    dy = generator.standard_normal(jax.eval_shape(convolve, x, w).shape).astype(dtype)
    return convolve, both, (x, w, dy)


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16])
@pytest.mark.parametrize("case", WIDE.values(), ids=WIDE)
def test_grouped_loop_matches_float64(case, dtype):
    _, both, args = wide(case, dtype)
    lowered = jxc.lower(both, *args).opt(PASS)
    assert lowered.report.hits == {LOOP: 2}
    with jax.enable_x64(True):
        assert_within_rounding(lowered.compile()(*args), both, args, least=1e-30)


@pytest.mark.parametrize("case", WIDE.values(), ids=WIDE)
def test_grouped_loop_keeps_nan_in_its_group(case):
    """NaN stays in its group: XLA does not multiply it by the zeros of a dilation."""
    specs, _, _, groups, *rest = case
    _, both, (x, w, dy) = wide(case)
    generator = np.random.default_rng(1)
    for array, places in ((x, 3), (w, 2), (dy, 3)):
        at = generator.integers(0, array.size, places)
        array.flat[at] = [np.nan, np.inf, -np.inf][:places]
    lowered = jxc.lower(both, x, w, dy).opt(PASS)
    assert lowered.report.hits == {LOOP: 2}
    alone = jax.jit(convolutions(specs, 1, *rest)[1])
    feature, outputs = (1, 0) if specs is FIRST else (-1, -1)
    each = (np.split(a, groups, at) for a, at in ((x, feature), (w, outputs), (dy, feature)))
    wanted = zip(*(alone(*parts) for parts in zip(*each, strict=True)), strict=True)
    for found, parts in zip(lowered.compile()(x, w, dy), wanted, strict=True):
        want = np.concatenate(parts, feature)
        assert 0 < np.isfinite(want).sum() < want.size
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-3)


def test_grouped_loop_under_vmap():
    convolve, _, (x, w, _) = wide(WIDE["channels first"])
    images = np.stack([x, 2 * x])
    lowered = jxc.lower(jax.vmap(convolve, (0, None)), images, w).opt(PASS)
    assert lowered.report.hits == {LOOP: 1}
    want = jax.vmap(convolve, (0, None))(images, w)
    np.testing.assert_allclose(lowered.compile()(images, w), want, rtol=1e-4, atol=1e-4)


def test_grouped_convolutions_stay_on_other_targets():
    args = operands(CASES["plain"], np.float32)
    lowered = jxc.lower(weight_gradient(*CASES["plain"])[1], *args)
    assert not lowered.opt("convolution", target="gpu").report.hits
    _, both, args = wide(WIDE["overwritten"])
    assert not jxc.lower(both, *args).opt("convolution", target="gpu").report.hits
