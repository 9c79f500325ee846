# ruff: noqa: E402
"""A training loop with Flax and optax: an expensive layer, a sort, and a slow input pipeline."""

import time

START = time.perf_counter()

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

HIDDEN = 1024


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = x + nn.Dense(256)(nn.relu(nn.Dense(HIDDEN)(x)))
        x = jax.lax.stop_gradient(jnp.sort(x, axis=-1)) + x
        return nn.Dense(10)(x)


def batches(count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        x = rng.normal(size=(512, 256))
        yield x.astype(np.float32), np.zeros(512, np.int32)


model, optimizer = Model(), optax.adam(1e-3)


@jax.jit
def step(params, state, x, y):
    def loss(params):
        logits = model.apply(params, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    grads = jax.grad(loss)(params)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state


params = model.init(jax.random.key(0), jnp.ones((1, 256)))
state = optimizer.init(params)
for number, (x, y) in enumerate(batches(100)):
    with jax.profiler.StepTraceAnnotation("train", step_num=number):
        params, state = step(params, state, x, y)
        jax.block_until_ready(params)
print("WALL", time.perf_counter() - START)
