"""Cost conditions of the passes `loops` and `unroll` on training steps of recurrent networks."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jxc


def lstm(weights, carry, x):
    h, c = carry
    i, f, g, o = jnp.split(x @ weights[0] + h @ weights[1] + weights[2], 4, -1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def gru(weights, carry, x):
    h, c = carry
    n = h.shape[1]
    a, b = x @ weights[0] + weights[2], h @ weights[1]
    r = jax.nn.sigmoid(a[:, :n] + b[:, :n])
    z = jax.nn.sigmoid(a[:, n : 2 * n] + b[:, n : 2 * n])
    h = (1 - z) * jnp.tanh(a[:, 2 * n :] + r * b[:, 2 * n :]) + z * h
    return (h, c), h


def rules(step, batch, target, units=256):
    """The rules of O2 that apply to the gradient of a network over 256 steps."""
    gates = 4 if step is lstm else 3

    def loss(weights, xs):
        start = jnp.zeros((batch, units))
        return (lax.scan(lambda *of: step(weights, *of), (start, start), xs)[1] ** 2).mean()

    shapes = [(64, gates * units), (units, gates * units), (gates * units,), (256, batch, 64)]
    *weights, xs = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    return jxc.lower(jax.grad(loss), weights, xs).opt("O2", target=target).report.hits


@pytest.mark.parametrize(
    ("step", "batch", "target", "moves"),
    [
        (lstm, 256, "gpu", True),
        (gru, 256, "gpu", False),  # two tensors of rows: a peak of 1.45
        (gru, 32, "gpu", True),  # 48 MiB
        (lstm, 256, "tpu", False),  # slower
        (lstm, 16, "tpu", True),
    ],
)
def test_sums_move_behind_a_loop_where_the_gain_is_worth_its_rows(step, batch, target, moves):
    assert ("sums-of-products-after-loop" in rules(step, batch, target)) == moves


@pytest.mark.parametrize(("batch", "target", "unrolls"), [(96, "tpu", 1), (128, "tpu", 0)])
def test_loops_that_sum_over_many_rows_are_not_unrolled_on_tpu(batch, target, unrolls):
    assert rules(lstm, batch, target, units=64).get("unroll-loop", 0) == unrolls
