"""Weight gradients of transposed convolutions with swapped operands, against float64."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jxc
from jxc.check.run import Interpreter

from .rounding import assert_within_rounding

PASS = "convolution{always=true enable-patterns=wide-window-to-swapped-operands}"

RULE = "wide-window-to-swapped-operands"
LAST, FIRST = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")
CASES = {
    "stride 2": (LAST, (8, 7, 7, 16), (4, 4, 16, 8), (2, 2), "SAME"),
    "stride 3 and 2": (LAST, (8, 5, 7, 16), (5, 3, 16, 8), (3, 2), "VALID"),
    "channels first, as large": (FIRST, (8, 16, 9, 9), (8, 16, 3, 3), (1, 1), "VALID"),
    "in a row": (("NHC", "HIO", "NHC"), (8, 64, 16), (4, 16, 16), (2,), "SAME"),
}


def transposed(case):
    """A transposed convolution, and a function of x, w and dy that returns its gradient by w."""
    specs, _, _, strides, padding = case

    def grow(x, w):
        return lax.conv_transpose(x, w, strides, padding, dimension_numbers=specs)

    return grow, lambda x, w, dy: jax.vjp(lambda w: grow(x, w), w)[1](dy)[0]


def operands(case, dtype):
    generator = np.random.default_rng(0)
    x, w = (generator.standard_normal(shape).astype(dtype) for shape in case[1:3])
    y = jax.eval_shape(transposed(case)[0], x, w)
    return x, w, generator.standard_normal(y.shape).astype(dtype)


def check(function, args, hits):
    """Assert that the result is within eight roundings of the sum of magnitudes of float64's."""
    lowered = jxc.lower(function, *args).opt(PASS)
    assert lowered.report.hits == hits
    assert_within_rounding(lowered.compile()(*args), function, args)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_swapped_operands_match_float64(case):
    with jax.enable_x64(True):
        check(transposed(case)[1], operands(case, np.float32), {RULE: 1})


@pytest.mark.parametrize("dtype", [np.float64, np.float16, jnp.bfloat16])
def test_swapped_operands_of_other_types_match_float64(dtype):
    with jax.enable_x64(True):
        check(transposed(CASES["stride 2"])[1], operands(CASES["stride 2"], dtype), {RULE: 1})


def test_swapped_operands_with_a_window_larger_than_the_image():
    """A dilated and reversed kernel of a layer, not of a gradient."""

    def convolve(x, w):
        turned = lax.rev(w, (0, 1))
        return lax.conv_general_dilated(
            x, turned, (1, 1), ((3, 2), (5, 5)), None, (1, 2), dimension_numbers=LAST
        )

    generator = np.random.default_rng(0)
    shapes = [(8, 4, 4, 16), (5, 5, 16, 16)]
    with jax.enable_x64(True):
        x, w = (generator.standard_normal(shape).astype(np.float32) for shape in shapes)
        check(convolve, (x, w), {RULE: 1})


# As many inputs as outputs, otherwise the interpreter of jaxlib 0.10.2 rejects this layout.
ROW = (("NHC", "HIO", "NHC"), (12, 20, 14), (8, 14, 14), (2,), ((3, 3),))
PLACES = {
    "dy, at zeros between elements": ("dy", (1, 9, 2), np.inf),
    "dy, at padding": ("dy", (0, 0, 3), np.nan),
    "x, outside the window somewhere": ("x", (1, 0, 4), np.nan),
    "x, at the other end": ("x", (0, -1, 4), -np.inf),
}


@pytest.fixture(scope="module")
def lowered():
    lowered = jxc.lower(transposed(ROW)[1], *operands(ROW, np.float32)).opt(PASS)
    assert lowered.report.hits == {RULE: 1}
    return lowered


@pytest.fixture(scope="module")
def interpreter():
    interpreter = Interpreter()
    yield interpreter
    interpreter.close()


@pytest.mark.parametrize(("operand", "place", "number"), PLACES.values(), ids=PLACES)
def test_swapped_operands_keep_nans(lowered, interpreter, operand, place, number):
    """NaNs are where StableHLO has them; or where XLA has them, which skips dilation zeros."""
    x, w, dy = operands(ROW, np.float32)
    (x if operand == "x" else dy)[place] = number
    want = by_definition(x, dy, positions=8, low=3)
    assert 0 < np.isfinite(want).mean() < 1
    [found] = interpreter.run(lowered.module, [x, dy])
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)
    through_xla = jax.jit(transposed(ROW)[1])(x, w, dy)
    np.testing.assert_allclose(lowered.compile()(x, w, dy), through_xla, rtol=1e-4, atol=1e-4)


def by_definition(x, dy, *, positions, low):
    """The gradient by a kernel of `positions` elements at stride 2, with products of zeros."""
    batch, size, inputs = x.shape
    window = dy.shape[1]
    image = np.zeros((batch, window + positions - 1, inputs))
    image[:, low : low + 2 * size : 2] = x
    with np.errstate(invalid="ignore"):
        parts = (image[:, k : k + window, :, None] * dy[:, :, None] for k in range(positions))
        return np.stack([part.sum((0, 1)) for part in parts])


def test_swapped_operands_stay_on_other_targets():
    lowered = jxc.lower(transposed(ROW)[1], *operands(ROW, np.float32))
    assert not lowered.opt("convolution", target="gpu").report.hits
