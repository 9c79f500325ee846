"""Random training steps: losses of small networks with shared weights, and their gradients."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

BATCH, WIDTH = 8, 16


def _dense(x, params, key, layer):
    return jnp.tanh(x @ params[layer % len(params)])


def _gelu(x, params, key, layer):
    return x + jax.nn.gelu(x @ params[layer % len(params)])


def _norm(x, params, key, layer):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-3)


def _attention(x, params, key, layer):
    scores = jax.nn.softmax(x @ x.T)
    return x + scores @ (x @ params[layer % len(params)])


def _dropout(x, params, key, layer):
    kept = jax.random.bernoulli(jax.random.fold_in(key, layer), 0.8, x.shape)
    return jnp.where(kept, x / 0.8, 0)


def _conditional(x, params, key, layer):
    return lax.cond(x.sum() > 0, jnp.sin, lambda y: y * y.mean(), x)


def _scan(x, params, key, layer):
    weights = params[layer % len(params)]
    end, states = lax.scan(lambda h, y: (jnp.tanh(h @ weights + y),) * 2, x[0], x)
    return states + end


def _looped(x, params, key, layer):
    return lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) + i * params[0][0], x)


def _sorted(x, params, key, layer):
    return jnp.sort(x, -1) * x


def _checkpointed(x, params, key, layer):
    return jax.checkpoint(lambda y: jnp.cos(y @ params[layer % len(params)]))(x)


def _cumulative(x, params, key, layer):
    return jnp.cumsum(x, 0) + jnp.max(x, 1, keepdims=True)


def _taken(x, params, key, layer):
    return x[jnp.argsort(x[:, 0])] * params[layer % len(params)][:1]


def _branch(x, params, key, layer):
    """A conditional that does not read the batch."""
    return lax.cond(params[0].sum() > 0, jnp.sin, lambda y: y * 2, x)


def _recurrent(x, params, key, layer):
    """A loop over four time steps of each example."""
    weights = params[layer % len(params)][:4, :4]
    steps = x.reshape(x.shape[0], 4, -1).transpose(1, 0, 2)
    end, states = lax.scan(lambda h, y: (jnp.tanh(h @ weights + y),) * 2, steps[0], steps)
    return states.transpose(1, 0, 2).reshape(x.shape) + end.sum(-1, keepdims=True)


def _deep(x, params, key, layer):
    """A loop over layers with dropout."""

    def one(h, given):
        weights, key = given
        kept = jax.random.bernoulli(key, 0.8, h.shape)
        return h + jnp.where(kept, jax.nn.gelu(h @ weights), 0), None

    stacked = jnp.stack(params * 6)[:6]
    return lax.scan(one, x, (stacked, jax.random.split(key, 6)))[0]


OF_EXAMPLES = (
    *(_dense, _gelu, _norm, _dropout, _branch, _recurrent, _looped, _sorted, _checkpointed, _deep),
)
"""Layers that treat each example by itself."""

LAYERS = (
    *(_dense, _gelu, _norm, _attention, _dropout, _conditional, _scan, _looped, _sorted),
    *(_checkpointed, _cumulative, _taken, _recurrent, _deep),
)


def random_step(seed, layers=LAYERS, batch=BATCH):
    """A function and its arguments: the loss, the gradient and an updated copy of parameters.

    Args:
        seed: determines the network and the arguments.
        layers: those to choose from.
        batch: the number of examples.
    """
    rng = np.random.default_rng(seed)
    chosen = [layers[i] for i in rng.integers(0, len(layers), rng.integers(2, 8))]
    shared = int(rng.integers(1, 4))
    skips = rng.integers(0, 3, len(chosen))

    def loss(params, x, key):
        first = x
        for index, layer in enumerate(chosen):
            x = layer(x, params, key, index)
            if skips[index] == 0:
                x = x + first
        return jnp.mean(x**2) + jnp.sum(params[0]) * 0.01

    def step(params, x, key):
        value, gradient = jax.value_and_grad(loss)(params, x, key)
        return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient)

    params = [rng.normal(size=(WIDTH, WIDTH)).astype("f") / 4 for _ in range(shared)]
    x = rng.normal(size=(batch, WIDTH)).astype("f")
    return step, (params, x, jax.random.key(seed))


def steps_in_a_loop(step, args):
    """Three steps, each of which starts from the parameters of the one before."""

    def several(params, x, key):
        def one(params, number):
            value, updated = step(params, x, jax.random.fold_in(key, number))
            return updated, value

        return lax.scan(one, params, jnp.arange(3))

    return several, args
