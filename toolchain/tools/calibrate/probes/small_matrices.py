"""How fast XLA multiplies small matrices, and how fast they are when written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....passes.small_matrices import cost as cost
from . import Probe

_BATCH = 2000
_ROWS = 20000


def _ones(*shapes: tuple[int, ...]) -> Sequence[Any]:
    import jax.numpy as jnp

    return [jnp.ones(shape, jnp.float32) for shape in shapes]


def _products(*shapes: tuple[int, ...]) -> tuple[Callable[..., Any], Sequence[Any]]:
    import jax.numpy as jnp

    return jnp.matmul, _ones(*shapes)


def _written() -> tuple[Callable[..., Any], Sequence[Any]]:
    def program(x: Any, y: Any) -> Any:
        return sum(x[:, :, k, None] * y[:, k, None, :] for k in range(4))

    return program, _ones((_BATCH, 4, 4), (_BATCH, 4, 4))


def _cholesky() -> tuple[Callable[..., Any], Sequence[Any]]:
    import jax.numpy as jnp
    from jax import lax

    matrices = jnp.broadcast_to(jnp.eye(4, dtype=jnp.float32), (_BATCH, 4, 4))
    return lambda x: lax.linalg.cholesky(x, symmetrize_input=False), [matrices]


def _triangular_solve() -> tuple[Callable[..., Any], Sequence[Any]]:
    from jax import lax

    def program(a: Any, b: Any) -> Any:
        return lax.linalg.triangular_solve(a, b, left_side=True, lower=True)

    return program, _ones((_BATCH, 4, 4), (_BATCH, 4, 1))


PROBES = [
    Probe(cost.TINY_PRODUCT, lambda: _products((_BATCH, 4, 4), (_BATCH, 4, 4)), _BATCH),
    Probe(cost.SHORT_PRODUCT, lambda: _products((_BATCH, 8, 4), (_BATCH, 4, 4)), _BATCH),
    Probe(cost.TALL_PRODUCT, lambda: _products((_ROWS, 3), (3, 16)), _ROWS * 48),
    Probe(cost.CHOLESKY, _cholesky, _BATCH),
    Probe(cost.TRIANGULAR_SOLVE, _triangular_solve, _BATCH),
    Probe(cost.WRITTEN_PRODUCT, _written, _BATCH * 64),
]
