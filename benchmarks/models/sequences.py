"""Recurrent networks and state space models over sequences, in plain JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .data import descend, normal, uniform, weights
from .registry import Program, model


@model(
    quick=True,
    small={"length": 16, "width": 32, "batch": 1},
    large={"length": 128, "width": 256, "batch": 32},
)
def lstm_training(length: int = 64, width: int = 128, batch: int = 16) -> Program:
    """A training step of an LSTM over a sequence."""
    parameters = weights({"x": (width, 4 * width), "h": (width, 4 * width)})

    def loss(parameters, sequence):
        def step(carry, x):
            h, c = carry
            i, f, o, g = jnp.split(x @ parameters["x"] + h @ parameters["h"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = jnp.zeros((batch, width))
        return (lax.scan(step, (start, start), sequence)[1] ** 2).mean()

    return descend(loss), (parameters, normal(length, batch, width))


@model(
    small={"length": 16, "width": 32, "batch": 1},
    large={"length": 128, "width": 256, "batch": 32},
)
def gru_training(length: int = 64, width: int = 128, batch: int = 16) -> Program:
    """A training step of a GRU over a sequence."""
    shapes: dict[str, tuple[int, ...]] = {"x": (width, 3 * width), "h": (width, 2 * width)}
    parameters = weights(shapes | {"n": (width, width)})

    def loss(parameters, sequence):
        def step(h, x):
            r, z, n = jnp.split(x @ parameters["x"], 3, -1)
            recur, update = jnp.split(h @ parameters["h"], 2, -1)
            new = jnp.tanh(n + jax.nn.sigmoid(r + recur) * (h @ parameters["n"]))
            z = jax.nn.sigmoid(z + update)
            h = (1 - z) * new + z * h
            return h, h

        return (lax.scan(step, jnp.zeros((batch, width)), sequence)[1] ** 2).mean()

    return descend(loss), (parameters, normal(length, batch, width))


@model(
    quick=True,
    small={"length": 64, "width": 16, "states": 16},
    large={"length": 2048, "width": 128},
)
def s5_training(length: int = 512, width: int = 64, states: int = 64) -> Program:
    """A training step of a layer of S5: a diagonal complex recurrence by an associative scan."""
    parameters = weights({"b": (width, 2 * states), "c": (2 * states, width), "d": (width,)})
    parameters |= {"decay": uniform(states), "phase": uniform(states, high=3.0)}

    def layer(w, x):
        rate = jnp.exp(lax.complex(-jnp.exp(w["decay"]) * 0.01, w["phase"] * 0.1))
        real, imaginary = jnp.split(x @ w["b"], 2, -1)
        drive = lax.complex(real, imaginary)

        def combine(first, second):
            return first[0] * second[0], second[0] * first[1] + second[1]

        _, state = lax.associative_scan(combine, (jnp.broadcast_to(rate, drive.shape), drive))
        return jnp.concatenate([state.real, state.imag], -1) @ w["c"] + w["d"] * x

    def loss(parameters, sequences):
        y = jax.vmap(lambda x: jax.nn.gelu(layer(parameters, x)))(sequences)
        return (y**2).mean()

    return descend(loss), (parameters, normal(4, length, width))


@model(windows=True, small={"length": 32, "width": 32}, large={"length": 1024, "width": 256})
def causal_convolution_training(length: int = 256, width: int = 128) -> Program:
    """A training step of the short depthwise convolution and gate of a Mamba block."""
    shapes: dict[str, tuple[int, ...]] = {"in": (width, 4 * width), "out": (2 * width, width)}
    parameters = weights(shapes) | {"k": normal(4, 1, 2 * width, scale=0.5)}

    def loss(w, x):
        main, gate = jnp.split(x @ w["in"], 2, -1)
        main = lax.conv_general_dilated(
            main,
            w["k"],
            (1,),
            [(3, 0)],
            dimension_numbers=("NWC", "WIO", "NWC"),
            feature_group_count=2 * width,
        )
        return ((jax.nn.silu(main) * jax.nn.silu(gate) @ w["out"]) ** 2).mean()

    return descend(loss), (parameters, normal(4, length, width))
