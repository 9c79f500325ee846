"""Argument specs: parsing, printing, and the columns of errors."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from jxc.frontend.specs import (
    KEY_KINDS,
    ArraySpec,
    FileSpec,
    KeySpec,
    SpecError,
    describe,
    parse_argument,
)
from jxc.ir.dtypes import canonical_dtype, known_dtypes, numpy_dtype, short_dtype


def read(text):
    return parse_argument(text).value


names = st.from_regex(r"[a-z][a-z0-9_]{0,4}", fullmatch=True)
dims = st.lists(
    st.one_of(
        st.integers(0, 4096),
        names.map(lambda name: f"d_{name}"),
        names.map(lambda name: f"2*d_{name} + 1"),
        names.map(lambda name: f"floordiv(d_{name}, 2)"),
    ),
    max_size=4,
).map(tuple)
dtypes = st.sampled_from(sorted({canonical_dtype(name) for name in known_dtypes()}))
leaves = st.one_of(
    st.builds(ArraySpec, dtypes, dims),
    st.builds(KeySpec, st.sampled_from(sorted(KEY_KINDS)), dims),
    st.builds(FileSpec, st.text(st.characters(codec="ascii", exclude_characters="\0")), st.none()),
    st.builds(FileSpec, st.just("a, b.npz"), names),
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.none(),
    st.text(),
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(st.text(), st.integers()), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(trees)
def test_describe_round_trips(tree):
    assert read(describe(tree)) == tree


def test_keys_and_values_may_be_larger_than_a_size():
    tree = {10**20: [-(10**30)]}
    assert read(describe(tree)) == tree
    with pytest.raises(SpecError, match="expected a number of at most 4300 digits"):
        read("9" * 5000)
    with pytest.raises(SpecError, match="expected a number of at most 18 digits"):
        read(f"f32[{'9' * 19}]")


@given(st.text(max_size=20) | st.text("f32[](){}@,x:'\"key<>8 =", max_size=20))
def test_any_text_is_parsed_or_raises_spec_error(text):
    try:
        parse_argument(text)
    except SpecError as error:
        assert "argument 1, column " in str(error)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("f32[8,128]", ArraySpec("f32", (8, 128))),
        (" f32 [ 8 , 128 ] ", ArraySpec("f32", (8, 128))),
        ("8x128xf32", ArraySpec("f32", (8, 128))),
        ("tensor<8x128xui8>", ArraySpec("u8", (8, 128))),
        ("tensor<f32>", ArraySpec("f32", ())),
        ("bf16[]", ArraySpec("bf16", ())),
        ("s32[4]", ArraySpec("i32", (4,))),
        ("pred[2]", ArraySpec("bool", (2,))),
        ("2xi1", ArraySpec("bool", (2,))),
        ("u4[2]", ArraySpec("u4", (2,))),
        ("complex64[2]", ArraySpec("c64", (2,))),
        ("f8e4m3fn[2]", ArraySpec("f8e4m3fn", (2,))),
        ("float8_e4m3fn[2]", ArraySpec("f8e4m3fn", (2,))),
        ("2xf8E4M3FN", ArraySpec("f8e4m3fn", (2,))),
        ("f32[b, 2*b]", ArraySpec("f32", ("b", "2*b"))),
        ("key<threefry2x32>[3]", KeySpec("fry", (3,))),
        ('{"w": f32[2], b: [1, -2.5]}', {"w": ArraySpec("f32", (2,)), "b": [1, -2.5]}),
        ("(f32[2],)", (ArraySpec("f32", (2,)),)),
        ("(f32[2])", ArraySpec("f32", (2,))),
        ("[true, null, False, None]", [True, None, False, None]),
        ("{a: @d/x.npz[w]}", {"a": FileSpec("d/x.npz", "w")}),
        ("()", ()),
    ],
)
def test_parse_spec_accepts_other_spellings(text, spec):
    assert read(text) == spec


def test_parse_argument_reads_keywords():
    found = parse_argument("params={'w': f32[2]}")
    assert (found.name, found.value) == ("params", {"w": ArraySpec("f32", (2,))})


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("", 1, "expected an array, found the end; write e.g. f32[8,128]"),
        ("f32[8,", 7, "expected a dimension, found the end"),
        ("f32[8;2]", 5, "expected a dimension, found '8;2'"),
        ("f32[-1]", 5, "expected a dimension, found '-1'"),
        ("f32[?]", 5, "an unknown dimension needs a name"),
        ("?x8xf32", 1, "an unknown dimension needs a name"),
        ("f32[b.c]", 5, "expected a dimension, found 'b.c'"),
        ("f32[8", 6, "expected ',' or ']', found the end; write e.g. f32[8,128]"),
        ("float[2]", 1, "expected a dtype, found 'float'; did you mean"),
        ("8x", 1, "expected an array, found '8x'"),
        ("8xq", 3, "expected a dtype, found 'q'"),
        ("tensor<>", 8, "expected tensor<8x128xf32>, found '>'"),
        ("tensor<8xf32", 13, "expected '>' after the dtype, found the end"),
        ("key[]", 4, "expected '<' after 'key', found '['; write e.g. key<fry>[]"),
        ("key<md5>[]", 8, "expected a kind of key, one of fry, rbg, urbg"),
        ("f32[2] f32[2]", 8, "expected the end of the argument, found 'f32'"),
        ("{'a': 1, 'a': 2}", 10, "the key 'a' is given twice"),
        ("{'a' 1}", 6, "expected ':' after the key 'a', found '1'"),
        ("{@: 1}", 2, "expected a key, found '@'"),
        ("[1 2]", 4, "expected ',' or ']', found '2'"),
        ("'open", 1, "expected a closing quote, found the end"),
        ("@", 2, "expected a file after '@', found the end"),
        ("@x.npz[w", 9, "expected ']' after the array's name, found the end"),
    ],
)
def test_spec_error_names_the_column(text, column, expected):
    with pytest.raises(SpecError) as caught:
        parse_argument(text, position=3)
    message, shown, caret = str(caught.value).split("\n")
    assert message.startswith(f"argument 3, column {column}: {expected}")
    assert shown == f"    {text}"
    assert caret == " " * (4 + column - 1) + "^"


def test_every_dtype_has_a_numpy_dtype_with_the_same_name():
    for name in known_dtypes():
        short = canonical_dtype(name)
        assert short_dtype(numpy_dtype(short)) == short
