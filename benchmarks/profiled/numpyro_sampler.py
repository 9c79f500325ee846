# ruff: noqa: E402
"""Hamiltonian Monte Carlo with numpyro, whose model has three features that cost much."""

import time

START = time.perf_counter()

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro import distributions as dist
from numpyro.infer import HMC, MCMC

SIZE, WIDTH = 16000, 32

rng = np.random.default_rng(0)
X = rng.normal(size=(SIZE, WIDTH)).astype(np.float32)
Y = (rng.normal(size=SIZE) > 0).astype(np.int32)


def model(X, Y):
    mixing = numpyro.sample("mixing", dist.Normal(0, 1).expand([WIDTH, WIDTH]))
    weights = numpyro.sample("weights", dist.Normal(0, 1).expand([WIDTH]))
    scale = numpyro.sample("scale", dist.Normal(0, 1))
    waves = jnp.sin(X * scale)
    bumps = jnp.exp(-jnp.square(X - scale))
    hidden = jnp.tanh(X @ mixing)
    logits = waves @ weights + bumps @ weights + hidden @ weights
    numpyro.sample("y", dist.Bernoulli(logits=logits), obs=Y)


kernel = HMC(model, step_size=1e-3, num_steps=10, adapt_step_size=False, adapt_mass_matrix=False)
mcmc = MCMC(kernel, num_warmup=10, num_samples=50, progress_bar=False)
mcmc.run(jax.random.key(0), X, Y)
jax.block_until_ready(mcmc.get_samples())
print("WALL", time.perf_counter() - START)
