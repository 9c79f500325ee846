"""Models over meshes of devices: which dimensions of their arguments are split over which axis.

The axis `data` splits batches, points or nodes, the axis `model` splits weights. Arguments that are
not named are replicated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
from jax.sharding import PartitionSpec
from models import MODELS, Program

P = PartitionSpec

MESHES = ("data=4", "data=2,model=2")
TARGETS = "cpu,tpu:v5e:2x2,gpu:h100"

Split = Mapping[str, PartitionSpec]


@dataclass(frozen=True)
class Sharded:
    """How a model is split over a mesh.

    Attributes:
        split: the split of its arguments, by path; axes that a mesh lacks are left out.
        size: arguments for `Model.build`, for batches that four devices can share.
    """

    split: Split
    size: Mapping[str, Any] = field(default_factory=dict)

    @property
    def axes(self) -> set[str]:
        """The axes that split an argument."""
        return {axis for spec in self.split.values() for axis in spec if axis}


def _with_moments(split: Split) -> Split:
    """The same split for the moments of Adam."""
    names = {path: path.replace("parameters", "moments[*]", 1) for path in split}
    return dict(split) | {names[path]: spec for path, spec in split.items()}


_LAYERS = _with_moments(
    {
        "parameters['layers'][*]['qkv']": P(None, "model"),
        "parameters['layers'][*]['up']": P(None, "model"),
        "parameters['layers'][*]['out']": P("model", None),
        "parameters['layers'][*]['down']": P("model", None),
    }
)
_EMBEDDING = {"parameters['embed']": P("model", None)}
_INPUTS = Sharded({"inputs[0]": P("data")})
_IMAGES = Sharded({"images": P("data")}, {"batch": 8})
_TEXTS = Sharded({"tokens": P("data")})

SHARDED: dict[str, Sharded] = {
    "transformer-training": Sharded(_LAYERS | {"inputs[0]": P("data")}),
    "vocabulary-training": Sharded(_LAYERS | _with_moments(_EMBEDDING) | {"inputs[0]": P("data")}),
    "next-token": Sharded(
        {path: spec for path, spec in _LAYERS.items() if path.startswith("parameters")}
        | _EMBEDDING
        | {"tokens": P("data")}
    ),
    "mlp-training": Sharded(
        _with_moments({"parameters[*]['w']": P(None, "model")}) | {"inputs[0]": P("data")}
    ),
    "lstm-training": Sharded({"weights[*]": P(None, "model"), "inputs[0]": P(None, "data")}),
    "gru-training": Sharded({"weights[*]": P(None, "model"), "inputs[0]": P(None, "data")}),
    "s5-training": Sharded({"weights['b']": P(None, "model"), "inputs[0]": P("data")}),
    "causal-convolution-training": Sharded(
        {"weights['in']": P(None, "model"), "inputs[0]": P("data")}
    ),
    "residual-training": Sharded({"x": P("data")}),
    "max-pool-training": Sharded({"inputs[0]": P("data"), "inputs[1]": P("data")}),
    "overlapping-max-pool-training": Sharded({"inputs[0]": P("data"), "inputs[1]": P("data")}),
    "mean-pool-training": Sharded({"inputs[0]": P("data"), "inputs[1]": P("data")}),
    "vae-training": _INPUTS,
    "k-means": Sharded({"x": P("data")}),
    "navier-stokes": Sharded({"u": P("data", "model"), "v": P("data", "model")}),
    "gaussian-process": _INPUTS,
    "graph-attention-training": Sharded({"inputs[0]": P("data"), "inputs[1]": P(None, "data")}),
    "message-passing-training": Sharded({"inputs[1]": P("data"), "inputs[2]": P(None, "data")}),
    "word2vec-training": Sharded(
        {"weights[*]": P("model"), **dict.fromkeys(map("inputs[{}]".format, range(3)), P("data"))}
    ),
    "signal": Sharded({"x": P("data")}),
    "nerf-training": Sharded({"inputs[0]": P("data"), "inputs[1]": P("data")}),
    "small-matrices": Sharded(dict.fromkeys(("a", "b", "spread", "point"), P("data"))),
    "decision-transform": Sharded({"x": P("data"), "gradients": P("data")}),
    "numpyro-potential": Sharded({"x": P("data"), "y": P("data")}),
    "dynamax-kalman": Sharded({"sequences": P("data")}),
    "dynamax-hmm": Sharded({"sequences": P("data")}),
    "diffrax-lorenz": Sharded({"starts": P("data")}),
    "diffrax-neural-training": _INPUTS,
    "equinox-mixer-training": _INPUTS,
    "equinox-recurrent-training": _INPUTS,
    "flax-convolutional-training": Sharded({"inputs[1]": P("data")}),
    "flax-transformer-training": Sharded({"inputs[1]": P("data")}),
    "hf-bert-training": _TEXTS,
    "hf-gpt2-training": _TEXTS,
    "hf-llama": Sharded({"tokens": P("data"), "positions": P("data")}),
    "hf-vit": Sharded({"inputs": P("data")}),
    "hf-regnet-training": _IMAGES,
    "keras-mobilenetv2": _IMAGES,
    "keras-mobilenetv2-training": _IMAGES,
    "keras-efficientnetb0": _IMAGES,
    "keras-convnexttiny": _IMAGES,
    "keras-convnexttiny-training": _IMAGES,
    "keras-densenet121": _IMAGES,
    "keras-resnet50-training": _IMAGES,
}
"""The models that can be split over devices."""


def program_of(name: str) -> Program:
    """A model at the size at which it is split."""
    return MODELS[name].build(**SHARDED[name].size)


def shardings_of(name: str, axes: set[str], program: Program) -> dict[str, PartitionSpec]:
    """The split of every argument of a model over a mesh with these axes."""
    split = {
        path: P(*(axis if axis in axes else None for axis in spec))
        for path, spec in SHARDED[name].split.items()
    }
    return dict.fromkeys(_names(*program), P()) | split


def _names(function: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """The names of the arguments that hold arrays; `inputs[0]` is the first of `*inputs`."""
    found: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            found += [f"{parameter.name}[{at}]" for at in range(len(args) - len(found))]
        else:
            found.append(parameter.name)
    return [name for name, each in zip(found, args, strict=True) if jax.tree.leaves(each)]
