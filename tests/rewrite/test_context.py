"""The context of a run, and which rules are active in it."""

import inspect

import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects.stablehlo import NegOp

from jxc.cost.cpu import OF_VECTOR
from jxc.cost.device import known_devices
from jxc.cost.rates import Rates
from jxc.cost.roofline import LAUNCH
from jxc.errors import UsageError
from jxc.ir import write_text
from jxc.pipeline import our_passes
from jxc.rewrite import PassContext, apply_rules, exact, promises, rule

from .test_rules import parsed


def test_rules_are_selected_by_target_and_assumption():
    @rule(exact, targets=("tpu",))
    def on_tpu(op: NegOp) -> ir.Value | None:
        """-x -> x."""
        return op.operand

    @rule(exact, assumes="no-nans")
    def with_assumption(op: NegOp) -> ir.Value | None:
        """-x -> x."""
        return op.operand

    for each, context in (
        (on_tpu, PassContext("tpu")),
        (with_assumption, PassContext(assumptions={"no-nans"})),
    ):
        module = parsed()
        assert apply_rules(module.operation, [each], PassContext()) == []
        assert "negate" in write_text(module)
        apply_rules(module.operation, [each], context)
        assert "negate" not in write_text(module)


def test_only_rules_that_decide_by_rates_run_on_another_target_that_was_measured():
    def without_sign(op: NegOp, context: PassContext) -> ir.Value | None:
        """-x -> x."""
        return op.operand

    measured = PassContext("gpu", rates=Rates("gpu", {"kernel-launch": 400.0}))
    for by_rates, context, hits in (
        (True, measured, 2),
        (True, PassContext("gpu", rates=Rates("gpu")), 0),
        (False, measured, 0),
        (False, PassContext(), 2),
    ):
        each = rule(exact, targets=("cpu",), by_rates=by_rates)(without_sign)
        counts = apply_rules(parsed().operation, [each], context)
        assert sum(count.hits for count in counts) == hits


def test_each_rule_for_cpu_that_reads_rates_decides_by_them():
    rules = [each for family in our_passes() for each in family.rules if each.targets == ("cpu",)]
    assert any(each.by_rates for each in rules)
    for each in rules:
        if "context.rates" in inspect.getsource(each.function):
            assert each.by_rates or each.priced, each.name


def test_pass_context_rejects_unknown_targets_and_assumptions():
    with pytest.raises(UsageError, match="target 'CPU': expected cpu, gpu, tpu"):
        PassContext("CPU")
    assert promises("no-nans, no-infs") == {"no-nans", "no-infs"}
    with pytest.raises(UsageError, match="promise 'foo'"):
        promises(("foo",))


def test_pass_context_has_the_device_of_a_target():
    for target, kind, name in (
        ("gpu", "gpu", "h100"),
        ("gpu:l4", "gpu", "l4"),
        ("tpu:v6e:2x2", "tpu", "v6e"),
        ("cpu", "cpu", "cpu"),
    ):
        context = PassContext(target)
        assert (context.target, context.device.name) == (kind, name)
        assert context.rates.of_device == context.device.rates
    measured = PassContext("tpu:v6e", rates=Rates("tpu", {LAUNCH.name: 7.0})).rates
    assert measured[LAUNCH] == 7
    assert measured[OF_VECTOR] == known_devices("tpu")["v6e"].rates[OF_VECTOR.name]
