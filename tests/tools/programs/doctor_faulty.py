"""A training step with deliberate faults; `doctor_clean.py` is the same without them.

A comment on each faulty line names its finding.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

TURNS = 500

TABLE = np.random.default_rng(0).standard_normal((1024, 512)).astype(np.float32)  # 2 MiB


def layer(x, p):
    mean = x.mean(-1, keepdims=True)
    scale = lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)
    y = jax.nn.gelu((x - mean) * scale * p["gain"] @ p["w"] + p["b"])
    return x + y * jax.nn.sigmoid(y)


def network(params, x):
    for p in params:  # FAULT unrolled-layers
        x = layer(x, p)
    return x


def embed(ids):
    return jnp.take(jnp.asarray(TABLE), ids, axis=0)  # FAULT captured-constants


def every_other(images):
    return images[:, jnp.arange(0, 1024, 2)]  # FAULT gather-as-slice


def spectra(signal):
    copies = jnp.broadcast_to(signal, (1024, *signal.shape))  # FAULT materialized-broadcast
    return jnp.abs(jnp.fft.rfft(copies)) * jnp.arange(1024.0)[:, None]


def largest(images):
    return lax.top_k(images.T, 2)[0]  # FAULT transpose-copy


def narrow(x, gain):
    return (x.astype(jnp.bfloat16) * gain).sum()  # FAULT implicit-upcast


def settle(v):
    def body(c, _):
        c = jnp.tanh(c @ c.T) * 0.5
        return c, None

    return lax.scan(body, v, None, length=TURNS)[0]


def watched(total):
    def body(c, _):
        jax.debug.callback(lambda value: None, c)  # FAULT callback-in-loop
        return c * 0.99, None

    return lax.scan(body, total, None, length=10)[0]


@partial(jax.jit, donate_argnames=("scratch",))
def step(state, images, ids, scratch):  # FAULT donation-possible, donation-unused
    def loss(params):
        return (network(params, images[:32, :256]) ** 2).mean()

    value, grads = jax.value_and_grad(loss)(state)
    state = jax.tree.map(lambda p, g: p - 0.01 * g, state, grads)
    value += (
        (scratch**2).sum() + embed(ids).sum() + every_other(images).sum() + spectra(images[0]).sum()
    )
    value += largest(images).sum() + narrow(images, images[0])
    value += watched(value)
    settled = settle(images[:8, :8])
    return state, value, settled, jnp.ones((256, 256))  # FAULT dead-output


def arguments():
    shape = jax.ShapeDtypeStruct
    layers = [
        {"gain": shape((256,), "f4"), "w": shape((256, 256), "f4"), "b": shape((256,), "f4")}
        for _ in range(8)
    ]
    return layers, shape((512, 1024), "f4"), shape((128,), "i4"), shape((512, 300), "f4")
