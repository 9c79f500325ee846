"""Models over meshes of devices: which dimensions of their arguments are split over which axis.

The axis `data` splits batches, points or nodes, the axis `model` splits weights. JAX splits the
rest as XLA finds best.
"""

from __future__ import annotations

from jax.sharding import PartitionSpec

P = PartitionSpec

TARGETS = {"data=4": "tpu:v5e:2x2,gpu:h100", "data=4,model=2": "tpu:v5e:2x4,gpu:h100"}
"""The targets with as many devices as each mesh."""

_LAYERS = {
    "parameters['layers'][*]['qkv']": P(None, "model"),
    "parameters['layers'][*]['up']": P(None, "model"),
    "parameters['layers'][*]['out']": P("model", None),
    "parameters['layers'][*]['down']": P("model", None),
}

SHARDINGS: dict[str, dict[str, PartitionSpec]] = {
    "transformer-training": _LAYERS | {"inputs[0]": P("data")},
    "vocabulary-training": _LAYERS
    | {"parameters['embed']": P("model", None), "inputs[0]": P("data")},
    "next-token": _LAYERS | {"parameters['embed']": P("model", None), "tokens": P("data")},
    "mlp-training": {"parameters[*]['w']": P(None, "model"), "inputs[0]": P("data")},
    "lstm-training": {"weights[*]": P(None, "model"), "inputs[0]": P(None, "data")},
    "s5-training": {"weights['b']": P(None, "model"), "inputs[0]": P("data")},
    "residual-training": {"x": P("data")},
    "max-pool-training": {"inputs[0]": P("data"), "inputs[1]": P("data")},
    "k-means": {"x": P("data")},
    "navier-stokes": {"u": P("data", "model"), "v": P("data", "model")},
    "gaussian-process": {"inputs[0]": P("data")},
    "graph-attention-training": {"inputs[0]": P("data"), "inputs[1]": P(None, "data")},
    "word2vec-training": {"weights[*]": P("model"), "inputs[*]": P("data")},
}
"""For each model the split of its arguments, by path; axes that a mesh lacks are left out."""


def shardings_of(model: str, axes: set[str]) -> dict[str, PartitionSpec]:
    """The split of a model's arguments over a mesh with these axes."""
    return {
        path: P(*(axis if axis in axes else None for axis in spec))
        for path, spec in SHARDINGS[model].items()
    }
