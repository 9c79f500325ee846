"""Convolutions of volumes, in loops, and by large windows after O2, compared with float64."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jxc

PLANES, ROWS = "convolution-to-planes", "convolution-to-row-products"
NESTED = "nested-convolution-to-features-last"


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def convolve(x: Any, w: Any, padding: Any, stride: int = 1, dilation: int = 1) -> Any:
    """Channels first; the padding is carried out before the convolution."""
    rank = x.ndim - 2
    x = lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0)] * 2 + [(*each, 0) for each in padding])
    strides, dilations = (stride,) * rank, (dilation,) * rank
    return lax.conv_general_dilated(x, w, strides, "VALID", rhs_dilation=dilations)


def check(fn: Any, reference: Any, args: Any, rule: str) -> None:
    compiled = jxc.lower(fn, *args).opt("O2")
    assert compiled.report.hits[rule]
    with jax.enable_x64(True):
        wide = [np.asarray(each, np.float64) for each in args]
        expected = jax.tree.map(np.asarray, jax.jit(reference)(*wide))
    for one, other in zip(
        jax.tree.leaves(expected), jax.tree.leaves(compiled.compile()(*args)), strict=True
    ):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-4 * np.abs(one).max())


@pytest.mark.parametrize(
    ("padding", "stride", "dilation"),
    [
        (((1, 1),) * 3, 1, 1),
        (((0, 1), (2, 0), (1, 3)), 2, 1),
        (((-1, 1), (1, 1), (1, -1)), 1, 1),
        (((2, 2),) * 3, 1, 2),
    ],
)
def test_volumes_and_their_gradients(padding: Any, stride: int, dilation: int) -> None:
    def ours(x: Any, w: Any) -> Any:
        strides, dilations = (stride,) * 3, (dilation,) * 3
        return lax.conv_general_dilated(x, w, strides, padding, rhs_dilation=dilations)

    def reference(x: Any, w: Any) -> Any:
        return convolve(x, w, padding, stride, dilation)

    def gradients(function: Any) -> Any:
        return jax.value_and_grad(lambda x, w: (function(x, w) ** 2).sum(), (0, 1))

    args = draw(2, 8, 12, 12, 12), draw(24, 8, 3, 3, 3)
    check(ours, reference, args, PLANES)
    check(gradients(ours), gradients(reference), args, PLANES)


@pytest.mark.parametrize("padding", [((1, 1), (1, 1)), ((-1, 1), (-1, 1)), ((2, -1), (0, 0))])
def test_images_with_channels_first_in_loops(padding: Any) -> None:
    """XLA's library reads outside of the image if one side is padded by -1 and the other by 1."""

    def ours(x: Any, w: Any) -> Any:
        def body(total: Any, factor: Any) -> Any:
            return total + lax.conv_general_dilated(x * factor, w, (1, 1), padding), None

        shape = jax.eval_shape(lambda x, w: convolve(x, w, padding), x, w).shape
        return lax.scan(body, jnp.zeros(shape, x.dtype), jnp.arange(1, 4, dtype=x.dtype))[0]

    args = draw(2, 16, 16, 16), draw(16, 16, 3, 3)
    check(ours, lambda x, w: 6 * convolve(x, w, padding), args, NESTED)


@pytest.mark.parametrize(
    ("size", "window"), [((4000,), (301,)), ((96, 96), (21, 21)), ((20, 20, 20), (7, 7, 7))]
)
def test_large_windows_of_one_channel(size: Any, window: Any) -> None:
    padding = [(extent // 2, extent // 2) for extent in window]
    check(
        lambda x, w: lax.conv_general_dilated(x, w, (1,) * len(size), padding),
        lambda x, w: convolve(x, w, padding),
        (draw(1, 1, *size), draw(1, 1, *window)),
        ROWS,
    )


def test_infinity_reaches_what_its_window_meets() -> None:
    x = draw(1, 1, 96, 96)
    x[0, 0, 40, 50] = np.inf
    w = np.abs(draw(1, 1, 21, 21)) + 0.1
    found = jxc.jit(lambda x, w: lax.conv(x, w, (1, 1), "SAME"))(x, w)
    rows, columns = np.nonzero(~np.isfinite(np.asarray(found)[0, 0]))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (30, 50, 40, 60)
