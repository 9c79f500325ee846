"""LAPACK calls on matrices by rows, compared with the calls that JAX writes."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import pytest
from jax import lax

import jxc

FACTOR, SOLVE = "cholesky-by-rows", "triangular-solve-by-rows"
PASSES = "inline{default-pipeline=},cse,layouts"


def rewritten(function, args, hits, passes=PASSES + "{always=true}"):
    """The results after the pass; `hits` is how often each rule must have fired."""
    lowered = jxc.lower(function, *args).opt(passes)
    fired = {name: count for name, count in lowered.report.hits.items() if name in (FACTOR, SOLVE)}
    assert fired == hits
    return np.asarray(lowered.compile()(*args))


def _normal(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def _definite(*batch, size):
    x = _normal(*batch, size, size)
    return x @ np.swapaxes(x, -1, -2) / size + np.eye(size, dtype=np.float32)


def _factor(x):
    return lax.linalg.cholesky(x, symmetrize_input=False)


@pytest.mark.parametrize(("batch", "size"), [((), 1), ((), 70), ((), 300), ((2,), 50), ((2, 3), 9)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cholesky_by_rows_matches_lapack(batch, size, dtype):
    with jax.enable_x64(True):
        x = _definite(*batch, size=size).astype(dtype)
        found = rewritten(_factor, (x,), {FACTOR: 1})
        want = np.linalg.cholesky(x.astype(np.float64))
        np.testing.assert_allclose(found, want, rtol=0, atol=20 * np.finfo(dtype).eps)


def test_cholesky_by_rows_reads_the_lower_triangle():
    x = _definite(size=40)
    x[np.triu_indices(40, 1)] = np.nan
    assert np.isfinite(rewritten(_factor, (x,), {FACTOR: 1})).all()


@pytest.mark.parametrize("at", [0, 20, 39])
@pytest.mark.parametrize("pivot", [-1.0, 0.0])
def test_cholesky_by_rows_of_matrix_that_is_not_definite_is_nan(at, pivot):
    x = np.eye(40, dtype=np.float32)
    x[at, at] = pivot

    def entries(x):  # with the triangle that LAPACK does not write
        return jsl.cho_factor(x, lower=True)[0]

    for function in (_factor, entries):
        found = rewritten(function, (x,), {FACTOR: 1})
        np.testing.assert_array_equal(found, jax.jit(function)(x))
        assert np.isnan(found).any()


@pytest.mark.parametrize(
    ("left", "lower", "transposed", "unit"), list(itertools.product([True, False], repeat=4))
)
def test_triangular_solve_by_rows_matches_lapack(left, lower, transposed, unit):
    a = np.linalg.cholesky(_definite(size=33)).astype(np.float32)
    a = a if lower else a.T.copy()
    a[(np.triu_indices if lower else np.tril_indices)(33, 1 if lower else -1)] = np.nan
    b = _normal(33, 5) if left else _normal(5, 33)

    def solve(a, b):
        options = {"lower": lower, "transpose_a": transposed, "unit_diagonal": unit}
        return lax.linalg.triangular_solve(a, b, left_side=left, **options)

    found = rewritten(solve, (a, b), {SOLVE: 1})
    np.testing.assert_allclose(found, jax.jit(solve)(a, b), rtol=1e-4, atol=1e-5)


def test_triangular_solve_by_rows_of_batches_and_f64():
    with jax.enable_x64(True):
        a = np.linalg.cholesky(_definite(2, 3, size=20).astype(np.float64))
        b = _normal(2, 3, 20, 4).astype(np.float64)
        found = rewritten(
            lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
            (a, b),
            {SOLVE: 1},
        )
        np.testing.assert_allclose(a @ found, b, atol=1e-12)


def test_triangular_solve_by_rows_of_transpose():
    a, b = np.linalg.cholesky(_definite(size=33)).astype(np.float32), _normal(33, 5)

    def solve(a, b):
        return jsl.solve_triangular(a.T, b, lower=False)

    found = rewritten(solve, (a, b), {SOLVE: 1})
    np.testing.assert_allclose(found, jax.jit(solve)(a, b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("at", [0, 16, 32])
def test_triangular_solve_by_rows_of_singular_matrix(at):
    a = np.linalg.cholesky(_definite(size=33)).astype(np.float32)
    a[at, at] = 0
    b = _normal(33, 3)

    def solve(a, b):
        return jsl.solve_triangular(a, b, lower=True)

    found = rewritten(solve, (a, b), {SOLVE: 1})
    want = np.asarray(jax.jit(solve)(a, b))
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(want))


def test_lapack_reads_by_rows_what_is_computed_by_rows():
    """The factors of `getrf` are in column-major layout, and stay so."""
    x, b = _definite(size=500), _normal(500)

    def chol(x, b):
        return jsl.cho_solve(jsl.cho_factor(x, lower=True), b)

    rewritten(chol, (x, b), {FACTOR: 1, SOLVE: 2}, passes=PASSES)
    rewritten(jnp.linalg.solve, (x, b), {}, passes=PASSES)
