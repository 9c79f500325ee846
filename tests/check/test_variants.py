"""Every rule, alone, on programs generated from its lit cases: it fires, and keeps the results.

The variants have other element types, sizes, constants, attributes and operands. A full run, of a
hundred programs for each rule, is `scripts/check_rules.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import AddOp, BroadcastInDimOp, SliceOp, SubtractOp

from jxc.ir import build, make_context, read_module
from jxc.ir.values import as_result, is_complex, is_splat, shape_of
from jxc.rewrite import PassContext, Rule, exact, rule
from scripts.variants import NotValid, SeedProgram, context_for, try_rule, vary

from ..lit_seeds import all_rules, seeds_for

EXAMPLES = 12
EXAMPLES_THROUGH_XLA = 4  # XLA compiles each of them several times
EXAMPLES_UNTIL_CHECKED = 100
"""The number of additional programs for a rule that was checked on none."""


def _campaign(
    rule: Rule, programs: Sequence[tuple[SeedProgram, PassContext]], examples: int, first: int = 0
) -> Counter[str]:
    """How many generated programs the rule fired on, and on how many it was checked.

    The first program is an unchanged case; if `first` is not 0, all unchanged cases come first.
    Every choice comes from the name of the rule and the number of the program.

    Raises:
        AssertionError: before and after differ.
    """
    tally: Counter[str] = Counter()
    for number in range(first, first + examples):
        random = Random(f"{rule.name}/{number}")
        program, context = programs[number % len(programs)]
        tally["generated"] += 1
        is_case = number - first < (len(programs) if first else 1)  # unchanged
        try:
            mild = rule.contract != exact
            variant = program.module if is_case else vary(program, random, mild=mild)
        except NotValid:
            continue
        try:
            trial = try_rule(rule, variant, context_for(rule, context), seed=number)
        except Exception as error:
            error.add_note(str(variant))
            raise
        tally.update(fired=trial.fired, checked=trial.checked)
        assert not trial.difference, f"{rule.name} {trial.difference}\n{variant}"
        if first and trial.checked:
            break
    return tally


@pytest.mark.parametrize("name", all_rules())
def test_rule_keeps_the_results_of_generated_programs(name: str) -> None:
    rule = all_rules()[name]
    programs = [(seed.program, seed.context) for seed in seeds_for(rule)]
    assert programs, f"no function in lit_tests/passes is named after the rule {name}"
    examples = EXAMPLES if rule.contract == exact else EXAMPLES_THROUGH_XLA
    tally = _campaign(rule, programs, examples)
    if not tally["checked"]:
        tally += _campaign(rule, programs, EXAMPLES_UNTIL_CHECKED, first=examples)
    assert tally["fired"], f"the rule {name} fired on none of {tally['generated']} programs"
    assert tally["checked"], f"the rule {name} was checked on no program: neither engine ran them"


# Wrong rules: each is correct on its program in `WRONG`, and wrong on a variant of it.


@rule(exact)
def self_is_zero(op: SubtractOp) -> ir.Value | None:
    """x - x -> 0, wrong on floats: infinities give NaN."""
    is_same = op.lhs == op.rhs and not is_complex(op.lhs)
    return build.splat(0, op.result.type) if is_same else None


@rule(exact)
def outer_stride(op: SliceOp) -> ir.Value | None:
    """slice(slice(x)) -> slice(x), wrong in its stride."""
    match op.operand.owner:
        case SliceOp(operand=x) as inner:
            places = zip(op.start_indices, inner.start_indices, inner.strides, strict=True)
            first = [start * step + offset for start, offset, step in places]
            if 0 in shape_of(op.result):
                return None
            steps = zip(first, shape_of(op.result), op.strides, strict=True)
            limits = [start + (size - 1) * step + 1 for start, size, step in steps]
            return stablehlo.slice(x, first, limits, list(op.strides))
    return None


@rule(exact)
def any_zero(op: AddOp) -> ir.Value | None:
    """x + 0 -> x, wrong on floats: -0.0 + 0.0 is 0.0."""
    is_zero = is_splat(op.rhs, 0) or is_splat(op.rhs, -0.0)
    return as_result(op.lhs, op) if is_zero else None


@rule(exact)
def dimensions_in_wrong_order(op: BroadcastInDimOp) -> ir.Value | None:
    """broadcast(broadcast(x)) -> broadcast(x), its dimensions composed in the wrong order."""
    match op.operand.owner:
        case BroadcastInDimOp(operand=x, broadcast_dimensions=inner):
            outer = list(op.broadcast_dimensions)
            if len(set(shape_of(op.result))) > 1 or len(inner) < len(outer):
                return None  # with different sizes, the verifier would reject it
            dims = [list(inner)[dim] for dim in outer]
            return stablehlo.broadcast_in_dim(op.result.type, x, dims)
    return None


@rule(exact)
def twice(op: AddOp) -> ir.Value | None:
    """x + x -> x * 2, wrong on booleans, where add is OR."""
    if op.lhs != op.rhs or is_complex(op.lhs):
        return None
    return stablehlo.multiply(op.lhs, build.splat(2, op.result.type))


WRONG: dict[Rule, str] = {
    self_is_zero: """func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {
      %r = stablehlo.subtract %x, %x : tensor<4xi32>
      return %r : tensor<4xi32>
    }""",
    outer_stride: """func.func @main(%x: tensor<16xf32>) -> tensor<4xf32> {
      %a = stablehlo.slice %x [2:12] : (tensor<16xf32>) -> tensor<10xf32>
      %r = stablehlo.slice %a [1:8:2] : (tensor<10xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }""",
    any_zero: """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c = stablehlo.constant dense<-0.0> : tensor<4xf32>
      %r = stablehlo.add %x, %c : tensor<4xf32>
      return %r : tensor<4xf32>
    }""",
    dimensions_in_wrong_order: """func.func @main(%x: tensor<4x4x4xf32>) -> tensor<4x4x4xf32> {
      %a = stablehlo.broadcast_in_dim %x, dims = [1, 0, 2]
        : (tensor<4x4x4xf32>) -> tensor<4x4x4xf32>
      %r = stablehlo.broadcast_in_dim %a, dims = [0, 1, 2]
        : (tensor<4x4x4xf32>) -> tensor<4x4x4xf32>
      return %r : tensor<4x4x4xf32>
    }""",
    twice: """func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {
      %r = stablehlo.add %x, %x : tensor<4xi32>
      return %r : tensor<4xi32>
    }""",
}


@pytest.mark.parametrize("wrong", WRONG, ids=lambda rule: rule.name)
def test_variants_show_that_a_rule_is_wrong(wrong: Rule) -> None:
    """The rule is correct on the program itself, and wrong on a variant."""
    module = read_module(WRONG[wrong], make_context())
    trial = try_rule(wrong, module, PassContext())
    assert trial.checked
    assert not trial.difference
    with pytest.raises(AssertionError, match="differs"):
        _campaign(wrong, [(SeedProgram.of(module), PassContext())], 300)


def test_rule_that_never_fires_is_an_error_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    @rule(exact)
    def identity_pad(op: SubtractOp) -> ir.Value | None:
        """Never fires."""
        return None

    monkeypatch.setitem(all_rules(), "identity-pad", identity_pad)
    with pytest.raises(AssertionError, match="the rule identity-pad fired on none"):
        test_rule_keeps_the_results_of_generated_programs("identity-pad")


def test_vary_changes_types_sizes_constants_and_attributes() -> None:
    """The same seed gives the same variants."""
    seed = next(seed for seed in seeds_for(all_rules()["pad-of-pad"]) if "index" in seed.name)
    made = [_text_of(seed.program, number) for number in range(100)]
    assert made == [_text_of(seed.program, number) for number in range(100)]
    assert len(set(made)) > 30
    for part in ("xf64", "xbf16", "xui", "complex", "low = [0, 1]", "low = [2", "<1x", "24x"):
        assert any(part in text for text in made), part


def _text_of(program: SeedProgram, number: int) -> str:
    try:
        return str(vary(program, Random(number)))
    except NotValid:
        return ""
