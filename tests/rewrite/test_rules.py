"""Rules: declaration, matching, hit counts, and errors for incorrect rules."""

import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import AddOp, MulOp, NegOp

import jxc
from jxc.ir import make_context, read_module, write_text
from jxc.pipeline import make_pipeline, our_passes
from jxc.rewrite import (
    ConvergenceError,
    PassContext,
    RuleError,
    apply_rules,
    approximates,
    exact,
    former_names,
    module_pass,
    reassociates,
    rule,
)


@rule(exact)
def negate_of_negate(op: NegOp) -> ir.Value | None:
    """-(-x) -> x."""
    match op.operand.owner:
        case NegOp(operand=x):
            return x
    return None


@rule(reassociates)
def double_is_add(op: MulOp | AddOp, context: PassContext) -> ir.Value | None:
    """x * x -> x + x on GPU only: wrong, so that the result shows whether it ran."""
    if context.target == "gpu" and isinstance(op, MulOp):
        return stablehlo.add(op.lhs, op.rhs)
    return None


NEGATIONS = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %1 = stablehlo.negate %0 {ATTRIBUTE} : tensor<4xf32>
  %2 = stablehlo.multiply %1, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""


def parsed(attribute=""):
    text = NEGATIONS.replace("{ATTRIBUTE}", f"{{{attribute}}}" if attribute else "")
    return read_module(text, make_context())


def test_apply_rules_counts_hits_and_tries():
    module = parsed()
    [count] = apply_rules(module.operation, [negate_of_negate], PassContext())
    assert count.hits == 1
    assert count.tries >= 1
    assert "negate" not in write_text(module)


def test_rule_gets_context_and_union_annotation_gives_several_roots():
    assert double_is_add.roots == ("stablehlo.multiply", "stablehlo.add")
    cpu, gpu = parsed(), parsed()
    apply_rules(cpu.operation, [double_is_add], PassContext())
    apply_rules(gpu.operation, [double_is_add], PassContext(target="gpu"))
    assert "multiply" in write_text(cpu)
    assert "multiply" not in write_text(gpu)


@pytest.mark.parametrize("attribute", ['mhlo.sharding = "{replicated}"', "a.b = 1 : i32"])
def test_annotated_ops_are_neither_replaced_nor_inspected(attribute):
    module = parsed(attribute)
    before = write_text(module)
    apply_rules(module.operation, [negate_of_negate], PassContext())
    assert write_text(module) == before


def test_attributes_of_jxc_are_not_annotations():
    module = parsed("jxc.flops = 4 : i64")
    apply_rules(module.operation, [negate_of_negate], PassContext())
    assert "negate" not in write_text(module)


def test_replacement_has_the_location_of_its_op():
    module = parsed()
    apply_rules(module.operation, [double_is_add], PassContext(target="gpu"))
    adds = [o for o in module.body.operations[0].regions[0].blocks[0] if isinstance(o, AddOp)]
    assert [str(op.location) for op in adds] == ['loc("-":5:8)']


def test_rules_that_undo_each_other_are_named_and_the_module_stays_valid():
    @rule(exact)
    def to_add(op: MulOp) -> ir.Value | None:
        """x * y -> x + y."""
        return stablehlo.add(op.lhs, op.rhs)

    @rule(exact)
    def to_multiply(op: AddOp) -> ir.Value | None:
        """x + y -> x * y."""
        return stablehlo.multiply(op.lhs, op.rhs)

    module = parsed()
    with pytest.raises(
        ConvergenceError, match=r"to-(add|multiply) \(25\), to-(add|multiply) \(25\)"
    ):
        apply_rules(module.operation, [to_add, to_multiply], PassContext())
    assert module.operation.verify()


def test_max_num_rewrites_stops_without_an_error():
    module = parsed()
    apply_rules(module.operation, [negate_of_negate], PassContext(), max_num_rewrites=0)
    assert write_text(module).count("negate") == 2


def test_replacement_of_another_type_is_an_error():
    @rule(exact)
    def mistyped(op: MulOp) -> ir.Value | None:
        """x * y -> a boolean."""
        return stablehlo.compare(op.lhs, op.rhs, stablehlo.ComparisonDirectionAttr.get("EQ"))

    with pytest.raises(RuleError, match=r"has type tensor<4xi1>; stablehlo.multiply has") as caught:
        apply_rules(parsed().operation, [mistyped], PassContext())
    assert caught.value.__notes__ == ["in rule mistyped, on stablehlo.multiply at -:5:8"]


def test_op_that_a_rule_builds_and_does_not_return_is_erased():
    @rule(exact)
    def undecided(op: MulOp) -> ir.Value | None:
        """Builds an op and returns None."""
        stablehlo.add(op.lhs, op.rhs)
        return None

    module = parsed()
    before = write_text(module)
    [count] = apply_rules(module.operation, [undecided], PassContext())
    assert (count.tries, count.hits) == (1, 0)
    assert write_text(module) == before


BRANCHES = """
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%p) ({
    stablehlo.custom_call @shown(%x) {has_side_effect = true} : (tensor<4xf32>) -> ()
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) {ATTRIBUTE} : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.mark.parametrize("attribute", ["", 'mhlo.frontend_attributes = {a = "b"}'])
def test_effects_of_branches_occur_once_if_a_rewrite_is_refused(attribute):
    module = read_module(BRANCHES.replace("ATTRIBUTE", attribute), make_context())
    text = write_text(jxc.opt(module, "simplify"))
    assert (" return %arg1" in text) == (not attribute)  # the rule applies without an annotation
    assert text.count("@shown") == 1


def test_rule_with_a_producer_is_tried_only_on_its_users():
    @rule(exact, producer=MulOp)
    def after_multiply(op: NegOp) -> ir.Value | None:
        """-(x * y) -> x * y: wrong, so that the result shows where it ran."""
        return op.operand

    module = parsed()
    [count] = apply_rules(module.operation, [after_multiply], PassContext())
    assert (count.tries, count.hits) == (0, 0)


def test_ops_that_a_rule_builds_are_visited_next():
    @rule(exact)
    def twice_negated(op: MulOp) -> ir.Value | None:
        """x * y -> x + -(-y)."""
        return stablehlo.add(op.lhs, stablehlo.negate(stablehlo.negate(op.rhs)))

    module = parsed()
    counts = apply_rules(module.operation, [twice_negated, negate_of_negate], PassContext())
    assert {count.name: count.hits for count in counts} == {
        "twice-negated": 1,
        "negate-of-negate": 2,
    }
    assert "negate" not in write_text(module)


def test_rule_for_a_single_user_fires_when_the_other_users_are_erased():
    @rule(exact)
    def last_user(op: NegOp) -> ir.Value | None:
        """-x -> x, if it has one user."""
        return op.operand if len(list(op.result.uses)) == 1 else None

    @rule(exact)
    def first_operand(op: MulOp) -> ir.Value | None:
        """x * y -> x."""
        return op.lhs

    module = parsed()
    counts = apply_rules(module.operation, [last_user, first_operand], PassContext())
    assert {count.name: count.hits for count in counts} == {"last-user": 2, "first-operand": 1}


def test_rule_that_returns_no_value_is_an_error():
    @rule(exact)
    def three(op: MulOp) -> ir.Value | None:
        """x * y -> 3."""
        return 3

    with pytest.raises(RuleError, match="returned 3: expected a Value"):
        apply_rules(parsed().operation, [three], PassContext())


def test_rule_that_returns_a_result_of_its_op_is_an_error():
    @rule(exact)
    def same(op: MulOp) -> ir.Value | None:
        """x * y -> x * y."""
        return op.result

    with pytest.raises(RuleError, match=r"a result of the stablehlo\.multiply that it should rep"):
        apply_rules(parsed().operation, [same], PassContext())


def no_docstring(op: NegOp):
    return None


def no_annotation(op):
    """-x."""


def unknown_annotation(op: "NowhereOp"):  # noqa: F821
    """-x."""


def too_many(op: NegOp, context: PassContext, more):
    """-x."""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (no_docstring, "must state the equation"),
        (no_annotation, "annotate 'op' with the class"),
        (unknown_annotation, "its annotations name 'NowhereOp'"),
        (too_many, r"expected the parameters \(op\) or \(op, context\)"),
    ],
)
def test_malformed_rule_is_an_error_with_a_fix(function, message):
    with pytest.raises(TypeError, match=message):
        rule(exact)(function)


def test_contracts_print_and_check_their_bound():
    assert str(approximates(ulps=2)) == "approximates(ulps=2)"
    assert str(exact) == "exact"
    with pytest.raises(ValueError, match="positive bound"):
        approximates(ulps=0)
    with pytest.raises(TypeError, match="expected one of no-nans"):
        rule(exact, assumes="sunshine")
    with pytest.raises(TypeError, match=r"@rule\(exact\)"):
        rule(negate_of_negate)


def test_malformed_pass_is_an_error_with_a_fix():
    def untyped(module, *, option=1):
        """Do."""

    def silent(module):
        pass

    def crowded(module, context, more):
        """Do."""

    for function, message in (
        (untyped, "option 'option' needs a default and one of the types"),
        (silent, "it needs a docstring"),
        (crowded, "expected the parameters \\(module\\) or \\(module, context\\)"),
    ):
        with pytest.raises(TypeError, match=message):
            module_pass(function)


def test_rule_accepts_former_spellings_with_a_warning():
    with pytest.warns(DeprecationWarning, match="the parameter `of` of @rule is now called"):

        @rule(exact, of=NegOp)
        def with_of(op: NegOp) -> ir.Value | None:
            """-(-x) -> x."""

    assert with_of.producer == frozenset([NegOp])
    with pytest.warns(DeprecationWarning, match="the parameter `facts` is now called") as caught:

        @rule(exact)
        def with_facts(op: NegOp, facts: PassContext) -> ir.Value | None:
            """-x -> x, on the cpu only."""
            return op.operand if facts.target == "cpu" else None

    assert caught[0].filename == __file__
    module = parsed()
    [count] = apply_rules(module.operation, [with_facts], PassContext())
    assert count.hits


def test_module_pass_accepts_a_parameter_named_facts_with_a_warning():
    with pytest.warns(DeprecationWarning, match="`facts` is now called `context`") as caught:

        @module_pass
        def name_target(module, facts):
            """Write the target on the module."""
            module.attributes["jxc.target"] = ir.StringAttr.get(facts.target)

    assert caught[0].filename == __file__
    module = parsed()
    with module.context:
        name_target.function(module.operation, PassContext())
    assert '"cpu"' in str(module.operation.attributes["jxc.target"])


@pytest.mark.parametrize("owner", [jxc, jxc.rewrite])
def test_facts_is_a_former_name_of_pass_context(owner):
    with pytest.warns(DeprecationWarning, match="Facts is now called"):
        assert owner.Facts is PassContext


def test_former_names_of_rules_are_accepted_with_a_note(monkeypatch, capsys):
    monkeypatch.setitem(former_names.FORMER_NAMES, "twice-negated", "negate-of-negate")
    module = write_text(parsed())
    assert "negate" not in write_text(jxc.opt(module, "twice-negated"))
    only_renamed = "simplify{enable-patterns=twice-negated disable-patterns=twice-negated}"
    kept = jxc.opt(module, only_renamed)
    assert "negate" in write_text(kept)
    assert str(make_pipeline("twice-negated")) == "builtin.module(negate-of-negate)"
    note = "note: 'twice-negated' is now called 'negate-of-negate'"
    assert capsys.readouterr().err.count(note) == 1


def test_former_names_lead_to_rules_and_passes_that_exist():
    passes = our_passes()
    names = {each.name for each in passes} | {rule.name for each in passes for rule in each.rules}
    assert set(former_names.FORMER_NAMES.values()) <= names
    assert not set(former_names.FORMER_NAMES) & names
