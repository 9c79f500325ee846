"""The way into jax.jit. `sine_to_cosine` is a wrong rewrite on purpose: its effect is visible."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.dialects.stablehlo import SineOp

import jxc
from jxc.cost.thresholds import TINY_MODULE_OPS
from jxc.source import JxcWarning

from .passes import breaking, failing, sine_to_cosine, sine_to_tanh

X = np.linspace(0.1, 1.0, 8, dtype=np.float32)
PIPELINE = ["inline{default-pipeline=}", "symbol-dce", sine_to_cosine]


def program(x):
    """More ops than a tiny module has, around one sine."""
    y = jnp.sin(x)
    for i in range(TINY_MODULE_OPS):
        y = y * 1.5 + i
    return y


def expected(function, x=X):
    """What `program` computes with `function` in place of the sine."""
    y = function(np.asarray(x))
    for i in range(TINY_MODULE_OPS):
        y = y * 1.5 + i
    return y


def check(result, function, x=X):
    np.testing.assert_allclose(np.asarray(result), expected(function, x), rtol=1e-4)


# jxc.jit


def test_jit_rewrites():
    check(jxc.jit(program, pipeline=PIPELINE)(X), np.cos)
    check(jax.jit(program)(X), np.sin)


def test_jit_as_decorator_with_and_without_options():
    plain = jxc.jit(program)
    check(plain(X), np.sin)

    @jxc.jit(pipeline=PIPELINE)
    def decorated(x):
        """Kept."""
        return program(x)

    check(decorated(X), np.cos)
    assert decorated.__doc__ == "Kept."
    assert decorated.__name__ == "decorated"


def test_two_pipelines_on_one_function():
    cosine, tanh = (jxc.jit(program, pipeline=rule) for rule in (sine_to_cosine, sine_to_tanh))
    for _ in range(2):
        check(cosine(X), np.cos)
        check(tanh(X), np.tanh)
        check(jax.jit(program)(X), np.sin)


def test_donation():
    fast = jxc.jit(program, pipeline=PIPELINE, donate_argnums=0)
    x = jnp.asarray(X)
    check(fast(x), np.cos)
    assert x.is_deleted()


def test_static_arguments():
    @jxc.jit(pipeline=PIPELINE, static_argnames=("times",))
    def repeated(x, times):
        for _ in range(times):
            x = program(x)
        return x

    check(repeated(X, times=1), np.cos)
    check(repeated(X, times=2), np.cos, expected(np.cos))


def test_pytrees_keywords_and_closures_over_arrays():
    captured = jnp.arange(8, dtype=jnp.float32)

    @jxc.jit(pipeline=PIPELINE)
    def f(tree, *, shift):
        return {"out": [program(tree["x"]) + captured, shift], "none": None}

    result = f({"x": X, "unused": X}, shift=jnp.float32(2))
    check(result["out"][0] - captured, np.cos)
    assert result["out"][1] == 2
    assert result["none"] is None


def test_nested_jit_is_part_of_the_outer_program():
    inner = jax.jit(program)
    check(jxc.jit(lambda x: inner(x), pipeline=PIPELINE)(X), np.cos)


def test_grad_vmap_and_scan_inside():
    slope = jxc.jit(jax.vmap(jax.grad(program)), pipeline=PIPELINE)
    np.testing.assert_allclose(slope(X), np.cos(X) * 1.5**TINY_MODULE_OPS, rtol=1e-4)

    @jxc.jit(pipeline=PIPELINE)
    def scanned(x):
        return jax.lax.scan(lambda carry, _: (program(carry) * 0.01, None), x, None, length=3)[0]

    y = X
    for _ in range(3):
        y = expected(np.cos, y) * 0.01
    np.testing.assert_allclose(scanned(X), y, rtol=1e-4)


def test_lower_compile_keeps_the_pipeline():
    compiled = jxc.jit(program, pipeline=PIPELINE).lower(X).compile()
    check(compiled(X), np.cos)


def test_methods():
    class Model:
        scale = 1.0

        @partial(jxc.jit, pipeline=PIPELINE, static_argnums=0)
        def apply(self, x):
            return program(x) * self.scale

    check(Model().apply(X), np.cos)


def test_under_another_trace_it_says_so_once_and_names_the_line():
    fast = jxc.jit(program, pipeline=PIPELINE)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jax.jit(lambda x: fast(x) + 1)(X)
        jax.grad(lambda x: fast(x).sum())(X)
    mine = [w for w in caught if issubclass(w.category, JxcWarning)]
    assert len(mine) == 1
    assert mine[0].filename == __file__
    assert "jxc.use" in str(mine[0].message)


@pytest.mark.filterwarnings("error::jxc.source.JxcWarning")
def test_no_advice_where_it_is_already_followed():
    inner = jxc.jit(program, pipeline=PIPELINE)
    check(jxc.jit(lambda x: inner(x), pipeline=PIPELINE)(X), np.cos)
    check(jxc.jit(inner, pipeline=PIPELINE)(X), np.cos)
    with jxc.use(PIPELINE):
        check(jax.jit(lambda x: inner(x))(X), np.cos)
        jax.jit(jax.grad(lambda x: inner(x).sum()))(X)


def test_without_a_pipeline_it_is_plain_jax():
    check(jxc.jit(program, pipeline=None)(X), np.sin)


def test_promises_reach_the_rules():
    @jxc.rule(jxc.exact, assumes="no-nans")
    def promised(op: SineOp) -> ir.Value | None:
        """sin x -> cos x, where somebody promised."""
        return stablehlo.cosine(op.operand)

    check(jxc.jit(program, pipeline=promised)(X), np.sin)
    check(jxc.jit(program, pipeline=promised, assume="no-nans")(X), np.cos)
    with jxc.use(promised, assume=["no-nans", "no-infs"]):
        check(jax.jit(lambda x: program(x))(X), np.cos)
    with pytest.raises(jxc.JxcError, match="promise 'sunshine': expected no-nans"):
        jxc.jit(program, assume="sunshine")


def test_unknown_pass_is_said_at_decoration():
    with pytest.raises(jxc.JxcError, match=r"unknown pass 'simplifi'\. Did you mean 'simplify'"):
        jxc.jit(program, pipeline="simplifi")


# jxc.use, jxc.enable


def test_use_rewrites_what_is_compiled_inside_only():
    f = jax.jit(lambda x: program(x))
    check(f(X), np.sin)
    with jxc.use(PIPELINE) as log:
        check(f(X), np.cos)
        with jxc.use(None):
            check(f(X), np.sin)
        check(f(X), np.cos)
    check(f(X), np.sin)
    assert log.hits == {"sine-to-cosine": 1}
    assert [c.name for c in log.compilations] == ["jit__lambda"]


@pytest.mark.parametrize("pipeline", ["O2", "inline,cse", sine_to_cosine, [sine_to_cosine, "O1"]])
def test_the_same_pipeline_again_compiles_nothing_again(pipeline):
    f = jax.jit(lambda x: program(x))
    with jxc.use(pipeline) as log:
        f(X)
    assert len(log.compilations) == 1
    for _ in range(3):
        with jxc.use(pipeline) as log:
            f(X)
        assert not log.compilations


@pytest.mark.parametrize("lower_inside", [True, False])
@pytest.mark.parametrize("compile_inside", [True, False])
@pytest.mark.parametrize("call_inside", [True, False])
def test_the_pipeline_is_chosen_at_lowering(lower_inside, compile_inside, call_inside):
    """Neither program may take the other's executable, wherever the stages are called."""
    f = jax.jit(program)
    f(X)
    with jxc.use(PIPELINE):
        f(X)
    with jxc.use(PIPELINE if lower_inside else None):
        lowered = f.lower(X)
    with jxc.use(PIPELINE if compile_inside else None):
        compiled = lowered.compile()
    with jxc.use(PIPELINE if call_inside else None):
        check(compiled(X), np.cos if lower_inside else np.sin)
    check(f(X), np.sin)
    with jxc.use(PIPELINE):
        check(f(X), np.cos)


def test_enable_reaches_threads_and_use_overrides_it():
    results = {}
    jxc.enable(PIPELINE)
    try:
        thread = threading.Thread(target=lambda: results.update(a=jax.jit(program)(X)))
        thread.start()
        thread.join()
        check(results["a"], np.cos)
        check(jax.jit(program)(X), np.cos)
        with jxc.use(sine_to_tanh):
            check(jax.jit(program)(X), np.tanh)
    finally:
        jxc.enable(None)
    check(jax.jit(program)(X), np.sin)


def test_use_stays_on_its_thread():
    results = {}
    with jxc.use(PIPELINE):
        thread = threading.Thread(target=lambda: results.update(a=jax.jit(program)(X)))
        thread.start()
        thread.join()
    check(results["a"], np.sin)


def test_many_compilations_at_once():
    def one(i):
        f = jax.jit(lambda x: program(x) + i)
        with jxc.use(PIPELINE):
            return np.asarray(f(X)) - i

    with ThreadPoolExecutor(16) as pool:
        for result in pool.map(one, range(64)):
            np.testing.assert_allclose(result, expected(np.cos), rtol=1e-3, atol=1e-4)


def test_tiny_modules_are_left_alone():
    with jxc.use(sine_to_cosine) as log:
        np.testing.assert_allclose(jnp.sin(X), np.sin(X), rtol=1e-5)
    assert not log.compilations


# Several devices


def mesh():
    return jax.make_mesh((4,), ("d",))


def test_shard_map():
    f = jax.shard_map(program, mesh=mesh(), in_specs=P("d"), out_specs=P("d"))
    x = jax.device_put(X, NamedSharding(mesh(), P("d")))
    check(jxc.jit(f, pipeline=PIPELINE)(x), np.cos)


def test_pmap():
    with jxc.use(PIPELINE):
        result = jax.pmap(program)(X.reshape(4, 2))
    check(result.reshape(8), np.cos)


def test_sharded_inputs_and_outputs():
    sharding = NamedSharding(mesh(), P("d"))
    f = jxc.jit(program, pipeline=PIPELINE, in_shardings=sharding, out_shardings=sharding)
    result = f(jax.device_put(X, sharding))
    check(result, np.cos)
    assert result.sharding.is_equivalent_to(sharding, 1)


# Callbacks


@pytest.mark.parametrize("ordered", [False, True])
def test_debug_print(capfd, ordered):
    @jxc.jit(pipeline=PIPELINE)
    def f(x):
        y = program(x)
        jax.debug.print("sum {}", y.sum(), ordered=ordered)
        return y

    check(f(X), np.cos)
    jax.effects_barrier()
    assert f"sum {expected(np.cos).sum():.2f}"[:8] in capfd.readouterr().out


def test_pure_callback_and_ordered_io_callback():
    seen = []

    @jxc.jit(pipeline=PIPELINE)
    def f(x):
        y = program(x)
        jax.experimental.io_callback(lambda v: seen.append(("first", v)), None, y[0], ordered=True)
        jax.experimental.io_callback(lambda v: seen.append(("second", v)), None, y[1], ordered=True)
        shape = jax.ShapeDtypeStruct(y.shape, y.dtype)
        return jax.pure_callback(lambda v: np.asarray(v) * 2, shape, y)

    result = f(X)
    jax.effects_barrier()
    check(result / 2, np.cos)
    assert [name for name, _ in seen] == ["first", "second"]


# Passes that fail inside a running program


@pytest.mark.parametrize("broken", [failing, breaking])
def test_a_failing_pass_leaves_the_program_as_it_is(broken):
    def unique(x):
        return program(x)

    unique.__name__ = f"unique_{broken.name}"
    with pytest.warns(JxcWarning, match=f"pass '{broken.name}' failed") as caught:
        check(jxc.jit(unique, pipeline=[sine_to_cosine, broken])(X), np.sin)
    message = str(caught[0].message)
    assert f"Program 'jit_unique_{broken.name}' is compiled as if jxc were not there" in message
    reproducer = message.split("Reproducer: ")[1].strip()
    with open(reproducer) as file:
        text = file.read()
    assert f"--pass-pipeline=builtin.module(sine-to-cosine,{broken.name})" in text
    assert "stablehlo.sine" in text


def test_what_xla_refuses_is_compiled_without_the_pipeline():
    f = jax.jit(lambda x: program(x) * 3)
    with jxc.use("stablehlo-legalize-to-linalg"), pytest.warns(JxcWarning, match="XLA does not"):
        check(f(X) / 3, np.sin)
    with jxc.use("stablehlo-legalize-to-linalg", strict=True), pytest.raises(RuntimeError):
        f(X)


def test_logs_hear_of_their_own_thread():
    def one(i):
        with jxc.use(PIPELINE) as log:
            jax.jit(lambda x: program(x) - i)(X)
        return len(log.compilations)

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(one, range(6))) == [1] * 6


def test_strict_raises():
    with pytest.raises(jxc.JxcError, match="pass 'failing' failed: ValueError: cannot be done"):
        jxc.jit(program, pipeline=failing, strict=True)(X)


# What JAX shows and exports


def test_the_stamp_shows_where_it_should():
    with jxc.use("O1"):
        inside = jax.jit(program).lower(X).as_text()
    assert 'jxc.pipeline = "O1"' in inside
    assert "jxc.pipeline" not in jax.jit(program).lower(X).as_text()


def test_exported_programs_can_be_called():
    from jax import export

    with jxc.use(PIPELINE):
        exported = export.export(jax.jit(program))(X)
        blob = exported.serialize()
    check(jax.jit(export.deserialize(blob).call)(X), np.sin)
    with jxc.use(PIPELINE):
        check(jax.jit(export.deserialize(blob).call)(X), np.cos)
