"""The trees of `jax.lax.associative_scan` after the pass `recurrences`.

On integers, and on floats that are small integers, the loops give the same bits as the trees.
"""

from __future__ import annotations

import random
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

import jxc
from jxc.check.run import shared_interpreter
from jxc.ir import make_context, read_module
from jxc.passes.recurrences import recurrences
from jxc.passes.recurrences.field import PRIME
from jxc.rewrite import PassContext

PREPARED = "inline,symbol-dce,cse"


def affine(first, second):
    return first[0] * second[0], second[0] * first[1] + second[1]


def scan(*elements, combine=affine, **options):
    return lax.associative_scan(combine, elements if len(elements) > 1 else elements[0], **options)


def solution(a, b, **options):
    return scan(a, b, **options)[1]


def pulled_back(function):
    """The result of a function, and its gradient for a given gradient of the result."""

    def gradient(cotangent, *args):
        result, pull = jax.vjp(function, *args)
        return result, pull(cotangent)

    return gradient


def whiles(lowered):
    return lowered.as_text().count("stablehlo.while")


def rewritten(function, args, loops):
    """The program before and after the pass; it has this many loops."""
    before = jxc.lower(function, *args).opt(PREPARED)
    after = before.opt("recurrences")
    assert whiles(after) == loops, after.as_text()
    return before, after


def same_bits(function, args, loops):
    """The results of the loops are those of the trees."""
    programs = rewritten(function, args, loops)
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(args)]
    want, got = (shared_interpreter().run(each.module, leaves) for each in programs)
    for expected, found in zip(want, got, strict=True):
        np.testing.assert_array_equal(found, expected)


def signs(*shape, dtype=np.float32, seed=0):
    """Random numbers of -1, 0 and 1: their products do not grow."""
    return np.random.default_rng(seed).integers(-1, 2, shape).astype(dtype)


@settings(max_examples=25, deadline=None)
@given(
    length=st.integers(32, 70),
    before=st.lists(st.integers(1, 4), max_size=2),
    after=st.lists(st.integers(1, 4), max_size=2),
    reverse=st.booleans(),
    dtype=st.sampled_from([np.float32, np.int32, np.uint8]),
)
def test_recurrences_of_any_shape_keep_bits(length, before, after, reverse, dtype):
    shape, axis = (*before, length, *after), len(before)
    args = signs(*shape, dtype=dtype), signs(*shape, dtype=dtype, seed=1)

    def both(a, b):
        return scan(a, b, reverse=reverse, axis=axis)

    same_bits(both, args, 2)


@settings(max_examples=20, deadline=None)
@given(
    length=st.integers(32, 70),
    width=st.integers(1, 4),
    in_axes=st.sampled_from([None, (0, 0), (0, None), (None, 0)]),
    reverse=st.booleans(),
)
def test_recurrences_of_gradients_keep_bits(length, width, in_axes, reverse):
    def function(a, b):
        return solution(a, b, reverse=reverse)

    batched = in_axes or (None, None)
    a, b = (
        signs(*([3] if axis == 0 else []), length, width, seed=seed)
        for seed, axis in enumerate(batched)
    )
    cotangent = signs(*([3] if 0 in batched else []), length, width, seed=5)
    mapped = jax.vmap(function, in_axes) if in_axes else function
    same_bits(pulled_back(mapped), (cotangent, a, b), 2)


@pytest.mark.parametrize("length", [32, 37])
@pytest.mark.parametrize(
    ("function", "loops"),
    [
        (lambda x: scan(x, combine=jnp.add), 2),
        (lambda x: scan(x, combine=jnp.multiply), 2),
        (lambda x: solution(x, x[::-1]), 2),
    ],
)
def test_recurrences_of_one_input_keep_bits(length, function, loops):
    same_bits(pulled_back(function), (signs(length, 3), signs(length, 3, seed=1)), loops)


def test_recurrences_whose_products_are_results_keep_bits():
    a, b, c, d = (signs(33, 2, seed=seed) for seed in range(4))
    same_bits(lambda c, d, a, b: jax.vjp(scan, a, b)[1]((c, d)), (c, d, a, b), 4)


def test_recurrences_keep_bits_where_a_result_is_an_input():
    x = signs(40, 2)
    same_bits(lambda x: scan(scan(x, combine=jnp.add), combine=jnp.add), (x,), 2)


def test_recurrences_share_a_rate():
    a, b, c, d, e = (signs(33, 2, seed=seed) for seed in range(5))

    def function(a, b, c):
        return solution(a, b), solution(a, c)

    same_bits(lambda d, e, *x: jax.vjp(function, *x)[1]((d, e)), (d, e, a, b, c), 4)


def test_recurrences_in_loops():
    def function(a, xs):
        return lax.scan(lambda c, x: (c, solution(c, x)), a, xs)

    same_bits(function, (signs(40, 2), signs(3, 40, 2, seed=1)), 2)


def test_recurrences_of_complex_numbers():
    a, b, c = (signs(33, 2, seed=n) + 1j * signs(33, 2, seed=n + 9) for n in range(3))
    a, b, c = ((each / 2).astype(np.complex64) for each in (a, b, c))
    before, after = rewritten(pulled_back(solution), (c, a, b), 2)
    results = (jax.tree.leaves(each.compile()(c, a, b)) for each in (before, after))
    for want, got in zip(*results, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_recurrences_of_complex_numbers_with_a_shared_rate():
    a, b, c = (signs(*shape, seed=n) for n, shape in enumerate([(33, 2), (3, 33, 2), (3, 33, 2)]))
    a, b, c = (each.astype(np.complex64) * np.complex64(1j) for each in (a, b, c))
    mapped = jax.vmap(solution, (None, 0))
    before, after = rewritten(pulled_back(mapped), (c, a, b), 2)
    results = (jax.tree.leaves(each.compile()(c, a, b)) for each in (before, after))
    for want, got in zip(*results, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("length", [700, 3000])
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_recurrences_are_as_accurate_as_trees(length, dtype):
    rng = np.random.default_rng(length)
    a, b = (jnp.asarray(rng.uniform(0.99, 1, (length, 8)), dtype) for _ in range(2))
    want, total = np.empty((length, 8)), np.zeros(8)
    for at in range(length):
        total = total * np.float64(a[at]) + np.float64(b[at])
        want[at] = total
    before, after = rewritten(solution, (a, b), 1)
    old, new = (
        np.max(np.abs(np.float64(each.compile()(a, b)) - want) / want) for each in (before, after)
    )
    assert new <= max(2 * old, 1e-5)


def test_recurrences_spread_nan_to_no_other_elements():
    rng = np.random.default_rng(0)
    for _ in range(10):
        args = [rng.uniform(0.5, 1, (47, 3)).astype(np.float32) for _ in range(3)]
        for each in args:
            each[rng.integers(47), rng.integers(3)] = np.nan
        before, after = rewritten(pulled_back(solution), args, 2)
        results = (jax.tree.leaves(each.compile()(*args)) for each in (before, after))
        for want, got in zip(*results, strict=True):
            assert not (np.isnan(got) & ~np.isnan(want)).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("extremes", [[np.inf, -np.inf, np.nan], [1e4, 1e20, -1e20, 1e30, 1e-30]])
def test_recurrences_have_no_nan_where_trees_are_finite(dtype, extremes):
    rng = np.random.default_rng(0)
    with np.errstate(over="ignore"):
        values = np.array([0, 1, -1, 0.5, 2, 3, *extremes]).astype(dtype)
    args = [rng.choice(values, (33, 2000)) for _ in range(3)]

    def both(cotangent, a, b):
        result, pull = jax.vjp(lambda b: solution(a, b), b)
        return result, *pull(cotangent)

    before, after = rewritten(both, args, 2)
    results = (jax.tree.leaves(each.compile()(*args)) for each in (before, after))
    for want, got in zip(*results, strict=True):
        assert np.isfinite(want).any()
        assert not (np.isnan(got) & np.isfinite(want)).any()


def test_recurrences_do_not_read_the_first_rate():
    a, b = np.ones((40, 2), np.float32), np.ones((40, 2), np.float32)
    a[0] = np.inf
    _, after = rewritten(solution, (a, b), 1)
    np.testing.assert_array_equal(after.compile()(a, b)[:, 0], np.arange(1, 41))


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: scan(a, b, combine=lambda p, q: (p[0] * q[0], p[0] * q[1] + p[1])),
        lambda a, b: scan(a, combine=jnp.subtract),
        lambda a, b: scan(a, combine=jnp.maximum),
        lambda a, b: scan(a, combine=lambda p, q: p + q + p * q),
        lambda a, b: scan(a[:31], b[:31]),
    ],
)
def test_recurrences_leave_other_trees_alone(function):
    rewritten(function, (signs(32, 2), signs(32, 2)), 0)


def rows(a):
    """The 32 rows of `a`, by slices of every other one."""
    found = [None] * 32
    for odd in range(2):
        for next_odd in range(2):
            part = a[odd::2][next_odd::2]
            for k in range(8):
                found[4 * k + odd + 2 * next_odd] = part[k]
    return found


def running(a, lanes):
    """The running sum of these lanes of all rows."""
    total, sums = None, []
    for row in rows(a):
        some = sum((row[lane] for lane in lanes[1:]), row[lanes[0]])
        total = some if total is None else total + some
        sums.append(total)
    return jnp.stack(sums)


@pytest.mark.parametrize("lanes", [(0, 1, 2), (0, 5)])
def test_recurrences_tell_lanes_apart(lanes):
    same_bits(lambda a: running(a, lanes), (signs(32, 8),), 0)


def own_scan(a, b, times):
    """A scan for a drive without lanes, summed over the lanes, where it is `times` itself."""

    def wide(x):
        return jnp.broadcast_to(x[:, None], (len(x), a.shape[1]))

    odd = scan(*affine((a[::2], wide(b[::2])), (a[1::2], wide(b[1::2]))))
    even = affine((odd[0][:-1], odd[1][:-1]), (a[2::2], wide(b[2::2])))[1]
    even = jnp.concatenate([wide(b[:1]), even])
    zero = jnp.zeros((), a.dtype)
    y = lax.pad(even, zero, [(0, 1, 1), (0, 0, 0)]) + lax.pad(odd[1], zero, [(1, 0, 1), (0, 0, 0)])
    rest = (a[1:] * y[:-1]).sum(1) + sum([b[1:]] * (times - 1), b[1:])
    return jnp.concatenate([sum([b[:1]] * (times - 1), b[:1]), rest])


@pytest.mark.parametrize(("times", "loops"), [(3, 0), (5, 1)])
def test_recurrences_count_lanes(times, loops):
    same_bits(lambda a, b: own_scan(a, b, times), (signs(32, 5), signs(32, seed=1)), loops)


def test_recurrences_whose_trees_share_inputs_and_results():
    def function(a, b, c, d):
        return solution(c, d), solution(c, solution(a, b)), solution(a, c)

    same_bits(function, [signs(40, seed=seed) for seed in range(4)], 4)


def test_recurrences_whose_result_is_read_with_the_same_rate():
    same_bits(lambda a, b: solution(a, solution(a, b)), (signs(40), signs(40, seed=1)), 2)


def test_recurrences_compare_large_coefficients():
    def multiple(x, number):
        total = None
        while number:
            if number % 2:
                total = x if total is None else total + x
            number //= 2
            x = x + x
        return total

    def function(x):
        return scan(x, combine=lambda p, q: p + multiple(q, 1 + PRIME))

    same_bits(function, (signs(40, dtype=np.int32),), 0)


def test_recurrences_begin_with_the_first_factor():
    z = np.full(33, 1j, np.complex64)
    z[0] = np.inf
    before, after = rewritten(lambda z: scan(z, combine=jnp.multiply), (z,), 1)
    assert after.compile()(z)[0] == before.compile()(z)[0] == np.inf


@pytest.mark.parametrize(
    "function",
    [
        lambda x: scan(x, combine=jnp.add),
        lambda x: scan(x, combine=jnp.multiply),
        lambda x: solution(jnp.abs(x) - 1, x),
    ],
)
def test_recurrences_keep_signs_of_zeros(function):
    x = np.full(33, -0.0, np.float32)
    before, after = rewritten(function, (x,), 1)
    want, got = (np.signbit(each.compile()(x)) for each in (before, after))
    np.testing.assert_array_equal(got, want)


def test_recurrences_are_loops_in_o2():
    args = signs(64, 3), signs(64, 3, seed=1)
    assert whiles(jxc.lower(solution, *args).opt("-O2")) == 1


def test_recurrences_leave_other_targets_alone():
    a, b = signs(32, 2), signs(32, 2)
    for target in ("gpu", "tpu"):
        assert whiles(jxc.lower(solution, a, b).opt("recurrences", target=target)) == 0


def changed(text: str, rng: random.Random) -> str:
    """A program with one op or operand of a tree replaced by another of the same types."""
    lines = text.splitlines()
    found = [
        n for n, line in enumerate(lines) if re.search(r"stablehlo\.(add|multiply|slice)", line)
    ]
    at = rng.choice(found)
    line = lines[at]
    kind = rng.choice(["op", "operand", "offset"])
    if kind == "op" and "slice" not in line:
        pair = ("add", "multiply") if ".add" in line else ("multiply", "add")
        lines[at] = line.replace(*(f"stablehlo.{name} " for name in pair))
    elif kind == "offset" and (match := re.search(r"\[(\d+):(\d+):2", line)) and int(match[1]):
        low, high = int(match[1]), int(match[2])
        lines[at] = line.replace(f"[{low}:{high}:2", f"[{low - 1}:{high - 1}:2")
    else:
        of = line.rsplit(" ", 1)[1]
        others = [
            each.split(" = ")[0].strip()
            for each in lines[:at]
            if " = " in each and each.rsplit(" ", 1)[1] == of
        ]
        if others and "slice" not in line:
            operand = re.search(r"(%\S+?),? ", line.split(" = ")[1])[1].rstrip(",")
            head, tail = line.split(" = ")
            lines[at] = f"{head} = {tail.replace(operand, rng.choice(others), 1)}"
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(60))
def test_recurrences_keep_bits_of_changed_trees(seed):
    rng = random.Random(seed)
    args = [signs(36, 2, dtype=np.int32, seed=n) + 1 for n in range(2)]
    text = jxc.lower(scan, *args).opt(PREPARED).as_text()
    text = changed(text, rng)
    before, after = (read_module(text, make_context()) for _ in range(2))
    recurrences.function(after.operation, PassContext())
    want, got = (shared_interpreter().run(each, args) for each in (before, after))
    for expected, found in zip(want, got, strict=True):
        np.testing.assert_array_equal(found, expected)
