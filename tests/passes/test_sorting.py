"""Sorts after the pass equal numpy's stable sort: NaNs last, zeros of both signs equal."""

from __future__ import annotations

from unittest.mock import patch

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import jxc
from jxc.passes.sorting import selection

PACKED, TOP_K = "sort-to-packed-sort", "slice-of-sort-to-top-k"
NETWORK, SORTED_TOP_K = "sort-to-network", "top-k-to-packed-sort"
PARTITION, SEARCH = "sort-of-booleans-to-partition", "membership-to-search"
FLOATS = (np.float32, np.float16, ml_dtypes.bfloat16)
INTEGERS = (np.int32, np.uint32, np.int8, np.uint16)
SPECIAL = (0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0)


def numbers(dtype, shape, seed=0):
    """Numbers with many ties, random bit patterns, and special floats."""
    generator, dtype = np.random.default_rng(seed), np.dtype(dtype)
    raw = generator.integers(0, 2 ** (8 * dtype.itemsize), shape, np.uint64)
    found = raw.astype(f"u{dtype.itemsize}").view(dtype)
    few = SPECIAL if dtype.kind not in "iu" else (0, 1, np.iinfo(dtype).min, np.iinfo(dtype).max)
    chosen = np.array(few).astype(dtype)[generator.integers(0, len(few), shape)]
    return np.where(generator.random(shape) < 0.5, chosen, found).astype(dtype)


def order(x, axis):
    """The permutation of a stable ascending sort."""
    with np.errstate(invalid="ignore"):
        key = x if x.dtype.kind in "iub" else x.astype(np.float64)
    return np.argsort(key, axis=axis, kind="stable")


def same(found, want):
    """Assert equal bits; all NaNs are equal."""
    found, want = np.asarray(found), np.asarray(want)
    assert found.dtype == want.dtype and found.shape == want.shape
    both_nan = (found != found) & (want != want)
    kind = f"u{found.dtype.itemsize}"
    assert ((found.view(kind) == want.view(kind)) | both_nan).all()


def rewritten(function, *args, hits, always=True, simplified=False):
    """The function's results after the pass; `hits` is how often each rule must have fired.

    Two rules apply to what others build or match. They are disabled where they are not expected.
    """
    disabled = ",".join(sorted({NETWORK, SORTED_TOP_K} - set(hits)))
    options = f"always={str(always).lower()}" + (
        f" disable-patterns={disabled}" if disabled else ""
    )
    passes = f"inline{{default-pipeline=}},symbol-dce,cse,sorting{{{options}}}"
    lowered = jxc.lower(function, *args)
    lowered = (lowered.opt("-O1") if simplified else lowered).opt(passes)
    assert lowered.report.hits == hits
    return lowered.compile()(*args)


@pytest.mark.parametrize("shape, axis", [((40, 25), 0), ((40, 25), 1), ((64, 256), 0)])
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_packed_sort_of_any_key_type(dtype, shape, axis):
    """One sort of keys, indices, another operand and the key again."""
    x, y = numbers(dtype, shape), numbers(np.float32, shape, seed=1)

    def sort(x, y):
        places = lax.broadcasted_iota(jnp.int32, x.shape, axis)
        return lax.sort((x, places, y, x), dimension=axis, num_keys=1)

    found, places = rewritten(sort, x, y, hits={PACKED: 1}), order(x, axis)
    taken = [np.take_along_axis(each, places, axis) for each in (x, y)]
    for got, want in zip(
        found, [taken[0], places.astype(np.int32), taken[1], taken[0]], strict=True
    ):
        same(got, want)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("is_stable", [True, False])
def test_sort_by_several_keys(axis, is_stable):
    """Three keys with ties, NaNs and zeros of both signs."""
    x, y = numbers(np.float32, (60, 40)), numbers(np.float16, (60, 40), seed=1)
    z = np.random.default_rng(2).integers(0, 3, x.shape).astype(np.int8)
    with np.errstate(invalid="ignore"):
        x, y = (np.where(z == 1, np.round(each), each).astype(each.dtype) for each in (x, y))

    def sort(z, x, y):
        return lax.sort((z, x, y, x), dimension=axis, num_keys=3, is_stable=is_stable)

    found = rewritten(sort, z, x, y, hits={"sort-by-keys-to-packed-sorts": 1})
    places = np.lexsort((y, x, z), axis=axis)
    for got, each in zip(found, (z, x, y, x), strict=True):
        same(got, np.take_along_axis(each, places, axis))


@pytest.mark.parametrize("dtype", FLOATS)
def test_sort_of_one_operand(dtype):
    x = numbers(dtype, (700,))
    same(rewritten(jnp.sort, x, hits={PACKED: 1}), x[order(x, 0)])


@pytest.mark.parametrize(
    ("shape", "axis"), [((40, 25), 0), ((40, 25), 1), ((3, 2, 8), 1), ((9,), 0)]
)
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_network_of_any_key_type(dtype, shape, axis):
    """With zeros of both signs, and without -0.0, where no positions of zeros are sorted."""
    x = numbers(dtype, shape)
    for each in (x, np.where(x == 0, np.ones_like(x), x)):
        found = rewritten(lambda x: lax.sort(x, dimension=axis), each, hits={NETWORK: 1})
        same(found, np.take_along_axis(each, order(each, axis), axis))


@pytest.mark.parametrize(("shape", "kept"), [((300,), 300), ((3, 80), 50), ((2, 3, 40), 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_top_k_by_a_packed_sort(dtype, shape, kept):
    """XLA orders floats by their bits: also NaNs, of either sign."""
    x = numbers(dtype, shape)
    found = rewritten(lambda x: lax.top_k(x, kept), x, hits={SORTED_TOP_K: 1})
    for got, want in zip(found, jax.jit(lambda x: lax.top_k(x, kept))(x), strict=True):
        np.testing.assert_array_equal(
            np.asarray(got).view(np.int32), np.asarray(want).view(np.int32)
        )


@pytest.mark.parametrize("kept", [1, 7, 80])
def test_approx_min_k_is_exact(kept):
    x = numbers(np.float32, (3, 80))
    found = rewritten(lambda x: lax.approx_min_k(x, kept), x, hits={"approx-min-k-to-top-k": 1})
    places = order(x, 1)[:, :kept]
    same(found[0], np.take_along_axis(x, places, 1))
    same(found[1], places.astype(np.int32))


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_packed_argsort_in_descending_order(dtype):
    """JAX reverses the operand and the result, so that ties keep their order."""
    x = numbers(dtype, (300,))
    found = rewritten(lambda x: jnp.argsort(x, descending=True), x, hits={PACKED: 1})
    same(found, (299 - order(x[::-1], 0))[::-1].astype(np.int32))


def test_packed_sorts_of_typical_programs():
    """Functions that sort: under `vmap`, `grad`, in a quantile, a permutation, `unique`."""
    x = jnp.asarray(numbers(np.float32, (4, 50)))
    finite = jnp.nan_to_num(x, posinf=3, neginf=-3)
    key = jax.random.PRNGKey(0)
    for function, arg in [
        (jax.vmap(jnp.argsort), x),
        (jax.grad(lambda x: (jnp.sort(x) * jnp.arange(50)).sum()), finite),
        (lambda x: jnp.quantile(x, 0.9, axis=0, method="lower"), x),
        (lambda key: jax.random.permutation(key, 50), key),
        (lambda x: jnp.unique(jnp.int32(x[0]), size=9), finite),
    ]:
        found = rewritten(function, arg, hits={PACKED: 1})
        same(found, jax.jit(function)(arg))


@pytest.mark.parametrize("shape", [(80,), (3, 80), (2, 3, 80)])
def test_top_k_from_both_ends(shape):
    x = numbers(np.float32, shape)
    places = order(x, -1)
    values = np.take_along_axis(x, places, -1)
    ends = {
        "first": (slice(0, 3), TOP_K),
        "last": (slice(77, None), TOP_K),
        "between": (slice(76, 79, 2), TOP_K),
        "many": (slice(0, 30), PACKED),
        "median": (slice(40, 41), PACKED),
    }
    for part, rule in ends.values():
        found = rewritten(lambda x, part=part: jnp.sort(x)[..., part], x, hits={rule: 1})
        same(found, values[..., part])
        found = rewritten(lambda x, part=part: jnp.argsort(x)[..., part], x, hits={rule: 1})
        same(found, places[..., part].astype(np.int32))


def test_top_k_in_descending_order():
    x = numbers(np.float32, (3, 80))
    values = np.take_along_axis(x, order(x, -1), -1)[:, ::-1]

    def ends(x):
        ordered = jnp.sort(x, descending=True)
        return ordered[:, :5], ordered[:, 77:]

    found = rewritten(ends, x, hits={TOP_K: 2})
    same(found[0], values[:, :5])
    same(found[1], values[:, 77:])


def test_packed_sort_keeps_the_order_of_ties():
    """Arrays of only NaNs, zeros or equal numbers keep their order."""
    x = np.array([np.nan, 0.0, -0.0, -np.nan] * 20, np.float32)
    for part in (slice(0, 5), slice(75, 80)):
        found = rewritten(lambda x, part=part: jnp.argsort(x)[part], x, hits={TOP_K: 1})
        same(found, order(x, 0)[part].astype(np.int32))


@pytest.mark.parametrize(("shape", "axis"), [((1000,), 0), ((40, 25), 0), ((40, 25), 1), ((2,), 0)])
def test_sort_by_booleans_keeps_the_order_of_ties(shape, axis):
    """Masks that are mixed, all False and all True; the payloads are a mask, floats, positions."""
    y = numbers(np.float32, shape)
    for mask in (numbers(np.int32, shape, seed=1) > 0, np.zeros(shape, bool), np.ones(shape, bool)):

        def sort(mask, y):
            places = lax.broadcasted_iota(jnp.int32, mask.shape, axis)
            return lax.sort((mask, places, y), dimension=axis, num_keys=1)

        found, places = rewritten(sort, mask, y, hits={PARTITION: 1}), order(mask, axis)
        np.testing.assert_array_equal(found[0], np.take_along_axis(mask, places, axis))
        np.testing.assert_array_equal(found[1], places)
        same(found[2], np.take_along_axis(y, places, axis))


def test_compress_has_no_sort():
    mask, y = np.arange(1000) % 3 == 0, np.arange(1000, dtype=np.float32)
    found = rewritten(
        lambda m, y: jnp.compress(m, y, size=400), mask, y, hits={PARTITION: 1}, always=False
    )
    np.testing.assert_array_equal(found, np.pad(y[mask], (0, 400 - mask.sum())))


@pytest.mark.parametrize("size", [2, 3, 64, 65])
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_search_finds_equal_numbers_and_no_nan(dtype, size):
    """A NaN is equal to nothing, and zeros are equal."""
    x, y = numbers(dtype, (300,)), numbers(dtype, (size,), seed=1)
    for invert in (False, True):
        is_in = lambda x, y, invert=invert: jnp.isin(x, y, invert=invert)  # noqa: E731
        found = rewritten(is_in, x, y, hits={SEARCH: 1}, simplified=True)
        with np.errstate(invalid="ignore"):
            equal = (x[:, None] == y[None, :]).any(1)
        np.testing.assert_array_equal(found, equal != invert)


def selected(function, *args):
    """The function's results with the reads of its sort replaced by bisections."""
    rules = "sorting{always=true enable-patterns=sort-to-selection}"
    with patch.object(selection, "sort_ns", lambda *args, **options: 1e18):
        lowered = jxc.lower(function, *args).opt(f"inline,cse,simplify,{rules}")
    assert lowered.report.hits["sort-to-selection"] and "stablehlo.sort" not in lowered.as_text()
    return lowered.compile()(*args)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_selection_of_any_key_type(dtype, axis):
    """Adjacent positions, one that is clamped, and one of each row."""
    x, places = numbers(dtype, (200, 150)), np.arange((200, 150)[1 - axis], dtype=np.int32)
    shape = tuple(np.insert([len(places)], axis, 1))

    def read(x, place, places):
        ordered = lax.sort(x, dimension=axis)
        few = lax.slice_in_dim(ordered, 60, 63, axis=axis)
        one = lax.dynamic_slice_in_dim(ordered, place, 1, axis)
        return few, one, jnp.take_along_axis(ordered, places.reshape(shape) % 150, axis)

    ordered = np.take_along_axis(x, order(x, axis), axis)
    found = selected(read, x, np.int32(1000), places)
    same(found[0], np.take(ordered, range(60, 63), axis))
    same(found[1], np.take(ordered, [x.shape[axis] - 1], axis))
    same(found[2], np.take_along_axis(ordered, places.reshape(shape) % 150, axis))


@pytest.mark.parametrize("start", [0, 20, 45])
def test_selection_keeps_the_order_of_zeros(start):
    """Positions before the zeros, among them and after them."""
    x = np.random.default_rng(start).choice(np.float32([0, -0.0, 0, -0.0, 1, -1]), 65)
    found = selected(lambda x: jnp.sort(x)[start : start + 15], x)
    same(found, x[order(x, 0)][start : start + 15])


def test_selection_of_typical_programs():
    x = np.random.default_rng(0).standard_normal((300, 9)).astype(np.float32).round(1)
    for function in (
        lambda x: jnp.median(x, axis=0),
        lambda x: jax.vmap(jnp.median)(x.T),
        lambda x: jnp.nanmedian(jnp.where(x > 1, jnp.nan, x), axis=0),
        lambda x: jnp.quantile(x.ravel(), x[0, 0] * 0 + 0.3, method="lower"),
    ):
        same(selected(function, x), jax.jit(function)(x))


def test_selection_at_a_position_that_another_read_gives():
    x = np.random.default_rng(0).integers(0, 50, 64).astype(np.int32)

    def read(x, i, j):
        ordered = lax.sort(x)
        first, second = (lax.dynamic_slice(ordered, (k,), (1,)) for k in (i, j))
        return first, second, lax.dynamic_slice(ordered, (second[0],), (1,))

    found = selected(read, x, np.int32(3), np.int32(10))
    for got, want in zip(found, jax.jit(read)(x, 3, 10), strict=True):
        same(got, want)


def test_sort_of_indices_is_no_read():
    table = np.arange(100, dtype=np.int32)[:, None]
    x = np.array([[5], [2]], np.int32)
    numbers = lax.GatherDimensionNumbers((0,), (0,), (0,))

    def gathered(table, x):
        return lax.gather(table, lax.sort(x, dimension=0), numbers, (1, 1), mode="clip")

    with patch.object(selection, "sort_ns", lambda *args, **options: 1e18):
        lowered = jxc.lower(gathered, table, x).opt("O2")
    assert "sort-to-selection" not in lowered.report.hits
    same(lowered.compile()(table, x), jax.jit(gathered)(table, x))


def test_small_sorts_and_wide_keys_stay():
    x = np.arange(1000, dtype=np.float32)
    rewritten(jnp.sort, x, hits={PACKED: 1}, always=False)
    rewritten(jnp.sort, x[:10], hits={}, always=False)
    with jax.enable_x64(True):
        rewritten(jnp.sort, x.astype(np.float64), hits={})
    rewritten(lambda x: lax.sort([x + i for i in range(5)], num_keys=5), x, hits={})
    rewritten(jnp.sort, x > 3, hits={})


def test_part_without_elements_needs_no_sort():
    found = jxc.lower(lambda x: jnp.sort(x)[:0], jnp.arange(60.0)).opt("O2")
    assert found.compile()(jnp.arange(60.0)).shape == (0,)
