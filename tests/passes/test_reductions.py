"""Reductions after the pass, compared with plain jit and float64."""

from __future__ import annotations

from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jxc
from jxc.cost.rates import IS_OLD
from jxc.passes.reductions import cost as cost

SLICES, ARGUMENT = "reduce-to-slices", "argument-to-two-reductions"
SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, 1.0, -1.0], np.float32)


def rewritten(function, *args, hits):
    """The function's results after the pass; `hits` is how often each rule must have fired."""
    passes = "inline{default-pipeline=},symbol-dce,cse,reductions{always=true}"
    lowered = jxc.lower(function, *args).opt(passes)
    assert lowered.report.hits == hits
    return lowered.compile()(*args)


def normal(*shape, dtype=np.float32):
    return jnp.asarray(np.random.default_rng(0).standard_normal(shape), dtype)


@pytest.mark.parametrize("axis", [-1, 0, (1, 2), (0, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, jnp.bfloat16])
def test_reduce_to_slices_over_any_axes(dtype, axis):
    with jax.enable_x64(True):
        x = normal(3, 4, 2, dtype=dtype)
        found = rewritten(lambda x: lax.reduce_sum_p.bind(x, **_axes(axis)), x, hits={SLICES: 1})
        exact = np.asarray(x, np.float64).sum(axis)
        assert found.dtype == x.dtype
        bound = 8 * float(jnp.finfo(dtype).eps) * np.abs(np.asarray(x, np.float64)).sum(axis)
        assert (np.abs(np.asarray(found, np.float64) - exact) <= bound).all()


def _axes(axis):
    axes = tuple(a % 3 for a in ((axis,) if isinstance(axis, int) else axis))
    return {"axes": axes, "out_sharding": None}


@pytest.mark.parametrize("kind", ["sum", "max", "softmax", "of another axis", "of short rows"])
def test_reduce_to_slices_of_many_wide_rows(kind):
    functions = {
        "max": lambda x: lax.reduce_max(x, [0]),
        "softmax": lambda x: jax.nn.softmax(x, axis=0),
        "of another axis": lambda x: lax.reduce_sum(x.T, [1]),
    }
    x = normal(20, 1000 if kind == "of short rows" else 20000)
    function = functions.get(kind, lambda x: lax.reduce_sum(x, [0]))
    hits = {"of another axis": 0, "of short rows": 0, "softmax": 2}.get(kind, 1) if IS_OLD else 0
    found = rewritten(function, x, hits={SLICES: hits} if hits else {})
    np.testing.assert_allclose(found, jax.jit(function)(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("combine", [jnp.max, jnp.min, jnp.sum])
def test_reduce_to_slices_of_special_values(combine):
    """All pairs. XLA folds 0.0 + x to x, so a sum of only -0.0 may keep its sign."""
    pairs = jnp.stack(jnp.meshgrid(SPECIAL, SPECIAL), -1)
    found = rewritten(lambda x: combine(x, -1), pairs, hits={SLICES: 1})
    plain = jax.jit(lambda x: combine(x, -1))(pairs)
    np.testing.assert_array_equal(found, plain)
    if combine is not jnp.sum:
        np.testing.assert_array_equal(np.signbit(found), np.signbit(plain))


def test_reduce_to_slices_keeps_the_initial_value():
    def reduce(x):
        return lax.reduce(x, jnp.float32(5), lax.add, [1]), lax.reduce(x, 0.5, lax.max, [1])

    x = normal(7, 3)
    total, most = rewritten(reduce, x, hits={SLICES: 2})
    np.testing.assert_allclose(total, x.sum(1) + 5, rtol=1e-6)
    np.testing.assert_array_equal(most, jnp.maximum(x.max(1), 0.5))


@pytest.mark.parametrize(
    ("function", "hits"),
    [
        (lambda x: x / jnp.linalg.norm(x, axis=-1, keepdims=True), 1),
        (lambda x: jax.nn.softmax(x, -1), 2),
        (lambda x: jnp.sqrt(((x[:, None] - x[None]) ** 2).sum(-1) + 1), 1),
        (jax.vmap(lambda v: v.mean()), 1),
        (jax.grad(lambda x: (jax.nn.logsumexp(x, -1) ** 2).sum()), 2),
    ],
    ids=["normalise", "softmax", "distances", "vmap", "grad"],
)
def test_reductions_of_typical_programs(function, hits):
    x = normal(20, 3)
    found = rewritten(function, x, hits={SLICES: hits})
    np.testing.assert_allclose(found, jax.jit(function)(x), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.int32(x).sum(-1),
        lambda x: x.prod(-1),
        lambda x: (x > 0).any(-1),
        lambda x: x.astype(jnp.complex64).sum(-1),
        lambda x: x.sum(),
    ],
    ids=["integers", "products", "booleans", "complex", "all"],
)
def test_reductions_that_are_no_faster_stay(function):
    rewritten(function, normal(20, 3), hits={})


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("function", [jnp.argmax, jnp.argmin, jnp.nanargmax])
def test_argmax_and_argmin_select_the_first(function, axis):
    """Rows of ties, infinities, NaNs and zeros of both signs: numpy selects the first too."""
    shape = (33, 32, 34)
    x = SPECIAL[np.random.default_rng(0).integers(0, len(SPECIAL), shape)]
    x[x != x] = np.where(np.random.default_rng(1).random((x != x).sum()) < 0.9, 0.5, np.nan)
    x[x == np.float32(1e-45)] = 2  # XLA treats a denormal as zero, numpy does not
    x[0], x[1], x[2, :5] = -np.inf, np.inf, np.nan
    found = rewritten(lambda x: function(x, axis), x, hits={ARGUMENT: 1})
    if function is jnp.nanargmax:
        want = jax.jit(lambda x: function(x, axis))(x)
    else:
        want = getattr(np, function.__name__)(x, axis).astype(np.int32)
    np.testing.assert_array_equal(found, want)
    assert found.dtype == np.int32


@pytest.mark.parametrize(
    "function",
    [
        jax.vmap(jnp.argmax),
        lambda x: jax.random.categorical(jax.random.PRNGKey(0), x),
        lambda x: jnp.argmin(((x[:, None] - x[None]) ** 2).sum(-1), -1),
        lambda x: jnp.argmax(x),
        lambda x: jnp.take_along_axis(x, x.argmax(1, keepdims=True), 1),
    ],
    ids=["vmap", "categorical", "nearest", "flat", "taken"],
)
def test_argmax_of_typical_programs(function):
    x = normal(40, 50)
    found = rewritten(function, x, hits={ARGUMENT: 1})
    np.testing.assert_array_equal(found, jax.jit(function)(x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.argmax(jnp.int32(x), 1),
        lambda x: jnp.argmax(x.astype(jnp.float16), 1),
    ],
    ids=["integers", "half"],
)
def test_other_argument_reductions_stay(function):
    rewritten(function, normal(40, 50), hits={})


DOT = "product-to-dot"


def sums_of_products(x, v):
    """Products of matrices [batch, m, k] and vectors [batch, k]."""
    return (x * lax.broadcast_in_dim(v, x.shape, (0, 2))).sum(-1)


@pytest.mark.parametrize("swap", [False, True])
def test_product_to_dot_with_rows(swap):
    x, v = normal(5, 3, 40), normal(5, 40)

    def function(x, v):
        rows = lax.broadcast_in_dim(v, x.shape, (0, 2))
        return (rows * x if swap else x * rows).sum(-1)

    found = rewritten(function, x, v, hits={DOT: 1})
    expected = np.einsum("bmk,bk->bm", np.float64(x), np.float64(v))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_product_to_dot_in_a_loop():
    """The operands of a loop are in memory, even if they are computed before it."""

    def function(x, v):
        y = jnp.tanh(x)
        body = lambda _, v: v + sums_of_products(y, v).mean()  # noqa: E731
        return lax.fori_loop(0, 3, body, v)

    x, v = normal(2, 7, 40), normal(2, 40)
    lowered = jxc.lower(function, x, v)
    found = lowered.opt("inline,cse,reductions{always=true}")
    assert found.report.hits[DOT] == 1
    np.testing.assert_allclose(found.compile()(x, v), jax.jit(function)(x, v), rtol=1e-4)


def test_product_to_dot_of_special_values():
    """NaN and infinity affect only their own sums."""
    x, v = np.ones((64, 2, 16), np.float32), np.ones((64, 16), np.float32)
    x[:, 0, 3], v[:, 3] = np.stack(np.meshgrid(SPECIAL, SPECIAL), -1).reshape(-1, 2).T
    for rows in (x, x[:, :1]):
        found = rewritten(sums_of_products, rows, v, hits={DOT: 1})
        np.testing.assert_array_equal(found, jax.jit(sums_of_products)(rows, v))


@pytest.mark.parametrize("shape", [(1, 64, 128), (64, 1, 128), (64, 128, 1)])
def test_sum_of_product_without_units(shape):
    """On jaxlib 0.10.2, where a sum that keeps a dimension of extent 1 is slow."""
    x, y = normal(*shape), normal(*shape)
    axis = -1 if shape[-1] > 1 else 1
    function = lambda x, y: (x * y).sum(axis)  # noqa: E731
    found = jxc.lower(function, x, y).opt("reductions")
    assert not IS_OLD or found.report.hits == {"sum-of-product-without-units": 1}
    expected = (np.float64(x) * y).sum(axis)
    np.testing.assert_allclose(found.compile()(x, y), expected, rtol=1e-4, atol=1e-4)


POINTS, NORM = "sum-of-narrow-to-materialized", "dot-of-narrow-to-materialized"


@pytest.mark.parametrize("special", [0.0, -0.0, np.inf, np.nan])
def test_sums_of_narrow_arrays_are_materialized(special):
    x = np.array(normal(2048, 3))
    x[7, 1] = special
    found = rewritten(lambda x: ((x + 0.5) * x).sum(), x, hits={POINTS: 1})
    np.testing.assert_allclose(found, ((np.float64(x) + 0.5) * x).sum(), rtol=1e-4)
    found = rewritten(lambda x: jnp.vdot(x / 3, x / 3), x, hits={NORM: 1})
    np.testing.assert_allclose(found, ((np.float64(x) / 3) ** 2).sum(), rtol=1e-5)


def test_weight_gradients_are_materialized():
    """Weight gradients of two layers: the hidden values and their gradient are materialized."""

    def loss(w, v):
        return (jax.nn.gelu(x @ w) @ v).var()

    x, w, v = normal(4, 16, 8), normal(8, 12), normal(12, 8)
    lowered = jxc.lower(jax.grad(loss, (0, 1)), w, v)
    with patch.object(cost, "LEAST_TRANSPOSED", 1):
        found = lowered.opt("O2")
    assert found.report.hits["dot-over-rows-to-materialized"] == 2
    for a, b in zip(found.compile()(w, v), jax.grad(loss, (0, 1))(w, v), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("is_computed", [False, True])
@pytest.mark.parametrize("size", [2**16, 2**22])
def test_argument_to_two_reductions_bounds_temporaries(size, is_computed):
    """Positions and computed elements take 4 bytes each; large tensors are not rewritten."""
    function = (lambda x: jnp.argmax(jnp.tanh(x))) if is_computed else jnp.argmax
    x = jax.ShapeDtypeStruct((size,), np.float32)
    lowered = jxc.lower(function, x).opt("O2")
    assert ("argument-to-two-reductions" in lowered.report.hits) == (size <= 2**20)
    temporaries = lowered.compile().compiled.memory_analysis().temp_size_in_bytes
    plain = jax.jit(function).lower(x).compile().memory_analysis().temp_size_in_bytes
    assert temporaries <= (8 * size + 1024 if size <= 2**20 else plain)
