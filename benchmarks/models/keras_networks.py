"""Networks of keras.applications."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from .data import normal
from .registry import Program, add_model


def keras_network(name: str, *, training: bool = False, size: int, batch: int) -> Program:
    """One of keras.applications, without its last softmax, which is flat for random weights.

    Args:
        name: the name of the network.
        training: a step of gradient descent on the mean square of the outputs.
        size: height and width of the images.
        batch: the number of images.
    """
    import keras

    network = getattr(keras.applications, name)(
        weights=None, input_shape=(size, size, 3), classifier_activation=None
    )
    weights = [v.value for v in network.trainable_variables]
    state = [v.value for v in network.non_trainable_variables]
    images = normal(batch, size, size, 3)

    def forward(weights, state, images):
        return network.stateless_call(weights, state, images, training=training)[0]

    def step(weights, state, images):
        def loss(weights):
            return jnp.mean(forward(weights, state, images) ** 2)

        value, gradients = jax.value_and_grad(loss)(weights)
        return value, [w - 0.01 * g for w, g in zip(weights, gradients, strict=True)]

    return (step if training else forward), (weights, state, images)


def _add(name: str, *, size: int, batch: int, windows: bool = True, quick: bool = False) -> None:
    build = partial(keras_network, name, size=size, batch=batch)
    sizes = {"small": {"size": 72, "batch": 1}, "large": {"size": 128, "batch": 8}}
    add_model(f"keras-{name.lower()}", build, windows=windows, quick=quick, **sizes)


def _add_training(
    name: str, *, size: int, batch: int, windows: bool = True, quick: bool = False
) -> None:
    build = partial(keras_network, name, size=size, batch=batch, training=True)
    sizes = {"small": {"size": 32, "batch": 1}, "large": {"size": 96, "batch": 8}}
    add_model(f"keras-{name.lower()}-training", build, windows=windows, quick=quick, **sizes)


_add("MobileNetV2", size=96, batch=4, quick=True)
_add_training("MobileNetV2", size=96, batch=4)
_add("EfficientNetB0", size=96, batch=4)
_add("NASNetMobile", size=96, batch=2)
_add("ConvNeXtTiny", size=64, batch=2)
_add_training("ConvNeXtTiny", size=64, batch=2)
_add("Xception", size=96, batch=2)
_add("DenseNet121", size=64, batch=2)
_add("ResNet50", size=96, batch=2, windows=False)
_add_training("ResNet50", size=64, batch=2, quick=True)
