"""Functions to compile."""

import jax
import jax.numpy as jnp
import numpy as np


def predict(params, x):
    return jax.nn.relu(x @ params["w"] + params["b"])


def scaled(x, *, times: int):
    return {"scaled": x * times, "mean": x.mean()}


def make_args():
    return (np.full((2, 3), 2.0, np.float32),), {"times": 3}


def solve(a, b):
    return jnp.linalg.solve(a, b)


def logarithm(x):
    return jnp.log(x)


def printing(x):
    jax.debug.print("x is {}", x)
    return x + 1


def on_cpu_only(x):
    return jax.lax.linalg.schur(x)


def sin_multiply_add(x, y, z):
    return jnp.sin(x) * y + z


def step(params, x):
    def loss(params):
        out, _ = jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, params)
        return jnp.mean(out**2)

    value, gradients = jax.value_and_grad(loss)(params)
    return params - 0.1 * gradients, value


def step_arguments():
    return jax.ShapeDtypeStruct((6, 256, 256), "float32"), jax.ShapeDtypeStruct(
        (64, 256), "float32"
    )


def too_large(x):
    return jnp.tanh(x) * jnp.sum(x, axis=0)


def too_large_arguments():
    return (jax.ShapeDtypeStruct((2**10, 2**27), "float32"),)


def layers(params, x):
    def loss(params):
        h = x
        for i, w in enumerate(params):
            with jax.named_scope(f"layer_{i}"):
                h = jnp.tanh(h @ w)
        return jnp.mean(h**2)

    return jax.grad(loss)(params)


def layers_arguments():
    shape = jax.ShapeDtypeStruct((256, 256), "float32")
    return [shape] * 5, shape
