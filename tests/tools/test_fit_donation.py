"""The advice of `jxc fit` to donate arguments."""

import jax
import jax.numpy as jnp
import pytest

import jxc

pytestmark = pytest.mark.usefixtures("untimed")


def loss(params, x):
    for up, down in params:
        x = x + jax.nn.gelu(x @ up) @ down
    return jnp.mean(x**2)


def step(params, x, *, average=None):
    updated = jax.tree.map(lambda p, g: p - g, params, jax.grad(loss)(params, x))
    return updated if average is None else (updated, 0.9 * average)


def arguments():
    shapes = (64, 256), (256, 64), (1024, 64)
    up, down, batch = (jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes)
    return [(up, down)] * 4, batch


def needed(fn, plan, **more):
    lowered = jxc.lower(fn, *arguments(), **more).opt(str(plan))
    sizes = lowered.compile().memory()
    return sizes["argument"] + sizes["output"] + sizes["temp"] - sizes["alias"]


def test_donating_frees_what_the_advice_says(tmp_path):
    found = jxc.fit(step, *arguments(), max_memory="12MiB", exact=True)
    found.save(tmp_path / "plan.toml")
    advice = found.donation
    assert (advice.names, advice.argnums, advice.argnames) == (("params",), (0,), ())
    donating = jax.jit(step, donate_argnums=advice.argnums)
    before, after = (needed(each, tmp_path / "plan.toml") for each in (step, donating))
    assert before - after == advice.bytes > 0
    assert "jax.jit(..., donate_argnums=(0,))" in str(found)
    assert found.as_json()["donation"]["donate_argnums"] == [0]


def test_donated_arguments_are_not_advised_again():
    donating = jax.jit(step, donate_argnums=0)
    assert jxc.fit(donating, *arguments(), max_memory="12MiB").donation is None


def test_argument_that_is_like_no_result_is_not_advised():
    assert jxc.fit(loss, *arguments(), max_memory="1MiB").donation is None


def test_keyword_is_advised_by_name():
    average = jax.ShapeDtypeStruct((1024, 1024), jnp.float32)
    found = jxc.fit(step, *arguments(), average=average, max_memory="1MiB", exact=True)
    assert (found.donation.argnums, found.donation.argnames) == ((0,), ("average",))
    assert not found.fits and "donate_argnames=('average',)" in str(found)


def test_scalar_that_is_like_a_result_by_chance_is_not_advised():
    def scaled(params, x, rate):
        return step(params, x), rate * loss(params, x)

    rate = jax.ShapeDtypeStruct((), jnp.float32)
    found = jxc.fit(scaled, *arguments(), rate, max_memory="12MiB", exact=True)
    assert found.donation.names == ("params",)
