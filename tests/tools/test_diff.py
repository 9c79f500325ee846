"""Two programs compared: what must not show, what must, and how long it may take."""

from __future__ import annotations

import random
import sys
from functools import partial

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jxc
from jxc.backend.targets import find_target
from jxc.hlo import parse_hlo
from jxc.ir import make_context, read_module, write_text
from jxc.tools.diff import Program, compare
from jxc.tools.diff.difference import differ
from jxc.tools.diff.graph import make_sites
from jxc.tools.diff.hlo import graph_of_hlo
from jxc.tools.diff.match import Matching
from jxc.tools.diff.stablehlo import graph_of_module


def graphs(*texts):
    context = make_context()
    return [graph_of_module(read_module(text, context), make_sites()) for text in texts]


def found(*texts):
    return differ(*graphs(*texts))


def told(*texts):
    """Kind, op and count of every group."""
    return [(group.kind, group.op, group.count) for group in found(*texts).groups]


def main(body, given="%x: tensor<8xf32>, %y: tensor<8xf32>", returns="tensor<8xf32>", more=""):
    return f"module {{ func.func @main({given}) -> {returns} {{ {body} }} {more} }}"


def unary(name, result, operand):
    return f"%{result} = stablehlo.{name} %{operand} : tensor<8xf32>\n"


def binary(name, result, *operands):
    both = ", ".join(f"%{operand}" for operand in operands)
    return f"%{result} = stablehlo.{name} {both} : tensor<8xf32>\n"


END = "return %z : tensor<8xf32>"
WAVE = main(unary("sine", "a", "x") + unary("cosine", "b", "y") + binary("add", "z", *"ab") + END)


# What must not show


def test_names_of_values_and_functions_do_not_show():
    renamed = WAVE.replace("%a", "%other").replace("%x", "%first").replace("%z", "%last")
    assert found(WAVE, renamed).is_same
    call = "func.call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>"
    callee = "func.func private @f(%u: tensor<8xf32>) -> tensor<8xf32> {{ {} }}"
    callee = callee.format("%v = stablehlo.sine %u : tensor<8xf32> return %v : tensor<8xf32>")
    one = main(f"%z = {call} {END}", more=callee)
    assert found(one, one.replace("@f(", "@g(")).is_same
    assert found(one, main(unary("sine", "z", "x") + END)).is_same, "calls are followed"


def test_the_order_of_ops_and_of_what_is_added_does_not_show():
    swapped = main(
        unary("cosine", "b", "y") + unary("sine", "a", "x") + binary("add", "z", *"ba") + END
    )
    assert found(WAVE, swapped).is_same


def test_locations_do_not_show():
    wave = jxc.lower(lambda x: jnp.sin(x) * 2, jnp.ones(8)).module
    assert found(write_text(wave), write_text(wave, debug_info=True)).is_same


# What must show


def test_an_op_in_the_place_of_another():
    assert told(WAVE, WAVE.replace("cosine", "tanh")) == [
        ("fewer", "stablehlo.cosine", 1),
        ("more", "stablehlo.tanh", 1),
    ]


def test_operands_in_another_order_show_where_that_matters():
    one = main(binary("subtract", "z", *"xy") + END)
    assert told(one, main(binary("subtract", "z", *"yx") + END)) == [
        ("rewired", "stablehlo.subtract", 1)
    ]


def test_types_that_changed_are_told_of_as_changed():
    kinds = {"changed"}
    other = WAVE.replace("8xf32", "16xf32")
    assert {group.kind for group in found(WAVE, other).groups} == kinds
    assert ("type", "tensor<8xf32>", "tensor<16xf32>") in found(WAVE, other).groups[0].changes


def test_a_constant_that_changed_is_one_changed_op():
    one = main(
        "%c = stablehlo.constant dense<1.0e-03> : tensor<8xf32>\n"
        + binary("multiply", "z", *"xc")
        + END
    )
    (group,) = found(one, one.replace("1.0e-03", "1.0e-04")).groups
    assert (group.kind, group.op) == ("changed", "stablehlo.constant")
    assert [change[0] for change in group.changes] == ["value"]


def test_large_constants_that_differ_in_one_element_differ():
    text = main(
        "%c = stablehlo.constant dense<[0.,1.,2.,3.,4.,5.,6.,7.,8.,9.,0.,1.,2.,3.,4.,5.,6.,7.]> :"
        " tensor<18xf32> return %c : tensor<18xf32>",
        returns="tensor<18xf32>",
    )
    (group,) = found(text, text.replace("8.,9.", "8.,8.")).groups
    assert (group.kind, group.changes) == ("changed", (("elements", "", ""),))


def test_complex_constants_are_compared():
    text = main(
        "%c = stablehlo.constant dense<(1.0,2.0)> : tensor<2xcomplex<f32>>"
        " return %c : tensor<2xcomplex<f32>>",
        returns="tensor<2xcomplex<f32>>",
    )
    assert found(text, text).is_same
    assert not found(text, text.replace("2.0)", "3.0)")).is_same


def test_donation_and_shardings_of_arguments_show():
    one = main(binary("add", "z", *"xy") + END)
    donated = one.replace("%x: tensor<8xf32>", "%x: tensor<8xf32> {tf.aliasing_output = 0 : i32}")
    (group,) = found(one, donated).groups
    assert (group.op, group.changes) == ("argument", (("tf.aliasing_output", "", "0 : i32"),))


def test_an_argument_more_is_one_argument_more():
    other = WAVE.replace("@main(", "@main(%w: tensor<f32>, ")
    assert told(WAVE, other) == [("more", "argument", 1)]


def test_effects_in_another_order_differ():
    effect = "stablehlo.custom_call @{}(%x) {{has_side_effect = true}} : (tensor<8xf32>) -> ()\n"
    calls = [effect.format(name) for name in ("first", "second")]
    one, other = (
        main("".join(order) + "return %x : tensor<8xf32>") for order in (calls, calls[::-1])
    )
    assert [group.kind for group in found(one, other).groups] == ["rewired"]


def test_what_is_inside_a_loop_is_compared():
    def program(f):
        text = jxc.lower(lambda x: jax.lax.fori_loop(0, 9, lambda i, c: f(c), x), jnp.ones(8))
        return text.as_text()

    one = program(jnp.sin)
    assert found(one, program(jnp.sin)).is_same
    assert told(one, program(jnp.cos)) == [
        ("fewer", "stablehlo.sine", 1),
        ("more", "stablehlo.cosine", 1),
    ]


def test_functions_without_main_are_compared_whatever_their_order():
    head = "func.func @{0}(%x: tensor<8xf32>) -> tensor<8xf32> {{ {1} }}"
    functions = [head.format(name, unary(name, "z", "x") + END) for name in ("sine", "cosine")]
    assert found("\n".join(functions), "\n".join(functions[::-1])).is_same
    assert not found("\n".join(functions), functions[0]).is_same


def test_functions_that_are_named_and_not_called_are_compared():
    composite = (
        '%z = stablehlo.composite "my.op" %x {decomposition = @f} : '
        "(tensor<8xf32>) -> tensor<8xf32>"
    )
    callee = "func.func private @f(%u: tensor<8xf32>) -> tensor<8xf32> { "
    callee += unary("sine", "v", "u") + "return %v : tensor<8xf32> }"
    one = main(f"{composite} {END}", more=callee)
    assert found(one, one.replace("@f", "@g")).is_same
    assert told(one, one.replace("sine", "cosine")) == [("changed", "stablehlo.composite", 1)]


def test_calls_that_multiply_are_not_followed_and_compared_all_the_same():
    def nested(leaf, prefix):
        functions = [
            f"func.func private @{prefix}{k}(%u: tensor<8xf32>) -> tensor<8xf32> {{"
            f"%v = func.call @{prefix}{k + 1}(%u) : (tensor<8xf32>) -> tensor<8xf32> "
            f"%w = func.call @{prefix}{k + 1}(%v) : (tensor<8xf32>) -> tensor<8xf32> "
            "return %w : tensor<8xf32> }"
            for k in range(20)
        ]
        functions.append(
            f"func.func private @{prefix}20(%u: tensor<8xf32>) -> tensor<8xf32> {{"
            f"{unary(leaf, 'v', 'u')} return %v : tensor<8xf32> }}"
        )
        call = f"%z = func.call @{prefix}0(%x) : (tensor<8xf32>) -> tensor<8xf32>"
        return main(f"{call} {END}", more="\n".join(functions))

    assert found(nested("sine", "f"), nested("sine", "other")).is_same
    assert told(nested("sine", "f"), nested("cosine", "f")) == [("changed", "func.call", 1)]


# Lines


def layer(x, w):
    return jnp.tanh(x @ w)


def wide_layer(x, w):
    return jnp.tanh(x @ w + 1)


def test_what_differs_is_told_of_by_line():
    x = jnp.ones((4, 4))
    one, other = (jxc.lower(f, x, x).as_text(debug_info=True) for f in (layer, wide_layer))
    groups = found(one, other).groups
    assert [(g.kind, g.op) for g in groups] == [
        ("more", "stablehlo.add"),
        ("more", "stablehlo.broadcast_in_dim"),
        ("more", "stablehlo.constant"),
    ]
    lines = {(g.site.line, g.site.function, g.site.text) for g in groups}
    text = "return jnp.tanh(x @ w + 1)"
    assert lines == {(wide_layer.__code__.co_firstlineno + 1, "wide_layer", text)}
    assert all(g.site.file.endswith("test_diff.py") for g in groups)


# Meaning


@st.composite
def programs(draw):
    """Ops on eight numbers, each reading what stands before it."""
    names, lines = ["x", "y"], []
    for index in range(draw(st.integers(1, 12))):
        op = draw(st.sampled_from(["add", "subtract", "divide", "maximum"]))
        reads = [draw(st.sampled_from(names)) for _ in range(2)]
        lines.append((f"v{index}", op, reads))
        names.append(f"v{index}")
    return lines


def spelled(lines, order=None, prefix=""):
    known = {name for name, _, _ in lines}
    ops = [
        binary(op, prefix + name, *(prefix + r if r in known else r for r in reads))
        for name, op, reads in order or lines
    ]
    return main("".join(ops) + f"return %{prefix}{lines[-1][0]} : tensor<8xf32>")


def shuffled(lines, seed):
    """Another order in which every op stands behind what it reads."""
    left, placed, order = list(lines), {"x", "y"}, []
    chooser = random.Random(seed)
    while left:
        ready = [line for line in left if set(line[2]) <= placed]
        line = chooser.choice(ready)
        left.remove(line)
        placed.add(line[0])
        order.append(line)
    return order


@settings(max_examples=40)
@given(programs(), st.integers(0, 99))
def test_any_order_and_any_names_are_the_same_program(lines, seed):
    other = spelled(lines, shuffled(lines, seed), prefix="other")
    assert found(spelled(lines), other).is_same


@settings(max_examples=60)
@given(programs(), programs())
def test_what_differs_is_shown_and_every_pair_is_of_one_op(one, other):
    both = graphs(spelled(one), spelled(other))
    matching = Matching(*both)
    for a, b in matching.pairs():
        assert a.op == b.op and matching.partner.get(b, a) is a
    shown = differ(*both)
    assert shown.is_same != bool(shown.groups)
    fewer, more = (sum(g.count for g in shown.groups if g.kind == k) for k in ("fewer", "more"))
    assert len(other) - len(one) == more - fewer


# HLO


HLO = """HloModule m, is_scheduled=true

%body (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %s = f32[8]{0} sine(%p), metadata={op_name="jit(f)/sin"}
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  ROOT %fusion = f32[8]{0} fusion(%x), kind=kLoop, calls=%body
}
"""


def test_hlo_is_compared_without_its_names():
    one = graph_of_hlo(parse_hlo(HLO), make_sites())
    renamed = HLO.replace("%body", "%fused.7").replace("%s ", "%sine.3 ").replace("%p", "%q")
    assert differ(one, graph_of_hlo(parse_hlo(renamed), make_sites())).is_same
    other = graph_of_hlo(parse_hlo(HLO.replace(" sine(", " cosine(")), make_sites())
    assert [(g.kind, g.op) for g in differ(one, other).groups] == [
        ("fewer", "sine"),
        ("more", "cosine"),
    ]


# Figures


@pytest.fixture(scope="module")
def compared():
    context, x = make_context(), jnp.ones((16, 16))
    cpu = find_target("cpu")
    modules = [
        read_module(jxc.lower(f, x, x).as_text(debug_info=True), context)
        for f in (layer, lambda x, w: layer(layer(x, w), w))
    ]
    return compare(*(Program(n, m, target=cpu) for n, m in zip("ab", modules, strict=True)))


def test_figures_are_those_of_the_compiled_programs(compared):
    figures = {each.name: each for each in compared.figures}
    assert figures["flops"].after == 2 * figures["flops"].before
    assert figures["ops"].before == 2
    assert figures["argument_bytes"].before == 2 * 4 * 16 * 16
    assert figures["compile_seconds"].before > 0
    assert not compared.is_same


def test_the_same_program_is_not_compiled():
    context = make_context()
    modules = [read_module(WAVE, context) for _ in range(2)]
    found = compare(*(Program("w", module, target=find_target("cpu")) for module in modules))
    assert found.is_same and found.compiled == (None, None)
    assert [figure.name for figure in found.figures] == ["ops"]


def test_the_work_grows_with_the_program_and_not_with_its_square():
    def long(seed, count):
        chooser, names, lines = random.Random(seed), ["x", "y"], []
        for index in range(count):
            op = chooser.choice(["add", "subtract", "maximum"])
            lines.append(binary(op, f"v{index}", chooser.choice(names[-6:]), names[-1]))
            names.append(f"v{index}")
        return main("".join(lines) + f"return %{names[-1]} : tensor<8xf32>")

    small, large = (
        _calls(partial(differ, *graphs(long(0, count), long(1, count)))) for count in (500, 2000)
    )
    assert large < 8 * small, "four times the ops, not sixteen times the calls"


def _calls(function):
    """How many functions are called in a call of `function`: the same on every machine."""
    count = 0

    def heard(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(heard)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count
