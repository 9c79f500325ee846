"""Unrolled Cholesky factors and triangular solves, compared with LAPACK in float64."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import pytest
from jax import lax

import jxc

FACTOR, SOLVE = "small-cholesky-to-columns", "small-triangular-solve-to-substitution"


def rewritten(function, args, hits):
    """The results after the pass; `hits` is how often each rule must have fired."""
    passes = "inline{default-pipeline=},cse,small-matrices{always=true}"
    lowered = jxc.lower(function, *args).opt(passes)
    fired = {name: count for name, count in lowered.report.hits.items() if name in (FACTOR, SOLVE)}
    assert fired == hits
    return lowered.compile()(*args)


def _normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _definite(*batch, size=3):
    x = _normal(*batch, size, size)
    return x @ np.swapaxes(x, -1, -2) + np.eye(size, dtype=np.float32)


@pytest.mark.parametrize("size", [1, 2, 6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_cholesky_matches_lapack(size, dtype):
    with jax.enable_x64(True):
        x = _definite(8, 8, size=size).astype(dtype)
        found = rewritten(jnp.linalg.cholesky, (x,), {FACTOR: 1})
        want = np.linalg.cholesky(x.astype(np.float64))
        np.testing.assert_allclose(found, want, rtol=0, atol=50 * np.finfo(dtype).eps)


def _entries(x):
    """The factor and the failure code of the LAPACK call, without JAX's mask."""
    return jsl.cho_factor(x, lower=True)[0]


def _odd_matrices():
    """By name: matrices that LAPACK cannot factor, and matrices with infinities."""
    eye = np.eye(3, dtype=np.float32)
    x = {name: eye.copy() for name in ("zero", "minus zero", "negative", "late", "nan", "infinite")}
    x["zero"][1, 1] = 0
    x["minus zero"][0, 0] = -0.0
    x["negative"][2, 2] = -4
    x["late"][2, :2] = 1  # the last pivot is 1 - 1 - 1
    x["nan"][1, 0] = np.nan
    x["infinite"][0, 0] = np.inf
    x["upper nan"] = eye.copy()
    x["upper nan"][0, 1] = np.nan  # the upper triangle is not read
    return x


def test_cholesky_of_matrix_that_is_not_definite_is_nan():
    """LAPACK's results for NaN and infinite elements depend on its kernel and are not compared."""
    odd = _odd_matrices()
    x = np.stack([*odd.values(), *([np.eye(3, dtype=np.float32)] * 64)])
    is_same_everywhere = [name not in ("nan", "infinite") for name in odd] + [True] * 64
    for function in (lambda x: lax.linalg.cholesky(x, symmetrize_input=False), _entries):
        found = np.asarray(rewritten(jax.vmap(function), (x,), {FACTOR: 1}))
        want = np.asarray(jax.jit(jax.vmap(function))(x))
        np.testing.assert_array_equal(found[is_same_everywhere], want[is_same_everywhere])
    is_nan = dict(zip(odd, np.isnan(found).any((1, 2)), strict=False))
    assert [name for name, value in is_nan.items() if not value] == ["infinite", "upper nan"]


@pytest.mark.parametrize(
    ("left", "lower", "transposed", "unit"), list(itertools.product([True, False], repeat=4))
)
def test_small_triangular_solve_matches_lapack(left, lower, transposed, unit):
    a = _normal(64, 3, 3) + 4 * np.eye(3, dtype=np.float32)
    b = _normal(64, 3, 2) if left else _normal(64, 2, 3)
    letters = {"left_side": left, "lower": lower, "transpose_a": transposed}

    def solve(a, b):
        return lax.linalg.triangular_solve(a, b, **letters, unit_diagonal=unit)

    found = rewritten(solve, (a, b), {SOLVE: 1})
    with jax.enable_x64(True):
        want = solve(a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


def test_triangular_solve_of_singular_matrix_is_not_finite_from_zero_pivot_on():
    a = np.broadcast_to(np.tril(np.ones((3, 3), np.float32)), (64, 3, 3)).copy()
    a[:8, 1, 1] = 0
    b = _normal(64, 3, 1)

    def solve(a, b):
        return lax.linalg.triangular_solve(a, b, left_side=True, lower=True)

    found = np.asarray(rewritten(solve, (a, b), {SOLVE: 1}))
    assert not np.isfinite(found[:8, 1:]).any()
    assert np.isfinite(found[:8, 0]).all() and np.isfinite(found[8:]).all()


def _kalman(z, f, h):
    def step(carry, z):
        x, p = carry
        x, p = f @ x, f @ p @ f.T + jnp.eye(4)
        s = h @ p @ h.T + jnp.eye(2)
        gain = jsl.cho_solve((jnp.linalg.cholesky(s), True), h @ p).T
        return (x + gain @ (z - h @ x), p - gain @ h @ p), x

    return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), z)[1]


def _cho_solve(a, b):
    return jsl.cho_solve(jsl.cho_factor(a, lower=True), b)


def _likelihood(x, s):
    logpdf = jax.scipy.stats.multivariate_normal.logpdf
    return jnp.sum(jax.vmap(logpdf, (0, None, 0))(x, jnp.zeros(3), s))


MODELS = {
    "cho_solve": (jax.vmap(_cho_solve), [_definite(64), _normal(64, 3)], {FACTOR: 1, SOLVE: 2}),
    "solve": (jax.vmap(jnp.linalg.solve), [_definite(64), _normal(64, 3)], {SOLVE: 2}),
    "inverse": (jnp.linalg.inv, [_definite(64)], {SOLVE: 2}),
    "gradient": (
        jax.grad(_likelihood, argnums=(0, 1)),
        [_normal(64, 3), _definite(64)],
        {FACTOR: 1, SOLVE: 4},
    ),
    "filter": (
        _kalman,
        [_normal(9, 2), 0.3 * _normal(4, 4), _normal(2, 4)],
        {FACTOR: 1, SOLVE: 2},
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_small_factors_of_typical_programs(name):
    function, args, hits = MODELS[name]
    found = rewritten(function, args, hits)
    with jax.enable_x64(True):
        wide = jax.jit(function)(*(arg.astype(np.float64) for arg in args))
    for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(wide), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5 * np.abs(want).max())


def test_few_and_large_matrices_are_left_to_lapack():
    for x in (_definite(3), _definite(64, size=9)):
        lowered = jxc.lower(jnp.linalg.cholesky, x)
        assert not lowered.opt("inline{default-pipeline=},cse,small-matrices").report.hits


@pytest.mark.parametrize(("count", "pays"), [(200, False), (5000, True)])
def test_triangular_systems_of_8_equations_are_left_to_lapack_if_few(count, pays):
    def solve(a, b):
        return lax.linalg.triangular_solve(a, b, left_side=True, lower=True)

    lowered = jxc.lower(solve, f"f32[{count},8,8]", f"f32[{count},8,2]")
    assert bool(lowered.opt("small-matrices").report.hits) == pays
