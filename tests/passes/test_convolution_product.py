"""Convolutions with one window position and their gradients after the pass, against float64."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jxc

from .rounding import assert_within_rounding

RULE = "convolution-to-product"
LAST = ("NHWC", "HWIO", "NHWC")
CASES = {  # size, window, stride, layout, how often the rule fires in both gradients
    "1x1": (9, 1, 1, LAST, 2),
    "1x1, stride 2": (9, 1, 2, LAST, 1),
    "1x1, stride 2, the last pixel left out": (8, 1, 2, LAST, 1),
    "1x1 on 1x1": (1, 1, 1, LAST, 2),
    "the whole image": (5, 5, 1, LAST, 1),
    "a result laid out otherwise": (9, 1, 1, ("NHWC", "OHWI", "CNHW"), 2),
}


def gradients(case):
    """A function of x, w and dy that returns the result and JAX's gradients by x and w."""
    _, _, stride, specs, _ = case

    def convolve(x, w):
        return lax.conv_general_dilated(x, w, (stride,) * 2, "VALID", dimension_numbers=specs)

    def result_and_gradients(x, w, dy):
        y, pull = jax.vjp(convolve, x, w)
        return y, *pull(dy)

    return convolve, result_and_gradients


def operands(case, dtype):
    size, window, _, specs, _ = case
    shape = {"N": 8, "H": size, "W": size, "C": 96}
    kernel = {"H": window, "W": window, "I": 96, "O": 128}
    generator = np.random.default_rng(0)
    x = generator.standard_normal([shape[each] for each in specs[0]]).astype(dtype)
    w = generator.standard_normal([kernel[each] for each in specs[1]]).astype(dtype)
    y = jax.eval_shape(gradients(case)[0], x, w)
    return x, w, generator.standard_normal(y.shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, jnp.bfloat16])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_convolution_product_matches_float64(case, dtype):
    function = gradients(case)[1]
    with jax.enable_x64(True):
        args = operands(case, dtype)
        lowered = jxc.lower(function, *args).opt("convolution{always=true}")
        assert lowered.report.hits[RULE] >= case[-1]
        found = lowered.compile()(*args)
        assert_within_rounding(found, function, args, least=1e-30)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_convolution_product_keeps_nan_and_infinity_in_place(value):
    """A NaN or infinite pixel affects only its own products."""
    case = CASES["1x1, stride 2"]
    function = gradients(case)[1]
    x, w, dy = operands(case, np.float32)
    x[0, 2, 2, 5] = value  # inside the window
    x[0, 1, 1, 7] = value  # skipped by the stride
    found = jxc.lower(function, x, w, dy).opt("convolution{always=true}").compile()(x, w, dy)[2]
    spoilt = ~np.isfinite(np.asarray(found))
    assert spoilt[0, 0, 5].all()
    assert spoilt.sum() == 128


def test_convolution_product_stays_on_other_targets():
    args = operands(CASES["1x1"], np.float32)
    lowered = jxc.lower(gradients(CASES["1x1"])[1], *args)
    assert not lowered.opt("convolution", target="gpu").report.hits
