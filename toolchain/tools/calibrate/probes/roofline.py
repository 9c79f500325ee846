"""How fast main memory is, and the units that multiply."""

from __future__ import annotations

from typing import Any

from ....cost import roofline as cost
from . import Probe

_BYTES = 1 << 26
_SIZE = 1024


def _sum() -> Any:
    """Reads alone: what is written first goes to pages that the system must find."""
    import jax.numpy as jnp

    return jnp.sum, [jnp.zeros(_BYTES // 4, jnp.float32)]


def _product() -> Any:
    import jax.numpy as jnp

    return jnp.matmul, [jnp.ones((_SIZE, _SIZE), jnp.float32)] * 2


PROBES = [
    Probe(cost.BYTE, _sum, _BYTES),
    Probe(cost.PRODUCT, _product, _SIZE**3),
]
