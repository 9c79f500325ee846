"""Losses by class labels as users write them, at O2 for each target, compared with plain JAX."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.nn import log_softmax, logsumexp, one_hot, softmax

import jxc

CLASSES = 5000  # so that all rules apply


def picked(x: jax.Array, y: jax.Array) -> jax.Array:
    """The element of each row of x at the index y."""
    return jnp.take_along_axis(x, y[..., None], -1)[..., 0]


def indexed(x: jax.Array, y: jax.Array) -> jax.Array:
    """-log_softmax(x)[arange(n), y]."""
    rows = x.reshape(-1, CLASSES)
    return -log_softmax(rows)[jnp.arange(len(rows)), y.reshape(-1)]


def weighted_one_hot(x: jax.Array, y: jax.Array) -> jax.Array:
    """-sum(one_hot(y) * (x - logsumexp(x))) * cos(y)."""
    rows = (one_hot(y, CLASSES) * (x - logsumexp(x, axis=-1, keepdims=True))).sum(-1)
    return -rows * jnp.cos(y)


def by_hand(x: jax.Array, y: jax.Array) -> jax.Array:
    """log(sum(exp(x - max))) + max - x[y]."""
    most = jax.lax.stop_gradient(x.max(-1, keepdims=True))
    return jnp.log(jnp.exp(x - most).sum(-1)) + most[..., 0] - picked(x, y)


def smoothed(x: jax.Array, y: jax.Array) -> jax.Array:
    """Cross entropy with one_hot(y) * 0.9 + 0.1 / classes."""
    labels = one_hot(y, CLASSES) * 0.9 + 0.1 / CLASSES
    return -(labels * log_softmax(x)).sum(-1)


def ignored(x: jax.Array, y: jax.Array) -> jax.Array:
    """Cross entropy where labels of -100 are ignored."""
    return jnp.where(y != -100, -picked(log_softmax(x), y), 0)


def mapped(x: jax.Array, y: jax.Array) -> jax.Array:
    """Cross entropy of one row, under vmap."""
    rows = jax.vmap(lambda row, label: -log_softmax(row)[label])
    return rows(x.reshape(-1, CLASSES), y.reshape(-1))


LOSSES: dict[str, Callable[[jax.Array, jax.Array], jax.Array]] = {
    "picked": lambda x, y: -picked(log_softmax(x), y),
    "indexed": indexed,
    "one_hot": lambda x, y: -(one_hot(y, CLASSES) * log_softmax(x)).sum(-1),
    "weighted": lambda x, y: -picked(log_softmax(x), y) * jnp.cos(y),
    "logsumexp": lambda x, y: logsumexp(x, axis=-1) - picked(x, y),
    "by_hand": by_hand,
    "softmax": lambda x, y: -jnp.log(picked(softmax(x), y) + 1e-6),
    "smoothed": smoothed,
    "ignored": ignored,
    "mapped": mapped,
    "next_token": lambda x, y: -picked(log_softmax(x)[:, :-1], y[:, 1:]),
    "remat": jax.checkpoint(lambda x, y: -picked(log_softmax(x), y)),
    "float32_of_bfloat16": lambda x, y: -picked(log_softmax(x.astype(jnp.float32)), y),
}


def samples(dtype: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Logits and labels: plain ones, labels around every edge, and logits that are not finite."""
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((4, 8, CLASSES)) * 3).astype(jnp.dtype(dtype))
    y = rng.integers(0, CLASSES, (4, 8)).astype(np.int32)
    edges = y.copy()
    edges[0, :6] = [-1, -CLASSES, -CLASSES - 1, CLASSES - 1, CLASSES, 2**31 - 1]
    edges[1, :2] = [-100, -(2**31)]
    special = x.copy()
    special[0, 0, 3], special[1, 0, 3], special[2, 0, 3] = -np.inf, np.nan, np.inf
    special[3, 0] = -np.inf
    return [(x, y), (x, edges), (special, y), (special, edges)]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses_equal_plain_jax(name: str, dtype: str) -> None:
    """The loss and its gradient, in the programs for each target, run on this CPU."""

    def loss(x: jax.Array, y: jax.Array) -> jax.Array:
        return LOSSES[name](x, y).astype(jnp.float32).mean()

    both = jax.value_and_grad(loss)
    tolerance = 2e-5 if dtype == "float32" else 3e-2
    lowered = jxc.lower(both, *samples(dtype)[0])
    programs = [lowered.opt("O2", target=target).compile() for target in ("cpu", "gpu", "tpu")]
    for x, y in samples(dtype):
        expected = jax.tree.leaves(jax.jit(both)(x, y))
        for program in programs:
            for found, wanted in zip(jax.tree.leaves(program(x, y)), expected, strict=True):
                found, wanted = (np.asarray(each, np.float64) for each in (found, wanted))
                np.testing.assert_allclose(found, wanted, tolerance, tolerance / 20)


@pytest.mark.parametrize("name", ["picked", "one_hot", "weighted_one_hot", "logsumexp"])
def test_losses_with_masked_classes_stay_finite(name: str) -> None:
    """Logits of -inf exclude classes. XLA selects in place of a product with a boolean."""
    loss = LOSSES.get(name, weighted_one_hot)
    x, y = samples("float32")[0]
    x[..., :40] = -np.inf
    y = np.maximum(y, 40)
    both = jax.value_and_grad(lambda x, y: loss(x, y).mean())
    expected = jax.tree.leaves(jax.jit(both)(x, y))
    assert all(np.isfinite(each).all() for each in expected)
    for program in (both, lambda x, y: (loss(x, y).mean(),)):
        found = jax.tree.leaves(jxc.lower(program, x, y).opt("O2").compile()(x, y))
        for value, wanted in zip(found, expected, strict=False):
            np.testing.assert_allclose(value, wanted, 2e-5, 1e-6)


@pytest.mark.parametrize("name", ["picked", "indexed", "ignored", "mapped", "remat", "next_token"])
def test_gradients_sum_once_over_the_classes(name: str) -> None:
    """The exponentials are summed, the gradient of the log-probabilities is not."""
    loss = jax.grad(lambda x, y: LOSSES[name](x, y).mean())
    x, y = samples("float32")[0]
    program = jxc.lower(loss, x, y).opt("O2", target="gpu").as_text()
    assert program.count("applies stablehlo.add across dimensions = [2]") <= 1
    assert program.count("applies stablehlo.add across dimensions = [1]") <= 1
    assert "stablehlo.scatter" not in program


@pytest.mark.parametrize("target", ["cpu", "gpu", "tpu"])
def test_sums_of_one_hot_equal_float64(target: str) -> None:
    """Sums of smoothed and weighted one-hot vectors, over the classes and over everything."""

    def sums(y: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
        labels = (one_hot(y, CLASSES) * 0.9 + 0.0025) * w[:, None]
        return labels.sum(-1), labels.sum()

    y = np.array([0, CLASSES - 1, CLASSES, -1, 7, -CLASSES], np.int32)
    w = np.array([1, -2, 3, 4, 0, 1e-3], np.float32)
    hot = (np.arange(CLASSES) == y[:, None]) * 0.9 + 0.0025
    rows = (hot * w[:, None].astype(np.float64)).sum(-1)
    found = jxc.lower(sums, y, w).opt("O2", target=target).compile()(y, w)
    np.testing.assert_allclose(found[0], rows, 1e-5)
    np.testing.assert_allclose(found[1], rows.sum(), 1e-5)
