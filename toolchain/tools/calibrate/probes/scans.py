"""How fast XLA's own running sums are, and loops that take their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....passes.scans import cost as cost
from . import Probe

_Program = tuple[Callable[..., Any], Sequence[Any]]


def _windows(name: str, *shape: int) -> _Program:
    import jax.numpy as jnp
    from jax import lax

    return getattr(lax, name), [jnp.zeros(shape, jnp.float32)]


def _loop(combine: str, outer: int, length: int, inner: int) -> _Program:
    """As the pass writes it: rows of [outer, 1, inner], one a turn."""
    import jax.numpy as jnp
    from jax import lax

    function = getattr(jnp, combine)

    def program(rows: Any) -> Any:
        def turn(place: Any, carried: Any) -> Any:
            total, done = carried
            total = function(total, lax.dynamic_slice_in_dim(rows, place, 1, 1))
            return total, lax.dynamic_update_slice_in_dim(done, total, place, 1)

        start = jnp.zeros((outer, 1, inner), rows.dtype), jnp.zeros(rows.shape, rows.dtype)
        return lax.fori_loop(0, length, turn, start)[1]

    return program, [jnp.zeros((outer, length, inner), jnp.float32)]


PROBES = [
    Probe(cost.XLA_SUM, lambda: _windows("cumsum", 512, 256), 512 * 256),
    Probe(cost.XLA_LOG, lambda: _windows("cumlogsumexp", 64, 64), 64 * 64),
    Probe(cost.TURN, lambda: _loop("add", 1, 1000, 16), 1000),
    Probe(cost.ROW, lambda: _loop("add", 1, 64, 1024), 64 * 1024),
    Probe(cost.COLUMN, lambda: _loop("add", 1000, 100, 1), 1000 * 100),
    Probe(cost.LOG, lambda: _loop("logaddexp", 1, 64, 1024), 64 * 1024),
]
