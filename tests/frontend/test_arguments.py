"""From specs to values."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jxc.errors import UsageError
from jxc.frontend.arguments import build_arguments, describe, parse_static, split_arguments
from jxc.frontend.specs import SpecError, parse_argument


def build(*texts):
    return build_arguments([parse_argument(text, i) for i, text in enumerate(texts, 1)])


def test_arrays_become_their_types():
    args, kwargs = build('{"w": bf16[2,3]}', "scale=2.5")
    assert args == ({"w": jax.ShapeDtypeStruct((2, 3), jnp.bfloat16)},)
    assert kwargs == {"scale": 2.5}


def test_a_name_is_one_size_in_all_arguments():
    (x, y), _ = build("f32[b,2*b]", "f32[b]")
    assert x.shape[0] == y.shape[0]
    assert x.shape[1] == 2 * y.shape[0]


def test_keys_can_be_drawn_from():
    (key,), _ = build("key<rbg>[]")
    assert jax.eval_shape(jax.random.uniform, key).shape == ()


def test_files(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.arange(3), b=np.ones(2))
    (both, one), _ = build(f"@{tmp_path}/x.npz", f"@{tmp_path}/x.npz[a]")
    assert sorted(both) == ["a", "b"]
    np.testing.assert_array_equal(one, np.arange(3))


def test_a_name_that_a_file_does_not_hold(tmp_path):
    np.savez(tmp_path / "x.npz", weight=np.arange(3))
    with pytest.raises(SpecError, match=r"has no array 'weigh'\. Did you mean 'weight'"):
        build(f"@{tmp_path}/x.npz[weigh]")


def test_sixty_four_bits_need_x64():
    with pytest.raises(SpecError, match=r"column 6: i64 needs 64-bit mode.*write i32\[3\]"):
        build("[1, (i64[3],)]")


def test_split_arguments():
    array = np.zeros(2)
    assert split_arguments((1, 2)) == ((1, 2), {})
    assert split_arguments(((1,), {"a": 2})) == ((1,), {"a": 2})
    assert split_arguments(((1,), {0: 2})) == (((1,), {0: 2}), {})  # no keyword is a number
    assert split_arguments([1, 2]) == (([1, 2],), {})
    assert split_arguments(array) == ((array,), {})


def test_static_values():
    assert parse_static("n=(1, 2)") == ("n", (1, 2))
    assert parse_static("act=relu") == ("act", "relu")
    assert parse_static("2=a=b") == (2, "a=b")
    for text in ("n", "=3", "a b=3"):
        with pytest.raises(UsageError, match="expected NAME=VALUE"):
            parse_static(text)


def test_describe():
    tree = {"w": jnp.zeros((2, 3)), "n": [1, None, ("a",)], "o": object()}
    assert describe(tree) == "{'w': f32[2,3], 'n': [1, None, ('a',)], 'o': object}"
