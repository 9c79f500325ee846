"""`build_arguments` and `parse_static`: values for arguments, from specs."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc.errors import UsageError
from jxc.frontend.arguments import build_arguments, parse_static, split_arguments
from jxc.frontend.specs import SpecError, describe, parse_argument


def build(*texts):
    return build_arguments([parse_argument(text, i) for i, text in enumerate(texts, 1)])


def test_build_arguments_makes_structs_of_arrays():
    args, kwargs = build('{"w": bf16[2,3]}', "scale=2.5")
    assert args == ({"w": jax.ShapeDtypeStruct((2, 3), jnp.bfloat16)},)
    assert kwargs == {"scale": 2.5}


def test_build_arguments_gives_a_dimension_name_one_size():
    (x, y), _ = build("f32[b,2*b]", "f32[b]")
    assert x.shape[0] == y.shape[0]
    assert x.shape[1] == 2 * y.shape[0]


def test_build_arguments_makes_usable_keys():
    (key,), _ = build("key<rbg>[]")
    assert jax.eval_shape(jax.random.uniform, key).shape == ()


def test_build_arguments_reads_files(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.arange(3), b=np.ones(2))
    (both, one), _ = build(f"@{tmp_path}/x.npz", f"@{tmp_path}/x.npz[a]")
    assert sorted(both) == ["a", "b"]
    np.testing.assert_array_equal(one, np.arange(3))


def test_build_arguments_suggests_a_close_array_name(tmp_path):
    np.savez(tmp_path / "x.npz", weight=np.arange(3))
    with pytest.raises(SpecError, match=r"has no array 'weigh'\. Did you mean 'weight'"):
        build(f"@{tmp_path}/x.npz[weigh]")


def test_build_arguments_rejects_64_bit_types_without_x64():
    with pytest.raises(SpecError, match=r"column 6: i64 needs 64-bit mode.*write i32\[3\]"):
        build("[1, (i64[3],)]")


def test_split_arguments_into_positional_and_keyword():
    array = np.zeros(2)
    assert split_arguments((1, 2)) == ((1, 2), {})
    assert split_arguments(((1,), {"a": 2})) == ((1,), {"a": 2})
    assert split_arguments(((1,), {0: 2})) == (((1,), {0: 2}), {})  # a keyword cannot be a number
    assert split_arguments([1, 2]) == (([1, 2],), {})
    assert split_arguments(array) == ((array,), {})


def test_parse_static_reads_literals_and_strings():
    assert parse_static("n=(1, 2)") == ("n", (1, 2))
    assert parse_static("act=relu") == ("act", "relu")
    assert parse_static("2=a=b") == (2, "a=b")
    for text in ("n", "=3", "a b=3"):
        with pytest.raises(UsageError, match="expected NAME=VALUE"):
            parse_static(text)


def test_describe_prints_trees():
    tree = {"w": jnp.zeros((2, 3)), "n": [1, None, ("a",)], "o": object()}
    assert describe(tree) == "{'w': f32[2,3], 'n': [1, None, ('a',)], 'o': object}"


# Specs from Python


def scaled(tree: Any, x: Any, mode: str = "twice") -> Any:
    return tree["w"] * x * (2 if mode == "twice" else 3)


def test_lower_takes_specs_and_trees_of_them() -> None:
    lowered = jxc.lower(scaled, {"w": "f32[4]"}, x="bf16[3, 4]")
    assert [(each.shape, each.dtype.name) for each in jax.tree.leaves(lowered.arguments)] == [
        ((4,), "float32")
    ]
    assert "tensor<3x4xbf16>" in lowered.as_text()


def test_lower_keeps_static_strings_of_a_jitted_function() -> None:
    jitted = jax.jit(scaled, static_argnames="mode")
    lowered = jxc.lower(jitted, {"w": "f32[4]"}, "f32[4]", mode="thrice")
    assert "dense<3.0" in lowered.as_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f32[4", "argument 2, column 6: expected ',' or ']', found the end"),
        ("float32x", "argument 2, column 1: expected a dtype, found 'float32x'"),
        ("x=f32[4]", "write the keyword argument as x='...'"),
        ("f64[4]", "add --x64 (in Python, set jax_enable_x64), or write f32[4]"),
    ],
)
def test_lower_error_points_into_a_malformed_spec(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)):
        jxc.lower(scaled, {"w": "f32[4]"}, text)
