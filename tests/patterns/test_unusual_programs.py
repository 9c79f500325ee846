"""Replacements in unusual programs: values are kept, and nothing fails."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc

from .test_replacement import applied, values


@jxc.replacement(jxc.reassociates, x="f32[n,d]", weight="f32[d]", eps=float)
def norm(x, weight, eps):
    return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + eps) * weight


@norm.by
def norm_by_product(x, weight, eps):
    mean = jnp.einsum("nd,nd->n", x, x)[:, None] / x.shape[1]
    return x * jax.lax.rsqrt(mean + eps) * weight


@jxc.replacement(jxc.reassociates, a="f32[m,k]", b="f32[k,n]", c="f32[n,p]")
def chain(a, b, c):
    return jnp.sin(a @ b) @ c


@chain.by
def transposed_chain(a, b, c):
    return (c.T @ jnp.sin(b.T @ a.T)).T


def layer(x, weight):
    return jnp.sin(x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * weight)


def gradients_of_examples(x, weight):
    gradient = jax.grad(lambda x, weight: layer(x, weight).sum(), argnums=(0, 1))
    return jax.vmap(gradient, in_axes=(0, None))(x, weight)


def chain_gradients(a, b, c):
    return jax.grad(lambda a, b, c: (jnp.sin(a @ b) @ c * a).sum(), argnums=(0, 1, 2))(a, b, c)


@pytest.mark.parametrize(
    ("replacement", "function", "shapes"),
    [
        pytest.param(norm, gradients_of_examples, [(4, 8, 32), (32,)], id="gradients_of_examples"),
        pytest.param(
            norm,
            lambda x, weight: layer(jnp.broadcast_to(x, (5, 8, 32)), weight),
            [(8, 32), (32,)],
            id="dimension_that_no_argument_has",
        ),
        pytest.param(norm, jax.vmap(layer, (None, 0)), [(8, 32), (5, 32)], id="vmap_of_weights"),
        pytest.param(chain, chain_gradients, [(3, 3)] * 3, id="gradient_before_the_result"),
    ],
)
def test_replacement_in_unusual_programs_keeps_values(replacement, function, shapes):
    assert applied(function, values(shapes), replacement) == 1


def test_tables_that_differ_in_the_sign_of_zero_do_not_match():
    @jxc.replacement(jxc.exact, x="f32[n,2]")
    def over_table(x):
        return jnp.sin(x) / jnp.array([0.0, 1.0])

    over_table.by(lambda x: jnp.sin(x) * jnp.array([np.inf, 1.0]))
    arguments = [jnp.ones((3, 2))]
    assert applied(lambda x: jnp.sin(x) / jnp.array([0.0, 1.0]), arguments, over_table) == 1
    assert applied(lambda x: jnp.sin(x) / jnp.array([-0.0, 1.0]), arguments, over_table) == 0


def test_size_of_a_dimension_that_the_program_lacks_is_no_number():
    @jxc.replacement(jxc.reassociates, x="f32[n,d]")
    def mean(x):
        return jnp.exp(x).sum(-1) / x.shape[0]

    mean.by(lambda x: jnp.exp(x).sum(-1) * (1 / x.shape[0]))
    sample = mean.sample_sizes()["n"]
    arguments = values([(7,)])
    assert applied(lambda x: jnp.exp(x).sum() / sample, arguments, mean) == 0
    assert applied(lambda x: jnp.exp(x).sum(-1) / 5, values([(5, 7)]), mean) == 1


def sum_and_product(x, y):
    def both(one, other):
        return one[0] + other[0], one[1] * other[1]

    return jax.lax.reduce((x, y), (np.float32(0), np.float32(1)), both, (1,))


def test_results_of_an_op_are_not_exchanged():
    @jxc.replacement(jxc.reassociates, x="f32[n,d]", y="f32[n,d]")
    def difference(x, y):
        total, product = sum_and_product(x, y)
        return jnp.sin(total) - product

    difference.by(lambda x, y: jnp.sin(x.sum(-1)) - y.prod(-1))

    def exchanged(x, y):
        total, product = sum_and_product(x, y)
        return jnp.sin(product) - total

    arguments = values([(4, 5), (4, 5)])
    assert applied(difference.function, arguments, difference) == 1
    assert applied(exchanged, arguments, difference) == 0


def test_gradient_of_weights_that_are_broadcast_is_found():
    def loss(weight, x):
        # JAX writes this gradient without the zeros that start the sum in `jax.vjp`
        return (chain_of_norm(x, weight["scale"]) ** 2).mean()

    def chain_of_norm(x, weight):
        return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * weight

    x, weight = values([(8, 32), (32,)])
    assert applied(jax.grad(loss), [{"scale": weight}, x], norm) == 1


def test_program_without_a_similar_op_is_a_miss_with_a_reason():
    assert norm.why(jxc.lower(jnp.sin, 1.0)).startswith("no op of the program")


def test_search_that_does_not_take_the_sizes_of_a_program_misses_it():
    @jxc.replacement(jxc.reassociates, x="f32[n]")
    def halves(x):
        assert x.shape[0] % 4 == 0
        return jnp.sin(x) + jnp.cos(x)

    @halves.by
    def shifted(x):
        return jnp.sqrt(2.0) * jnp.sin(x + jnp.pi / 4)

    def program(x):
        return jnp.sin(x) + jnp.cos(x)

    assert not halves.why(jxc.lower(program, jax.ShapeDtypeStruct((12,), "float32")))
    missed = halves.why(jxc.lower(program, jax.ShapeDtypeStruct((13,), "float32")))
    assert "the search 'halves' cannot be traced with float32[13]: AssertionError" in missed
