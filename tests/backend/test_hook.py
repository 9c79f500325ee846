"""Pipelines inside JAX. `sine_to_cosine` is wrong on purpose: its effect shows in results."""

import asyncio
import copy
import inspect
import pickle
import threading
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec as P
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


def test_jit_rewrites_the_program():
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


def test_jit_keeps_two_pipelines_of_one_function_apart():
    cosine, tanh = (jxc.jit(program, pipeline=rule) for rule in (sine_to_cosine, sine_to_tanh))
    for _ in range(2):
        check(cosine(X), np.cos)
        check(tanh(X), np.tanh)
        check(jax.jit(program)(X), np.sin)


def test_jit_donates_arguments():
    fast = jxc.jit(program, pipeline=PIPELINE, donate_argnums=0)
    x = jnp.asarray(X)
    check(fast(x), np.cos)
    assert x.is_deleted()


def test_jit_takes_static_arguments():
    @jxc.jit(pipeline=PIPELINE, static_argnames=("times",))
    def repeated(x, times):
        for _ in range(times):
            x = program(x)
        return x

    check(repeated(X, times=1), np.cos)
    check(repeated(X, times=2), np.cos, expected(np.cos))


def test_jit_takes_pytrees_keywords_and_closures():
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


def test_jit_of_grad_vmap_and_scan_rewrites():
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


def test_jit_decorates_methods():
    class Model:
        scale = 1.0

        @partial(jxc.jit, pipeline=PIPELINE, static_argnums=0)
        def apply(self, x):
            return program(x) * self.scale

    check(Model().apply(X), np.cos)


def test_a_bound_method_behaves_as_that_of_jax_jit():
    class Model:
        scale = 1.0

        def __init__(self, jit):
            self.jit = jit

    def apply(self, x):
        """Kept."""
        return program(x) * self.scale

    Model.plain = jax.jit(apply, static_argnums=0)
    Model.fast = jxc.jit(apply, pipeline=PIPELINE, static_argnums=0)
    Model.of_class = classmethod(jxc.jit(lambda cls, x: program(x), static_argnums=0))
    Model.static = staticmethod(jxc.jit(program, pipeline=PIPELINE))
    model = Model(None)
    check(model.fast(X), np.cos)
    check(model.fast.lower(model, X).compile()(X), np.cos)
    check(Model.of_class(X), np.sin)
    check(Model.static.lower(X).compile()(X), np.cos)
    assert type(model.fast) is type(model.plain) and model.fast.__doc__ == "Kept."
    assert model.fast == model.fast
    for name in ("lower", "trace", "eval_shape", "clear_cache", "__name__", "__wrapped__"):
        assert hasattr(model.plain, name) and hasattr(model.fast, name), name


def documented(x, times: int = 1):
    """Kept."""
    return x * times


def test_a_jitted_function_has_the_attributes_of_that_of_jax_jit():
    plain, fast = jax.jit(documented), jxc.jit(documented)
    assert set(dir(plain)) - set(dir(fast)) == set()
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__wrapped__"):
        assert getattr(plain, name) == getattr(fast, name), name
    assert inspect.signature(plain) == inspect.signature(fast)
    assert inspect.unwrap(fast) is documented
    assert fast.eval_shape(X).shape == (8,)
    fast.clear_cache()
    assert weakref.ref(fast)() is fast and callable(fast) and {fast: 1}[fast] == 1
    assert repr(fast).startswith("<jxc.jit of <function documented") and "\n" not in repr(fast)
    with pytest.raises(AttributeError):
        fast.no_such_attribute  # noqa: B018


def test_copies_keep_the_pipeline_where_jax_can_copy():
    fast = jxc.jit(program, pipeline=PIPELINE)
    for copied in (copy.copy(fast), copy.deepcopy(fast), copy.deepcopy({"f": [fast]})["f"][0]):
        check(copied(X), np.cos)
    for jitted in (jax.jit(documented), jxc.jit(documented)):  # neither can be pickled
        with pytest.raises((AttributeError, pickle.PicklingError)):
            pickle.dumps(jitted)


def test_vmap_and_jvp_of_a_jitted_function_keep_its_pipeline():
    fast = jxc.jit(program, pipeline=PIPELINE)
    with warnings.catch_warnings():
        warnings.simplefilter("error", JxcWarning)
        check(jax.vmap(fast)(X.reshape(2, 4)).reshape(8), np.cos)
        out, _ = jax.jvp(fast, (X,), (X,))
        check(out, np.cos)
        with jxc.use(sine_to_tanh):
            check(jax.vmap(fast)(X.reshape(2, 4)).reshape(8), np.cos)


def test_grad_of_a_jitted_function_keeps_its_pipeline_forward_and_warns_of_the_remedy():
    fast = jxc.jit(lambda x: program(x).sum(), pipeline=PIPELINE)
    with pytest.warns(JxcWarning, match=r"jxc\.jit\(jax\.grad\(fn\)\)") as caught:
        value, _ = jax.value_and_grad(fast)(X)
        jax.grad(fast)(X)
    assert len(caught) == 1 and caught[0].filename == __file__
    np.testing.assert_allclose(value, expected(np.cos).sum(), rtol=1e-4)


def test_inside_another_jit_it_warns_once_and_names_the_line():
    fast = jxc.jit(program, pipeline=PIPELINE)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check(jax.jit(lambda x: fast(x) + 0)(X), np.sin)
        jax.jit(lambda x: fast(x) + 1)(X)
    mine = [w for w in caught if issubclass(w.category, JxcWarning)]
    assert len(mine) == 1
    assert mine[0].filename == __file__
    assert "jxc.use" in str(mine[0].message)


@pytest.mark.filterwarnings("error::jxc.source.JxcWarning")
def test_jit_inside_a_pipeline_does_not_warn():
    inner = jxc.jit(program, pipeline=PIPELINE)
    check(jxc.jit(lambda x: inner(x), pipeline=PIPELINE)(X), np.cos)
    check(jxc.jit(inner, pipeline=PIPELINE)(X), np.cos)
    with jxc.use(PIPELINE):
        check(jax.jit(lambda x: inner(x))(X), np.cos)
        jax.jit(jax.grad(lambda x: inner(x).sum()))(X)


def test_jit_without_a_pipeline_is_plain_jax():
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


def test_jit_refuses_an_unknown_pass_at_decoration():
    with pytest.raises(jxc.JxcError, match=r"unknown .* 'simplifi'\. Did you mean 'simplify'"):
        jxc.jit(program, pipeline="simplifi")


# jxc.use, jxc.enable


def test_use_rewrites_programs_compiled_inside_only():
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
def test_use_with_the_same_pipeline_compiles_nothing_again(pipeline):
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


def test_use_on_many_threads_at_once():
    def one(i):
        f = jax.jit(lambda x: program(x) + i)
        with jxc.use(PIPELINE):
            return np.asarray(f(X)) - i

    with ThreadPoolExecutor(16) as pool:
        for result in pool.map(one, range(64)):
            np.testing.assert_allclose(result, expected(np.cos), rtol=1e-3, atol=1e-4)


def test_a_level_leaves_tiny_programs_alone_and_the_log_counts_them():
    with jxc.use("O2") as log:
        jax.jit(lambda x: jnp.sin(x) + 3)(X)
    assert not log.compilations and log.skipped == 1
    assert repr(log).startswith("<jxc log: rewritten programs: 0, skipped as tiny: 1")


@pytest.mark.parametrize("pipeline", [sine_to_cosine, [sine_to_cosine, "O2"], "O2,cse"])
def test_a_named_pass_runs_on_tiny_programs(pipeline):
    f = jax.jit(lambda x: jnp.sin(x) + 4)
    with jxc.use(pipeline) as log:
        result = f(X)
    assert len(log.compilations) == 1 and not log.skipped
    if pipeline != "O2,cse":
        np.testing.assert_allclose(result, np.cos(X) + 4, rtol=1e-5)
        np.testing.assert_allclose(
            jxc.jit(lambda x: jnp.sin(x) + 4, pipeline=pipeline)(X), np.cos(X) + 4, rtol=1e-5
        )


def test_a_named_pass_that_fails_on_a_tiny_program_is_reported():
    with pytest.raises(jxc.JxcError, match="pass 'failing' failed"):
        jxc.jit(jnp.sin, pipeline=failing, strict=True)(X)
    with pytest.warns(JxcWarning, match="pass 'failing' failed"):
        jxc.jit(lambda x: jnp.sin(x) + 5, pipeline=failing)(X)


def test_print_of_a_log_is_a_table_and_repr_one_line():
    with jxc.use(PIPELINE) as log:
        jax.jit(lambda x: program(x))(X)
    assert repr(log) == "<jxc log: rewritten programs: 1, rewrites: 1 by sine-to-cosine>"
    header, row = str(log).splitlines()
    assert header.split() == ["program", "pipeline", "ops", "rules"]
    assert row.startswith("jit__lambda") and row.endswith("sine-to-cosine 1")


# Blocks that overlap: JAX keeps the choice for each thread


def test_blocks_left_in_another_order_restore_what_was_before():
    def suspended(pipeline):
        with jxc.use(pipeline):
            yield

    first, second = suspended(sine_to_cosine), suspended(sine_to_tanh)
    next(first), next(second)
    first.close()
    check(jax.jit(lambda x: program(x))(X), np.tanh)
    second.close()
    check(jax.jit(lambda x: program(x))(X), np.sin)


def test_another_asyncio_task_is_warned_of_an_open_block():
    async def opens(opened, done):
        with jxc.use(PIPELINE):
            check(jax.jit(lambda x: program(x))(X), np.cos)
            opened.set()
            await done.wait()

    async def compiles(opened, done):
        await opened.wait()
        jax.jit(lambda x: program(x))(X)
        done.set()

    async def both():
        opened, done = asyncio.Event(), asyncio.Event()
        await asyncio.gather(opens(opened, done), compiles(opened, done))

    with pytest.warns(JxcWarning, match="is open in another asyncio task") as caught:
        asyncio.run(both())
    assert len(caught) == 1 and caught[0].filename == __file__
    check(jax.jit(lambda x: program(x))(X), np.sin)


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
    assert f"Program 'jit_unique_{broken.name}' is compiled without the pipeline" in message
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


def test_logs_record_their_own_thread_only():
    def one(i):
        with jxc.use(PIPELINE) as log:
            jax.jit(lambda x: program(x) - i)(X)
        return len(log.compilations)

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(one, range(6))) == [1] * 6


def test_strict_raises_the_error_of_a_pass():
    with pytest.raises(jxc.JxcError, match="pass 'failing' failed: ValueError: cannot be done"):
        jxc.jit(program, pipeline=failing, strict=True)(X)


# What JAX shows and exports


def test_the_stamp_is_in_modules_lowered_under_a_pipeline():
    with jxc.use("O1"):
        inside = jax.jit(program).lower(X).as_text()
    assert 'jxc.pipeline = "O1"' in inside
    assert "jxc.pipeline" not in jax.jit(program).lower(X).as_text()


def test_exported_programs_run_with_and_without_a_pipeline():
    from jax import export

    with jxc.use(PIPELINE):
        exported = export.export(jax.jit(program))(X)
        blob = exported.serialize()
    check(jax.jit(export.deserialize(blob).call)(X), np.sin)
    with jxc.use(PIPELINE):
        check(jax.jit(export.deserialize(blob).call)(X), np.cos)
