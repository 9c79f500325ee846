"""Sums of only -0.0 are 0.0 in every form that a rule writes, as in StableHLO and XLA."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jxc
from jxc.check import Interpreter
from jxc.ir import make_context, read_module
from jxc.pipeline import make_pipeline
from jxc.rewrite import PassContext


def _convolution(x, w, groups=1, stride=1, padding="SAME"):
    return lax.conv_general_dilated(
        x,
        w,
        (stride, stride),
        padding,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=groups,
    )


def _pool_sum(x, window, stride):
    shape, strides = (1, window, window, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, 0.0, lax.add, shape, strides, "VALID")


def _pool_max(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def _weight_gradient(x, dy, kernel, groups):
    w = jnp.zeros(kernel, jnp.float32)
    return jax.vjp(lambda w: _convolution(x, w, groups), w)[1](dy)[0]


def _input_gradient(w, dy, image, groups):
    x = jnp.zeros(image, jnp.float32)
    return jax.vjp(lambda x: _convolution(x, w, groups), x)[1](dy)[0]


CASES = {
    "depthwise": (lambda x, w: _convolution(x, w, 8), (1, 6, 6, 8), (3, 3, 1, 8)),
    "depthwise, loop over rows": (lambda x, w: _convolution(x, w, 8), (1, 9, 9, 8), (5, 5, 1, 8)),
    "depthwise, two outputs": (lambda x, w: _convolution(x, w, 8), (1, 6, 6, 8), (3, 3, 1, 16)),
    "depthwise, input gradient": (
        lambda w, dy: _input_gradient(w, dy, (1, 6, 6, 8), 8),
        (3, 3, 1, 8),
        (1, 6, 6, 8),
    ),
    "depthwise, weight gradient": (
        lambda x, dy: _weight_gradient(x, dy, (3, 3, 1, 32), 32),
        (2, 4, 4, 32),
        (2, 4, 4, 32),
    ),
    "grouped, weight gradient": (
        lambda x, dy: _weight_gradient(x, dy, (3, 3, 4, 8), 2),
        (2, 4, 4, 8),
        (2, 4, 4, 8),
    ),
    "wide window": (_convolution, (1, 2, 2, 8), (3, 3, 8, 8)),
    "sums of windows": (lambda x: _pool_sum(x, 2, 2), (1, 8, 8, 4)),
    "sums of windows of two operands": (
        lambda x: lax.reduce_window(
            (x, x), (0.0, 0.0), lambda a, b: (a[0] + b[0], a[1] + b[1]), (2,), (2,), "VALID"
        )[1],
        (8,),
    ),
    "sums of large windows": (lambda x: _pool_sum(x, 6, 1), (1, 9, 9, 4)),
    "gradient of sums of windows": (
        lambda dy: jax.vjp(lambda x: _pool_sum(x, 2, 2), jnp.zeros((1, 8, 8, 4)))[1](dy)[0],
        (1, 4, 4, 4),
    ),
    "gradient of max pooling": (
        lambda x, dy: jax.vjp(_pool_max, x)[1](dy)[0],
        (1, 8, 8, 4),
        (1, 4, 4, 4),
    ),
    "reduction over few": (lambda x: jnp.sum(x, -1), (8192, 4)),
    "small product": (jnp.matmul, (64, 4, 5), (64, 5, 4)),
    "tall product": (jnp.matmul, (2000, 3), (3, 8)),
    "running sum": (lambda x: jnp.cumsum(x, 0), (64, 512)),
}


def _zeros_of(results):
    """The positions of zeros, and of those that are -0.0."""
    return [(x == 0, np.signbit(x) & (x == 0)) for x in map(np.asarray, results)]


def lower_and_rewrite(function, *specs):
    """The function after O2, with all rewrites, whatever their prices."""
    return jxc.lower(function, *specs)._after(make_pipeline("O2"), PassContext(always=True))


@pytest.mark.parametrize("name", CASES)
def test_sum_of_negative_zeros_has_the_sign_of_plain_xla(name: str) -> None:
    function, *shapes = CASES[name]
    specs = [jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes]
    rewritten = lower_and_rewrite(function, *specs)
    assert any(rewritten.report.hits.values()), "no rule fired: nothing is tested"
    ours, plain = rewritten.compile(), jax.jit(function)
    for numbers in itertools.product((0.0, -0.0, -1.0), repeat=len(shapes)):
        args = [np.full(each.shape, n, np.float32) for each, n in zip(specs, numbers, strict=True)]
        (found,), (expected,) = _zeros_of([ours(*args)]), _zeros_of([plain(*args)])
        np.testing.assert_array_equal(found, expected, str(numbers))


def test_depthwise_convolution_agrees_with_the_interpreter_on_negative_zeros() -> None:
    x, w = np.zeros((1, 6, 6, 8), np.float32), np.full((3, 3, 1, 8), -1, np.float32)
    lowered = jxc.lower(CASES["depthwise"][0], x, w)
    interpreter = Interpreter()
    expected = interpreter.run(read_module(lowered.as_text(), make_context()), [x, w])
    interpreter.close()
    ((_, found),) = _zeros_of([lowered.opt("O2").compile()(x, w)])
    assert not found.any() and not np.signbit(expected[0]).any()
