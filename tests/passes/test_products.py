"""Products in another order, with sums and gathers moved through them, equal float64's."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

import jxc
from jxc.ir import clone_module
from jxc.pipeline import make_pipeline, run_pipeline

from .rounding import assert_within_rounding

PIPELINE = "inline{default-pipeline=},cse,simplify{always=true},products{always=true}"


def rewritten(function, args):
    """The results after the pass, and the rules of it that applied."""
    lowered = jxc.lower(function, *args).opt(PIPELINE)
    return lowered.compile()(*args), dict(lowered.report.hits)


def check(function, args, rule):
    """Apply `rule`, and compare with float64."""
    found, hits = rewritten(function, args)
    assert hits.get(rule), hits
    with jax.enable_x64(True):
        assert_within_rounding(found, function, args, least=1e-6)


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@st.composite
def chains(draw):
    """Dimension numbers of dot_general(dot_general(a, b), c), or of c on the left; and arrays."""
    batch, terms = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    free = [draw(st.integers(0, 2)), draw(st.integers(0, 2))]
    sizes = iter(draw(st.permutations([2, 3, 4, 5, 6, 7, 2, 3, 4, 5])))
    shared = [next(sizes) for _ in range(batch + terms)]
    operands, sides = [], []
    for i in range(2):
        extents = [*shared, *(next(sizes) for _ in range(free[i]))]
        order = draw(st.permutations(range(len(extents))))
        operands.append(floats(*(extents[k] for k in order), seed=i))
        place = [order.index(k) for k in range(batch + terms)]
        sides.append((place[batch:], place[:batch]))
    inner = (tuple(side[0] for side in sides), tuple(side[1] for side in sides))
    product = lax.dot_general(*operands, inner)
    summed = (
        draw(st.lists(st.sampled_from(range(batch, product.ndim)), unique=True))
        if (product.ndim > batch)
        else []
    )
    extents = [*product.shape[:batch], *(product.shape[k] for k in summed), next(sizes)]
    order = draw(st.permutations(range(len(extents))))
    place = [order.index(k) for k in range(batch + len(summed))]
    operands.append(floats(*(extents[k] for k in order), seed=2))
    third = (place[batch:], place[:batch])
    mine, is_left = (summed, list(range(batch))), draw(st.booleans())
    outer = [mine, third] if is_left else [third, mine]
    return inner, (tuple(s[0] for s in outer), tuple(s[1] for s in outer)), is_left, operands


@settings(max_examples=60, deadline=None, derandomize=True)
@given(chains())
def test_chains_of_any_dimensions_equal_float64(case):
    inner, outer, is_left, operands = case

    def chain(a, b, c):
        p = lax.dot_general(a, b, inner)
        return lax.dot_general(*((p, c) if is_left else (c, p)), outer)

    found, _ = rewritten(chain, operands)
    with jax.enable_x64(True):
        assert_within_rounding(found, chain, operands, least=1e-6)


def test_a_chain_of_four_is_multiplied_from_the_vector():
    args = [floats(5, 6), floats(6, 7), floats(7, 8), floats(8)]
    check(lambda a, b, c, v: a @ b @ c @ v, args, "chain-of-products")


def test_linear_attention_and_its_gradient():
    def loss(q, k, v):
        return (((q @ jnp.swapaxes(k, -1, -2)) @ v) ** 2).sum()

    args = [floats(2, 9, 3, seed=i) for i in range(3)]
    check(jax.value_and_grad(loss), args, "chain-of-products")


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 1), (1, 2), (0, 1, 2)])
def test_sums_over_any_dimensions(axis):
    args = [floats(3, 5, 6), floats(6, 7)]
    check(lambda a, b: (a @ b).sum(axis), args, "sum-of-product")


@pytest.mark.parametrize("is_mapped", [False, True])
def test_traces(is_mapped):
    def trace(a, b):
        return jnp.trace(a @ b)

    shape = (4,) if is_mapped else ()
    args = [floats(*shape, 5, 6), floats(*shape, 6, 5)]
    check(jax.vmap(trace) if is_mapped else trace, args, "trace-of-product")


def test_a_trace_ignores_nans_elsewhere():
    a, b = floats(5, 6), floats(6, 5)
    found, hits = rewritten(lambda a, b: jnp.trace(a @ b), [a, b])
    assert hits.get("trace-of-product")
    np.testing.assert_allclose(found, np.trace(a @ b), rtol=1e-5)


def test_diagonals():
    check(lambda a, b: jnp.diagonal(a @ b.T), [floats(5, 6), floats(5, 6)], "diagonal-of-product")


def test_sums_of_products_with_a_common_factor():
    args = [floats(5, 6), floats(6, 7, seed=1), floats(6, 7, seed=2)]
    check(lambda a, b, c: a @ b + a @ c, args, "sum-of-products-with-common-factor")


INDICES = np.array([[0, 3, -1], [7, -9, 2]], np.int32)  # 7 and -9 are outside of a table of 4


@pytest.mark.parametrize("mode", ["clip", "fill", "wrap"])
def test_rows_outside_of_the_table_are_what_jax_makes_them(mode):
    def product(e, w):
        return jnp.take(e, INDICES, axis=0, mode=mode) @ w

    args = [floats(4, 5), floats(5, 3)]
    found, hits = rewritten(product, args)
    assert hits.get("product-of-rows")
    np.testing.assert_allclose(found, jax.jit(product)(*args), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", ["cpu", "gpu", "tpu"])
def test_a_device_with_another_memory_decides_otherwise(target):
    """Half the multiply-adds, one more pass over memory."""
    rows = np.arange(1000, dtype=np.int32) % 500
    args = [floats(500, 16), floats(16, 1024), rows]
    module = jxc.lower(lambda e, w, i: e.at[i].get(mode="clip") @ w, *args).module
    usual = jxc.PassContext(target).device
    for bandwidth, hits in ((1e15, 1), (1e6, 0)):
        rates = {**usual.rates, "multiply-add": 1e-3, "kernel-launch": 1.0}
        device = replace(usual, rates=rates, bandwidth=bandwidth, cache_bandwidth=bandwidth)
        context = jxc.PassContext(target, device=device)
        report = run_pipeline(clone_module(module), make_pipeline("products"), context)
        assert sum(report.hits.values()) == hits


def test_rows_on_the_right_and_of_a_middle_dimension():
    i = np.array([2, 0, 0, 1, 2, 1], np.int32)

    def product(e, w):
        return jnp.einsum("ab,bcd->acd", w, jnp.take(e, i, axis=1, mode="clip"))

    check(product, [floats(5, 3, 2), floats(4, 5)], "product-of-rows")


@pytest.mark.parametrize("form", ["rows", "along", "mapped"])
def test_the_last_token_of_each_sequence(form):
    last = np.array([2, 6, 0], np.int32)

    def logits(x, w):
        if form == "mapped":
            return jax.vmap(lambda x, i: (x @ w)[i])(x, last)
        y = x @ w
        if form == "rows":
            return y[jnp.arange(3), last]
        return jnp.take_along_axis(y, last[:, None, None], axis=1)

    check(logits, [floats(3, 7, 5), floats(5, 11)], "rows-of-product")


def test_messages_along_edges():
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 4, (2, 30)).astype(np.int32)

    def messages(n, e, w):
        return jnp.concatenate([n[i], e, n[j], e], -1) @ w

    args = [floats(4, 5), floats(30, 3), floats(16, 6)]
    check(messages, args, "product-of-concatenated-rows")


@pytest.mark.parametrize("start", [-3, 0, 4, 6, 20])
def test_a_dynamic_slice_is_clamped_alike(start):
    def rows(x, w, i):
        return lax.dynamic_slice_in_dim(x @ w, i, 2, axis=0)

    args = [floats(7, 5), floats(5, 11), np.int32(start)]
    found, hits = rewritten(rows, args)
    assert hits.get("dynamic-slice-of-dot")
    np.testing.assert_allclose(found, jax.jit(rows)(*args), rtol=1e-5, atol=1e-6)


def in_frame(form):
    """Attention of arrays of [batch, positions, heads, features], written in three ways."""

    def softmax(q, k, v):
        s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 2
        s = jnp.where(jnp.tril(jnp.ones(s.shape[-2:], bool)), s, -jnp.inf)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s), v)

    def exponentials(q, k, v):
        e = jnp.exp(jnp.einsum("bqhd,bkhd->bhqk", q, k))
        return jnp.einsum("bhqk,bkhd->bqhd", e * (1 / e.sum(-1, keepdims=True)), v)

    return {"softmax": softmax, "exp": exponentials, "jax": jax.nn.dot_product_attention}[form]


@pytest.mark.parametrize("form", ["softmax", "exp", "jax"])
@pytest.mark.parametrize("shape", [(2, 9, 3, 4), (1, 8, 1, 2), (1, 6, 2, 3)])
def test_the_gradient_of_attention_sums_over_features(form, shape):
    def loss(q, k, v):
        return (in_frame(form)(q, k, v) ** 2).sum()

    args = [floats(*shape, seed=i) for i in range(3)]
    gradient = jax.grad(loss, argnums=(0, 1, 2))
    found, hits = rewritten(gradient, args)
    assert hits.get("sum-over-keys-to-features"), hits
    with jax.enable_x64(True):
        want = jax.jit(gradient)(*[np.asarray(arg, np.float64) for arg in args])
    for got, exact in zip(found, want, strict=True):
        np.testing.assert_allclose(got, exact, rtol=1e-4, atol=1e-5)


def test_product_of_repeated_keeps_the_precision_of_each_operand() -> None:
    """The repeated left factor becomes the right one, with its precision."""

    def grouped(x: jax.Array, y: jax.Array) -> jax.Array:
        repeated = jnp.repeat(x, 2, axis=0)
        numbers = (((2,), (1,)), ((0,), (0,)))
        return lax.dot_general(repeated, y, numbers, precision=("highest", "default"))

    x, y = np.ones((4, 3, 8), np.float32), np.ones((8, 8, 2), np.float32)
    program = jxc.lower(grouped, x, y).opt(
        "inline,cse,simplify,product-of-repeated{always=true}", target="tpu"
    )
    assert program.report is not None
    assert program.report.hits.get("product-of-repeated") == 1
    assert "precision = [DEFAULT, HIGHEST]" in program.as_text()
