"""Networks built of equinox modules."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .data import descend, normal
from .registry import Program, model


@model(quick=True, small={"blocks": 2, "batch": 1}, large={"width": 128, "batch": 32})
def equinox_mixer_training(blocks: int = 4, width: int = 64, batch: int = 16) -> Program:
    """A training step of an MLP-Mixer on 32x32 images, vmapped over the batch."""
    import equinox as eqx

    keys = iter(jax.random.split(jax.random.key(0), 2 * blocks + 2))
    patches = 64
    parts: dict[str, Any] = {
        "cut": eqx.nn.Conv2d(3, width, 4, stride=4, key=next(keys)),
        "over_patches": [
            eqx.nn.MLP(patches, patches, 128, 1, key=next(keys)) for _ in range(blocks)
        ],
        "over_channels": [eqx.nn.MLP(width, width, 256, 1, key=next(keys)) for _ in range(blocks)],
        "norms": [eqx.nn.LayerNorm((width, patches)) for _ in range(2 * blocks)],
        "out": eqx.nn.Linear(width, 10, key=next(keys)),
    }
    arrays, rest = eqx.partition(parts, eqx.is_array)

    def network(parts, image):
        y = parts["cut"](image).reshape(width, patches)
        for index in range(blocks):
            before, between = parts["norms"][2 * index : 2 * index + 2]
            y = y + jax.vmap(parts["over_patches"][index])(before(y))
            y = y + jax.vmap(parts["over_channels"][index], 1, 1)(between(y))
        return parts["out"](y.mean(1))

    def loss(arrays, images):
        parts = eqx.combine(arrays, rest)
        return (jax.vmap(lambda image: network(parts, image))(images) ** 2).mean()

    return descend(loss), (arrays, normal(batch, 3, 32, 32))


@model(small={"length": 16, "batch": 1}, large={"length": 256, "batch": 128})
def equinox_recurrent_training(length: int = 64, batch: int = 32) -> Program:
    """A training step of equinox's GRU cell, scanned, for a batch."""
    import equinox as eqx

    one, two = jax.random.split(jax.random.key(0))
    parts = {"cell": eqx.nn.GRUCell(32, 64, key=one), "out": eqx.nn.Linear(64, 1, key=two)}
    arrays, rest = eqx.partition(parts, eqx.is_array)

    def network(parts, sequence):
        def step(h, x):
            return parts["cell"](x, h), None

        return parts["out"](jax.lax.scan(step, jnp.zeros(64), sequence)[0])

    def loss(arrays, sequences):
        parts = eqx.combine(arrays, rest)
        return (jax.vmap(lambda s: network(parts, s))(sequences) ** 2).mean()

    return descend(loss), (arrays, normal(batch, length, 32))
