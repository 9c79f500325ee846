"""Windows of more elements than the image, and their gradients, rewritten, against float64."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jxc

RULE = "wide-window-to-product"
LAST, FIRST = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")
CASES = {
    "2x2": (LAST, 2, (1, 1), ((1, 1), (1, 1))),
    "channels first, stride 2": (FIRST, 2, (2, 2), ((1, 1), (1, 1))),
    "1x1": (FIRST, 1, (1, 1), ((1, 1), (1, 1))),
    "uneven padding": (LAST, 2, (1, 1), ((2, 0), (0, 2))),
}


def both(case):
    """What takes x, w and dy to the result and the gradient by x, as JAX derives it."""
    specs, _, stride, padding = case

    def convolve(x, w):
        return lax.conv_general_dilated(x, w, stride, padding, dimension_numbers=specs)

    def result_and_gradient(x, w, dy):
        y, pull = jax.vjp(lambda x: convolve(x, w), x)
        return y, pull(dy)[0]

    return convolve, result_and_gradient


def operands(case, dtype):
    specs, size, *_ = case
    generator = np.random.default_rng(0)
    shapes = [(3, size, size, 5), (3, 3, 5, 7)]
    if specs is FIRST:
        shapes = [(3, 5, size, size), (7, 5, 3, 3)]
    x, w = (generator.standard_normal(shape).astype(dtype) for shape in shapes)
    y = jax.eval_shape(both(case)[0], x, w)
    return x, w, generator.standard_normal(y.shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, jnp.bfloat16])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_within_rounding(case, dtype):
    function = both(case)[1]
    with jax.enable_x64(True):
        args = operands(case, dtype)
        lowered = jxc.lower(function, *args).opt("convolution")
        assert lowered.report.hits == {RULE: 2}
        found = lowered.compile()(*args)
        wide = [np.asarray(arg, np.float64) for arg in args]
        exact = jax.jit(function)
        results = zip(found, exact(*wide), exact(*map(np.abs, wide)), strict=True)
    for got, want, magnitude in results:
        bound = 8 * float(jnp.finfo(got.dtype).eps) * np.asarray(magnitude) + 1e-30
        difference = np.abs(np.asarray(got, np.float64) - np.asarray(want))
        np.testing.assert_array_less(difference, bound)


def test_padding_is_multiplied():
    """An infinite weight that meets a padded zero is NaN, as in StableHLO."""
    x, w, _ = operands(CASES["2x2"], np.float32)
    x[:], w[:], w[0, 0, 0, 0] = 1, 1, np.inf
    lowered = jxc.lower(both(CASES["2x2"])[0], x, w).opt("convolution")
    assert lowered.report.hits == {RULE: 1}
    found = np.asarray(lowered.compile()(x, w))[..., 0]
    want = np.full((3, 2, 2), np.nan)
    want[:, 1, 1] = np.inf
    np.testing.assert_array_equal(found, want)


def test_other_targets_keep_their_convolutions():
    args = operands(CASES["2x2"], np.float32)
    lowered = jxc.lower(both(CASES["2x2"])[1], *args)
    assert not lowered.opt("convolution", target="gpu").report.hits
