"""The probes: programs that `calibrate` times, one for each rate.

A probe runs what XLA makes of one operation, without passes of jxc, or the form that a pass would
put in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...cost import cpu, roofline
from ...cost.rates import Rate
from ...passes.scans import cost as scans

_Program = tuple[Callable[..., Any], Sequence[Any]]  # a function to jit, and its arguments


@dataclass(frozen=True)
class Probe:
    """How one rate is measured.

    Attributes:
        rate: what it measures.
        program: returns a function to jit, and its arguments.
        units: how many units of the rate's `doc` one call does: the rate is ns a call over this.
    """

    rate: Rate
    program: Callable[[], _Program]
    units: float


def _zeros(*shape: int) -> jax.Array:
    return jnp.zeros(shape, jnp.float32)


def _ones(*shape: int) -> jax.Array:
    return jnp.ones(shape, jnp.float32)


# Elementary functions

_ELEMENTS = 2**16
_STEPS = 16


def _of_random(function: Callable[..., Any], count: int = 1) -> _Program:
    """A function of random arrays: on equal elements the C library's branches are predicted."""
    arrays = np.random.default_rng(0).uniform(0.1, 10, (count, _ELEMENTS)).astype(np.float32)
    return function, list(arrays)


# Cumulative operations: XLA's own, and the loops that take their place


def _loop(combine: Callable[[Any, Any], Any], outer: int, length: int, inner: int) -> _Program:
    """The loop that the pass writes: each iteration combines a row of shape [outer, 1, inner]."""

    def program(rows: Any) -> Any:
        def iteration(index: Any, carried: Any) -> Any:
            total, results = carried
            total = combine(total, lax.dynamic_slice_in_dim(rows, index, 1, 1))
            return total, lax.dynamic_update_slice_in_dim(results, total, index, 1)

        start = jnp.zeros((outer, 1, inner), rows.dtype), jnp.zeros(rows.shape, rows.dtype)
        return lax.fori_loop(0, length, iteration, start)[1]

    return program, [_zeros(outer, length, inner)]


def _lone_row(length: int) -> _Program:
    """The same of a row of its own."""

    def program(row: Any) -> Any:
        def iteration(number: Any, carried: Any) -> Any:
            total, results = carried
            found = []
            for one in jnp.split(lax.dynamic_slice_in_dim(row, 8 * number, 8), 8):
                found.append(total := total * one)
            together = jnp.concatenate(found)
            return total, lax.dynamic_update_slice_in_dim(results, together, 8 * number, 0)

        return lax.fori_loop(0, length // 8, iteration, (jnp.ones(1), jnp.zeros(length)))[1]

    return program, [_ones(length)]


# Small matrices: XLA's products and factors

_BATCH, _ROWS = 2000, 20000


def _product(left: tuple[int, ...], right: tuple[int, ...]) -> _Program:
    return jnp.matmul, [_ones(*left), _ones(*right)]


def _cholesky() -> _Program:
    matrices = jnp.broadcast_to(jnp.eye(4, dtype=jnp.float32), (_BATCH, 4, 4))
    return lambda x: lax.linalg.cholesky(x, symmetrize_input=False), [matrices]


def _triangular_solve() -> _Program:
    def program(a: Any, b: Any) -> Any:
        return lax.linalg.triangular_solve(a, b, left_side=True, lower=True)

    return program, [_ones(_BATCH, 4, 4), _ones(_BATCH, 4, 1)]


def _equations() -> _Program:
    def program(a: Any, b: Any) -> Any:
        # BLAS reads columns, so that newer versions of XLA copy `a` and older ones do not.
        return lax.linalg.triangular_solve(a.T, b, left_side=True, lower=True)

    return program, [jnp.eye(512, dtype=jnp.float32), _ones(512, 1)]


# The roofline: main memory, the cache, arithmetic, functions, and launches. Main memory is read
# only, since the system slows down the first write to a page.

_BYTES, _SIZE = 1 << 26, 1024
_CACHED = 1 << 18  # elements, of 1 MiB
_SMALL = 1 << 14  # elements that fit the first caches
_ITERATIONS = 64


def _repeated(step: Callable[[Any], Any], elements: int) -> _Program:
    """A loop of `_ITERATIONS` over an array, in which a call costs little."""

    def program(x: Any) -> Any:
        return lax.fori_loop(0, _ITERATIONS, lambda _, h: step(h), x)

    return program, [jnp.full(elements, 0.5, jnp.float32)]


def _polynomial(h: Any) -> Any:
    for _ in range(_STEPS):
        h = h * 0.5 + 0.25
    return h


def _broadcast(x: Any) -> Any:
    return jnp.broadcast_to(x, _BYTES // 4)


_IMAGES, _FEATURES, _WINDOW = (8, 28, 28), 64, 9  # of 3x3
_PIXELS = 8 * 28 * 28


def _convolution(x: Any, w: Any) -> Any:
    layout = ("NHWC", "HWIO", "NHWC")
    groups = x.shape[-1] // w.shape[2]
    return lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=layout, feature_group_count=groups
    )


def _convolution_of_volumes(x: Any, w: Any) -> Any:
    layout = ("NDHWC", "DHWIO", "NDHWC")
    return lax.conv_general_dilated(x, w, (1, 1, 1), "SAME", dimension_numbers=layout)


def _gradient_by_kernel(x: Any, w: Any) -> Any:
    return jax.grad(lambda w: _convolution(x, w).sum())(w)


def _maximum(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def _random_images() -> Sequence[Any]:
    return [np.random.default_rng(0).normal(size=(*_IMAGES, _FEATURES)).astype(np.float32)]


def _chain_of_products(x: Any, w: Any) -> Any:
    for _ in range(_ITERATIONS):
        x = x @ w
    return x


# Ops that are no fused arithmetic: reductions over rows, windows, indexing. Most rates are those of
# one core; where a probe is so large that XLA runs it on all cores, its units are divided.

_POINTS = 12_000
_CORES = cpu.CORES
_TAPS = 26 * 26 * 64 * _WINDOW


def _random(*shape: int) -> Sequence[Any]:
    return [np.random.default_rng(0).normal(size=shape).astype(np.float32)]


def _image() -> Any:
    return _random(1, 28, 28, _FEATURES)[0]


def _table(columns: int) -> Sequence[Any]:
    indices = np.random.default_rng(0).integers(0, _ROWS, _ROWS)
    return [_zeros(_ROWS, columns) if columns > 1 else _zeros(_ROWS), indices]


def _window(init: float, combine: Any, x: Any) -> Any:
    return lax.reduce_window(x, init, combine, (1, 3, 3, 1), (1, 1, 1, 1), "VALID")


def _sum_of_maxima(x: Any) -> Any:
    return _window(-jnp.inf, lax.max, x).sum()


_SORTED = 100_000
_COMPARISONS = _SORTED * 16.6
_ENTERING = 1000 * 5.605  # elements that are among the 1,000 largest so far


def _sort_integers(x: Any) -> Any:
    return lax.sort((x * 1e6).astype(jnp.int32), is_stable=False)


def _top_k(kept: int, x: Any) -> Any:
    return lax.top_k(x, kept)


def _maximum_of_rows(x: Any) -> Any:
    return _polynomial(x).max(1)


def _root_of_columns(x: Any) -> Any:
    return lax.rsqrt(x[:, 0] * x[:, 0] + x[:, 1])


def _sum_of_columns(x: Any) -> Any:
    return sum(x[:, i] for i in range(8))


def _scaled_pad(x: Any) -> Any:
    return jnp.pad(x, ((0, 0), (1, 1))) * 2


PROBES = [
    Probe(roofline.BYTE, lambda: (jnp.sum, [_zeros(_BYTES // 4)]), _BYTES),
    Probe(roofline.FIRST_TOUCH, lambda: (_broadcast, [_zeros()]), _BYTES),
    Probe(roofline.PRODUCT, lambda: _product((_SIZE, _SIZE), (_SIZE, _SIZE)), _SIZE**3),
    Probe(
        roofline.CACHED_BYTE,
        lambda: _repeated(lambda h: h * 0.5 + 0.25, _CACHED),
        _ITERATIONS * 2 * 4 * _CACHED,
    ),
    Probe(
        roofline.ELEMENTWISE,
        lambda: _repeated(_polynomial, _SMALL),
        _ITERATIONS * _STEPS * 2 * _SMALL,
    ),
    Probe(
        roofline.FUNCTION,
        lambda: _repeated(lambda h: jnp.exp(h) * 0.5, _SMALL),
        _ITERATIONS * _SMALL,
    ),
    Probe(
        roofline.SCALAR_FUNCTION,
        lambda: _repeated(lambda h: h ** (h + 0.5), _SMALL),
        _ITERATIONS * _SMALL,
    ),
    Probe(
        roofline.CONVOLUTION,
        lambda: (_convolution, [_ones(*_IMAGES, _FEATURES), _ones(3, 3, _FEATURES, _FEATURES)]),
        _PIXELS * _WINDOW * _FEATURES**2,
    ),
    Probe(
        roofline.GROUPED_CONVOLUTION,
        lambda: (_convolution, [_ones(*_IMAGES, _FEATURES), _ones(3, 3, 8, _FEATURES)]),
        _PIXELS * _WINDOW * 8 * _FEATURES,
    ),
    Probe(
        roofline.DEPTHWISE_CONVOLUTION,
        lambda: (_convolution, [_ones(*_IMAGES, _FEATURES), _ones(3, 3, 1, _FEATURES)]),
        _PIXELS * _WINDOW * _FEATURES,
    ),
    Probe(
        cpu.NAIVE_CONVOLUTION,
        lambda: (_convolution, [_ones(64, 2, 2, 32), _ones(3, 3, 32, 32)]),
        64 * 4 * 9 * 32 * 32,
    ),
    Probe(
        cpu.VOLUME_TAP,
        lambda: (_convolution_of_volumes, [_ones(1, 24, 24, 24, 1), _ones(3, 3, 3, 1, 1)]),
        24**3 * 27,
    ),
    Probe(
        cpu.GROUPED_BATCH,
        lambda: (_gradient_by_kernel, [_ones(4, 8, 8, 16), _ones(3, 3, 1, 64)]),
        9 * 64 * 64 * 4 * 16,
    ),
    Probe(
        roofline.SCALAR,
        lambda: (_maximum, _random_images()),
        _PIXELS // 4 * (_WINDOW - 1) * _FEATURES,
    ),
    Probe(roofline.LAUNCH, lambda: (_chain_of_products, [_ones(8, 8), _ones(8, 8)]), _ITERATIONS),
    Probe(cpu.OF_VECTOR, lambda: _product((512, 512), (512,)), 512**2),
    Probe(
        cpu.OF_VECTOR_BY_COLUMNS,
        lambda: (lambda x, y: x.T @ y, [_ones(1000, 512), _ones(1000)]),
        1000 * 512,
    ),
    Probe(cpu.OF_VECTOR_BY_ROWS, lambda: _product((1000,), (1000, 512)), 1000 * 512),
    Probe(
        cpu.OF_COLUMNS,
        lambda: (lambda x, y: x.T @ y, [_ones(512, 1024), _ones(512, 32)]),
        512 * 1024 * 1.15,  # besides the product itself
    ),
    Probe(cpu.SINE, lambda: _of_random(jnp.sin), _ELEMENTS),
    Probe(cpu.SUMMED_SINE, lambda: _of_random(lambda x: jnp.sin(x).sum()), _ELEMENTS),
    Probe(cpu.TANGENT, lambda: _of_random(jnp.tan), _ELEMENTS),
    Probe(cpu.CUBE_ROOT, lambda: _of_random(jnp.cbrt), _ELEMENTS),
    Probe(cpu.ARC, lambda: _of_random(jnp.arctan2, 2), _ELEMENTS),
    Probe(cpu.REMAINDER, lambda: _of_random(lax.rem, 2), _ELEMENTS),
    Probe(cpu.COMPLEX, lambda: _of_random(lambda x, y: jnp.exp(lax.complex(x, y)), 2), _ELEMENTS),
    Probe(cpu.POWER, lambda: _of_random(jnp.power, 2), _ELEMENTS),
    Probe(cpu.ARCTANGENT, lambda: _of_random(jnp.arctan), _ELEMENTS),
    Probe(cpu.SOFTPLUS, lambda: _of_random(lambda x: jnp.log1p(jnp.exp(-x))), _ELEMENTS / _CORES),
    Probe(cpu.SCALAR_ROOT, lambda: (_root_of_columns, [_ones(_ROWS, 4)]), _ROWS / _CORES),
    Probe(cpu.FORK, lambda: _repeated(lambda h: h * 0.5 + 0.25, _ELEMENTS), _ITERATIONS),
    Probe(cpu.ROW_SUM, lambda: (lambda x: x.sum(1), [_ones(_POINTS, 3)]), _POINTS),
    Probe(cpu.ROW_EXTREMUM, lambda: (lambda x: x.max(1), [_ones(_POINTS, 3)]), _POINTS),
    Probe(cpu.ROW_OP, lambda: (_maximum_of_rows, [_ones(_POINTS, 3)]), _POINTS * _STEPS * 2),
    Probe(cpu.SUMMED, lambda: (lambda x: x.sum(1), [_ones(_SIZE, _SIZE)]), _SIZE**2 / _CORES),
    Probe(
        cpu.ROW_BROADCAST,
        lambda: (lambda x: jnp.broadcast_to(x.min(1)[:, None], x.shape), [_ones(8192, 32)]),
        8192 * 32 / _CORES,
    ),
    Probe(cpu.SEARCHED, lambda: (lambda x: x.argmax(1), [_ones(1000, 100)]), 1000 * 100),
    Probe(cpu.WIDE_ROW, lambda: (lambda x: x.sum(0), [_ones(8, 1 << 17)]), (1 << 20) / _CORES),
    Probe(cpu.STRIDED, lambda: (_sum_of_columns, [_ones(1 << 17, 8)]), (1 << 20) / _CORES),
    Probe(cpu.PADDED, lambda: (_scaled_pad, [_ones(1000, 60)]), 1000 * 62),
    Probe(cpu.TRANSPOSED, lambda: (jnp.transpose, [_ones(512, 512)]), 512**2 / _CORES),
    Probe(cpu.UNTILED, lambda: (lambda x: x.T + 1, [_ones(1024, 1024)]), 1024**2 / _CORES),
    Probe(cpu.WINDOW, lambda: (partial(_window, -jnp.inf, lax.max), [_image()]), _TAPS),
    Probe(cpu.WINDOW_SUM, lambda: (partial(_window, 0.0, lax.add), [_image()]), _TAPS),
    Probe(cpu.SELECTED, lambda: (jax.grad(_sum_of_maxima), [_image()]), _TAPS),
    Probe(cpu.SORTED, lambda: (jnp.sort, _random(_SORTED)), _COMPARISONS),
    Probe(cpu.PLAIN_SORTED, lambda: (_sort_integers, _random(_SORTED)), _COMPARISONS),
    Probe(cpu.SORTED_PAIR, lambda: (jnp.argsort, _random(_SORTED)), _COMPARISONS),
    Probe(cpu.TOP_SCANNED, lambda: (partial(_top_k, 1), _random(_SORTED)), _SORTED),
    Probe(cpu.TOP_KEPT, lambda: (partial(_top_k, 1000), _random(_SORTED)), _ENTERING * 9.97),
    Probe(cpu.GATHERED_ROW, lambda: (lambda t, i: t[i], _table(1)), _ROWS),
    Probe(cpu.SCATTERED_ROW, lambda: (lambda t, i: t.at[i].add(1.0), _table(1)), _ROWS),
    Probe(cpu.SCATTERED, lambda: (lambda t, i: t.at[i].add(1.0), _table(64)), _ROWS * 64),
    Probe(
        cpu.SCATTERED_COLUMN,
        lambda: (lambda t, i: t.at[:, i].add(1.0), [_zeros(64, 2000), _table(1)[1]]),
        _ROWS * 64,
    ),
    Probe(cpu.RUNNING, lambda: (lax.cumsum, [_zeros(512, 256)]), 512 * 256 / _CORES),
    Probe(cpu.ITERATION, lambda: _loop(jnp.add, 1, 1000, 16), 1000),
    Probe(scans.XLA_LOG, lambda: (lax.cumlogsumexp, [_zeros(64, 64)]), 64 * 64),
    Probe(scans.ROW, lambda: _loop(jnp.add, 1, 64, 1024), 64 * 1024),
    Probe(scans.COLUMN, lambda: _loop(jnp.add, 1000, 100, 1), 1000 * 100),
    Probe(scans.LONE, lambda: _lone_row(100_000), 100_000),
    Probe(scans.LOG, lambda: _loop(jnp.logaddexp, 1, 64, 1024), 64 * 1024),
    Probe(cpu.TINY_PRODUCT, lambda: _product((_BATCH, 4, 4), (_BATCH, 4, 4)), _BATCH),
    Probe(cpu.SHORT_PRODUCT, lambda: _product((_BATCH, 8, 4), (_BATCH, 4, 4)), _BATCH),
    Probe(cpu.NAIVE, lambda: _product((_BATCH, 3, 3), (_BATCH, 3, 3)), _BATCH * 27),
    Probe(cpu.TALL_PRODUCT, lambda: _product((_ROWS, 3), (3, 16)), _ROWS * 48),
    Probe(cpu.CHOLESKY, _cholesky, _BATCH),
    Probe(cpu.TRIANGULAR_SOLVE, _triangular_solve, _BATCH),
    Probe(cpu.OF_TRIANGLE, _equations, 512 * 512 / 2),
]
