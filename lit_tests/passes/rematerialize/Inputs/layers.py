import jax
import jax.numpy as jnp


def layer(x, w):
    return jnp.tanh(x @ w), None


def step(params, x):
    return jax.grad(lambda p: jax.lax.scan(layer, x, p)[0].sum())(params)


def long(params, x):
    def loss(w):
        def body(x, _):
            return jnp.tanh(x @ w), None

        return jax.lax.scan(body, x, None, 100)[0].sum()

    return jax.grad(loss)(params)
