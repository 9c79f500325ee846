"""How fast XLA multiplies small matrices, and how fast they are when written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...cost import small_matrices as cost
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


PROBES = [
    Probe(cost.TINY_PRODUCT, lambda: _products((_BATCH, 4, 4), (_BATCH, 4, 4)), _BATCH),
    Probe(cost.SHORT_PRODUCT, lambda: _products((_BATCH, 8, 4), (_BATCH, 4, 4)), _BATCH),
    Probe(cost.TALL_PRODUCT, lambda: _products((_ROWS, 3), (3, 16)), _ROWS * 48),
    Probe(cost.WRITTEN_PRODUCT, _written, _BATCH * 64),
]
