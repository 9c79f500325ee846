"""Which differences count as rounding; comparison of programs with dynamic dimensions."""

from __future__ import annotations

import numpy as np
import pytest

from jxc.check import compare_modules
from jxc.check.inputs import CannotRun
from jxc.check.modules import at_size
from jxc.check.reference import Float64Evaluation, in_float64
from jxc.check.run import shared_interpreter
from jxc.check.verify import verify_modules
from jxc.ir import make_context, read_module
from jxc.rewrite import reassociates

ROW = "tensor<64xf32>"


def _module(body, arguments=f"%x: {ROW}, %y: {ROW}, %z: {ROW}", result=ROW):
    text = f"func.func public @main({arguments}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"
    return read_module(text, make_context())


SUM = _module(f"%a = stablehlo.add %x, %y : {ROW}\n%r = stablehlo.add %a, %z : {ROW}")


def _compare(after, before=SUM):
    return compare_modules(before, after, contract=reassociates)


def test_reassociates_accepts_another_order_of_summation():
    other = _module(f"%a = stablehlo.add %y, %z : {ROW}\n%r = stablehlo.add %x, %a : {ROW}")
    report = _compare(other)
    assert report.agrees and set(report.runs) == {"normal", "mild", "small"}, str(report)


def test_reassociates_rejects_a_relative_error_of_a_millionth():
    other = _module(
        f"""%a = stablehlo.add %y, %z : {ROW}
        %s = stablehlo.add %x, %a : {ROW}
        %c = stablehlo.constant dense<1.000003> : {ROW}
        %r = stablehlo.multiply %s, %c : {ROW}"""
    )
    assert "differs (reassociates)" in str(_compare(other))


def test_reassociates_rejects_rounding_to_bf16():
    half = "tensor<64xbf16>"
    other = _module(
        f"""%a = stablehlo.add %y, %z : {ROW}
        %h = stablehlo.convert %a : ({ROW}) -> {half}
        %b = stablehlo.convert %h : ({half}) -> {ROW}
        %r = stablehlo.add %x, %b : {ROW}"""
    )
    assert not _compare(other).agrees


def test_reassociates_rejects_a_lost_nan():
    """x * 0.0 is NaN if x is NaN or infinite: edge values show this under every contract."""
    zero = f"%c = stablehlo.constant dense<0.0> : {ROW}"
    times = _module(f"{zero}\n%r = stablehlo.multiply %x, %c : {ROW}", f"%x: {ROW}")
    gone = _module(f"{zero}\n%r = stablehlo.add %c, %c : {ROW}", f"%x: {ROW}")
    report = _compare(gone, times)
    assert report.difference is not None and report.difference.kind == "mild"
    assert np.isnan(report.difference.expected)


def test_reassociates_bounds_errors_by_an_ulp_of_the_inputs():
    """(x + 1e4) - 1e4 has lost most digits of x, which x + (1e4 - 1e4) keeps."""
    big = f"%c = stablehlo.constant dense<1.0e4> : {ROW}"
    lossy = _module(
        f"{big}\n%a = stablehlo.add %x, %c : {ROW}\n%r = stablehlo.subtract %a, %c : {ROW}",
        f"%x: {ROW}",
    )
    plain = _module(f"{big}\n%r = stablehlo.negate %x : {ROW}", f"%x: {ROW}")
    near = _module(
        f"%a = stablehlo.negate %x : {ROW}\n%r = stablehlo.negate %a : {ROW}", f"%x: {ROW}"
    )
    assert _compare(near, lossy).agrees
    assert not _compare(plain, lossy).agrees


def test_reassociates_requires_equal_integers_unless_rounding_decides_them():
    kind = "tensor<64xi32>"
    floor = f"%r = stablehlo.convert %x : ({ROW}) -> {kind}"
    before = _module(floor, f"%x: {ROW}", kind)
    off = _module(
        f"""%a = stablehlo.convert %x : ({ROW}) -> {kind}
        %c = stablehlo.constant dense<1> : {kind}
        %r = stablehlo.add %a, %c : {kind}""",
        f"%x: {ROW}",
        kind,
    )
    assert _compare(before, before).agrees
    assert not _compare(off, before).agrees


def test_float64_evaluation_does_not_round_to_f32():
    third = np.full(64, 1 / 3, np.float32)
    [reference] = Float64Evaluation(SUM, shared_interpreter()).references([third, third, -third])
    assert reference.exact.dtype == np.float64
    assert (reference.exact == np.float64(third[0])).all()
    assert reference.eps == np.finfo(np.float32).eps


def test_in_float64_rejects_bitcasts_of_floats():
    kind = "tensor<64xi32>"
    bits = _module(f"%r = stablehlo.bitcast_convert %x : ({ROW}) -> {kind}", f"%x: {ROW}", kind)
    with pytest.raises(CannotRun, match="bitcast_convert of floats"):
        in_float64(bits)


DYNAMIC = "tensor<?xf32>"
NEGATED = _module(f"%r = stablehlo.negate %x : {DYNAMIC}", f"%x: {DYNAMIC}", DYNAMIC)


def test_verify_draws_sizes_of_dynamic_dimensions():
    twice = _module(
        f"""%a = stablehlo.negate %x : {DYNAMIC}
        %b = stablehlo.negate %a : {DYNAMIC}
        %r = stablehlo.negate %b : {DYNAMIC}""",
        f"%x: {DYNAMIC}",
        DYNAMIC,
    )
    [verdict] = verify_modules(NEGATED, twice, seeds=1)
    assert verdict.agrees and verdict.draws == 9, str(verdict)
    same = _module(f"%r = stablehlo.abs %x : {DYNAMIC}", f"%x: {DYNAMIC}", DYNAMIC)
    [verdict] = verify_modules(NEGATED, same, seeds=1)
    assert verdict.report.difference.inputs[0].shape == (3,)


def test_at_size_rejects_invalid_sizes():
    kind = "tensor<2xf32>"
    cut = _module(f"%r = stablehlo.slice %x [1:3] : ({DYNAMIC}) -> {kind}", f"%x: {DYNAMIC}", kind)
    assert "tensor<3xf32>" in str(at_size(cut, 3))
    with pytest.raises(CannotRun, match="not valid at size 1"):
        at_size(cut, 1)
