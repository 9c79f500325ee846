"""Verdicts on pipelines, and who is to blame."""

import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import AddOp

import jxc
from jxc.check.verify import blame, verify_pipeline
from jxc.ir import make_context, read_module

X = np.linspace(-1, 1, 8, dtype=np.float32)


@jxc.rule(jxc.exact)
def wrong_on_the_third(op: AddOp) -> ir.Value | None:
    """x + x -> x * x, which is right for 2 only."""
    if op.lhs == op.rhs:
        return stablehlo.multiply(op.lhs, op.rhs)
    return None


def program(x):
    return jnp.tanh(x) * 2 + jnp.transpose(jnp.transpose(x))


def test_a_right_pipeline_agrees():
    verdict = jxc.verify(program, X, pipeline="O2")
    assert verdict.agrees
    assert str(verdict.report.contract) == "exact"
    assert verdict.draws == 9


def test_a_wrong_rule_is_shown_with_arguments():
    verdict = jxc.verify(lambda x: x + x, X, pipeline=["O1", wrong_on_the_third])
    assert not verdict.agrees
    assert "argument 0: float32[8]" in str(verdict)


@jxc.rule(jxc.exact)
def wrong_where_one(op: AddOp) -> ir.Value | None:
    """x + y -> x, wrongly, where there is one element."""
    return op.lhs if ir.RankedTensorType(op.lhs.type).shape == [1] else None


def test_a_rule_that_is_wrong_at_extent_1_is_found_at_extent_8():
    verdict = jxc.verify(lambda x, y: x + y, X, X, pipeline=[wrong_where_one])
    assert not verdict.agrees
    assert verdict.report.difference.inputs[0].shape == (1,)
    assert "tensor<1xf32>" in str(verdict.program)
    assert jxc.verify(lambda x, y: x + y, X, X, pipeline="O2").elsewhere == 6


def chain(length):
    """x doubled `length` times, but for sums of different operands between."""
    lines = ["func.func public @main(%v0: tensor<f32>) -> tensor<f32> {"]
    for i in range(length):
        other = i if i == 2 else 0
        lines.append(f"  %v{i + 1} = stablehlo.add %v{i}, %v{other} : tensor<f32>")
    return "\n".join([*lines, f"  return %v{length} : tensor<f32>", "}"])


@pytest.mark.parametrize("before", [[], ["simplify"], ["cse", "simplify", "cse"]])
def test_bisecting_names_the_pass_and_the_rewrite(before):
    module = read_module(chain(6), make_context())
    culprit = blame(module, [*before, wrong_on_the_third, "cse"])
    assert culprit.index == len(before)
    assert culprit.rule == "wrong-on-the-third"
    assert culprit.application == 1


def test_nobody_is_blamed_for_nothing():
    module = read_module(chain(6), make_context())
    assert blame(module, "O2") is None
    assert all(v.agrees for v in verify_pipeline(module, "O2"))


def test_functions_with_pytrees_and_integers():
    def f(tree, n):
        return {"a": tree["x"] @ tree["x"].T, "b": n // 3 + 0}

    assert jxc.verify(f, {"x": np.ones((3, 2), np.float32)}, np.arange(5)).agrees
