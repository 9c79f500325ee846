"""Windows with more elements than the image, and their gradients, against float64."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jxc

from .rounding import assert_within_rounding

PASS = "convolution{always=true disable-patterns=wide-window-to-swapped-operands}"

RULE = "wide-window-to-product"
LAST, FIRST = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")
CASES = {
    "2x2": (LAST, 2, (1, 1), ((1, 1), (1, 1))),
    "channels first, stride 2": (FIRST, 2, (2, 2), ((1, 1), (1, 1))),
    "1x1": (FIRST, 1, (1, 1), ((1, 1), (1, 1))),
    "uneven padding": (LAST, 2, (1, 1), ((2, 0), (0, 2))),
}


def both(case):
    """A function of x, w and dy that returns the result and JAX's gradient by x."""
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
def test_wide_window_matches_float64(case, dtype):
    function = both(case)[1]
    with jax.enable_x64(True):
        args = operands(case, dtype)
        lowered = jxc.lower(function, *args).opt(PASS)
        assert lowered.report.hits == {RULE: 2}
        found = lowered.compile()(*args)
        assert_within_rounding(found, function, args, least=1e-30)


def test_wide_window_padding_is_multiplied():
    """An infinite weight times a padded zero is NaN, as in StableHLO."""
    x, w, _ = operands(CASES["2x2"], np.float32)
    x[:], w[:], w[0, 0, 0, 0] = 1, 1, np.inf
    lowered = jxc.lower(both(CASES["2x2"])[0], x, w).opt(PASS)
    assert lowered.report.hits == {RULE: 1}
    found = np.asarray(lowered.compile()(x, w))[..., 0]
    want = np.full((3, 2, 2), np.nan)
    want[:, 1, 1] = np.inf
    np.testing.assert_array_equal(found, want)


DEEP = {  # shapes of image and kernel, stride, padding
    "3x3 on 2x2": ((2, 2, 2, 160), (3, 3, 160, 192), (1, 1), ((1, 1), (1, 1))),
    "3x3 on 1x1": ((3, 1, 1, 160), (3, 3, 160, 192), (1, 1), "SAME"),
    "stride 2, uneven": ((2, 4, 3, 120), (5, 4, 120, 130), (2, 1), ((2, 2), (0, 3))),
}


def deep(case, dtype=np.float32):
    """JAX's gradient by the kernel, and arguments for it."""
    image, kernel, stride, padding = case

    def convolve(x, w):
        return lax.conv_general_dilated(x, w, stride, padding, dimension_numbers=LAST)

    def gradient(x, dy):
        return jax.vjp(lambda w: convolve(x, w), jnp.zeros(kernel, x.dtype))[1](dy)[0]

    generator = np.random.default_rng(0)
    x = generator.standard_normal(image).astype(dtype)
    y = jax.eval_shape(convolve, x, jax.ShapeDtypeStruct(kernel, dtype))
    return gradient, (x, generator.standard_normal(y.shape).astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, jnp.bfloat16])
@pytest.mark.parametrize("case", DEEP.values(), ids=DEEP)
def test_wide_weight_gradient_matches_float64(case, dtype):
    gradient, args = deep(case, dtype)
    lowered = jxc.lower(gradient, *args).opt(PASS)
    assert lowered.report.hits == {"wide-gradient-to-product": 1}
    found = np.asarray(lowered.compile()(*args))
    with jax.enable_x64(True):
        assert found.dtype == dtype
        assert_within_rounding(found, gradient, args, least=1e-30)


def test_wide_weight_gradient_of_infinity_is_nan_at_padding():
    """Padding is multiplied: an infinite `dy` gives NaN where the window overlaps padding."""
    gradient, (x, dy) = deep(DEEP["3x3 on 2x2"])
    x[:], dy[:] = 1, 1
    dy[0, 0, 0, 3], x[1, 1, 1, 5] = np.inf, np.nan
    lowered = jxc.lower(gradient, x, dy).opt(PASS)
    assert lowered.report.hits == {"wide-gradient-to-product": 1}
    found = np.asarray(lowered.compile()(x, dy))
    meets_padding = np.ones((3, 3), bool)
    meets_padding[1:, 1:] = False  # where the first position of dy is inside the image
    np.testing.assert_array_equal(np.isnan(found[:, :, 0, 3]), meets_padding)
    np.testing.assert_array_equal(np.isposinf(found[:, :, 0, 3]), ~meets_padding)
    assert np.isnan(found[1, 1, 5]).all()
    assert np.isfinite(found[:, :, 0, 0]).all()


def test_wide_weight_gradient_of_channels_first_stays():
    """The result would need a transpose."""

    def gradient(x, dy):
        def convolve(w):
            return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=FIRST)

        return jax.vjp(convolve, jnp.zeros((192, 160, 3, 3)))[1](dy)[0]

    args = np.ones((2, 160, 2, 2), np.float32), np.ones((2, 192, 2, 2), np.float32)
    assert not jxc.lower(gradient, *args).opt(PASS).report.hits


def test_wide_windows_stay_on_other_targets():
    args = operands(CASES["2x2"], np.float32)
    lowered = jxc.lower(both(CASES["2x2"])[1], *args)
    assert not lowered.opt("convolution", target="gpu").report.hits
