"""Networks built of flax.nnx modules."""

from __future__ import annotations

from typing import Any

import jax

from .data import descend, integers, normal
from .registry import Program, model


def _training(network: Any, *inputs: Any) -> Program:
    """A step of gradient descent on the mean square of the outputs."""
    from flax import nnx

    definition, parameters, rest = nnx.split(network, nnx.Param, ...)

    def loss(parameters, rest, *inputs):
        return (nnx.merge(definition, parameters, rest)(*inputs) ** 2).mean()

    return descend(loss), (nnx.to_pure_dict(parameters), nnx.to_pure_dict(rest), *inputs)


@model(windows=True, quick=True, small={"batch": 1}, large={"batch": 64})
def flax_convolutional_training(batch: int = 16) -> Program:
    """A training step of a convolutional network with batch norm, max and mean pooling."""
    from flax import nnx

    class Network(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Conv(3, 32, (3, 3), rngs=rngs)
            self.norm = nnx.BatchNorm(32, use_running_average=False, rngs=rngs)
            self.second = nnx.Conv(32, 64, (3, 3), rngs=rngs)
            self.out = nnx.Linear(8 * 8 * 64, 10, rngs=rngs)

        def __call__(self, x):
            x = jax.nn.relu(self.norm(self.first(x)))
            x = nnx.max_pool(x, (3, 3), (2, 2), "SAME")
            x = nnx.avg_pool(jax.nn.relu(self.second(x)), (2, 2), (2, 2))
            return self.out(x.reshape(len(x), -1))

    return _training(Network(nnx.Rngs(0)), normal(batch, 32, 32, 3))


@model(
    small={"layers": 2, "width": 32, "batch": 1, "length": 16},
    large={"layers": 4, "width": 256, "batch": 8, "length": 256},
)
def flax_transformer_training(
    layers: int = 3, width: int = 128, batch: int = 4, length: int = 128
) -> Program:
    """A training step of an encoder: attention, layer norms, gelu."""
    from flax import nnx

    class Layer(nnx.Module):
        def __init__(self, rngs):
            self.before = nnx.LayerNorm(width, rngs=rngs)
            self.attend = nnx.MultiHeadAttention(4, width, decode=False, rngs=rngs)
            self.between = nnx.LayerNorm(width, rngs=rngs)
            self.up = nnx.Linear(width, 4 * width, rngs=rngs)
            self.down = nnx.Linear(4 * width, width, rngs=rngs)

        def __call__(self, x):
            x = x + self.attend(self.before(x))
            return x + self.down(jax.nn.gelu(self.up(self.between(x))))

    class Network(nnx.Module):
        def __init__(self, rngs):
            self.embed = nnx.Embed(1024, width, rngs=rngs)
            self.layers = nnx.List([Layer(rngs) for _ in range(layers)])

        def __call__(self, tokens):
            x = self.embed(tokens)
            for layer in self.layers:
                x = layer(x)
            return x

    return _training(Network(nnx.Rngs(0)), integers(1024, batch, length))
