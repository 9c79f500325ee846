"""Inference with other packages: numpyro, dynamax."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .data import normal
from .registry import Program, model


def _logistic(x, y):
    import numpyro
    from numpyro import distributions

    width = x.shape[1]
    scale = numpyro.sample("scale", distributions.HalfCauchy(jnp.ones(width)))
    slope = numpyro.sample("slope", distributions.Normal(jnp.zeros(width), scale))
    numpyro.sample("y", distributions.Bernoulli(logits=x @ slope), obs=y)


@model(quick=True, small={"rows": 256, "width": 4}, large={"rows": 65536})
def numpyro_potential(rows: int = 16384, width: int = 32) -> Program:
    """The gradient of a hierarchical logistic regression's potential, for eight chains."""
    from numpyro.infer.util import initialize_model

    x = normal(rows, width)
    y = (x[:, 0] > 0).astype(jnp.float32)
    info = initialize_model(
        jax.random.key(0), _logistic, model_args=(x, y), dynamic_args=True, validate_grad=False
    )
    points = jax.tree.map(lambda z: normal(8, *z.shape, scale=0.1), info.param_info.z)

    def gradients(points, x, y):
        return jax.vmap(jax.value_and_grad(info.potential_fn(x, y)))(points)

    return gradients, (points, x, y)


@model(small={"rows": 64, "width": 2}, large={"rows": 32768})
def numpyro_nuts(rows: int = 4096, width: int = 16) -> Program:
    """Sixteen transitions of the no-U-turn sampler, which doubles trees in a while loop."""
    from numpyro.infer import NUTS

    x = normal(rows, width)
    y = (x[:, 0] > 0).astype(jnp.float32)
    kernel = NUTS(_logistic, max_tree_depth=4)
    state = kernel.init(jax.random.key(0), 100, None, (x, y), {})

    def sample(state, x, y):
        return jax.lax.fori_loop(0, 16, lambda _, s: kernel.sample(s, (x, y), {}), state).z

    return sample, (state, x, y)


@model(
    small={"length": 20, "states": 2, "seen": 1},
    large={"length": 400, "states": 16, "seen": 8},
)
def dynamax_kalman(length: int = 200, states: int = 6, seen: int = 3) -> Program:
    """Kalman filter and smoother of a linear Gaussian model, for a batch of sequences."""
    from dynamax.linear_gaussian_ssm import LinearGaussianSSM

    ssm = LinearGaussianSSM(states, seen)
    parameters, _ = ssm.initialize(jax.random.key(0))

    def smooth(parameters, sequences):
        found = jax.vmap(lambda y: ssm.smoother(parameters, y))(sequences)
        return found.marginal_loglik, found.smoothed_means

    return smooth, (parameters, normal(16, length, seen))


@model(small={"length": 50, "states": 2}, large={"length": 1000, "states": 32})
def dynamax_hmm(length: int = 500, states: int = 8) -> Program:
    """The gradient of a hidden Markov model's likelihood, for a batch of sequences."""
    from dynamax.hidden_markov_model import GaussianHMM

    hmm = GaussianHMM(states, 2)
    parameters, _ = hmm.initialize(jax.random.key(0))

    def likelihood(parameters, sequences):
        return jax.vmap(lambda y: hmm.marginal_log_prob(parameters, y))(sequences).mean()

    return jax.value_and_grad(likelihood), (parameters, normal(8, length, 2))
