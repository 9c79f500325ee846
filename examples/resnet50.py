"""A training step of Keras' ResNet50, on JAX.

jxc report examples/resnet50.py:step --args examples/resnet50.py:arguments
"""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import jax
import jax.numpy as jnp
import keras

network = keras.applications.ResNet50(weights=None, classifier_activation=None)


def step(weights, state, images, labels):
    """One step of gradient descent: the new weights, the running means, and the loss."""

    def loss(weights):
        logits, new_state = network.stateless_call(weights, state, images, training=True)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=-1)
        return -jnp.mean(chosen), new_state

    (value, new_state), gradients = jax.value_and_grad(loss, has_aux=True)(weights)
    return [w - 0.1 * g for w, g in zip(weights, gradients, strict=True)], new_state, value


def arguments(batch=32):
    shapes = [
        [jax.ShapeDtypeStruct(v.shape, v.dtype) for v in variables]
        for variables in (network.trainable_variables, network.non_trainable_variables)
    ]
    images = jax.ShapeDtypeStruct((batch, 224, 224, 3), jnp.float32)
    return *shapes, images, jax.ShapeDtypeStruct((batch,), jnp.int32)
