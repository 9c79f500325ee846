"""The training step of `doctor_faulty.py` without its faults: there are no findings."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

TURNS = 500

TABLE = np.random.default_rng(0).standard_normal((1024, 512)).astype(np.float32)
ONES = jnp.ones((256, 256))


def layer(x, p):
    mean = x.mean(-1, keepdims=True)
    scale = lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)
    y = jax.nn.gelu((x - mean) * scale * p["gain"] @ p["w"] + p["b"])
    return x + y * jax.nn.sigmoid(y)


def network(params, x):
    return lax.scan(lambda x, p: (layer(x, p), None), x, params)[0]


def embed(table, ids):
    return jnp.take(table, ids, axis=0)


def every_other(images):
    return images[:, 0:1024:2]


def spectra(signal):
    return jnp.abs(jnp.fft.rfft(signal)) * jnp.arange(1024.0)[:, None]


def largest(images):
    return lax.top_k(images, 2)[0]


def scaled(images, signal):
    copies = jnp.broadcast_to(signal, images.shape)  # fuses with its user
    return (images.T * images.T).sum() + (images * copies).sum()  # transposed by its user


def narrow(x, gain):
    return (x.astype(jnp.bfloat16) * gain.astype(jnp.bfloat16)).sum()


def settle(v):
    def body(c, _):
        c = jnp.tanh(c @ c.T) * 0.5
        return c, None

    return lax.scan(body, v, None, length=TURNS, unroll=20)[0]


def watched(total):
    def body(c, _):
        return c * 0.99, c

    last, steps = lax.scan(body, total, None, length=10)
    jax.debug.callback(lambda values: None, steps)
    return last


@partial(jax.jit, donate_argnames=("state",))
def step(state, images, ids, scratch, table):
    def loss(params):
        return (network(params, images[:32, :256]) ** 2).mean()

    value, grads = jax.value_and_grad(loss)(state)
    state = jax.tree.map(lambda p, g: p - 0.01 * g, state, grads)
    value += (
        (scratch**2).sum()
        + embed(table, ids).sum()
        + every_other(images).sum()
        + spectra(images[0]).sum()
    )
    value += largest(images).sum() + narrow(images, images[0])
    value += watched(value) + scaled(images, images[0])
    settled = settle(images[:8, :8])
    written = jnp.broadcast_to(settled, (4096, 8, 8)), images.T  # results must be written
    return state, value, settled, written


def arguments():
    shape = jax.ShapeDtypeStruct
    layers = {
        "gain": shape((8, 256), "f4"),
        "w": shape((8, 256, 256), "f4"),
        "b": shape((8, 256), "f4"),
    }
    images, scratch = shape((512, 1024), "f4"), shape((512, 300), "f4")
    return layers, images, shape((128,), "i4"), scratch, shape(TABLE.shape, "f4")
