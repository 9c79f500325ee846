"""`compare_calls` distinguishes rounding from wrong results; `fill` draws arguments."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jxc.check.deviation import compare_calls, deviation_of
from jxc.check.fill import fill
from jxc.errors import UsageError

X = np.linspace(-3, 3, 64, dtype=np.float32)


def test_compare_calls_of_the_same_program_has_equal_bits():
    found = compare_calls(jnp.sin, jnp.sin, (X,), {})
    assert found.agrees
    assert found.equal_bits
    assert found.error == 0


def test_compare_calls_accepts_another_order_of_summation_only():
    def forwards(x):
        return jnp.cumsum(x * 1.1)[-1]

    def backwards(x):
        return jnp.cumsum((x * 1.1)[::-1])[-1]

    x = np.random.default_rng(0).standard_normal(4096).astype(np.float32)
    assert compare_calls(forwards, backwards, (x,), {}).agrees
    assert not compare_calls(forwards, lambda x: backwards(x) + 1e-2, (x,), {}).agrees


def test_compare_calls_requires_the_same_nans_and_infinities():
    found = compare_calls(jnp.sqrt, lambda x: jnp.sqrt(jnp.abs(x)), (X,), {})
    assert found.misplaced == 32
    assert not found.agrees
    assert not compare_calls(jnp.log, lambda x: -jnp.log(x), (np.zeros(3, np.float32),), {}).agrees


def test_compare_calls_accepts_another_sign_of_zero():
    x = np.zeros(3, np.float32)
    found = compare_calls(lambda x: x, lambda x: -x, (x,), {})
    assert not found.equal_bits
    assert found.agrees


def test_compare_calls_of_integers_and_pytrees():
    tree = {"a": np.arange(4), "b": [np.ones(2, bool)]}
    assert compare_calls(lambda t: t, lambda t: t, (tree,), {}).equal_bits
    off = compare_calls(lambda t: t["a"], lambda t: t["a"] + 1, (tree,), {})
    assert not off.agrees


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint32", "int4", "bfloat16", "float64", "complex64"]
)
def test_fill_is_deterministic_and_of_the_right_type(dtype):
    struct = jax.ShapeDtypeStruct((3, 2), jnp.dtype(dtype))
    first, second = (fill(({"x": struct, "y": X},), "random:7") for _ in range(2))
    assert first[0]["x"].dtype == struct.dtype
    assert (first[0]["x"] == second[0]["x"]).all()
    assert first[0]["y"] is X
    assert (fill(struct, "zeros") == 0).all()


def test_fill_draws_random_keys():
    keys = fill(jax.eval_shape(lambda: jax.random.split(jax.random.key(0), 3)), "random")
    assert keys.shape == (3,)


def test_fill_rejects_arrays_of_another_shape(tmp_path):
    np.save(tmp_path / "x.npy", np.ones(3))
    with pytest.raises(UsageError, match=r"expected arrays float32\[4\], found float64\[3\]"):
        fill(jax.ShapeDtypeStruct((4,), np.float32), f"@{tmp_path}/x.npy")
    with pytest.raises(UsageError, match="expected random, random:SEED, zeros or @FILE"):
        fill((), "ones")


def test_compare_calls_takes_the_largest_of_several_draws():
    calls = []

    def chaotic(x):  # amplifies what the fourth run adds to the first, as a chaotic program may
        calls.append(x)
        return np.float32(1000 * (len(calls) == 4)) + x

    found = compare_calls(chaotic, lambda x: x + np.float32(100), (X,), {})
    assert found.agrees
    assert len(calls) == 4  # later draws cannot change the verdict
    assert not compare_calls(lambda x: x, lambda x: x + np.float32(100), (X,), {}).agrees


def test_compare_calls_uses_one_draw_where_it_explains_the_difference():
    calls = []
    compare_calls(lambda x: calls.append(x) or x, lambda x: x * np.float32(1 + 1e-7), (X,), {})
    assert len(calls) == 2
    assert not np.array_equal(*calls)


def test_deviation_ignores_draws_that_are_not_finite():
    expected, found = [np.ones(2, np.float32)], [np.full(2, 1.01, np.float32)]
    draws = [[np.full(2, value, np.float32)] for value in (np.inf, np.nan, 1.01)]
    assert deviation_of(expected, draws, found).agrees
    assert not deviation_of(expected, draws[:2], found).agrees
    assert deviation_of([np.zeros(2, int)], [[np.array([0, 1])]], [np.array([0, 7])]).agrees
