"""Proofs that two programs compute the same by the same ops."""

import pytest

from jxc.check.numbering import is_same_by_numbering
from jxc.ir import make_context, read_module

PROGRAM = """
func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{
  {body}
  return %r : tensor<4xf32>
}}
"""
PLAIN = """
  %a = stablehlo.sine %x : tensor<4xf32>
  %r = stablehlo.add %a, %a : tensor<4xf32>
"""
TIED = """
  %a = stablehlo.sine %x : tensor<4xf32>
  %s = stablehlo.slice %a [0:1] : (tensor<4xf32>) -> tensor<1xf32>
  %t = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
  %b = stablehlo.bitcast_convert %t : (tensor<f32>) -> tensor<ui32>
  %h = stablehlo.constant dense<{shift}> : tensor<ui32>
  %c = stablehlo.shift_right_logical %b, %h : tensor<ui32>
  %d = stablehlo.shift_right_logical %c, %h : tensor<ui32>
  %z = stablehlo.constant dense<{zero}> : tensor<ui32>
  %p = stablehlo.compare EQ, %d, %z : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  %o = stablehlo.constant dense<0.0> : tensor<4xf32>
  %v = stablehlo.select %p, %x, %o : tensor<i1>, tensor<4xf32>
  %e = stablehlo.sine %v : tensor<4xf32>
  %r = stablehlo.add %a, %e : tensor<4xf32>
"""
BARRIER = """
  %a = stablehlo.sine %x : tensor<4xf32>
  %b:2 = stablehlo.optimization_barrier %x, %a : tensor<4xf32>, tensor<4xf32>
  %e = stablehlo.sine %b#0 : tensor<4xf32>
  %r = stablehlo.add %a, %e : tensor<4xf32>
"""
SWAPPED = BARRIER.replace("%b#0", "%b#1")
OF_ANOTHER = PLAIN.replace("sine %x", "sine %y")
RESHAPED = """
  %b = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<{shape}xf32>
  %c = stablehlo.reshape %b : (tensor<{shape}xf32>) -> tensor<1x4xf32>
  %d = stablehlo.reshape %c : (tensor<1x4xf32>) -> tensor<4xf32>
  %a = stablehlo.sine %d : tensor<4xf32>
  %r = stablehlo.add %a, %a : tensor<4xf32>
"""
LOOP = """
  %i = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%k = %i, %w = %x) : tensor<i32>, tensor<4xf32>
   cond {{
    %n = stablehlo.constant dense<3> : tensor<i32>
    %q = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  }} do {{
    %n = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %k, %n : tensor<i32>
    %m = stablehlo.{op} %w, %y : tensor<4xf32>
    stablehlo.return %j, %m : tensor<i32>, tensor<4xf32>
  }}
  %r = stablehlo.negate %l#1 : tensor<4xf32>
"""
RANDOM = """
  %l = stablehlo.constant dense<0.0> : tensor<f32>
  %h = stablehlo.constant dense<1.0> : tensor<f32>
  %s = stablehlo.constant dense<4> : tensor<1xi64>
  %a = stablehlo.rng %l, %h, %s, distribution = UNIFORM
    : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  {second}
  %r = stablehlo.add %a, %b : tensor<4xf32>
"""
AGAIN = """%b = stablehlo.rng %l, %h, %s, distribution = UNIFORM
    : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>"""


def same(one, other):
    context = make_context()
    modules = [read_module(PROGRAM.format(body=each), context) for each in (one, other)]
    return is_same_by_numbering(*modules)


@pytest.mark.parametrize(
    "other",
    [
        PLAIN,
        TIED.format(shift=16, zero=0),
        TIED.format(shift=20, zero=0),
        RESHAPED.format(shape="2x2"),
        BARRIER,
    ],
)
def test_copies_are_the_same(other):
    assert same(PLAIN, other)


@pytest.mark.parametrize(
    "other",
    [
        TIED.format(shift=15, zero=0),  # two bits are left
        TIED.format(shift=16, zero=1),
        SWAPPED,
        OF_ANOTHER,
        PLAIN.replace("add", "multiply"),
    ],
)
def test_other_programs_are_not(other):
    assert not same(PLAIN, other)


def test_loops_are_compared_inside():
    add, subtract = (LOOP.format(op=op) for op in ("add", "subtract"))
    assert same(add, add)
    assert not same(add, subtract)


def test_random_numbers_are_not_drawn_twice():
    once, twice = (
        RANDOM.format(second="%b = stablehlo.negate %a : tensor<4xf32>"),
        RANDOM.format(second=AGAIN),
    )
    assert same(once, once)
    assert not same(once, twice)
    drawn_once = RANDOM.format(second="").replace("%a, %b", "%a, %a")
    assert not same(twice, drawn_once)


def test_reshapes_of_other_shapes_are_not_the_same():
    body = "%b = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<{0}xf32>\n" + (
        "%t = stablehlo.transpose %b, dims = [1, 0] : (tensor<{0}xf32>) -> tensor<{1}xf32>\n"
        "%r = stablehlo.reshape %t : (tensor<{1}xf32>) -> tensor<4xf32>"
    )
    assert same(body.format("2x2", "2x2"), body.format("2x2", "2x2"))
    assert not same(body.format("2x2", "2x2"), body.format("1x4", "4x1"))
