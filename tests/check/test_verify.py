"""Verdicts on pipelines: contracts of rules, time limits, and bisection."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import AddOp, SineOp

import jxc
from jxc.check import compare_modules
from jxc.check.bisect import blame
from jxc.check.compare import Deadline
from jxc.check.fill import operands_of
from jxc.check.in_place import check_in_place
from jxc.check.inputs import CannotRun
from jxc.check.reference import RationedInterpreter, interpreter_seconds
from jxc.check.run import Interpreter, shared_interpreter
from jxc.check.verify import verify_modules, verify_pipeline
from jxc.ir import build, clone_module, make_context, read_module
from jxc.pipeline import make_pipeline, run_pipeline
from jxc.rewrite import PassContext
from scripts.variants import try_rule

X = np.linspace(-1, 1, 8, dtype=np.float32)


@jxc.rule(jxc.exact)
def wrong_on_the_third(op: AddOp) -> ir.Value | None:
    """x + x -> x * x: wrong except for 0 and 2."""
    if op.lhs == op.rhs:
        return stablehlo.multiply(op.lhs, op.rhs)
    return None


def program(x):
    return jnp.tanh(x) * 2 + jnp.transpose(jnp.transpose(x))


def test_verify_agrees_on_a_correct_pipeline():
    verdict = jxc.verify(program, X, pipeline="O2")
    assert verdict.agrees
    assert str(verdict.report.contract) == "exact"
    assert verdict.draws == 10


def test_verify_shows_arguments_on_which_a_rule_is_wrong():
    verdict = jxc.verify(lambda x: x + x, X, pipeline=["O1", wrong_on_the_third])
    assert not verdict.agrees
    assert "argument 0: float32[8]" in str(verdict)


@jxc.rule(jxc.exact)
def wrong_for_one_number(op: SineOp) -> ir.Value | None:
    """sin x -> x where x is 41.375: wrong for that number, which is never generated."""
    number = build.splat(41.375, op.operand.type)
    is_number = stablehlo.compare(op.operand, number, stablehlo.ComparisonDirectionAttr.get("EQ"))
    if any("jxc.seen" in use.owner.attributes for use in op.operand.uses):
        return None
    wrong = stablehlo.select(is_number, op.operand, sine := stablehlo.sine(op.operand))
    sine.owner.attributes["jxc.seen"] = ir.UnitAttr.get()
    return wrong


def test_verify_compares_on_the_arguments_given():
    args = jax.random.key(3), np.ones(2), [41.375, 2.0], jnp.float16(0.5)

    def program(key, unused, values, scale):
        return jnp.sin(jnp.stack(values)) * scale, jax.random.bits(key)

    verdict = jxc.verify(program, *args, pipeline=[wrong_for_one_number])
    assert verdict.report.difference.kind == "given"
    assert "on given arguments" in str(verdict)
    abstract = jax.eval_shape(lambda *each: each, *args)
    assert jxc.verify(program, *abstract, pipeline=[wrong_for_one_number]).agrees
    assert [*jxc.verify(program, *args).report.runs] == ["normal", "edge", "small", "given"]


def test_bisect_uses_the_arguments_given():
    low = jxc.lower(jnp.sin, np.float32([41.375]))
    given = operands_of(low, (np.float32([41.375]),), {})
    culprit = blame(low.module, ["O1", wrong_for_one_number], given=given)
    assert culprit.step.name == "wrong-for-one-number"
    assert blame(low.module, ["O1", wrong_for_one_number]) is None


def test_operands_are_what_the_module_takes():
    def program(tree, unused, key, number):
        return tree["a"] * number + jax.random.bits(key).astype(jnp.float32), tree["z"] + 1

    tree = {"a": np.float32([1, 1e-40, np.inf]), "z": np.complex64([1e-40 + 2j])}
    args = tree, np.ones(2), jax.random.key(0), jax.ShapeDtypeStruct((), np.float32)
    low = jxc.lower(program, *args)
    a, z, key, number = operands_of(low, args, {})
    assert a.tolist() == [1, 0, np.inf] and z.tolist() == [2j]
    assert np.signbit(operands_of(jxc.lower(jnp.sin, -0.0), (-0.0,), {}))
    assert key.dtype == np.uint32 and number.dtype == np.float32
    assert operands_of(low, jax.eval_shape(lambda *each: each, *args), {}) is None
    assert operands_of(jxc.lower(jnp.sin, X), (X, 1), {}) is None


def test_arguments_without_values_are_drawn():
    array = jnp.ones(3)
    assert jxc.verify(jnp.sin, "f32[3]").draws == jxc.verify(jnp.sin, jax.typeof(array)).draws == 9
    assert jxc.verify(jnp.add, jax.typeof(array), array).report.runs["given"]
    array.delete()
    assert jxc.verify(jnp.sin, array).draws == 9
    huge = jax.ShapeDtypeStruct((1 << 36,), jnp.bfloat16)
    report = jxc.verify(jnp.multiply, huge, np.float32(2)).report
    assert list(report.reasons.values()) == ["the arguments need 512 GiB as float64"]


def test_arguments_of_other_types_are_not_compared_on():
    module = jxc.lower(jnp.sin, X).module
    report = compare_modules(module, module, given=[np.ones(3, np.float32)])
    assert report.reasons == {"given": "the arguments are of other types than @main takes"}
    assert report.agrees and "given" not in report.runs


@jxc.rule(jxc.exact)
def wrong_where_one(op: AddOp) -> ir.Value | None:
    """x + y -> x: wrong, if there is one element."""
    return op.lhs if ir.RankedTensorType(op.lhs.type).shape == [1] else None


def test_verify_finds_a_rule_that_is_wrong_at_size_1_only():
    verdict = jxc.verify(lambda x, y: x + y, X, X, pipeline=[wrong_where_one])
    assert not verdict.agrees
    assert verdict.report.difference.inputs[0].shape == (1,)
    assert "tensor<1xf32>" in str(verdict.program)
    assert jxc.verify(lambda x, y: x + y, X, X, pipeline="O2").elsewhere == 6


def chain(length):
    """x doubled `length` times, with sums of different operands in between."""
    lines = ["func.func public @main(%v0: tensor<f32>) -> tensor<f32> {"]
    for i in range(length):
        other = i if i == 2 else 0
        lines.append(f"  %v{i + 1} = stablehlo.add %v{i}, %v{other} : tensor<f32>")
    return "\n".join([*lines, f"  return %v{length} : tensor<f32>", "}"])


@pytest.mark.parametrize("before", [[], ["simplify"], ["cse", "simplify", "cse"]])
def test_bisect_names_the_pass_and_the_rewrite(before):
    module = read_module(chain(6), make_context())
    culprit = blame(module, [*before, wrong_on_the_third, "cse"])
    assert culprit.index == len(before)
    assert culprit.rule == "wrong-on-the-third"
    assert culprit.application == 1


def test_bisect_names_no_pass_of_a_correct_pipeline():
    module = read_module(chain(6), make_context())
    assert blame(module, "O2") is None
    assert all(v.agrees for v in verify_pipeline(module, "O2"))


def test_verify_functions_with_pytrees_and_integers():
    def f(tree, n):
        return {"a": tree["x"] @ tree["x"].T, "b": n // 3 + 0}

    assert jxc.verify(f, {"x": np.ones((3, 2), np.float32)}, np.arange(5)).agrees


def sine_off_by(ulps, promised):
    """A rule that moves sin(x) by `ulps` units in the last place; its contract says `promised`."""

    @jxc.rule(jxc.approximates(ulps=promised))
    def sine_plus_ulps(op: SineOp) -> ir.Value | None:
        """sin(x) -> sin(x) moved by some ulps."""
        kind = op.result.type
        if "f64" in str(kind):
            return None
        integer = ir.RankedTensorType.get(kind.shape, ir.IntegerType.get_signless(32))
        wide = ir.RankedTensorType.get(kind.shape, ir.F64Type.get())
        sine = stablehlo.convert(kind, stablehlo.sine(stablehlo.convert(wide, op.operand)))
        bits = stablehlo.bitcast_convert(integer, sine)
        return stablehlo.bitcast_convert(kind, stablehlo.add(bits, build.splat(ulps, integer)))

    return sine_plus_ulps


def test_verify_rejects_an_approximation_beyond_its_ulps():
    verdict = jxc.verify(jnp.sin, X, pipeline=[sine_off_by(4, promised=1)])
    assert not verdict.agrees
    assert str(verdict.report.contract) == "approximates(ulps=1)"
    assert jxc.verify(jnp.sin, X, pipeline=[sine_off_by(4, promised=5)]).agrees


def rounded_again(x):
    return jnp.sin(x * 3) + 5 * x


def in_a_loop(x):
    return jax.lax.scan(lambda carry, each: (jnp.sin(carry) + 9, each), x[0], x)[0]


def in_a_branch(x):
    return jax.lax.cond(x[0] * x[0] >= 0, lambda y: jnp.sin(y) + 9, lambda y: y, x)


@pytest.mark.parametrize("program", [rounded_again, in_a_loop, in_a_branch])
def test_an_error_that_the_next_rounding_hides_is_found_in_place(program):
    module = jxc.lower(program, X).module
    wrong, context = make_pipeline([sine_off_by(4, promised=1)]), PassContext()
    after = clone_module(module)
    run_pipeline(after, wrong, context)
    assert verify_modules(module, after, contract=jxc.approximates(ulps=1))[0].agrees
    [verdict] = verify_pipeline(module, wrong)
    assert not verdict.agrees
    text = str(verdict)
    assert "rule sine-plus-ulps at " in text and "test_verify.py:" in text
    assert "on the values that reach it" in text
    [verdict] = verify_pipeline(module, [sine_off_by(4, promised=5)])
    assert verdict.rewrites == (1, 1) and not verdict.wrong, str(verdict)
    if program is rounded_again:
        assert verdict.agrees and "1 of 1 rewrites in place" in str(verdict)


def test_a_rewrite_that_the_program_does_not_reach_is_not_run_in_place():
    def never(x):
        return jax.lax.cond(jnp.isinf(x[0]) & ~jnp.isinf(x[0]), jnp.sin, jnp.cos, x)

    found = check_in_place(
        jxc.lower(never, X).module,
        make_pipeline([sine_off_by(4, promised=1)]),
        PassContext(),
        1.0,
        lambda: False,
    )
    assert (found.checked, found.applied, found.wrong) == (0, 1, "")


def test_values_that_nothing_uses_are_not_compared_in_place():
    low = jxc.lower(lambda x: jax.lax.sort((x, -x), num_keys=1)[0], X)
    [verdict] = verify_pipeline(low.module, "simplify")
    assert verdict.agrees, str(verdict)


def test_try_rule_rejects_an_approximation_beyond_its_ulps():
    module = jxc.lower(jnp.sin, X).module
    assert try_rule(sine_off_by(4, promised=1), module, PassContext()).difference
    assert not try_rule(sine_off_by(1, promised=2), module, PassContext()).difference


def test_verify_uses_the_loosest_contract():
    def program(x):
        return jnp.sin(x) + jnp.sum(x)

    lying = sine_off_by(100, promised=100)
    verdict = jxc.verify(program, X, pipeline=["O2", lying])
    assert str(verdict.report.contract) == "approximates(ulps=100)"


def test_verdict_repr_is_one_line_and_print_is_the_report():
    verdict = jxc.verify(program, X)
    assert repr(verdict) == "<jxc.verify @main: same (exact), 16 draws>"
    assert str(verdict).startswith("@main: same (exact) on normal (interpreter), edge")


def long_loop(x):
    """200 iterations, in total about 5 s on the interpreter."""
    return jax.lax.fori_loop(0, 200, lambda _, y: jnp.tanh(y @ y * 0.1), x)


def test_verify_runs_a_large_loop_on_xla():
    verdict = jxc.verify(long_loop, np.eye(32, dtype=np.float32))
    assert verdict.agrees
    assert set(verdict.report.runs.values()) == {"xla"}
    assert "the interpreter would take about" in next(iter(verdict.report.reasons.values()))


def test_the_interpreter_runs_edge_values_first_where_its_budget_is_small(monkeypatch):
    module = jxc.lower(lambda x, y: x @ y, np.ones((8, 64), np.float32), X.repeat(8)).module
    kinds = []

    class Counted(Interpreter):
        def run(self, module, inputs):
            kinds.append("edge" if np.isnan(inputs[0]).any() else "other")
            return shared_interpreter().run(module, inputs)

    monkeypatch.setattr(jxc.check.verify, "shared_interpreter", Counted)
    for runs, by in [(2, "interpreter, xla"), (18, "interpreter")]:
        budget = (runs + 0.5) * interpreter_seconds(module)
        monkeypatch.setattr(jxc.check.verify, "INTERPRETER_BUDGET_S", budget)
        kinds.clear()
        [verdict] = verify_modules(module, module)
        assert verdict.agrees and verdict.draws == 9
        assert kinds.count("edge") == min(runs, 6) and len(kinds) == runs, kinds
        assert verdict.report.runs["edge"] == by


def test_a_run_that_is_longer_than_estimated_is_charged_in_full():
    class Slow(Interpreter):
        def run(self, module, inputs):
            self.spent_s += 3.0
            return inputs

    module = jxc.lower(jnp.sin, X).module
    rationed = RationedInterpreter(Slow(), budget_s=2.0, draws=1)
    assert rationed.affords(1.0, is_edge=False) and rationed.run(module, [X]) == [X]
    assert not rationed.affords(0.0, is_edge=True)
    with pytest.raises(CannotRun, match="its budget is 2 s"):
        rationed.run(module, [X])


def test_verify_names_the_functions_not_checked_within_the_time_limit():
    shown = []
    module = jxc.lower(program, X).module
    [verdict] = verify_pipeline(
        module, "O2", deadline=Deadline(0.0, lambda *each: shown.append(each))
    )
    assert verdict.agrees and verdict.draws == 1
    assert verdict.unfinished == "not checked: the limit of 0 s is over"
    assert str(verdict).endswith("[1 draw]; not checked: the limit of 0 s is over")
    assert shown == [("@main", 0), ("@main", 1)]


def sixteen_bit_product(x, g):
    return (x.astype(jnp.bfloat16).T @ g.astype(jnp.bfloat16)).astype(jnp.float32)


def dropped_by_random_bits(x, bits):
    ones = jnp.uint32(0x3F800000)  # of a float in [1, 2)
    return jnp.where(jax.lax.bitcast_convert_type((bits >> 9) | ones, jnp.float32) < 1.5, x, 0)


def dropped_by_own_bits(x, bits):
    return jnp.where(jax.lax.bitcast_convert_type(x, jnp.uint32) >> 31 == bits >> 31, x, 0)


@pytest.mark.parametrize("drop", [dropped_by_random_bits, dropped_by_own_bits])
def test_sums_of_16_bit_products_may_round_in_parts_where_bits_of_floats_are_read(drop):
    def whole(x, g, bits):
        return sixteen_bit_product(drop(x, bits), g)

    def in_parts(end):
        def parts(x, g, bits):
            x = drop(x, bits)
            return sixteen_bit_product(x[:32], g[:32]) + sixteen_bit_product(x[32:end], g[32:end])

        return parts

    shape = 64, 16
    args = [*[jax.ShapeDtypeStruct(shape, jnp.float32)] * 2, jax.ShapeDtypeStruct(shape, "uint32")]
    before, right, wrong = (jxc.lower(f, *args).module for f in (whole, in_parts(64), in_parts(32)))
    assert verify_modules(before, right, contract=jxc.reassociates)[0].agrees
    assert not verify_modules(before, wrong, contract=jxc.reassociates)[0].agrees
