"""A transformer's training step, in plain JAX.

jxc report examples/transformer.py:step --target tpu:v5p:4x4x4 --mesh data=16,model=4
jxc report examples/transformer.py:step --target gpu:h100 --mesh data=8

The command line finds `arguments` and `shardings` below, since it is given no others.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

LAYERS, WIDTH, HEADS, WORDS = 12, 768, 12, 16384
BATCH, LENGTH = 64, 512


@partial(jax.jit, donate_argnames="params")
def step(params, tokens):
    """One step of gradient descent: the new parameters, and the loss."""
    value, gradients = jax.value_and_grad(loss)(params, tokens)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients), value


def loss(params, tokens):
    logits = network(params, tokens[:, :-1])
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], axis=-1)
    return -jnp.mean(chosen)


def network(params, tokens):
    x = params["words"][tokens] + params["places"]
    for layer in params["layers"]:
        x = x + attention(layer, normalised(x, layer["scale1"]))
        x = x + jax.nn.gelu(normalised(x, layer["scale2"]) @ layer["up"]) @ layer["down"]
    return x @ params["words"].T


def attention(layer, x):
    batch, length, width = x.shape
    heads = (batch, length, HEADS, width // HEADS)
    q, k, v = (part.reshape(heads) for part in jnp.split(x @ layer["qkv"], 3, axis=-1))
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / (width // HEADS) ** 0.5
    seen = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf))
    return jnp.einsum("bhts,bshd->bthd", weights, v).reshape(x.shape) @ layer["out"]


def normalised(x, scale):
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-6) * scale


def arguments(layers=LAYERS, width=WIDTH, batch=BATCH):
    """Shapes alone: nothing of it is ever allocated."""
    layer = {
        "scale1": array(width),
        "qkv": array(width, 3 * width),
        "out": array(width, width),
        "scale2": array(width),
        "up": array(width, 4 * width),
        "down": array(4 * width, width),
    }
    params = {
        "words": array(WORDS, width),
        "places": array(LENGTH, width),
        "layers": [layer] * layers,
    }
    return params, jax.ShapeDtypeStruct((batch, LENGTH + 1), jnp.int32)


def shardings(mesh):
    """Tokens over `data`; the weights of attention, of the layers and of the words over `model`."""
    data, model = (axis if axis in mesh.axis_names else None for axis in ("data", "model"))
    layer = {
        "scale1": P(),
        "qkv": P(None, model),
        "out": P(model),
        "scale2": P(),
        "up": P(None, model),
        "down": P(model),
    }
    params = {"words": P(model), "places": P(), "layers": [layer] * LAYERS}
    return params, P(data)


def too_large():
    """A batch that no device of today holds."""
    return arguments(batch=4096)


def array(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)
