import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

TABLE = np.ones((1024, 512), np.float32)


def lookup(x):
    return x @ TABLE


def strided(x):
    return x[jnp.arange(0, 512, 2)]


def silenced(x):
    return x[jnp.arange(0, 512, 2)]  # jxc: ignore[gather-as-slice]


def misspelt(x):
    return x[jnp.arange(0, 512, 2)]  # jxc: ignore[gather-as-slices]


def clean(x):
    return jnp.tanh(x)


def both(x):
    return x[jnp.arange(0, 512, 2)], jnp.ones((256, 256))


def doubles(x):
    return x * 2


def printing(x):
    print("to the user's terminal")
    return x * 2


@jax.jit
def jitted(x):
    return x[jnp.arange(0, 512, 2)]


def volumes(x, w):
    return lax.conv_general_dilated(
        x, w, (1, 1, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC")
    )


def product(x, w):
    return x @ w
