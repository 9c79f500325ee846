"""Depthwise convolutions of every kind after the pass, compared with float64."""

from __future__ import annotations

from dataclasses import dataclass
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from jax import lax

import jxc
from jxc.check.run import run_xla
from jxc.ir import make_context, read_module
from jxc.passes.convolution import cost as cost

FORWARD, WEIGHTS = "depthwise-to-multiply-add", "depthwise-weight-gradient-to-sums"
DTYPES = (np.float32, np.float64, np.float16, jnp.bfloat16)
SPATIAL = "HWD"


@dataclass(frozen=True)
class Case:
    """A depthwise convolution, with specs as in JAX and one entry per spatial dimension."""

    specs: tuple[str, str, str]
    batch: int
    channels: int
    multiplier: int
    size: tuple[int, ...]
    window: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    wide_result: bool = False

    def shapes(self):
        """The shapes of the image and of the kernel."""
        letters = SPATIAL[: len(self.size)]
        image = {"N": self.batch, "C": self.channels, **dict(zip(letters, self.size, strict=True))}
        kernel = {"I": 1, "O": self.channels * self.multiplier}
        kernel |= dict(zip(letters, self.window, strict=True))
        lhs, rhs, _ = self.specs
        return tuple(image[c] for c in lhs), tuple(kernel[c] for c in rhs)

    def __call__(self, x, w):
        wide = jnp.float32 if self.wide_result and x.dtype.itemsize == 2 else None
        return lax.conv_general_dilated(
            x,
            w,
            self.stride,
            self.padding,
            self.lhs_dilation,
            self.rhs_dilation,
            self.specs,
            feature_group_count=self.channels,
            preferred_element_type=wide,
        )

    def gradients(self, x, w, dy):
        """The result and both gradients, as JAX derives them."""
        y, pull = jax.vjp(self, x, w)
        return y, *pull(dy)


@st.composite
def cases(draw):
    rank = draw(st.integers(1, 3))
    letters = SPATIAL[:rank]

    def each(low, high):
        return draw(st.tuples(*[st.integers(low, high)] * rank))

    case = Case(
        specs=tuple("".join(draw(st.permutations(f + letters))) for f in ("NC", "IO", "NC")),
        batch=draw(st.integers(1, 3)),
        channels=draw(st.integers(2, 4)),
        multiplier=draw(st.integers(1, 3)),
        size=each(1, 6),
        window=each(1, 3),
        stride=each(1, 2),
        padding=tuple(zip(each(-1, 3), each(-1, 3), strict=True)),
        lhs_dilation=each(1, 3),
        rhs_dilation=each(1, 2),
        wide_result=False,
    )
    assume(all(extent > 0 for extent in _padded(case)))
    assume(0 not in jax.eval_shape(case, *_structs(case)).shape)
    return case


def _padded(case):
    """The padded extents of every size with every padding: JAX may combine any two."""
    for n in case.size:
        for (low, high), dilation in zip(case.padding, case.lhs_dilation, strict=True):
            yield (n - 1) * dilation + 1 + min(low, 0) + min(high, 0)


def _structs(case, dtype=np.float32):
    return [jax.ShapeDtypeStruct(shape, dtype) for shape in case.shapes()]


def rewritten(function, args, hits, *, rows_at_once=None):
    """The function after the pass; `hits` is how often each rule must have fired."""

    def loop(rows, **_):
        return min(rows, rows_at_once)

    with patch.object(cost, "rows_at_once", loop if rows_at_once else cost.rows_at_once):
        lowered = jxc.lower(function, *args).opt("convolution{always=true}")
    assert lowered.report.hits == hits
    return lowered.compile()(*args)


def check_gradients(case, dtype, make, close, *, rows_at_once=None):
    """The result and both gradients of `case` after the pass, against float64."""
    generator = np.random.default_rng(0)
    with jax.enable_x64(True):
        y = jax.eval_shape(case, *_structs(case, dtype))
        shapes = [(shape, dtype) for shape in case.shapes()] + [(y.shape, y.dtype)]
        args = [jnp.asarray(make(generator, shape), dt) for shape, dt in shapes]
        hits = {FORWARD: 2, WEIGHTS: 1}
        found = rewritten(case.gradients, args, hits, rows_at_once=rows_at_once)
        exact = jax.jit(case.gradients)
        wide = [np.asarray(arg, np.float64) for arg in args]
        magnitudes = exact(*map(np.abs, wide))
        for got, want, magnitude in zip(found, exact(*wide), magnitudes, strict=True):
            close(np.asarray(got), np.asarray(want), np.asarray(magnitude))


def within_rounding(got, want, magnitude):
    """Assert that the error is at most two ulps of the sum of the products' magnitudes."""
    bound = 4 * float(jnp.finfo(got.dtype).eps) * magnitude + float(jnp.finfo(got.dtype).tiny)
    np.testing.assert_array_less(np.abs(got.astype(np.float64) - want), bound)


def same_bits(got, want, _):
    """Assert equal bits: sums of small integers are exact in any order."""
    np.testing.assert_array_equal(got, want.astype(got.dtype))


def small_integers(generator, shape):
    return generator.integers(-4, 5, shape)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(case=cases(), dtype=st.sampled_from(DTYPES), rows_at_once=st.sampled_from([1, 2, 64]))
def test_depthwise_convolution_and_gradients_match_float64(case, dtype, rows_at_once):
    normal = np.random.Generator.standard_normal
    check_gradients(case, dtype, normal, within_rounding, rows_at_once=rows_at_once)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(case=cases(), dtype=st.sampled_from(DTYPES), rows_at_once=st.sampled_from([1, 2, 64]))
def test_depthwise_convolution_of_small_integers_is_exact(case, dtype, rows_at_once):
    check_gradients(case, dtype, small_integers, same_bits, rows_at_once=rows_at_once)


def _plain(specs=("NHWC", "HWIO", "NHWC"), **changes):
    two = {"size": (9, 8), "window": (3, 3), "stride": (1, 1), "padding": ((1, 1), (1, 1))}
    ones = {"lhs_dilation": (1, 1), "rhs_dilation": (1, 1)}
    given = {"batch": 2, "channels": 32, "multiplier": 1, **two, **ones, **changes}
    return Case(specs=specs, **given)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "case",
    [
        _plain(),
        _plain(("NCHW", "OIHW", "NCHW"), stride=(2, 2), padding=((0, 1), (1, 1))),
        _plain(multiplier=2, rhs_dilation=(2, 2)),
        _plain(window=(5, 5), padding=((2, 2), (2, 2))),
        _plain(window=(9, 9), padding=((4, 4), (4, 4))),
        _plain(wide_result=True),
    ],
    ids=["plain", "nchw-stride-2", "multiplier", "rows", "loop", "wide-result"],
)
def test_depthwise_convolutions_of_models_match_float64(case, dtype):
    check_gradients(case, dtype, np.random.Generator.standard_normal, within_rounding)


@pytest.mark.parametrize("dilation", [(1, 1), (2, 2)])
def test_depthwise_padding_is_multiplied(dilation):
    """An infinite weight times a padded zero is NaN, as in StableHLO and in XLA."""
    case = _plain(lhs_dilation=dilation, channels=2)
    x, w = (jnp.ones(shape, jnp.float32) for shape in case.shapes())
    w = w.at[0, 0].set(jnp.inf)
    found = rewritten(case, (x, w), {FORWARD: 1})
    plain = jax.jit(case)(x, w)
    assert jnp.isnan(found).any() and jnp.isinf(found).any()
    np.testing.assert_array_equal(np.asarray(found), np.asarray(plain))


def test_depthwise_with_reversed_window():
    """JAX never writes a reversed window."""
    case = _plain(channels=2)
    x, w = (np.arange(np.prod(s), dtype=np.float32).reshape(s) for s in case.shapes())
    plain = jxc.lower(case, x, w).as_text()
    turned = plain.replace("reverse = [false, false]", "reverse = [true, false]")
    before = read_module(turned, make_context())
    after = jxc.opt(before, "convolution{always=true}")
    assert "stablehlo.convolution" not in str(after)
    assert np.array_equal(run_xla(after, [x, w])[0], run_xla(before, [x, w])[0])
    assert not np.array_equal(run_xla(after, [x, w])[0], case(x, w))


def test_depthwise_convolutions_stay_on_other_targets():
    lowered = jxc.lower(case := _plain(), *_structs(case))
    assert lowered.opt("convolution", target="cpu").report.hits
    assert not lowered.opt("convolution", target="gpu").report.hits


def test_vmap_of_one_channel_convolutions_is_rewritten():
    """`vmap` over kernels of one channel writes a depthwise convolution."""

    def conv(x, w):
        return lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    x = np.random.default_rng(0).standard_normal((4, 2, 6, 6, 1)).astype(np.float32)
    w = np.random.default_rng(1).standard_normal((4, 3, 3, 1, 1)).astype(np.float32)
    found = rewritten(jax.vmap(conv), (x, w), {FORWARD: 1})
    np.testing.assert_allclose(found, jax.vmap(conv)(x, w), rtol=1e-5, atol=1e-5)
