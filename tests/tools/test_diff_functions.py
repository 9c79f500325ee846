"""`jxc.diff`: functions and stages compared from Python."""

import jax.numpy as jnp
import pytest

import jxc
from jxc.errors import UsageError


def before(x):
    return jnp.sin(jnp.negative(-x)) + x.sum()


def after(x):
    return jnp.cos(x) + x.sum()


def test_functions_are_lowered_with_the_arguments_and_compared():
    found = jxc.diff(before, after, jnp.ones((8, 64)), target=None)
    text = str(found)
    assert not found.is_same
    assert "2 fewer stablehlo.negate" in text and "1 more stablehlo.cosine" in text
    assert "return jnp.cos(x) + x.sum()" in text
    assert max(map(len, text.splitlines())) <= 80
    assert jxc.diff(before, before, "f32[8,64]", target=None).is_same


def test_stages_of_one_program_are_compared():
    low = jxc.lower(before, "f32[8]")
    opt = low.opt("O2")
    found = jxc.diff(low, opt, target=None)
    assert {group.op for group in found.difference.groups} == {"stablehlo.negate"}
    assert [program.pipeline for program in found.programs] == ["", opt.pipeline]
    assert found.programs[1].rules == opt.report.hits
    assert jxc.diff(opt, opt.compile(), target=None).is_same


def test_compiled_programs_have_metrics():
    found = jxc.diff(before, after, "f32[8,64]")
    assert {"fusions", "peak_bytes"} <= {metric.name for metric in found.metrics}
    by_hlo = jxc.diff(before, after, "f32[8,64]", stage="hlo")
    assert by_hlo.stage == "hlo" and not by_hlo.is_same


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda low: jxc.diff(low, low, 1.0), "expected arguments for functions only"),
        (lambda low: jxc.diff("f.py:f", low), "expected a function or a value of jxc.lower"),
        (lambda low: jxc.diff(low, low, target=None, stage="hlo"), "needs the compiler"),
        (lambda low: jxc.diff(low, low, target="vax"), "--target vax: expected cpu"),
    ],
)
def test_wrong_arguments_are_refused(call, says):
    with pytest.raises(UsageError, match=says):
        call(jxc.lower(before, "f32[8]"))
