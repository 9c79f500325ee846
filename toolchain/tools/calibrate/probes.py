"""Probes: small programs whose run time gives the rates by which passes decide.

Each rate is declared in the `cost` module of the pass family that reads it, or in `cost.roofline`.
A probe runs what XLA makes of one operation, without passes of jxc, or the form that a pass would
put in its place. Importing this does not import jax.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import passes
from ...cost import roofline
from ...cost.rates import Rate
from ...passes.elementary import cost as elementary
from ...passes.scans import cost as scans
from ...passes.small_matrices import cost as small_matrices

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


def all_rates() -> dict[str, Rate]:
    """Every rate by name: of each pass family's `cost` module, and of the roofline."""
    modules = [roofline]
    for info in sorted(pkgutil.iter_modules(passes.__path__), key=lambda info: info.name):
        package = importlib.import_module(f"{passes.__name__}.{info.name}")
        if any(
            part.name == "cost" for part in pkgutil.iter_modules(getattr(package, "__path__", ()))
        ):
            modules.append(importlib.import_module(f"{package.__name__}.cost"))
    found = [each for module in modules for each in vars(module).values() if isinstance(each, Rate)]
    return {rate.name: rate for rate in found}


def _zeros(*shape: int) -> Any:
    import jax.numpy as jnp

    return jnp.zeros(shape, jnp.float32)


def _ones(*shape: int) -> Any:
    import jax.numpy as jnp

    return jnp.ones(shape, jnp.float32)


def _numpy(name: str, *arguments: Any) -> _Program:
    import jax.numpy as jnp

    return getattr(jnp, name), arguments


# Elementary functions, and operations on f64

_ELEMENTS = 2**16
_STEPS, _CHAINS = 16, 4


def _random(count: int = 1) -> list[np.ndarray]:
    """Random arguments: on equal ones the branches of the C library's functions are predicted."""
    random = np.random.default_rng(0)
    return list(random.uniform(0.1, 10, (count, _ELEMENTS)).astype(np.float32))


def _summed_sine() -> _Program:
    import jax.numpy as jnp

    return lambda x: jnp.sin(x).sum(), _random()


def _softplus() -> _Program:
    import jax.numpy as jnp

    return lambda x: jnp.log1p(jnp.exp(-x)), _random()


def _f64_formula() -> _Program:
    import jax
    import jax.numpy as jnp

    def program(x: Any) -> Any:
        with jax.enable_x64(True):
            wide = x.astype(jnp.float64)
            chains = [wide + i for i in range(_CHAINS)]
            for _ in range(_STEPS):
                chains = [chain * wide + 0.5 for chain in chains]
            return sum(chains).astype(jnp.float32)

    return program, _random()


# Cumulative operations: XLA's own, and the loops that take their place


def _cumulative(name: str, *shape: int) -> _Program:
    from jax import lax

    return getattr(lax, name), [_zeros(*shape)]


def _loop(combine: str, outer: int, length: int, inner: int) -> _Program:
    """The loop that the pass writes: each iteration combines a row of shape [outer, 1, inner]."""
    import jax.numpy as jnp
    from jax import lax

    function = getattr(jnp, combine)

    def program(rows: Any) -> Any:
        def iteration(index: Any, carried: Any) -> Any:
            total, results = carried
            total = function(total, lax.dynamic_slice_in_dim(rows, index, 1, 1))
            return total, lax.dynamic_update_slice_in_dim(results, total, index, 1)

        start = jnp.zeros((outer, 1, inner), rows.dtype), jnp.zeros(rows.shape, rows.dtype)
        return lax.fori_loop(0, length, iteration, start)[1]

    return program, [_zeros(outer, length, inner)]


# Small matrices: XLA's products and factors, and products written out

_BATCH, _ROWS = 2000, 20000


def _written_product() -> _Program:
    def program(x: Any, y: Any) -> Any:
        return sum(x[:, :, k, None] * y[:, k, None, :] for k in range(4))

    return program, [_ones(_BATCH, 4, 4), _ones(_BATCH, 4, 4)]


def _cholesky() -> _Program:
    import jax.numpy as jnp
    from jax import lax

    matrices = jnp.broadcast_to(jnp.eye(4, dtype=jnp.float32), (_BATCH, 4, 4))
    return lambda x: lax.linalg.cholesky(x, symmetrize_input=False), [matrices]


def _triangular_solve() -> _Program:
    from jax import lax

    def program(a: Any, b: Any) -> Any:
        return lax.linalg.triangular_solve(a, b, left_side=True, lower=True)

    return program, [_ones(_BATCH, 4, 4), _ones(_BATCH, 4, 1)]


# The roofline: main memory, the cache, arithmetic, functions, and launches. Main memory is read
# only, since the system slows down the first write to a page.

_BYTES, _SIZE = 1 << 26, 1024
_CACHED = 1 << 18  # elements, of 1 MiB
_SMALL = 1 << 14  # elements that fit the first caches
_ITERATIONS = 64


def _repeated(step: Callable[[Any], Any], elements: int) -> _Program:
    """A loop of `_ITERATIONS` over an array, in which a call costs little."""
    import jax
    import jax.numpy as jnp

    def program(x: Any) -> Any:
        return jax.lax.fori_loop(0, _ITERATIONS, lambda _, h: step(h), x)

    return program, [jnp.full(elements, 0.5, jnp.float32)]


def _polynomial(h: Any) -> Any:
    for _ in range(_STEPS):
        h = h * 0.5 + 0.25
    return h


def _exponential(h: Any) -> Any:
    import jax.numpy as jnp

    return jnp.exp(h) * 0.5


def _chain_of_products() -> _Program:
    def program(x: Any, w: Any) -> Any:
        for _ in range(_ITERATIONS):
            x = x @ w
        return x

    return program, [_ones(8, 8), _ones(8, 8)]


def _product(left: tuple[int, ...], right: tuple[int, ...]) -> _Program:
    return _numpy("matmul", _ones(*left), _ones(*right))


PROBES = [
    Probe(roofline.BYTE, lambda: _numpy("sum", _zeros(_BYTES // 4)), _BYTES),
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
    Probe(roofline.FUNCTION, lambda: _repeated(_exponential, _SMALL), _ITERATIONS * _SMALL),
    Probe(
        roofline.SCALAR_FUNCTION,
        lambda: _repeated(lambda h: h ** (h + 0.5), _SMALL),
        _ITERATIONS * _SMALL,
    ),
    Probe(roofline.LAUNCH, _chain_of_products, _ITERATIONS),
    Probe(elementary.SINE, lambda: _numpy("sin", *_random()), _ELEMENTS),
    Probe(elementary.SUMMED_SINE, _summed_sine, _ELEMENTS),
    Probe(elementary.POWER, lambda: _numpy("power", *_random(2)), _ELEMENTS),
    Probe(elementary.ARCTANGENT, lambda: _numpy("arctan", *_random()), _ELEMENTS),
    Probe(elementary.SOFTPLUS, _softplus, _ELEMENTS),
    Probe(elementary.OPERATION, _f64_formula, _ELEMENTS * _CHAINS * _STEPS * 2),
    Probe(scans.XLA_SUM, lambda: _cumulative("cumsum", 512, 256), 512 * 256),
    Probe(scans.XLA_LOG, lambda: _cumulative("cumlogsumexp", 64, 64), 64 * 64),
    Probe(scans.ITERATION, lambda: _loop("add", 1, 1000, 16), 1000),
    Probe(scans.ROW, lambda: _loop("add", 1, 64, 1024), 64 * 1024),
    Probe(scans.COLUMN, lambda: _loop("add", 1000, 100, 1), 1000 * 100),
    Probe(scans.LOG, lambda: _loop("logaddexp", 1, 64, 1024), 64 * 1024),
    Probe(small_matrices.TINY_PRODUCT, lambda: _product((_BATCH, 4, 4), (_BATCH, 4, 4)), _BATCH),
    Probe(small_matrices.SHORT_PRODUCT, lambda: _product((_BATCH, 8, 4), (_BATCH, 4, 4)), _BATCH),
    Probe(small_matrices.TALL_PRODUCT, lambda: _product((_ROWS, 3), (3, 16)), _ROWS * 48),
    Probe(small_matrices.CHOLESKY, _cholesky, _BATCH),
    Probe(small_matrices.TRIANGULAR_SOLVE, _triangular_solve, _BATCH),
    Probe(small_matrices.WRITTEN_PRODUCT, _written_product, _BATCH * 64),
]
