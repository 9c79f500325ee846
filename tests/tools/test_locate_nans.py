"""`jxc.locate_nans` on typical causes of NaNs: it reports the op and the line to fix."""

from __future__ import annotations

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc


def found_in(fn, *args, **options):
    """The finding of `jxc.locate_nans` for a call."""
    with pytest.raises(jxc.NanError) as caught:
        jxc.locate_nans(fn, **options)(*args)
    return caught.value.finding


def text_of(finding):
    return finding.place.text


def test_locate_nans_names_failed_factorization():
    """JAX returns NaN for a failed factorization; the NaN is a constant of the program."""

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
def test_locate_nans_does_not_blame_routine_for_nan_operand(routine):
    given = np.eye(3, dtype=np.float32)
    given[1, 1] = np.nan
    found = found_in(lambda given: jax.tree.leaves(routine(given * 2)), given)
    assert (found.kind, found.op) == ("argument", "given")


def test_locate_nans_reports_iteration_of_failed_factorization():
    def shrink(x):
        def body(x, _):
            return x - jnp.eye(2), jnp.linalg.cholesky(x)

        return jax.lax.scan(body, x, None, length=5)[1]

    found = found_in(shrink, 2.5 * jnp.eye(2))
    assert (found.kind, found.iterations) == ("failure", (3,))


def test_locate_nans_reports_line_that_creates_constant():
    """The constant's own location is the line of the whole call."""

    def attend(x, mask):
        scores = jnp.where(mask, x @ x.T, -jnp.inf)
        return jax.nn.softmax(scores, axis=-1) @ x

    found = found_in(attend, jnp.ones((2, 2)), jnp.zeros((2, 2), bool))
    assert "softmax" in text_of(found)
    assert found.cause.kind == "constant" and "jnp.where" in text_of(found.cause)
    assert "an infinity is a constant of the program, created at" in str(found)

    def fill(x):
        buffer = jnp.full(4, jnp.nan)
        return buffer.at[:3].set(x)

    assert "jnp.full" in text_of(found_in(fill, jnp.ones(3)))

    def pick(x):
        return jax.lax.cond(x > 0, lambda: x, lambda: jnp.nan) + 1

    assert "lambda: jnp.nan" in text_of(found_in(pick, -1.0))


def test_finding_keeps_former_name_of_iterations():
    def root(x):
        return jax.lax.fori_loop(0, 9, lambda i, x: jnp.sqrt(x - 1), x)

    found = found_in(root, 1.5)
    with pytest.warns(DeprecationWarning, match="iterations"):
        assert found.turns == found.iterations
    assert found.as_json()["turns"] == found.as_json()["iterations"]
    assert repr(found).startswith("<NanFinding: the first NaN is made by sqrt")


def test_locate_nans_follows_carried_infinity_to_its_iteration():
    def newton(x):
        def body(_, x):
            square = x * x + 1
            return x - square / (2 * x)

        return jax.lax.fori_loop(0, 9, body, x)

    found = found_in(newton, 1.0)
    assert found.iterations == (2,) and "/" in text_of(found)
    assert (found.cause.kind, found.cause.op) == ("value", "divide (div)")
    assert found.cause.iterations == (1,)


def test_locate_nans_names_layer_and_library_line(
    monkeypatch,
):
    """All ops of a network have the same user line, the call."""
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
