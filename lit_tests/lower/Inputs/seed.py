"""The functions that the tests of `jxc lower` lower."""

import jax
import jax.numpy as jnp
import numpy as np


def predict(params, x):
    return jax.nn.relu(x @ params["w"] + params["b"])


def make_args():
    params = {"w": np.zeros((784, 256), np.float32), "b": np.zeros(256, np.float32)}
    return params, np.zeros((8, 784), np.float32)


def make_keywords():
    return (jnp.zeros(4),), {"scale": 2.0}


def loss(x):
    return jnp.sum(x * x)


def scaled(x, scale=1.0, *, act="tanh"):
    return getattr(jnp, act)(x) * scale


def draw(key):
    return jax.random.normal(key, (3,))


def largest(x):
    return jax.lax.top_k(x, 2)[0] + jax.lax.erf(x[:2])


def add_table(x):
    return x + np.arange(40, dtype=np.float32)


@jax.jit
def jitted(x):
    return -x


class Model:
    def __init__(self):
        self.layer = Layer()

    def apply(self, x):
        return self.layer.apply(x)


class Layer:
    def apply(self, x):
        return jnp.cos(x)


model = Model()
SIZE = 4
