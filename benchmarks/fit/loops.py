"""Long loops: an LSTM, and the gradient through the simulation of a wave."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from fit.networks import class_loss
from fit.registry import Task, integers, program, shapes
from fit.variants import Variant


@program(
    {"steps": 256, "width": 64, "inputs": 32, "batch": 8},
    {"steps": 4096, "width": 1024, "inputs": 256, "batch": 128},
    {"batch": 512},
    loop=True,
)
def lstm(how: Variant, *, steps: int, width: int, inputs: int, batch: int) -> Task:
    """An LSTM that puts each step into one of 64 classes, in f32. A block is a step."""

    def loss(w: Any, state: Any, batch: Any, key: Any) -> tuple[Any, Any]:
        xs, labels = batch

        def step(carry: Any, x: Any) -> tuple[Any, Any]:
            hidden, cell = carry
            gates = jnp.concatenate([x, hidden], -1) @ w["gates"] + w["bias"]
            i, f, g, o = jnp.split(gates, 4, -1)
            cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
            hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
            return (hidden, cell), hidden @ w["head"]

        zeros = jnp.zeros((xs.shape[0], width))
        _, logits = how.loop(step, (zeros, zeros), xs.swapaxes(0, 1), steps)
        return class_loss(logits, labels.swapaxes(0, 1)), state

    params = {"gates": (inputs + width, 4 * width), "bias": (4 * width,), "head": (width, 64)}
    data = (shapes((batch, steps, inputs)), integers(batch, steps))
    return Task(loss, shapes(params), data)


@program(
    {"steps": 200, "side": 128},
    {"steps": 2000, "side": 2048},
    {"side": 4096},
    parts=False,
    loop=True,
)
def wave(how: Variant, *, steps: int, side: int) -> Task:
    """The medium of a wave from its record at the surface, in f32. A block is a step of time."""

    def loss(w: Any, state: Any, batch: Any, key: Any) -> tuple[Any, Any]:
        source, record = batch
        speed = 0.25 * jax.nn.sigmoid(w["medium"])

        def step(carry: Any, force: Any) -> tuple[Any, Any]:
            now, before = carry
            around = sum(jnp.roll(now, by, axis) for axis in (0, 1) for by in (-1, 1))
            after = 2 * now - before + speed * (around - 4 * now)
            after = after.at[side // 2, side // 2].add(force)
            return (after, now), after[0]

        zeros = jnp.zeros((side, side))
        _, heard = how.loop(step, (zeros, zeros), source, steps)
        return ((heard - record) ** 2).mean(), state

    data = (shapes((steps,)), shapes((steps, side)))
    return Task(loss, shapes({"medium": (side, side)}), data)
