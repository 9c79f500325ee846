"""Alternatives of replacements against their searches: what `jxc verify --replacement` does."""

import jax
import jax.numpy as jnp
import pytest

import jxc
from jxc.check.replacements import verify_replacement


def declared():
    @jxc.replacement(jxc.reassociates, x="f32[n,d]", weight="f32[d]")
    def gated(x, weight):
        return x * jax.nn.sigmoid(x) * weight

    return gated


def verdicts(made):
    return [(each.gradient, each.agrees, str(each)) for each in verify_replacement(made, seeds=1)]


def test_right_alternative_agrees_with_its_gradient():
    found = verdicts(declared().by(lambda x, weight: x * weight / (1 + jnp.exp(-x))))
    assert [each[:2] for each in found] == [(False, True), (True, True)]


def test_wrong_value_and_wrong_gradient_are_found():
    @jax.custom_vjp
    def wrong(x, weight):
        return x * weight / (1 + jnp.exp(-x))

    wrong.defvjp(lambda x, w: (wrong(x, w), (x, w)), lambda kept, g: (kept[0] * g, kept[1]))
    assert [each[1] for each in verdicts(declared().by(wrong))] == [True, False]
    found = verdicts(declared().by(lambda x, weight: x * weight, differentiable=False))
    assert found[0][1] is False
    assert "differs" in found[0][2]


def test_kernels_of_pallas_are_interpreted():
    from jax.experimental import pallas

    def kernel(x, weight):
        def body(x, weight, result):
            result[...] = x[...] * jax.nn.sigmoid(x[...]) * weight[...]

        return pallas.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(
            x, weight[None]
        )

    made = declared()
    made.by(kernel, when=lambda m: m.d % 128 == 0, targets="tpu", differentiable=False)
    [(_, agrees, text)] = verdicts(made)
    assert agrees, text
    assert "128]" in text


def test_when_that_is_never_true_is_a_failure():
    [(_, agrees, text)] = verdicts(declared().by(lambda x, weight: x, when=lambda m: m.n == 7))
    assert not agrees
    assert text.endswith("no sizes for which `when` is true")


@pytest.mark.parametrize("seeds", [1])
def test_searches_with_constants_of_their_own(seeds):
    made = jxc.replacement(jxc.reassociates, x="f32[n]", factor=float)(lambda x, factor: x * factor)
    made.search(divisor=float, factor=lambda m: 1 / m.divisor)(lambda x, divisor: x / divisor)
    made.by(lambda x, factor: factor * x)
    assert all(each.agrees for each in verify_replacement(made, seeds=seeds))
