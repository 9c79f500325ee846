"""The text of pipelines: printing, parsing and errors."""

import pytest
from hypothesis import given, strategies as st

from jxc.errors import UsageError
from jxc.pipeline import LEVELS, Library, make_pipeline
from jxc.pipeline.text import Element, parse_options, parse_pipeline

NAMES = st.from_regex(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", fullmatch=True)
VALUES = st.from_regex(r"[a-z0-9.\-]+|\{[a-z0-9 ,]*\}", fullmatch=True)
OPTIONS = st.dictionaries(NAMES, VALUES, max_size=3)


@st.composite
def elements(draw):
    options = draw(OPTIONS)
    return Element(draw(NAMES), " ".join(f"{k}={v}" for k, v in options.items()))


@given(st.lists(elements(), max_size=5))
def test_pipeline_text_round_trips(written):
    tidy = [Element(e.name, " ".join(e.options.split())) for e in written]
    text = ",".join(map(str, tidy))
    assert parse_pipeline(text) == tuple(tidy)
    assert parse_pipeline(f"builtin.module({text})") == tuple(tidy)


@given(st.text(alphabet="ab-,(){}= \n", max_size=30))
def test_parse_pipeline_accepts_or_rejects_any_text(text):
    try:
        parse_pipeline(text)
    except UsageError as error:
        assert "column" in str(error)


def test_parse_options_reads_braces_quotes_and_flags():
    text = "a=1 b={c d} flag e=\"x y\" f='' list=a,b"
    assert parse_options(text) == {
        "a": "1", "b": "c d", "flag": "true", "e": "x y", "f": "", "list": "a,b",
    }  # fmt: skip


@pytest.mark.parametrize("level", LEVELS)
def test_level_prints_as_its_passes_and_reads_back(level):
    pipeline = make_pipeline(level)
    assert len(pipeline.steps) == len(LEVELS[level])
    assert str(make_pipeline(str(pipeline))) == str(pipeline)


def test_pipeline_may_contain_levels_and_passes():
    steps = [step.name for step in make_pipeline("cse,O1,symbol-dce").steps]
    assert steps[0] == "cse"
    assert steps[-1] == "symbol-dce"
    assert len(steps) == len(LEVELS["O1"]) + 2


def test_plain_function_in_a_pipeline_is_an_error_with_a_fix():
    with pytest.raises(UsageError, match=r"make a rule or a pass of a function"):
        make_pipeline([print])
    with pytest.raises(UsageError, match="got int"):
        make_pipeline(3)


def test_unknown_pass_suggests_close_names():
    with pytest.raises(UsageError, match=r"'simplifi'\. Did you mean 'simplify'"):
        make_pipeline("simplifi")


def test_library_names_include_rules():
    assert "transpose-of-transpose" in Library().names()
