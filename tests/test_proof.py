"""Proofs by z3: wrong rules are refuted with a counterexample, rules of jxc are proved."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import (
    AddOp,
    ConvertOp,
    DivOp,
    MulOp,
    NotOp,
    SubtractOp,
    TanhOp,
)

from jxc.ir import build, make_context, read_module
from jxc.ir.values import direction_of, is_boolean, is_float, is_splat
from jxc.pipeline import our_passes
from jxc.rewrite import exact, reassociates, rule
from scripts.proof import ProofResult, ProofStatus, prove, prove_rule

ROOT = Path(__file__).parent.parent
ADD_ZERO = """
func.func @main(%x: tensor<4xf16>) -> tensor<4xf16> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf16>
  %r = stablehlo.add %x, %c : tensor<4xf16>
  return %r : tensor<4xf16>
}"""
BINARY = """
func.func @main(%x: tensor<4xTYPE>, %y: tensor<4xTYPE>) -> tensor<4xTYPE> {
  %r = stablehlo.OP %x, %y : tensor<4xTYPE>
  return %r : tensor<4xTYPE>
}"""
SELF = BINARY.replace("%x, %y", "%x, %x")
DOUBLED_AND_HALVED = """
func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
  %c = stablehlo.constant dense<2> : tensor<4xi8>
  %a = stablehlo.multiply %x, %c : tensor<4xi8>
  %r = stablehlo.divide %a, %c : tensor<4xi8>
  return %r : tensor<4xi8>
}"""
NOT_LESS = """
func.func @main(%x: tensor<4xf8E5M2>, %y: tensor<4xf8E5M2>) -> tensor<4xi1> {
  %a = stablehlo.compare LT, %x, %y : (tensor<4xf8E5M2>, tensor<4xf8E5M2>) -> tensor<4xi1>
  %r = stablehlo.not %a : tensor<4xi1>
  return %r : tensor<4xi1>
}"""
THERE_AND_BACK = """
func.func @main(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %a = stablehlo.convert %x : (tensor<4xbf16>) -> tensor<4xf16>
  %r = stablehlo.convert %a : (tensor<4xf16>) -> tensor<4xbf16>
  return %r : tensor<4xbf16>
}"""


def program(text: str, kind: str = "", op: str = ""):
    return read_module(text.replace("TYPE", kind).replace("OP", op), make_context())


def outcomes(proofs_of, text: str) -> dict[str, set[ProofStatus]]:
    """The outcomes of a rule, by types."""
    found: dict[str, set[ProofStatus]] = {}
    for types, verdict in prove_rule(
        proofs_of, program(text), limit_s=60
    ):  # a busy machine is slow
        found.setdefault(types, set()).add(verdict.outcome)
    return found


@rule(exact)
def drop_any_zero(op: AddOp):
    """x + 0 -> x: wrong for -0.0."""
    return op.lhs if is_splat(op.rhs, 0) else None


@rule(exact)
def difference_with_itself(op: SubtractOp):
    """x - x -> 0: wrong for infinities."""
    return build.splat(0, op.result.type) if op.lhs == op.rhs else None


@rule(exact)
def quotient_with_itself(op: DivOp):
    """x / x -> 1: wrong for 0."""
    return build.splat(1, op.result.type) if op.lhs == op.rhs else None


@rule(exact)
def product_divided(op: DivOp):
    """(x * c) / c -> x: wrong if the product wraps around."""
    match op.lhs.owner:
        case MulOp(lhs=x, rhs=c) if c == op.rhs and not is_float(x):
            return x
    return None


@rule(exact)
def not_less(op: NotOp):
    """not(x < y) -> x >= y: wrong for NaN."""
    inner = op.operand.owner
    if direction_of(inner) != "LT":
        return None
    direction = stablehlo.ComparisonDirectionAttr.get("GE")
    return stablehlo.compare(inner.lhs, inner.rhs, direction, results=[op.result.type])


@rule(exact)
def no_conversion(op: ConvertOp):
    """convert(convert(x)) -> x: wrong if the type in between cannot represent x."""
    match op.operand.owner:
        case ConvertOp(operand=x) if x.type == op.result.type:
            return x
    return None


@pytest.mark.parametrize(
    ("wrong", "text", "types", "counterexample"),
    [
        (drop_any_zero, ADD_ZERO, "f16", "(f16 -0.0) gives 0.0 before and -0.0 after"),
        (difference_with_itself, SELF, "f16", "gives nan before and 0.0 after"),
        (quotient_with_itself, SELF, "i8", "(i8 0, "),
        (product_divided, DOUBLED_AND_HALVED, "i8", "gives "),
        (not_less, NOT_LESS, "f8E5M2", "nan"),
        (no_conversion, THERE_AND_BACK, "bf16, f16", "(bf16 "),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_prove_rule_refutes_wrong_rules(wrong, text, types, counterexample):
    op = "subtract" if wrong is difference_with_itself else "divide"
    start = program(text, types.split(",")[0], op)
    proofs_of, verdict = next(prove_rule(wrong, start))
    assert proofs_of == types
    assert verdict.outcome is ProofStatus.REFUTED
    assert counterexample in verdict.counterexample
    assert verdict.reason == "so on the interpreter"


def test_prove_rule_refutes_a_rule_on_some_types_only():
    start = SELF.replace("TYPE", "i8").replace("OP", "subtract")
    found = outcomes(difference_with_itself, start)
    assert {t for t, o in found.items() if o == {ProofStatus.PROVED}} > {"i4", "ui8", "i64"}
    assert found["f16"] == found["f64"] == {ProofStatus.REFUTED}


def test_prove_rule_refutes_a_rule_that_raises():
    @rule(exact)
    def raises(op: AddOp):
        """x + 0 -> an exception."""
        raise LookupError("nothing")

    _, verdict = next(prove_rule(raises, program(ADD_ZERO)))
    assert str(verdict).startswith("refuted: it raised LookupError: nothing")


def test_prove_rule_checks_a_rule_that_reassociates_on_integers_only():
    @rule(reassociates)
    def negated_twice(op: AddOp):
        """x + y -> -(-x - y): wrong for the sign of zero."""
        if is_boolean(op.result):
            return None
        return stablehlo.negate(stablehlo.subtract(stablehlo.negate(op.lhs), op.rhs))

    found = outcomes(negated_twice, BINARY.replace("TYPE", "f32").replace("OP", "add"))
    assert {"i4", "ui64"} <= found.keys() and not [t for t in found if t.startswith(("f", "b"))]
    assert set().union(*found.values()) == {ProofStatus.PROVED}


TANH = """
func.func @main(%x: tensor<4xf16>, %y: tensor<4xf16>) -> tensor<4xf16> {
  %a = stablehlo.add %x, %y : tensor<4xf16>
  %r = stablehlo.tanh %a : tensor<4xf16>
  return %r : tensor<4xf16>
}"""


def test_prove_treats_equal_calls_of_unknown_functions_as_equal():
    minus = "stablehlo.negate %y : tensor<4xf16>"
    other = TANH.replace("%a = stablehlo.add", f"%b = {minus}\n%a = stablehlo.subtract")
    other = other.replace("%x, %y :", "%x, %b :")
    assert prove(program(TANH), program(other)).outcome is ProofStatus.PROVED
    context = make_context()
    twice = TANH.replace("%r = ", "%b = ").replace(
        "return %r", "%r = stablehlo.tanh %b : tensor<4xf16>\nreturn %r"
    )
    verdict = prove(*(read_module(text, context) for text in (TANH, twice)))
    assert verdict.outcome is ProofStatus.UNDECIDED
    assert verdict.reason == "it depends on what stablehlo.tanh is"


def test_prove_rule_evaluates_unknown_functions_on_the_interpreter():
    """The interpreter runs both programs on the arguments that z3 found."""

    @rule(exact)
    def no_tanh(op: TanhOp):
        """tanh(x) -> x: wrong except for 0.0."""
        return op.operand

    _, verdict = next(prove_rule(no_tanh, program(TANH)))
    assert verdict.outcome in (ProofStatus.REFUTED, ProofStatus.UNDECIDED)
    assert "interpreter" in verdict.reason


TIMES_ZERO = """
func.func @main(%x: tensor<4xf16>) -> tensor<4xf16> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf16>
  %r = stablehlo.multiply %x, %c : tensor<4xf16>
  return %r : tensor<4xf16>
}"""
ZERO = """
func.func @main(%x: tensor<4xf16>) -> tensor<4xf16> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf16>
  return %c : tensor<4xf16>
}"""


@pytest.mark.parametrize(
    ("assumptions", "outcome"),
    [
        ((), ProofStatus.REFUTED),
        (("no-nans",), ProofStatus.REFUTED),
        (("no-signed-zeros",), ProofStatus.REFUTED),
        (("no-infs", "no-nans"), ProofStatus.REFUTED),
        (("no-nans", "no-signed-zeros"), ProofStatus.PROVED),
    ],
)
def test_prove_uses_assumptions(assumptions, outcome):
    verdict = prove(program(TIMES_ZERO), program(ZERO), assumptions=assumptions)
    assert verdict.outcome is outcome


@pytest.mark.parametrize(
    ("line", "outcome", "reason"),
    [
        ("%r = stablehlo.reverse %x, dims = [0] : T", ProofStatus.NOT_SCALAR, "stablehlo.reverse"),
        ("%r = stablehlo.add %x, %x : T", ProofStatus.PROVED, ""),
    ],
)
def test_prove_declines_ops_that_move_elements(line, outcome, reason):
    text = "func.func @main(%x: T) -> T {\nLINE\nreturn %r : T\n}".replace("LINE", line)
    same = program(text.replace("T", "tensor<4xf32>"))
    verdict = prove(same, same)
    assert (verdict.outcome, verdict.reason) == (outcome, reason)


def test_prove_names_an_op_without_a_z3_term():
    text = BINARY.replace("TYPE", "complex<f32>").replace("OP", "multiply")
    verdict = prove(program(text), program(text))
    assert str(verdict) == "unmodelled: multiply of complex numbers"


OURS = {
    "multiply-of-negates": """
func.func @main(%x: tensor<4xf16>, %y: tensor<4xf16>) -> tensor<4xf16> {
  %a = stablehlo.negate %x : tensor<4xf16>
  %b = stablehlo.negate %y : tensor<4xf16>
  %r = stablehlo.multiply %a, %b : tensor<4xf16>
  return %r : tensor<4xf16>
}""",
    "add-zero": ADD_ZERO,
    "max-min-self": SELF.replace("TYPE", "f16").replace("OP", "maximum"),
    "convert-of-convert": THERE_AND_BACK,
}


@pytest.mark.parametrize("name", OURS)
def test_rules_of_jxc_are_proved(name):
    ours = next(r for found in our_passes() for r in found.rules if r.name == name)
    found = outcomes(ours, OURS[name])
    assert len(found) > 10
    assert {outcome for each in found.values() for outcome in each} == {ProofStatus.PROVED}


def test_prove_script(tmp_path):
    """The script runs on a rule that is proved, and on a rule that moves elements."""
    out = tmp_path / "proofs.json"
    command = [sys.executable, str(ROOT / "scripts/prove.py"), "select-same", "identity-reverse"]
    done = subprocess.run(
        [*command, "--jobs", "1", "--json", str(out)], capture_output=True, text=True, check=True
    )
    assert "1 rules proved, 0 in part, 0 refuted; 1 checked" in done.stdout
    found = json.loads(out.read_text())
    assert {"i1", "f8E4M3", "f32"} <= set(found["select-same"]["proved"])
    assert found["identity-reverse"]["status"] == "checked"


def test_prove_script_fails_if_a_rule_is_refuted(monkeypatch, capsys):
    spec = importlib.util.spec_from_file_location("prove_script", ROOT / "scripts/prove.py")
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, script)
    spec.loader.exec_module(script)
    wrong = ProofResult(
        ProofStatus.REFUTED, "so on the interpreter", "(i8 0) gives 1 before and 2 after"
    )
    found = {"a-rule": script.Findings({"i8": [("a_rule", wrong)]})}
    monkeypatch.setattr(script, "findings", lambda *_: found)
    monkeypatch.setattr(sys, "argv", ["prove.py"])
    assert script.main() == 1
    printed = capsys.readouterr().out
    assert "REFUTED a-rule on i8, @a_rule: (i8 0) gives 1 before and 2 after; so on" in printed
    assert "0 rules proved, 0 in part, 1 refuted" in printed
