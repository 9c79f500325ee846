"""Which programs are too small for a pipeline."""

import jax.numpy as jnp
import pytest
from jax import lax

import jxc
from jxc.cost.thresholds import is_tiny


@pytest.mark.parametrize(
    ("function", "shape", "tiny"),
    [
        (jnp.sin, (64, 64), False),
        (jnp.sin, (63, 64), True),
        (jnp.exp, (1000, 1000), True),  # the exponential of XLA is as fast
        (lambda x: x.sum(-1), (5000, 3), False),
        (lambda x: lax.cumsum(x), (8,), False),
        (lambda x: x + 1, (1000, 1000), True),
    ],
)
def test_is_tiny_depends_on_the_op_and_its_size(function, shape, tiny):
    assert is_tiny(jxc.lower(function, jnp.ones(shape)).opt("inline").module) == tiny
