"""A program for each fault in `jxc.passes.workarounds.faults`.

`python -m tests.passes.xla_faults LEVEL NAME...` runs programs under a level, or under plain
`jax.jit` for "plain", and prints whether each result is right. Some end the process.
"""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jxc

RANDOM = np.random.default_rng(0)


def narrow_scatter_index():
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    x, index = np.arange(300, dtype=np.int32), np.array([[200]], np.uint8)
    update = np.array([1000], np.int32)
    expected = np.where(x == 200, x + 1000, x)
    return lambda x, i: lax.scatter_add(x, i, update, numbers), (x, index), expected


def narrow_update_index():
    x, update = np.arange(300, dtype=np.int32), np.array([1000], np.int32)
    expected = np.where(x == 200, 1000, x)
    return lambda x, i: lax.dynamic_update_slice(x, update, (i,)), (x, np.uint8(200)), expected


def cropped_window_of_ones():
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    padding = ((-1, 0), (0, 0))
    return lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 1), (1, 1), padding), (x,), x[1:]


def window_of_a_scalar():
    def body(a, b):
        return lax.tanh(a * b)

    sixth = np.float32(1 / 6)
    expected = np.tanh(np.float32(0.5))
    return lambda x: lax.reduce_window(x, sixth, body, (), (), ()), (np.float32(3),), expected


def crop_before_window():
    def sums(x):
        cropped = lax.pad(x, np.int32(0), [(0, 0, 1), (-1, 0, 0)])
        padding = ((0, 0), (1, 0))
        return lax.reduce_window(cropped, np.int32(0), lax.add, (1, 2), (1, 1), padding)

    return sums, (np.array([[5, 7]], np.int32),), np.array([[7]])


def dilated_window():
    x = RANDOM.standard_normal((64, 128)).astype(np.float32)
    expected = np.full((32, 255), -np.inf, np.float32)
    expected[:, ::2] = np.maximum(x[::2], x[1::2])

    def maxima(x):
        none = ((0, 0), (0, 0))
        return lax.reduce_window(x, -jnp.inf, lax.max, (2, 1), (2, 1), none, base_dilation=(1, 2))

    return maxima, (x,), expected


def sum_of_product_of_rank_7():
    x, y = RANDOM.standard_normal((2, 3, 1, 2, 2, 8, 8, 8)).astype(np.float32)
    return lambda x, y: jnp.sum(x * y, axis=3), (x, y), (x * y).sum(axis=3)


def sum_of_product_of_rank_8():
    x = np.ones((10, 4, 6), np.float32)
    y = np.ones((10, 4, 6, 9, 9, 9, 9, 9), np.float32)

    def sums(x, y):
        return jnp.sum(x[..., None, None, None, None, None] * y, axis=2)

    return sums, (x, y), np.full((10, 4, 9, 9, 9, 9, 9), 6)


def sum_of_small_products():
    count = 32769  # one more than 128 KiB of f32
    x = np.zeros((count, 3), np.float32)
    x[:, 0] = np.arange(count)
    norms = jax.vmap(lambda m, row: jnp.sum((m @ row) ** 2), (None, 0))
    return norms, (np.eye(3, dtype=np.float32), x), np.arange(count, dtype=np.float32) ** 2


def narrow_index_beside_a_long_dimension():
    numbers = lax.ScatterDimensionNumbers((0,), (1,), (1,))  # the index is of dimension 1
    x, expected = np.zeros((129, 2), np.int32), np.zeros((129, 2), np.int32)
    expected[0, 0] = 7

    def updated(x, i):
        mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
        return lax.scatter(x, i, np.array([7], np.int32), numbers, mode=mode)

    return updated, (x, np.array([0], np.int8)), expected


def dilated_window_over_padding_alone():
    def minima(x):
        padded = lax.pad(x, np.float32(np.inf), [(-2, 1, 1), (1, -1, 2)])
        padding = ((0, 0), (2, 1))
        ones = (1, 1)
        return lax.reduce_window(padded, np.inf, lax.min, ones, ones, padding, (3, 1), (3, 1))

    return minima, (np.full((2, 1), 4, np.float32),), np.full((4, 4), np.inf, np.float32)


def dilated_window_of_negative_zero():
    def sums(x):
        return lax.reduce_window(x, 0.0, lax.add, (1, 1), (1, 1), ((0, 0), (0, 0)), (1, 2))

    return sums, (np.array([[-0.0, 1]], np.float32),), np.array([[0, 0, 1]], np.float32)


def cropped_window_of_negative_zero():
    def sums(x):
        return lax.reduce_window(x, 0.0, lax.add, (1,), (1,), ((-1, 0),))

    return sums, (np.array([3, -0.0], np.float32),), np.zeros(1, np.float32)


def window_of_negative_zero():
    def sums(x):
        return lax.reduce_window(x, 0.0, lax.add, (1,), (1,), ((0, 0),), window_dilation=(3,))

    return sums, (np.array([-0.0, 4], np.float32),), np.array([0, 4], np.float32)


def _window_of_one(init, body, x, stride=1, dilation=1):
    def window(x):
        start = np.asarray(init, x.dtype)
        return lax.reduce_window(x, start, body, (1,), (stride,), ((0, 0),), (dilation,))

    return window, (x,)


def window_of_complex_products():
    x = np.array([2, complex(np.inf, 0)], np.complex64)
    return *_window_of_one(1, lax.mul, x), np.array([2, complex(np.inf, np.nan)], np.complex64)


def dilated_window_of_complex_negative_zero():
    x, expected = np.array([complex(2, -0.0), 1], np.complex64), np.array([2, 0, 1], np.complex64)
    return *_window_of_one(0, lax.add, x, dilation=2), expected


def strided_window_of_complex_negative_zero():
    x = np.array([complex(2, -0.0), 1], np.complex64)
    return *_window_of_one(0, lax.add, x, stride=2), np.array([2], np.complex64)


def dilated_window_of_magnitudes():
    x = np.array([-0.0, 3], np.float32)
    window, args = _window_of_one(0, lambda a, b: abs(a) + b, x, dilation=2)
    return window, args, np.array([0, 0, 3], np.float32)


def window_of_quotients():
    x = np.array([5], np.float32)
    return *_window_of_one(3, lambda a, b: b / a, x), x / np.float32(3)


def strided_window_of_quotients():
    x = np.array([5, 1], np.float32)
    return *_window_of_one(3, lambda a, b: b / a, x, stride=2), x[:1] / np.float32(3)


PROGRAMS = (
    narrow_scatter_index,
    narrow_update_index,
    cropped_window_of_ones,
    window_of_a_scalar,
    crop_before_window,
    dilated_window,
    sum_of_product_of_rank_7,
    sum_of_product_of_rank_8,
    sum_of_small_products,
)
"""Functions that return a function, its arguments, and the result that StableHLO specifies."""

BESIDE = (
    narrow_index_beside_a_long_dimension,
    dilated_window_over_padding_alone,
    dilated_window_of_negative_zero,
    cropped_window_of_negative_zero,
    window_of_negative_zero,
    window_of_complex_products,
    dilated_window_of_complex_negative_zero,
    strided_window_of_complex_negative_zero,
    dilated_window_of_magnitudes,
    window_of_quotients,
    strided_window_of_quotients,
)
"""Programs that are close to those: what avoids a fault must not bring another one."""


def name_of(program) -> str:
    return program.__name__.replace("_", "-")


def is_right(program, level: str) -> bool:
    function, args, expected = program()
    compiled = (
        jax.jit(function) if level == "plain" else jxc.jit(function, pipeline=level, strict=True)
    )
    found = np.asarray(compiled(*args))
    if found.shape != expected.shape:
        return False
    if program in BESIDE:  # one op for each element
        return _parts(found).tobytes() == _parts(expected).tobytes()
    # The programs with sums of rounded numbers have a handful of terms.
    return np.allclose(found, expected, rtol=1e-5, atol=1e-5)


def _parts(array: np.ndarray) -> np.ndarray:
    """The real numbers of an array, with one NaN for all."""
    parts = array.view(array.real.dtype)
    return np.where(np.isnan(parts), np.nan, parts) if parts.dtype.kind == "f" else parts


def main(level: str, *names: str) -> None:
    for program in (*PROGRAMS, *BESIDE):
        if (name := name_of(program)) in names:
            print(name, "right" if is_right(program, level) else "wrong", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
