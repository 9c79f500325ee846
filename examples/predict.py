"""A small network, and what `jxc compile` calls it with.

jxc report examples/predict.py:predict --args examples/predict.py:arguments
"""

from itertools import pairwise

import jax
import jax.numpy as jnp


def predict(params, x):
    *hidden, (w, b) = params
    for weights, bias in hidden:
        x = jnp.tanh(x @ weights + bias)
    return x @ w + b


def arguments(sizes=(784, 512, 512, 10), batch=128):
    layers = [(array(n, m), array(m)) for n, m in pairwise(sizes)]
    return layers, array(batch, sizes[0])


def array(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)
