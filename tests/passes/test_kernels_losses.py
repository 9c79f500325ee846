"""Losses by parts of the vocabulary, as the pass `kernels` writes them: value and gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc.backend.from_module import lowered_from_module
from jxc.passes.kernels import chunked, cost

WORDS, FEATURES = 700, 16


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three parts, the last one smaller, for all sizes."""
    monkeypatch.setattr(cost, "LEAST_LOGITS", {"tpu": 0, "gpu": 0})
    monkeypatch.setattr(cost, "LEAST_LOGITS_OF_NORMALIZER", 0)
    monkeypatch.setattr(cost, "WORDS_IN_PART", 300)


def picked(x: Any, t: Any) -> Any:
    return jnp.take_along_axis(x, t[..., None], axis=-1)[..., 0]


def by_log_softmax(x: Any, w: Any, t: Any) -> Any:
    return -picked(jax.nn.log_softmax(x @ w.T), t).mean()


def not_averaged(x: Any, w: Any, t: Any) -> Any:
    return jnp.sin(picked(jax.nn.log_softmax(x @ w.T), t)).sum()


def of_optax(x: Any, w: Any, t: Any) -> Any:
    logits = x @ w.T
    return (jax.nn.logsumexp(logits, axis=-1) - picked(logits, t)).mean()


def of_optax_squared(x: Any, w: Any, t: Any) -> Any:
    logits = jnp.einsum("...d,vd->...v", x, w)
    return ((jax.nn.logsumexp(logits, axis=-1) - picked(logits, t)) ** 2).mean()


LOSSES = {
    by_log_softmax: "log-likelihood",
    not_averaged: "log-likelihood",
    of_optax: "normalizer-and-logit",
    of_optax_squared: "normalizer-and-logit",
}


def arguments(*shape: int, labels: tuple[int, int] = (0, WORDS)) -> tuple[Any, ...]:
    draw = np.random.default_rng(0)
    x, w = (
        jnp.asarray(draw.standard_normal(size), np.float32)
        for size in ((*shape, FEATURES), (WORDS, FEATURES))
    )
    return x, w, jnp.asarray(draw.integers(*labels, shape), np.int32)


def assert_near(found: Any, expected: Any) -> None:
    for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.nanmax(np.abs(want)))


@pytest.mark.parametrize("shape", [(2, 24), (24,)])
@pytest.mark.parametrize("loss", LOSSES)
def test_losses(loss: Callable[..., Any], shape: tuple[int, ...]) -> None:
    values = arguments(*shape)
    step = jax.value_and_grad(loss, argnums=(0, 1))
    made = jxc.lower(step, *values).opt("kernels", target="tpu:v5e")
    assert made.report is not None
    name = LOSSES[loss] + "-of-rows" * (len(shape) == 1)
    assert {rule: count for rule, count in made.report.hits.items() if count} == {name: 1}
    assert f"24x{WORDS}x" not in str(made.module), "never all logits"
    assert_near(lowered_from_module(made.module).compile()(*values), jax.jit(step)(*values))


@pytest.mark.parametrize("labels", [(-WORDS, 0), (-2 * WORDS, 2 * WORDS)])
def test_labels_from_the_end_and_outside(labels: tuple[int, int]) -> None:
    """Outside, values are NaN, and the normalizer alone has a gradient."""
    x, w, t = arguments(24, labels=labels)

    def plain(x: Any, w: Any) -> Any:
        logits = x @ w.T
        return (
            picked(jax.nn.log_softmax(logits), t),
            jax.nn.logsumexp(logits, -1),
            picked(logits, t),
        )

    def parts(x: Any, w: Any) -> Any:
        return chunked.log_likelihood(x, w, t), *chunked.normalizer_and_logit(x, w, t)

    found, pull = jax.vjp(parts, x, w)
    expected, pull_plain = jax.vjp(plain, x, w)
    assert_near(found, expected)
    cotangents = tuple(jnp.cos(number + jnp.arange(24.0)) for number in range(3))
    assert_near(pull(cotangents), pull_plain(cotangents))


def test_logits_of_minus_infinity_in_a_part() -> None:
    x, w, t = jnp.ones((3, 1)), jnp.zeros((WORDS, 1)).at[:300].set(-jnp.inf), jnp.array([0, 5, 500])
    expected = jax.nn.logsumexp(x @ w.T, axis=-1), picked(x @ w.T, t)
    for got, want in zip(chunked.normalizer_and_logit(x, w, t), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_few_logits_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    shapes = [((4096, 64), np.float32), ((32768, 64), np.float32), ((4096,), np.int32)]
    values = [jax.ShapeDtypeStruct(*each) for each in shapes]
    for loss, target, count in ((by_log_softmax, "tpu", 1), (by_log_softmax, "gpu", 0)):
        assert applied(loss, values, target) == count
    assert applied(of_optax, values, "tpu") == 0
    more = [values[0], jax.ShapeDtypeStruct((131072, 64), np.float32), values[2]]
    assert applied(of_optax, more, "tpu") == 1


def applied(loss: Callable[..., Any], values: Any, target: str) -> int:
    report = jxc.lower(loss, *values).opt("kernels", target=target).report
    assert report is not None
    return sum(report.hits.values())


def test_small_vocabulary_stays() -> None:
    x, w, t = arguments(24)
    assert applied(of_optax, (x, w[:200], t % 200), "tpu:v5e") == 0
