"""`jxc.bucket`: the results of jit from few programs, or an error that names the line."""

from __future__ import annotations

import inspect
import pydoc
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc.errors import UsageError
from jxc.tools.bucket.rows import MixedRows

RANDOM = np.random.default_rng(0)
W = RANDOM.standard_normal((4, 6)).astype(np.float32)
TABLE = RANDOM.standard_normal((10, 4)).astype(np.float32)


def rows(n, *shape):
    return RANDOM.standard_normal((n, *shape)).astype(np.float32)


def attention(x):
    q, k, v = (x @ W[:, at : at + 2] for at in (0, 2, 4))
    scores = jax.nn.softmax(q @ k.swapaxes(1, 2))
    return jnp.reshape(scores @ v, (x.shape[0], -1))


def merged(x):
    flat = x.reshape(-1, x.shape[-1])
    return jnp.tanh(flat @ W).reshape(*x.shape[:2], 6), (x[:, ::2, 1:], x.sum((1, 2)))


def convolved(x):
    kernel = jnp.ones((3, 4, 2))
    out = jax.lax.conv_general_dilated(
        x, kernel, (1,), "SAME", dimension_numbers=("NHC", "HIO", "NHC")
    )
    return jax.lax.reduce_window(out, -jnp.inf, jax.lax.max, (1, 2, 1), (1, 2, 1), "VALID")


def recurrent(x):
    step = lambda h, xt: (jnp.tanh(h @ W[:, :4] + xt), h.sum(-1))  # noqa: E731
    carry, ys = jax.lax.scan(step, jnp.zeros((x.shape[0], 4)), x.swapaxes(0, 1))
    return carry, ys.T


def looked_up(x):
    ids = jnp.argmax(x, -1)
    return jnp.asarray(TABLE)[ids], jnp.sort(x, -1), jnp.cumsum(x, 1), x[:, jnp.array([0, 2])]


def numbered(x):
    return x + jnp.arange(x.shape[0])[:, None, None], jnp.float32(3.0)


ROW_BY_ROW = (attention, merged, convolved, recurrent, looked_up, numbered)


@pytest.mark.parametrize("fn", ROW_BY_ROW, ids=lambda fn: fn.__name__)
def test_bucket_gives_same_results_as_jit(fn):
    bucketed = jxc.bucket(fn, sizes=[4, 8])
    for n in (3, 6, 8):
        x = rows(n, 4, 4)
        found, expected = bucketed(x), jax.jit(fn)(x)
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), found, expected
        )
    report = bucketed.report()
    assert (report.calls, report.compilations, report.sizes) == (3, 2, {4: 1, 8: 2})
    assert (report.rows, report.padded, report.waste) == (17, 3, 3 / 20)
    assert "3 calls, 2 programs compiled, 15.0% of the rows were padding" in str(report)


def divided(x):
    return x / x.shape[0]


def centred(x):
    return x - x.mean(0)


def rows_concatenated(x):
    return x @ x.T


def shifted(x):
    return jnp.roll(x, 1, axis=0)


def first(x):
    return x * x[0]


def all_but_one(x):
    return x[:-1]


def scanned(x):
    return jax.lax.scan(lambda c, row: (c + row, c), jnp.zeros(4), x)[1]


def conditional(x):
    return x + 1 if x.shape[0] > 4 else x * 2


def counted(x):
    return x * jnp.ones(x.shape[0]).sum()


def ordered(x):
    return jnp.sort(x, axis=0)


def drawn(x):
    return x + jax.random.bits(jax.random.key(0, impl="rbg"), x.shape).astype(np.float32)


def powered(x):
    return x ** x.shape[0]


def table_of_length(x):
    return x * np.arange(x.shape[0], dtype=np.float32)[:, None] ** 2


def folded(x):
    return x.reshape(2, -1, 4).swapaxes(0, 1).reshape(-1, 4)


def whether_any(x):
    return jax.lax.while_loop(lambda c: jnp.any(c < 5), lambda c: c + 1, x)


MIXED = {
    divided: "divide|constant|broadcast",
    centred: "reduce",
    rows_concatenated: "dot_general",
    shifted: "slice|concatenate",
    first: "slice",
    all_but_one: "slice",
    scanned: "iota|constant|dynamic_slice|dynamic_update_slice|broadcast_in_dim",
    conditional: "add|multiply|constant",
    counted: "reduce",
    ordered: "sort",
    drawn: "rng_bit_generator|reshape|threefry|bitcast|multiply|constant",
    powered: "multiply|power|constant|integer_pow",
    table_of_length: "constant",
    folded: "reshape|transpose",
    whether_any: "reduce",
}


@pytest.mark.parametrize("fn", MIXED, ids=lambda fn: fn.__name__)
def test_bucket_rejects_mixed_rows_with_op_and_line(fn):
    with pytest.raises(MixedRows) as caught:
        jxc.bucket(fn, sizes=[8])(rows(4, 4))
    message = str(caught.value)
    assert any(f"jxc.bucket: {name}" in message for name in MIXED[fn].split("|")), message
    assert f"({fn.__name__}" in message and "test_bucket.py:" in message
    assert "pass vmap=True" in message


def test_bucket_with_vmap_maps_function_of_one_row():
    def settle(x, target, *, rate):
        """Iterate until close to the target."""
        near = lambda c: jnp.abs(c - target).sum() > 0.01  # noqa: E731
        return jax.lax.while_loop(near, lambda c: c + rate * (target - c), x), x.mean()

    bucketed = jxc.bucket(settle, sizes="powers-of-two", in_axes=(0, None), vmap=True)
    target = np.ones(4, np.float32)
    for n in (1, 3, 5, 7):
        x = rows(n, 4)
        found = bucketed(x, target, rate=0.5)
        expected = jax.vmap(lambda x: settle(x, target, rate=0.5))(x)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), found, expected)
    assert bucketed.report().sizes == {1: 1, 4: 1, 8: 2}
    assert bucketed.lengths == {1: 1, 3: 1, 5: 1, 7: 1}


def test_bucket_with_no_rows_and_with_full_size():
    centred_too = jxc.bucket(centred, sizes=[4])
    np.testing.assert_allclose(centred_too(rows(4, 4)).mean(0), 0, atol=1e-6)
    assert jxc.bucket(merged)(rows(0, 4, 4))[0].shape == (0, 4, 6)


def test_bucket_with_pytrees_static_arguments_keys_and_other_axes():
    @jxc.bucket(sizes=[4], in_axes=(1, None), out_axes=1, static_argnames="power")
    def f(batch, w, power=2):
        return {"out": (batch["x"].swapaxes(0, 1) @ w).swapaxes(0, 1) ** power, "w": w}

    batch = {"x": rows(5, 3, 4), "key": jax.random.split(jax.random.key(0), (5, 3))}
    found = f(batch, W, power=3)
    np.testing.assert_allclose(found["out"], (batch["x"] @ W) ** 3, rtol=1e-4)
    assert found["w"].shape == W.shape
    f({"x": rows(5, 2, 4), "key": batch["key"][:, :2]}, W, power=2)
    assert f.report().compilations == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jxc.bucket(merged, sizes="fibonacci"), "expected 'powers-of-two' or a list"),
        (lambda: jxc.bucket(merged, sizes=[0, 3]), "expected positive integers"),
        (lambda: jxc.bucket(merged, sizes=[2])(rows(3, 4, 4)), "3 is more than the largest size"),
        (
            lambda: jxc.bucket(jnp.add)(rows(3), rows(4)),
            "found 3, 4: pass None for arguments",
        ),
        (lambda: jxc.bucket(jnp.add)(rows(3), 1.0), "no such axis"),
        (lambda: jxc.bucket(jnp.add, in_axes=(0,))(rows(3), 1.0), "in_axes has 1 entries"),
        (lambda: jxc.bucket.propose([]), "expected lengths from 1"),
        (lambda: jxc.bucket.propose([3], buckets=0), "buckets from 1"),
    ],
)
def test_bucket_rejects_invalid_options(call, message):
    with pytest.raises(UsageError, match=message):
        call()


def test_bucket_rejects_other_result_axis():
    with pytest.raises(MixedRows, match="result 0 has the rows in axis 1, not in axis 0"):
        jxc.bucket(lambda x: x.T, sizes=[8])(rows(4, 3))


# Sizes


def padding(sizes, lengths):
    return sum(min(size for size in sizes if size >= length) - length for length in lengths)


def test_propose_pads_least():
    for seed in range(20):
        lengths = np.random.default_rng(seed).integers(1, 40, 12).tolist()
        for count in (1, 2, 3, 4):
            found = jxc.bucket.propose(lengths, buckets=count)
            known = sorted(set(lengths))
            others = [(*some, known[-1]) for some in combinations(known[:-1], count - 1)]
            assert padding(found, lengths) == min(padding(sizes, lengths) for sizes in others)
            assert len(found) <= count


def test_propose_chooses_fewest_sizes_within_max_waste():
    lengths = {10: 100, 11: 50, 100: 3}
    assert jxc.bucket.propose(lengths) == (11, 100)
    assert jxc.bucket.propose(lengths, max_waste=0) == (10, 11, 100)
    assert jxc.bucket.propose(lengths, buckets=1) == (100,)
    assert jxc.bucket.propose([5, 5, 5]) == (5,)


def test_bucket_under_grad_and_jit():
    root = jxc.bucket(lambda x, scale: jnp.sqrt(x) * scale, in_axes=(0, None))
    x = np.arange(1, 6, dtype=np.float32)
    slope = jax.grad(lambda x: root(x, 3.0).sum())(x)
    np.testing.assert_allclose(slope, 1.5 / np.sqrt(x), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(root)(x, 3.0), 3 * np.sqrt(x), rtol=1e-6)
    with pytest.raises(MixedRows, match="combines all rows"):
        jax.grad(jxc.bucket(lambda x: (x * x).sum()))(x)


def test_bucket_is_a_documented_function_with_propose():
    assert inspect.isfunction(jxc.bucket)
    assert "function bucket" in pydoc.render_doc(jxc.bucket, renderer=pydoc.plaintext)
    assert jxc.bucket.propose([3, 5]) == (3, 5)
    bucketed = jxc.bucket(merged, sizes=[4, 8])
    bucketed(rows(3, 4, 4))
    assert repr(bucketed) == "<jxc.bucket of merged, sizes [4, 8], called 1 times>"
    assert inspect.signature(bucketed) == inspect.signature(merged)
