"""`jxc.jit`. `sine_to_cosine` is wrong on purpose: its effect shows in results."""

import copy
import inspect
import pickle
import warnings
import weakref
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

from ..devices import assert_same_on_devices
from .passes import PIPELINE, X, check, expected, program, sine_to_cosine, sine_to_tanh


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


def test_jit_bound_method_behaves_like_one_of_jax_jit():
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


def test_jit_result_has_the_attributes_of_a_jax_jit_result():
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


def test_copies_of_a_jitted_function_keep_its_pipeline():
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


def test_grad_of_a_jitted_function_keeps_its_pipeline_forward_and_warns_with_a_fix():
    fast = jxc.jit(lambda x: program(x).sum(), pipeline=PIPELINE)
    with pytest.warns(JxcWarning, match=r"jxc\.jit\(jax\.grad\(fn\)\)") as caught:
        value, _ = jax.value_and_grad(fast)(X)
        jax.grad(fast)(X)
    assert len(caught) == 1 and caught[0].filename == __file__
    np.testing.assert_allclose(value, expected(np.cos).sum(), rtol=1e-4)


def test_jit_inside_another_jit_warns_once_and_names_the_line():
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


def test_jit_passes_assumptions_to_the_rules():
    @jxc.rule(jxc.exact, assumes="no-nans")
    def assuming(op: SineOp) -> ir.Value | None:
        """sin x -> cos x, under an assumption."""
        return stablehlo.cosine(op.operand)

    check(jxc.jit(program, pipeline=assuming)(X), np.sin)
    check(jxc.jit(program, pipeline=assuming, assume="no-nans")(X), np.cos)
    with jxc.use(assuming, assume=["no-nans", "no-infs"]):
        check(jax.jit(lambda x: program(x))(X), np.cos)
    with pytest.raises(jxc.JxcError, match="promise 'sunshine': expected no-nans"):
        jxc.jit(program, assume="sunshine")


def test_jit_rejects_an_unknown_pass_at_decoration():
    with pytest.raises(jxc.JxcError, match=r"unknown .* 'simplifi'\. Did you mean 'simplify'"):
        jxc.jit(program, pipeline="simplifi")


# Several devices


def mesh():
    return jax.make_mesh((4,), ("d",))


def test_jit_rewrites_inside_shard_map():
    f = jax.shard_map(program, mesh=mesh(), in_specs=P("d"), out_specs=P("d"))
    sharding = NamedSharding(mesh(), P("d"))
    result = jxc.jit(f, pipeline=PIPELINE)(jax.device_put(X, sharding))
    assert_same_on_devices(result, jax.device_put(expected(np.cos), sharding), rtol=1e-4)


def test_jit_rewrites_inside_pmap():
    with jxc.use(PIPELINE):
        result = jax.pmap(program)(X.reshape(4, 2))
    check(result.reshape(8), np.cos)


def test_jit_keeps_input_and_output_shardings():
    sharding = NamedSharding(mesh(), P("d"))
    f = jxc.jit(program, pipeline=PIPELINE, in_shardings=sharding, out_shardings=sharding)
    result = f(jax.device_put(X, sharding))
    assert_same_on_devices(result, jax.device_put(expected(np.cos), sharding), rtol=1e-4)


# Callbacks


@pytest.mark.parametrize("ordered", [False, True])
def test_jit_keeps_debug_print(capfd, ordered):
    @jxc.jit(pipeline=PIPELINE)
    def f(x):
        y = program(x)
        jax.debug.print("sum {}", y.sum(), ordered=ordered)
        return y

    check(f(X), np.cos)
    jax.effects_barrier()
    assert f"sum {expected(np.cos).sum():.2f}"[:8] in capfd.readouterr().out


def test_jit_keeps_pure_and_ordered_io_callbacks():
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
