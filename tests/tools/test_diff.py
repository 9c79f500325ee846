"""Comparing two programs: which differences count, the metrics, and the run time."""

from __future__ import annotations

import random
import sys
from functools import partial

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, settings, strategies as st

import jxc
from jxc.backend.targets import find_target
from jxc.hlo import parse_hlo
from jxc.ir import make_context, read_module, write_text
from jxc.tools.diff import ComparedProgram, compare
from jxc.tools.diff.difference import differ
from jxc.tools.diff.graph import graph_of_hlo, line_reader
from jxc.tools.diff.matching import Matching
from jxc.tools.diff.stablehlo import graph_of_module


def graphs(*texts):
    context = make_context()
    return [graph_of_module(read_module(text, context), line_reader()) for text in texts]


def difference_of(*texts):
    return differ(*graphs(*texts))


def kinds_of(*texts):
    """Kind, op and count of every group."""
    return [(group.kind, group.op, group.count) for group in difference_of(*texts).groups]


def main(body, given="%x: tensor<8xf32>, %y: tensor<8xf32>", returns="tensor<8xf32>", more=""):
    return f"module {{ func.func @main({given}) -> {returns} {{ {body} }} {more} }}"


def unary(name, result, operand):
    return f"%{result} = stablehlo.{name} %{operand} : tensor<8xf32>\n"


def binary(name, result, *operands):
    both = ", ".join(f"%{operand}" for operand in operands)
    return f"%{result} = stablehlo.{name} {both} : tensor<8xf32>\n"


END = "return %z : tensor<8xf32>"
WAVE = main(unary("sine", "a", "x") + unary("cosine", "b", "y") + binary("add", "z", *"ab") + END)


# Differences that do not count


def test_differ_ignores_names_of_values_and_functions():
    renamed = WAVE.replace("%a", "%other").replace("%x", "%first").replace("%z", "%last")
    assert difference_of(WAVE, renamed).is_same
    call = "func.call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>"
    callee = "func.func private @f(%u: tensor<8xf32>) -> tensor<8xf32> {{ {} }}"
    callee = callee.format("%v = stablehlo.sine %u : tensor<8xf32> return %v : tensor<8xf32>")
    one = main(f"%z = {call} {END}", more=callee)
    assert difference_of(one, one.replace("@f(", "@g(")).is_same
    assert difference_of(one, main(unary("sine", "z", "x") + END)).is_same, "calls are followed"


def test_differ_ignores_order_of_ops_and_of_summands():
    swapped = main(
        unary("cosine", "b", "y") + unary("sine", "a", "x") + binary("add", "z", *"ba") + END
    )
    assert difference_of(WAVE, swapped).is_same


def test_differ_ignores_locations():
    wave = jxc.lower(lambda x: jnp.sin(x) * 2, jnp.ones(8)).module
    assert difference_of(write_text(wave), write_text(wave, debug_info=True)).is_same


# Differences that count


def test_differ_reports_replaced_op():
    assert kinds_of(WAVE, WAVE.replace("cosine", "tanh")) == [
        ("fewer", "stablehlo.cosine", 1),
        ("more", "stablehlo.tanh", 1),
    ]


def test_differ_reports_swapped_operands():
    one = main(binary("subtract", "z", *"xy") + END)
    assert kinds_of(one, main(binary("subtract", "z", *"yx") + END)) == [
        ("rewired", "stablehlo.subtract", 1)
    ]


def test_differ_reports_changed_types():
    groups = difference_of(WAVE, WAVE.replace("8xf32", "16xf32")).groups
    assert {group.kind for group in groups} == {"changed"}
    assert ("type", "tensor<8xf32>", "tensor<16xf32>") in groups[0].changes


def test_differ_reports_changed_constant():
    one = main(
        "%c = stablehlo.constant dense<1.0e-03> : tensor<8xf32>\n"
        + binary("multiply", "z", *"xc")
        + END
    )
    (group,) = difference_of(one, one.replace("1.0e-03", "1.0e-04")).groups
    assert (group.kind, group.op) == ("changed", "stablehlo.constant")
    assert [change[0] for change in group.changes] == ["value"]


def test_differ_reports_one_element_of_large_constant():
    text = main(
        "%c = stablehlo.constant dense<[0.,1.,2.,3.,4.,5.,6.,7.,8.,9.,0.,1.,2.,3.,4.,5.,6.,7.]> :"
        " tensor<18xf32> return %c : tensor<18xf32>",
        returns="tensor<18xf32>",
    )
    (group,) = difference_of(text, text.replace("8.,9.", "8.,8.")).groups
    assert (group.kind, group.changes) == ("changed", (("elements", "", ""),))


def test_differ_compares_complex_constants():
    text = main(
        "%c = stablehlo.constant dense<(1.0,2.0)> : tensor<2xcomplex<f32>>"
        " return %c : tensor<2xcomplex<f32>>",
        returns="tensor<2xcomplex<f32>>",
    )
    assert difference_of(text, text).is_same
    assert not difference_of(text, text.replace("2.0)", "3.0)")).is_same


def test_differ_reports_donation_of_arguments():
    one = main(binary("add", "z", *"xy") + END)
    donated = one.replace("%x: tensor<8xf32>", "%x: tensor<8xf32> {tf.aliasing_output = 0 : i32}")
    (group,) = difference_of(one, donated).groups
    assert (group.op, group.changes) == ("argument", (("tf.aliasing_output", "", "0 : i32"),))


def test_differ_reports_added_argument():
    other = WAVE.replace("@main(", "@main(%w: tensor<f32>, ")
    assert kinds_of(WAVE, other) == [("more", "argument", 1)]


def test_differ_reports_reordered_effects():
    effect = "stablehlo.custom_call @{}(%x) {{has_side_effect = true}} : (tensor<8xf32>) -> ()\n"
    calls = [effect.format(name) for name in ("first", "second")]
    one, other = (
        main("".join(order) + "return %x : tensor<8xf32>") for order in (calls, calls[::-1])
    )
    assert [group.kind for group in difference_of(one, other).groups] == ["rewired"]


def test_differ_compares_loop_bodies():
    def program(f):
        text = jxc.lower(lambda x: jax.lax.fori_loop(0, 9, lambda i, c: f(c), x), jnp.ones(8))
        return text.as_text()

    one = program(jnp.sin)
    assert difference_of(one, program(jnp.sin)).is_same
    assert kinds_of(one, program(jnp.cos)) == [
        ("fewer", "stablehlo.sine", 1),
        ("more", "stablehlo.cosine", 1),
    ]


def test_differ_compares_functions_without_main_in_any_order():
    head = "func.func @{0}(%x: tensor<8xf32>) -> tensor<8xf32> {{ {1} }}"
    functions = [head.format(name, unary(name, "z", "x") + END) for name in ("sine", "cosine")]
    assert difference_of("\n".join(functions), "\n".join(functions[::-1])).is_same
    assert not difference_of("\n".join(functions), functions[0]).is_same


def test_differ_compares_functions_in_attributes():
    composite = (
        '%z = stablehlo.composite "my.op" %x {decomposition = @f} : '
        "(tensor<8xf32>) -> tensor<8xf32>"
    )
    callee = "func.func private @f(%u: tensor<8xf32>) -> tensor<8xf32> { "
    callee += unary("sine", "v", "u") + "return %v : tensor<8xf32> }"
    one = main(f"{composite} {END}", more=callee)
    assert difference_of(one, one.replace("@f", "@g")).is_same
    assert kinds_of(one, one.replace("sine", "cosine")) == [("changed", "stablehlo.composite", 1)]


def test_differ_compares_nested_calls_that_are_too_many_to_follow():
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

    assert difference_of(nested("sine", "f"), nested("sine", "other")).is_same
    assert kinds_of(nested("sine", "f"), nested("cosine", "f")) == [("changed", "func.call", 1)]


# Lines


def layer(x, w):
    return jnp.tanh(x @ w)


def wide_layer(x, w):
    return jnp.tanh(x @ w + 1)


def test_differ_groups_by_line():
    x = jnp.ones((4, 4))
    one, other = (jxc.lower(f, x, x).as_text(debug_info=True) for f in (layer, wide_layer))
    groups = difference_of(one, other).groups
    assert [(g.kind, g.op) for g in groups] == [
        ("more", "stablehlo.add"),
        ("more", "stablehlo.broadcast_in_dim"),
        ("more", "stablehlo.constant"),
    ]
    lines = {(g.site.function, g.site.text) for g in groups}
    text = "return jnp.tanh(x @ w + 1)"
    assert lines == {("wide_layer", text)}
    assert all(g.site.file.endswith("test_diff.py") for g in groups)


# Random programs


@st.composite
def programs(draw):
    """Ops on eight numbers, each with operands defined before it."""
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
    """Another order in which every op comes after its operands."""
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
def test_differ_finds_permuted_and_renamed_program_equal(lines, seed):
    other = spelled(lines, shuffled(lines, seed), prefix="other")
    assert difference_of(spelled(lines), other).is_same


@settings(max_examples=60)
@given(programs(), programs())
def test_matching_pairs_equal_ops_and_counts_add_up(one, other):
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


def test_differ_ignores_names_in_hlo():
    one = graph_of_hlo(parse_hlo(HLO), line_reader())
    renamed = HLO.replace("%body", "%fused.7").replace("%s ", "%sine.3 ").replace("%p", "%q")
    assert differ(one, graph_of_hlo(parse_hlo(renamed), line_reader())).is_same
    other = graph_of_hlo(parse_hlo(HLO.replace(" sine(", " cosine(")), line_reader())
    assert [(g.kind, g.op) for g in differ(one, other).groups] == [
        ("fewer", "sine"),
        ("more", "cosine"),
    ]


# Metrics


@pytest.fixture(scope="module")
def compared():
    context, x = make_context(), jnp.ones((16, 16))
    cpu = find_target("cpu")
    modules = [
        read_module(jxc.lower(f, x, x).as_text(debug_info=True), context)
        for f in (layer, lambda x, w: layer(layer(x, w), w))
    ]
    return compare(*(ComparedProgram(n, m, target=cpu) for n, m in zip("ab", modules, strict=True)))


def test_compare_has_metrics_of_compiled_programs(compared):
    metrics = {each.name: each for each in compared.metrics}
    assert metrics["flops"].after == 2 * metrics["flops"].before
    assert metrics["ops"].before == 2
    assert metrics["argument_bytes"].before == 2 * 4 * 16 * 16
    assert metrics["compile_seconds"].before > 0
    assert not compared.is_same
    assert repr(compared).startswith("<jxc diff of a and b: ")


def test_compare_does_not_compile_equal_programs():
    context = make_context()
    modules = [read_module(WAVE, context) for _ in range(2)]
    found = compare(
        *(ComparedProgram("w", module, target=find_target("cpu")) for module in modules)
    )
    assert found.is_same and found.compiled == (None, None)
    assert [metric.name for metric in found.metrics] == ["ops"]


def test_differ_takes_linear_time():
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
    assert large < 8 * small, "4 times the ops may take at most 8 times the calls"


def _calls(function):
    """The number of function calls in a call of `function`: the same on every machine."""
    count = 0

    def count_call(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(count_call)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count
