"""`locate-nans` and `trace-values`: results are unchanged, and the reports are right."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc.check.run import shared_interpreter
from jxc.errors import JxcError, UsageError
from jxc.ir import clone_module
from jxc.ir.extra_results import extra_results
from jxc.tools.debug.executable import Instrumented

F32 = np.float32
QUICK = {"xla_backend_optimization_level": 0}  # compiles in half the time
X = np.linspace(-1, 2, 12, dtype=F32).reshape(3, 4)


def network(params, x):
    hidden = jax.nn.relu(x @ params["w"] + params["b"])
    return {"loss": jnp.mean(jax.nn.log_softmax(hidden) ** 2), "hidden": hidden}


def in_a_scan(x):
    def body(carry, row):
        carry = carry * 0.5 + row
        return carry, (carry.sum(), jnp.argmax(carry))

    return jax.lax.scan(body, x[0], x)


def in_loops(x, n):
    def outer(_, carry):
        return jax.lax.while_loop(lambda c: c[1] < 3, lambda c: (jnp.sin(c[0]), c[1] + 1), carry)

    return jax.lax.fori_loop(0, n, lambda i, c: outer(i, (c[0], 0)), (x, 0))


def with_branches(x, n):
    def scaled(by):
        return jax.lax.scan(lambda c, _: (c * by, None), x, None, length=2)[0]

    picked = jax.lax.switch(n, [lambda: x, lambda: scaled(2.0), lambda: jnp.exp(x)])
    return picked, jax.lax.cond(n > 1, lambda: n + 1, lambda: n - 1)


def of_many_types(x, n):
    z = jax.lax.complex(x, x.T.reshape(x.shape))
    half = x.astype(jnp.bfloat16) * 3
    return z * z, jnp.abs(z), half, n * 2 + x.astype(jnp.int32), x > 0, x[:0], x[0, 0], half.sum()


def gradient(x):
    return jax.value_and_grad(lambda x: jnp.sum(jnp.where(x > 0, jnp.sqrt(x), 0.0)))(x)


def inverse(x):
    return jnp.linalg.cholesky(x @ x.T + jnp.eye(3)), jnp.sort(x), jnp.cumsum(x, 0)


PROGRAMS = {
    "network": (network, ({"w": np.ones((4, 5), F32), "b": np.ones(5, F32)}, X)),
    "scan": (in_a_scan, (X,)),
    "loops": (in_loops, (X, 3)),
    "branches": (with_branches, (X, 1)),
    "types": (of_many_types, (X, np.arange(12).reshape(3, 4))),
    "gradient": (gradient, (X,)),
    "inverse": (inverse, (X,)),
    "integers": (lambda n: (n + 1, n.sum()), (np.arange(6),)),
    "nothing": (lambda x: (), (X,)),
    "donated": (jax.jit(lambda x, y: (x + y, y * 2), donate_argnums=0), (X, X)),
}
PIPELINES = (
    "locate-nans{watch=masked}",
    "O2,locate-nans{watch=values infs=true}",
    "trace-values{match=* iterations=2},locate-nans,O1",
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_instrumented_program_returns_same_results(name):
    fn, args = PROGRAMS[name]
    lowered = jxc.lower(fn, *args)
    pipeline = "locate-nans" if name == "nothing" else "trace-values{match=* most=3},locate-nans"
    expected = lowered.compile()(*jax.tree.map(jnp.array, args))
    found, _ = lowered.opt(pipeline).compile().run(*jax.tree.map(jnp.array, args))
    jax.tree.map(_check_same, found, expected)
    assert jax.tree.structure(found) == jax.tree.structure(expected)


def _check_same(found, expected):
    assert found.dtype == expected.dtype and found.weak_type == expected.weak_type
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"inverse", "nothing"}))
def test_instrumented_program_gives_same_bits_on_interpreter(name):
    """XLA's results may differ: recording a value changes where it contracts a * b + c."""
    fn, args = PROGRAMS[name]
    lowered = jxc.lower(fn, *args)
    kinds = [leaf.dtype for leaf in jax.tree.leaves(lowered.arguments)]
    leaves = zip(jax.tree.leaves(args), kinds, strict=True)
    inputs = [np.asarray(leaf).astype(kind) for leaf, kind in leaves]
    expected = {
        level: shared_interpreter().run(lowered.opt(level).module, inputs)
        for level in ("", "O1", "O2")
    }
    for pipeline in PIPELINES:
        level = next((level for level in ("O1", "O2") if level in pipeline), "")
        found = shared_interpreter().run(lowered.opt(pipeline).module, inputs)
        assert len(found) > len(expected[level])
        for one, other in zip(found, expected[level], strict=False):
            assert one.tobytes() == other.tobytes()


# locate-nans


def step(w, x, number):
    def loss(w):
        sign = jnp.where(number == 30, -1.0, 1.0)
        return jnp.mean(jnp.log(jnp.exp(x @ w) * sign) ** 2)  # the line

    value, grad = jax.value_and_grad(loss)(w)
    return w - 0.01 * grad, value


TEXT = Path(__file__).read_text().splitlines()
LINE = next(number for number, text in enumerate(TEXT, 1) if text.endswith("# the line"))
WEIGHTS = jnp.full((4, 2), 0.1)


def test_locate_nans_counts_calls():
    located, w = jxc.locate_nans(step, donate_argnums=0), WEIGHTS
    with pytest.raises(jxc.NanError, match=r"^call 30 \(from 0\): the first NaN is made by log"):
        for number in range(100):
            w, _ = located(w, X, number)
    assert number == 30


@pytest.mark.parametrize("pipeline", ["O2,locate-nans", "locate-nans,O2"])
def test_locate_nans_reports_iteration_of_scan(pipeline):
    def train(w, x):
        return jax.lax.scan(lambda w, n: step(w, x, n), w, jnp.arange(50))

    executable = jxc.lower(train, WEIGHTS, X).opt(pipeline).compile(xla_options=QUICK)
    (_, losses), seen = executable.run(WEIGHTS, X)
    assert np.isnan(losses).tolist() == [n >= 30 for n in range(50)]
    finding = seen.nans
    assert finding.iterations == (30,)
    assert finding.op.startswith("log") and finding.place.line == LINE
    assert finding.operands[0].type == "f32[3,2]" and finding.operands[0].max < 0
    assert finding.result.nan == 6 and finding.reaches == ("result[0]", "result[1]")
    with pytest.raises(jxc.NanError) as caught:
        executable(WEIGHTS, X)
    assert np.isnan(caught.value.outputs[1][30]) and str(caught.value) == str(finding)
    json.dumps(finding.as_json(), allow_nan=False)


def find(fn, *args, options=""):
    lowered = jxc.lower(fn, *args).opt(f"locate-nans{options}")
    return lowered.compile(xla_options=QUICK).run(*args)[1].nans


def test_locate_nans_ignores_masked_nans_and_infinities():
    assert find(gradient, X + 2) is None
    assert find(lambda x: jnp.where(x > 0, jnp.log(x), 0.0), X) is None  # masked
    assert find(lambda x: jnp.exp(x * 1000), X) is None  # infinite


def test_locate_nans_reports_masked_nan_on_request():
    finding = find(lambda x: jnp.where(x > 0, jnp.log(x), 0.0), X, options="{watch=masked}")
    assert finding.op == "log" and finding.reaches == ()


def test_locate_nans_prefers_nan_that_reaches_result():
    def two(x):
        safe = jnp.where(x > 0, jnp.log(x), 0.0)
        return jnp.sqrt(safe - 10)

    assert find(two, X).op == "sqrt"
    assert find(two, X, options="{watch=masked}").op == "sqrt"


def test_locate_nans_reports_infinity_as_cause_or_itself():
    def overflow(x):
        grown = jnp.exp(x * 1000)
        return grown - grown

    finding = find(overflow, X)
    assert (finding.op, finding.cause.op) == ("subtract (sub)", "exponential (exp)")
    assert "it comes from an infinity: the first infinity is made by exponential" in str(finding)
    assert find(overflow, X, options="{infs=true}").op == "exponential (exp)"
    assert find(lambda x: jnp.exp(x * 1000), X, options="{infs=true}").what == "infinity"


def test_locate_nans_names_argument_or_constant():
    def use(params):
        return params["w"] * 2

    finding = find(use, {"w": np.array([1, np.nan], F32)})
    assert str(finding).startswith("the argument params['w'] already holds a NaN")
    constant = np.array([1, np.nan], F32)
    assert find(lambda x: x + constant, X[0, :2]).kind in ("constant", "argument")


def test_locate_nans_in_nested_loops_and_branches():
    def inner(carry, n):
        bad = jax.lax.cond(n == 3, lambda c: jnp.sqrt(-jnp.abs(c) - 1), lambda c: c, carry)
        return jnp.where(carry.sum() > 6, bad, carry), None

    def outer(carry, _):
        carry = carry + 1
        return jax.lax.scan(inner, carry, jnp.arange(5))[0], carry

    finding = find(lambda x: jax.lax.scan(outer, x, None, length=4), np.full(2, 1.0, F32))
    assert (finding.op, finding.iterations) == ("sqrt", (2, 3))


def test_locate_nans_ignores_overwritten_initial_nan():
    def fill(x):
        start = jnp.full((4, 4), jnp.nan)
        return jax.lax.fori_loop(0, 4, lambda i, a: a.at[i].set(jnp.sqrt(x[0] - i)), start)[1:]

    assert find(fill, X).op == "sqrt"


def test_locate_nans_in_gradient_with_checkpoint():
    def loss(x):
        return jnp.sum(jax.checkpoint(lambda x: jnp.sqrt(x - x))(jnp.sin(x)))

    finding = find(jax.grad(loss), X)
    assert finding.op == "add (add_any)" and ", in the gradient" in str(finding)
    assert finding.cause.op == "divide (div)" and finding.operands[0].inf == 12


def test_locate_nans_records_all_values_without_float_results():
    assert find(lambda x: jnp.argmax(jnp.log(x), axis=1), X).op == "log"


def test_locate_nans_runs_program_with_effects_once():
    seen = []

    def act(x):
        jax.debug.callback(seen.append, x[0, 0])
        return jnp.log(x)

    finding = find(act, X)
    jax.effects_barrier()
    assert len(seen) == 1
    assert finding.op == "log" and finding.largest == (2.0,) and not finding.operands


def test_locate_nans_in_sharded_program():
    mesh = jax.make_mesh((4,), ("d",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
    x = jax.device_put(np.linspace(-1, 1, 32, dtype=F32).reshape(8, 4), sharding)
    located = jxc.locate_nans(lambda x: jnp.log(x).sum())
    with pytest.raises(jxc.NanError) as caught:
        located(x)
    assert caught.value.finding.result.nan == 16


def test_locate_nans_in_f64_bf16_and_complex():
    with jax.enable_x64(True):
        assert find(lambda x: jnp.log(x * 1e300), np.array([-1.0])).operands[0].min == -1e300
    assert find(lambda x: jnp.log(x), X.astype(jnp.bfloat16)).op == "log"
    assert find(lambda x: jnp.log(x - x) * 0, X.astype(np.complex64)).op.startswith("multiply")


def test_locate_nans_refuses_references():
    def change(ref):
        ref[...] = jnp.log(ref[...])

    with pytest.raises(UsageError, match=r"changes a jax.Ref in place cannot be instrumented"):
        jxc.lower(change, jax.new_ref(jnp.ones(3))).opt("locate-nans").compile()


def test_locate_nans_behaves_as_jit():
    calls = []

    @partial(jxc.locate_nans, static_argnames="power")
    def f(tree, power, *, scale=1.0):
        calls.append(power)
        return {"out": tree["x"] ** power * scale}

    assert f({"x": 2.0}, 3)["out"] == 8
    assert f({"x": 3.0}, 3)["out"] == 27 and len(calls) == len(f._programs) == 1
    assert f({"x": 3.0}, power=2, scale=2.0)["out"] == 18 and len(calls) == 2
    assert jax.jit(lambda x: f({"x": x}, 2)["out"])(4.0) == 16
    assert jax.grad(lambda x: f({"x": x}, 2)["out"])(4.0) == 8
    assert f.calls == 3
    assert repr(f).startswith("<jxc.locate_nans of ")
    assert repr(f).endswith("<locals>.f, called 3 times>")


def test_locate_nans_warns_once_on_request():
    f = jxc.locate_nans(jnp.log, on_nan="warn")
    with pytest.warns(UserWarning, match="the first NaN is made by log"):
        assert np.isnan(f(-1.0))
    assert np.isnan(f(-1.0))  # no longer checked
    with pytest.raises(UsageError, match="expected 'raise' or 'warn'"):
        jxc.locate_nans(jnp.log, on_nan="ignore")


def test_use_and_jit_refuse_passes_that_add_results():
    with pytest.raises(UsageError, match=r"locate-nans adds results .* jxc.locate_nans\(fn\)"):
        jxc.use("locate-nans")
    with pytest.raises(UsageError, match=r"trace-values adds results"):
        jxc.jit(jnp.sin, pipeline="trace-values{match=sine}")


# trace-values


def trace(fn, *args, options):
    lowered = jxc.lower(fn, *args).opt(f"trace-values{{{options}}}")
    executable = lowered.compile(xla_options=QUICK)
    assert isinstance(executable, Instrumented)
    return executable.run(*args)[1].values


def test_trace_values_statistics_equal_numpy():
    value = np.array([[0, 1.5, np.inf], [np.nan, -2, 0]], F32)
    (found,) = trace(lambda x: x * 2, value, options="match=multiply")
    assert (found.total.min, found.total.max) == (-4, np.inf)
    assert (found.total.nan, found.total.inf, found.total.zeros) == (1, 1, 2)
    assert np.isnan(found.total.mean) and found.type == "f32[2,3]"
    (found,) = trace(lambda x: x * 2, X, options="match=multiply")
    np.testing.assert_allclose(found.total.mean, (X * 2).mean(), rtol=1e-6)
    (found,) = trace(lambda n: n * 3, np.arange(4), options="match=multiply")
    assert (found.total.min, found.total.max, found.total.mean) == (0, 9, 4.5)
    (found,) = trace(lambda x: x * 3, X[:0], options="match=multiply")
    assert (found.total.min, found.total.mean, str(found.total)) == (None, None, "no elements")


def test_trace_values_lists_first_iterations():
    (found,) = trace(in_loops, X, 3, options="match=sin iterations=5")
    assert found.runs == 9 and len(found.each) == 5
    assert [iterations for iterations, _ in found.each] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    values = [np.sin(X)]
    for _ in range(8):
        values.append(np.sin(values[-1]))
    for (_, each), value in zip(found.each, values, strict=False):
        np.testing.assert_allclose([each.min, each.max], [value.min(), value.max()], rtol=1e-5)
    np.testing.assert_allclose(found.total.mean, np.mean(values), rtol=1e-5)
    assert "and 4 more (iterations=N shows more)" in str(found)
    json.dumps(found.as_json(), allow_nan=False)


def test_trace_values_counts_values_left_out():
    lowered = jxc.lower(network, *PROGRAMS["network"][1]).opt("trace-values{match=* most=2}")
    seen = lowered.compile(xla_options=QUICK).run(*PROGRAMS["network"][1])[1]
    assert len(seen.values) == 2 and seen.left_out > 10


def test_trace_values_in_branch_not_taken():
    taken, other = trace(with_branches, X, 1, options="match=multiply|exponential")
    assert (taken.op, taken.runs) == ("multiply", 2)
    assert (other.runs, other.total) == (0, None) and "never computed" in str(other)


def test_trace_values_matches_op_line_function_and_path():
    lowered = jxc.lower(step, WEIGHTS, X, 3)
    for pattern in ("log", f"test_instruments.py:{LINE}", "step.<locals>.loss", "*/log"):
        table = extra_results(lowered.opt(f"trace-values{{match={pattern}}}").module)[0].table
        found = [each for each in table["values"] if each["op"] == "log"]
        assert found and all(table["stacks"][each["stack"]][0][1] == LINE for each in found)


def test_trace_values_refuses_pattern_without_match():
    with pytest.raises(UsageError, match=r"match=lgo names no value .* Did you mean 'log'"):
        trace(step, WEIGHTS, X, 3, options="match=lgo")
    with pytest.raises(UsageError, match="needs to know which"):
        trace(step, WEIGHTS, X, 3, options="most=3")


def test_locate_nans_and_trace_values_together():
    lowered = jxc.lower(step, WEIGHTS, X, 30)
    before = lowered.as_text()
    both = lowered.opt("trace-values{match=log},locate-nans")
    _, seen = both.compile(xla_options=QUICK).run(WEIGHTS, X, 30)
    assert seen.values[0].op == "log" and seen.nans.op == "log"
    assert lowered.as_text() == before
    assert clone_module(both.module).operation.verify()


def test_save_refuses_instrumented_programs(tmp_path):
    from jxc.backend.artifacts.saving import save

    executable = jxc.lower(jnp.sin, X).opt("locate-nans").compile()
    with pytest.raises(JxcError, match="cannot be saved: locate-nans and trace-values add"):
        save(executable, tmp_path / "x")
