"""A short run of `scripts/fuzz.py` with a fixed seed: programs, wrong rules, corrupt inputs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import (
    AddOp,
    DynamicSliceOp,
    NegOp,
    NotOp,
    ReduceOp,
    SelectOp,
    SliceOp,
)

from jxc.ir import ModuleSyntaxError, build, make_context, read_module, write_bytecode
from jxc.ir.values import element_type, shape_of, splat_of
from jxc.pipeline import our_passes
from jxc.rewrite import Rule
from jxc.rewrite.rules_by_op import RulesByOp

SCRIPT = Path(__file__).parent.parent / "scripts" / "fuzz.py"
ENOUGH = 100  # programs among which a wrong rule must be found


def _fuzz(*arguments: str) -> str:
    done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_fuzz_programs_keep_their_results() -> None:
    # XLA ignores the initial value of a reduction in a program of seed 0.
    output = _fuzz(
        "programs", "--seed=1", "--count=30", "--ops=40", "--draws=1", "--few", "--xla=0"
    )
    assert "30 programs" in output
    assert "interpreter" in output


def test_fuzz_inputs_are_rejected_with_a_message() -> None:
    output = _fuzz("inputs", "--count=300")
    assert "300 mutants" in output
    assert "refused" in output
    assert "accepted" in output


def test_module_name_that_is_not_utf8_is_rejected() -> None:
    text = "module attributes {my.attribute = 1 : i64} { func.func @main() { return } }"
    data = write_bytecode(read_module(text, make_context()))
    with pytest.raises(ModuleSyntaxError, match=r"name.* is not UTF-8"):
        read_module(data.replace(b"my.attribute", b"my.attr\xffbute"), make_context())


def add_zero(op: AddOp) -> ir.Value | None:
    """Wrong: -0.0 + 0.0 is 0.0."""
    return op.lhs if splat_of(op.rhs) == 0 else None


def add_of_negate(op: AddOp) -> ir.Value | None:
    """Wrong: the sign is lost."""
    match op.rhs.owner:
        case NegOp(operand=y) if y.type == op.result.type:
            return stablehlo.add(op.lhs, y)
    return None


def slice_of_slice(op: SliceOp) -> ir.Value | None:
    """Wrong: the outer start counts steps of the inner slice."""
    match op.operand.owner:
        case SliceOp(operand=x) as inner if 0 not in shape_of(op.result):
            starts = zip(op.start_indices, inner.start_indices, strict=True)
            first = [a + b for a, b in starts]
            steps = [a * b for a, b in zip(op.strides, inner.strides, strict=True)]
            sizes = zip(first, steps, shape_of(op.result), strict=True)
            limit = [start + (size - 1) * step + 1 for start, step, size in sizes]
            return stablehlo.slice(x, first, limit, steps)
    return None


def select_of_not(op: SelectOp) -> ir.Value | None:
    """Wrong: the two cases must be swapped."""
    match op.pred.owner:
        case NotOp(operand=p):
            return stablehlo.select(p, op.on_true, op.on_false, results=[op.result.type])
    return None


def reduce_over_empty(op: ReduceOp) -> Sequence[ir.Value] | None:
    """Wrong: the reduction of no elements is the initial value."""
    if len(op.inputs) != 1 or 0 not in shape_of(op.inputs[0]):
        return None
    zero = build.scalar(0, element_type(op.result))
    return [build.broadcast(zero, shape_of(op.result), [])]


def dynamic_slice_to_slice(op: DynamicSliceOp) -> ir.Value | None:
    """Wrong: a start that is too large is clamped so that the slice fits."""
    starts = [splat_of(index) for index in op.start_indices]
    if any(start is None or start < 0 for start in starts):
        return None
    sizes = zip(starts, op.slice_sizes, shape_of(op.operand), strict=True)
    cuts = [(int(a) % max(extent - size + 1, 1), size) for a, size, extent in sizes]
    limit = [start + size for start, size in cuts]
    return stablehlo.slice(op.operand, [start for start, _ in cuts], limit, [1] * len(cuts))


# Each wrong rule, with the seed of the programs.
WRONG = (
    (add_zero, 3),
    (add_of_negate, 3),
    (slice_of_slice, 5),
    (select_of_not, 1),
    (reduce_over_empty, 1),
    (dynamic_slice_to_slice, 1),
)


def _rule(function: Callable[..., object]) -> Rule:
    name = function.__name__.replace("_", "-")
    return next(rule for found in our_passes() for rule in found.rules if rule.name == name)


def _of_any_operands(table: RulesByOp, op: ir.OpView) -> Sequence[Rule]:
    """All rules for the class of `op`: a wrong one may apply where the right one cannot."""
    return table._by_name.get(getattr(op, "OPERATION_NAME", ""), ())


@pytest.mark.parametrize(("wrong", "seed"), WRONG)
def test_fuzz_finds_a_wrong_rule(
    wrong: Callable[..., object], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    from fuzzing.programs import Campaign

    rule = _rule(wrong)
    right = rule.function
    monkeypatch.setattr(
        wrong, "__module__", right.__module__
    )  # otherwise it is taken for an import
    campaign = Campaign(seed, most_ops=60, draws=1, few=True, most_on_xla=0, about=rule.name)
    object.__setattr__(rule, "function", wrong)
    monkeypatch.setattr(RulesByOp, "of", _of_any_operands)
    try:
        tally = campaign.run(ENOUGH, 60.0, most_finds=1)
    finally:
        object.__setattr__(rule, "function", right)
    assert tally.finds, f"not in {tally.programs} programs"
    assert repr(rule.name) in tally.finds[0].culprit
