"""`once_per_visit` shares a result between the rules of one visit, and nowhere else."""

from jaxlib.mlir.dialects.stablehlo import NegOp

import jxc
from jxc.rewrite import PassContext, apply_rules, exact, once_per_visit, rule

TEXT = """
func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %arg0 : tensor<4xf32>
  %1 = stablehlo.abs %0 : tensor<4xf32>
  %2 = stablehlo.negate %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""

calls = []


@once_per_visit
def producer_of(op, *, name=""):
    calls.append(op)
    return op.operand.owner


@rule(exact)
def first(op: NegOp):
    """-x -> -x."""
    producer_of(op)


@rule(exact)
def second(op: NegOp):
    """-x -> -x."""
    producer_of(op)
    producer_of(op, name="other")


def test_rules_share_a_result_on_each_op():
    calls.clear()
    module = jxc.opt(TEXT, "O0")
    counts = apply_rules(module.operation, [first, second], PassContext())
    assert [count.tries for count in counts] == [2, 2]
    assert len(calls) == 4  # for each of two ops, with each of two arguments


def test_nothing_is_shared_outside_of_a_visit():
    calls.clear()
    module = jxc.opt(TEXT, "O0")
    negate = module.body.operations[0].regions[0].blocks[0].operations[0]
    producer_of(negate)
    producer_of(negate)
    assert len(calls) == 2
