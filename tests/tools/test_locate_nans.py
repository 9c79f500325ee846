"""`jxc.locate_nans` on the ways in which programs come to a NaN: the op and the line are the ones
that a person would look for."""

from __future__ import annotations

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc


def found_in(fn, *args, **options):
    """What `jxc.locate_nans` says of a call."""
    with pytest.raises(jxc.NanError) as caught:
        jxc.locate_nans(fn, **options)(*args)
    return caught.value.finding


def text_of(finding):
    return finding.place.text


def test_a_factorisation_that_failed_is_named():
    """JAX gives NaN then, which is a constant of the program."""

    def of_kernel(x):
        distance = (x[:, None] - x[None]) ** 2
        factor = jnp.linalg.cholesky(1.0 - distance)
        return jnp.log(jnp.diag(factor)).sum()

    found = found_in(of_kernel, jnp.linspace(0, 9.0, 6))
    assert (found.kind, found.op) == ("failure", "custom_call (cholesky)")
    assert "cholesky" in text_of(found)
    assert "(of_kernel): it failed, since its operand is not positive definite" in str(found)
    assert found.operands and found.result is None
    assert json.loads(json.dumps(found.as_json()))["kind"] == "failure"


@pytest.mark.parametrize("routine", [jnp.linalg.svd, jnp.linalg.eigvals, jnp.linalg.cholesky])
def test_a_routine_that_was_given_a_nan_is_not_blamed(routine):
    given = np.eye(3, dtype=np.float32)
    given[1, 1] = np.nan
    found = found_in(lambda given: jax.tree.leaves(routine(given * 2)), given)
    assert (found.kind, found.op) == ("argument", "given")


def test_a_factorisation_in_a_loop_says_which_iteration():
    def shrink(x):
        def turn(x, _):
            return x - jnp.eye(2), jnp.linalg.cholesky(x)

        return jax.lax.scan(turn, x, None, length=5)[1]

    found = found_in(shrink, 2.5 * jnp.eye(2))
    assert (found.kind, found.turns) == ("failure", (3,))


def test_a_constant_has_the_line_that_puts_it_in():
    """Its own line is that of the call, where nobody would look for it."""

    def attend(x, mask):
        scores = jnp.where(mask, x @ x.T, -jnp.inf)
        return jax.nn.softmax(scores, axis=-1) @ x

    found = found_in(attend, jnp.ones((2, 2)), jnp.zeros((2, 2), bool))
    assert "softmax" in text_of(found)
    assert found.cause.kind == "constant" and "jnp.where" in text_of(found.cause)
    assert "an infinity is a constant of the program, put in at" in str(found)

    def fill(x):
        buffer = jnp.full(4, jnp.nan)
        return buffer.at[:3].set(x)

    assert "jnp.full" in text_of(found_in(fill, jnp.ones(3)))

    def pick(x):
        return jax.lax.cond(x > 0, lambda: x, lambda: jnp.nan) + 1

    assert "lambda: jnp.nan" in text_of(found_in(pick, -1.0))


def test_an_infinity_that_a_loop_carried_in_is_followed_to_where_it_was_made():
    def newton(x):
        def turn(_, x):
            square = x * x + 1
            return x - square / (2 * x)

        return jax.lax.fori_loop(0, 9, turn, x)

    found = found_in(newton, 1.0)
    assert found.turns == (2,) and "/" in text_of(found)
    assert (found.cause.kind, found.cause.op) == ("value", "divide (div)")
    assert found.cause.turns == (1,)


def test_the_part_of_a_network_and_the_line_in_a_library_are_told_beside_the_users_line(
    monkeypatch,
):
    """A network is called at one line, and all of it has that line."""
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    keras = pytest.importorskip("keras")
    if keras.backend.backend() != "jax":
        pytest.skip("keras runs on another backend")
    layers = [keras.layers.Dense(4, name="first"), keras.layers.Softmax(name="second")]
    model = keras.Sequential([keras.Input((3,)), *layers])
    weights = [jnp.ones_like(variable.value) for variable in model.trainable_variables]

    def loss(weights, x):
        return model.stateless_call(weights, [], x)[0].sum()

    found = found_in(jax.grad(loss), weights, jnp.full((2, 3), 3e38))
    assert "stateless_call" in text_of(found)
    assert found.library.startswith("keras/src/")
    assert f"  within    second, {found.library}\n" in str(found)
    assert f"  within    first, {found.cause.library}" in str(found)
    alone = found_in(lambda x: jnp.linalg.norm(jnp.log(x)), -jnp.ones(3))
    assert alone.library == "" and "  within    " not in str(alone)
