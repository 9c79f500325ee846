"""Gradients of grouped convolutions, rewritten, against float64, and group by group."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jxc

RULE = "grouped-weight-gradient-to-products"
LAST, FIRST = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")


def weight_gradient(specs, groups, stride, padding, dilation=(1, 1)):
    """What takes x, w and dy to the gradient by w, as JAX derives it."""

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
def test_within_rounding(case, dtype):
    gradient = weight_gradient(*case)[1]
    with jax.enable_x64(True):
        args = operands(case, dtype)
        lowered = jxc.lower(gradient, *args).opt("convolution")
        assert lowered.report.hits == {RULE: 1}
        found = np.asarray(lowered.compile()(*args))
        wide = [np.asarray(arg, np.float64) for arg in args]
        want, magnitude = (
            np.asarray(jax.jit(gradient)(*each)) for each in (wide, [np.abs(a) for a in wide])
        )
    bound = 8 * float(jnp.finfo(found.dtype).eps) * magnitude
    np.testing.assert_array_less(np.abs(found.astype(np.float64) - want), bound)


def test_what_is_not_finite():
    """As in each group alone; XLA's own detour lets one group's NaN into the others."""
    specs, groups, *rest = case = CASES["plain"]
    x, w, dy = operands(case, np.float32)
    x[0, 2, 3, 1], dy[1, 3, 3, 5], dy[2, 0, 0, 11] = np.nan, np.inf, -np.inf
    lowered = jxc.lower(weight_gradient(*case)[1], x, w, dy).opt("convolution")
    assert lowered.report.hits == {RULE: 1}
    alone = jax.jit(weight_gradient(specs, 1, *rest)[1])
    parts = zip(np.split(x, groups, -1), np.split(dy, groups, -1), strict=True)
    w_alone = w[..., : w.shape[-1] // groups]
    want = np.concatenate([alone(x, w_alone, dy) for x, dy in parts], -1)
    assert np.isnan(want).any() and np.isinf(want).any()
    np.testing.assert_allclose(lowered.compile()(x, w, dy), want, rtol=1e-4, atol=1e-5)


def test_other_targets_keep_their_convolutions():
    args = operands(CASES["plain"], np.float32)
    lowered = jxc.lower(weight_gradient(*CASES["plain"])[1], *args)
    assert not lowered.opt("convolution", target="gpu").report.hits
