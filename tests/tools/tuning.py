"""Programs and fixtures of the tests of O3."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jxc.backend.tuning import TuneSettings, tuning
from jxc.tools.tune import timed

SECONDS = 100.0  # a ceiling, for machines with other load


@pytest.fixture(autouse=True, name="cache")
def cache_fixture(tmp_path, monkeypatch):
    monkeypatch.setenv("JXC_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("JXC_TUNE_SECONDS", raising=False)
    monkeypatch.setattr(timed, "ROUNDS", (3, 5))
    jax.clear_caches()
    return tmp_path


@pytest.fixture(name="done")
def done_fixture():
    """What was tuned: verdicts, or the reasons why a program was not."""
    found = []
    with tuning(TuneSettings(SECONDS, done=found.append)):
        yield found


def pooled(x):
    y = jnp.tanh(x @ x)
    y = jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 3), (1, 1), "SAME")
    return jnp.cumsum(y, axis=0), jnp.sort(y, axis=-1)[:, :5]


def argument(n=64):
    return jnp.asarray(np.random.default_rng(0).standard_normal((n, n), np.float32))


def assert_right(found, x):
    for ours, plain in zip(found, jax.jit(pooled)(x), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-4)


def chain(x):
    y = x
    for _ in range(4):
        x, y = jnp.tanh(x) * y + jnp.exp(-x), jnp.tanh(y + x)
    return x, y


def fusions(executable):
    return executable.as_text("hlo").count(" fusion(")


MULTI_OUTPUT = {"xla_cpu_use_multi_output_fusion": True}
