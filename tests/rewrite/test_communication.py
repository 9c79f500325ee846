"""Rewrites of programs over several devices: accepted if the devices send no more than before."""

from __future__ import annotations

from collections import Counter

import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import chlo, stablehlo as hlo

from jxc.ir import build, make_context, read_module, write_text
from jxc.rewrite import PassContext, exact, rule
from jxc.rewrite.device_work import DeviceWork
from jxc.rewrite.driver import apply_rules

PROGRAM = """module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [SPLIT]>})
      -> tensor<8x16xf32> {
    %0 = stablehlo.negate %x : tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  }
}"""
MANUAL = """module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func @main(%x: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>})
      -> tensor<16x32xf32> {
    %1 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a"}, {B}]>]
        out_shardings=[<@mesh, [{"a"}, {B}]>] manual_axes={AXES} (%y: tensor<8xSIZExf32>) {
      %2 = stablehlo.negate %y : tensor<8xSIZExf32>
      sdy.return %2 : tensor<8xSIZExf32>
    } : (tensor<16x32xf32>) -> tensor<16x32xf32>
    return %1 : tensor<16x32xf32>
  }
}"""


@rule(exact)
def negate_in_halves(op: hlo.NegOp) -> ir.Value | None:
    """-x -> the negated halves of x along its last dimension, together."""
    last = ir.RankedTensorType(op.operand.type).rank - 1
    size = ir.RankedTensorType(op.operand.type).shape[last]
    halves = (range(size // 2), range(size // 2, size))
    cuts = [build.slice_along(op.operand, {last: half}) for half in halves]
    return hlo.concatenate([hlo.subtract(build.splat(0.0, cut.type), cut) for cut in cuts], last)


def applied(text: str, *rules) -> tuple[int, str]:
    """How often the rules applied to a program, and what it is then."""
    module = read_module(text, make_context())
    with module.context, ir.Location.unknown():
        counts = apply_rules(module.operation, rules, PassContext())
    assert module.operation.verify()
    return sum(count.hits for count in counts), write_text(module)


@pytest.mark.parametrize(
    ("split", "hits"), [("{}, {}", 1), ('{"a"}, {}', 1), ('{"a", "b"}, {}', 1), ('{}, {"a"}', 0)]
)
def test_rule_that_cuts_a_dimension_applies_where_the_devices_do_not_share_it(split, hits):
    found, text = applied(PROGRAM.replace("SPLIT", split), negate_in_halves)
    assert found == hits
    assert ("stablehlo.slice" in text) == (hits == 1), "a refused rewrite left ops behind"


@pytest.mark.parametrize(
    ("axes", "of_b", "size", "hits"), [('"a", "b"', '"b"', 16, 1), ('"a"', "", 32, 1)]
)
def test_rules_apply_to_the_arrays_of_one_device_in_shard_map(axes, of_b, size, hits):
    text = MANUAL.replace("AXES", axes).replace("{B}", f"{{{of_b}}}").replace("SIZE", str(size))
    assert applied(text, negate_in_halves)[0] == hits


def test_rules_see_the_shardings_of_automatic_axes_in_shard_map():
    """Over the axis "b", which is automatic, the second dimension is split."""
    text = MANUAL.replace("AXES", '"a"').replace("{B}", "{}").replace("SIZE", "32")
    constraint = '%y2 = sdy.sharding_constraint %y <@mesh, [{}, {"b"}]> : tensor<8x32xf32>'
    text = text.replace("%2 = stablehlo.negate %y", f"{constraint}\n%2 = stablehlo.negate %y2")
    assert applied(text, negate_in_halves)[0] == 0


@pytest.mark.parametrize(
    "text",
    [
        PROGRAM.replace('sdy.mesh @mesh = <["a"=2, "b"=2]>', "").replace(
            "sdy.sharding = #sdy.sharding<@mesh, [SPLIT]>", 'mhlo.sharding = "{devices=[1,4]<=[4]}"'
        ),
        PROGRAM.replace("SPLIT", "{}, {}").replace("@main", "@other"),
    ],
    ids=["gspmd", "no @main"],
)
def test_only_elementwise_rewrites_apply_where_the_shardings_are_not_known(text):
    @rule(exact)
    def negate_by_subtraction(op: hlo.NegOp) -> ir.Value | None:
        """-x -> 0 - x, in this test."""
        return hlo.subtract(build.splat(0.0, op.operand.type), op.operand)

    assert applied(text, negate_in_halves)[0] == 0
    assert applied(text, negate_by_subtraction)[0] == 1


def test_refused_rule_leaves_the_next_rule_its_turn():
    @rule(exact)
    def negate_by_subtraction(op: hlo.NegOp) -> ir.Value | None:
        """-x -> 0 - x, in this test."""
        return hlo.subtract(build.splat(0.0, op.operand.type), op.operand)

    text = PROGRAM.replace("SPLIT", '{}, {"a"}')
    assert applied(text, negate_in_halves, negate_by_subtraction)[0] == 1


def test_rule_asks_into_how_many_parts_a_dimension_is_split():
    found = []

    @rule(exact)
    def ask(op: hlo.NegOp, context: PassContext) -> ir.Value | None:
        """-x -> nothing; it notes the split of x."""
        found.append([context.parts(op.operand, dim) for dim in (0, 1)])
        return None

    for split in ("{}, {}", '{"a"}, {"b"}', '{"a", "b"}, {}'):
        applied(PROGRAM.replace("SPLIT", split), ask)
    one = PROGRAM.replace("= 4 : i32", "= 1 : i32").replace("SPLIT", "{}, {}")
    applied(one, ask)
    assert found == [[1, 1], [2, 2], [4, 1], [1, 1]]


def test_shardings_pass_through_ops_of_chlo():
    found = []

    @rule(exact)
    def ask(op: hlo.NegOp, context: PassContext) -> ir.Value | None:
        """-x -> nothing; it notes the split of x."""
        found.append(context.parts(op.operand, 0))
        assert isinstance(op.operand.owner, chlo.AsinOp)
        return None

    text = PROGRAM.replace("SPLIT", '{"a"}, {}').replace("negate %x", "negate %y")
    text = text.replace("%0 =", "%y = chlo.asin %x : tensor<8x16xf32> -> tensor<8x16xf32>\n%0 =")
    applied(text, ask)
    assert found == [2]


def test_all_reduces_of_a_loop_may_leave_it_and_may_not_multiply_in_it():
    """XLA:TPU and XLA:GPU move some behind the loop themselves, but not out of an unrolled one."""
    loop = DeviceWork(looped=Counter({(100.0, 8.0): 1}))
    assert loop.allows(DeviceWork(count=1, sent=100.0))
    assert loop.allows(DeviceWork(looped=Counter({(100.0, 8.0): 1})))
    assert not loop.allows(DeviceWork(looped=Counter({(100.0, 4.0): 2})))
    assert not DeviceWork(count=1, sent=100.0).allows(loop)
