"""Lowering from Python: jitted functions, methods, static values, symbolic dimensions, errors."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jxc.errors import UsageError
from jxc.frontend.diagnose import ArgumentError, TraceError
from jxc.frontend.lowering import lower

X = np.arange(4, dtype=np.float32)
SPEC = jax.ShapeDtypeStruct((4,), jnp.float32)


def power(x, n, *, act=jnp.sin):
    return act(x) ** n


def run(lowering, *args, **kwargs):
    return lowering.lowered.compile()(*args, **kwargs)


def test_lowered_function_has_the_stages_of_jax():
    lowering = lower(jnp.tanh, (SPEC,))
    assert isinstance(lowering.traced, jax.stages.Traced)
    assert isinstance(lowering.lowered, jax.stages.Lowered)
    assert str(lowering.jaxpr) == str(lowering.traced.jaxpr)
    assert "stablehlo.tanh" in str(lowering.module)
    assert lowering.trace_seconds > 0
    assert lowering.lower_seconds > 0


@pytest.mark.parametrize(
    ("static", "args", "kwargs"),
    [
        ({"n": 3}, (X,), {}),
        ({1: 3}, (X,), {}),
        ({"n": 3, "act": jnp.sin}, (X,), {}),
        ({"n": 3}, (), {"x": X}),
    ],
)
def test_static_values_are_bound_by_name_or_position(static, args, kwargs):
    lowering = lower(power, args, kwargs, static=static)
    np.testing.assert_allclose(run(lowering, *args, **kwargs), np.sin(X) ** 3, rtol=1e-6)
    assert len(lowering.jaxpr.in_avals) == 1


def test_arguments_after_a_static_one_keep_their_order():
    lowering = lower(lambda a, b, c: a - b * c, (X, X + 1), static={"b": 10.0})
    np.testing.assert_array_equal(run(lowering, X, X + 1), X - 10 * (X + 1))


def test_static_values_need_not_be_hashable():
    lowering = lower(lambda x, sizes: x.reshape(sizes), (X,), static={"sizes": [2, 2]})
    assert run(lowering, X).shape == (2, 2)


def test_static_values_are_bound_before_transforms():
    lowering = lower(lambda n, x: jnp.sum(x) ** n, (X,), static={"n": 2}, transform="grad")
    np.testing.assert_allclose(run(lowering, X), np.full(4, 2 * X.sum()))


def test_static_name_that_does_not_exist_is_an_error():
    with pytest.raises(UsageError, match="power has no such argument; it has x, n, act"):
        lower(power, (X,), static={"m": 3})


def test_a_jitted_function_keeps_its_jit_options():
    jitted = jax.jit(power, static_argnames=("n", "act"), donate_argnums=0)
    lowering = lower(jitted, (SPEC,), {"n": 2})
    assert len(lowering.jaxpr.in_avals) == 1
    assert jax.tree.leaves(lowering.lowered.args_info)[0].donated


@pytest.mark.parametrize("options", [{"static": {"n": 3}}, {"jit_kwargs": {"inline": True}}])
def test_options_for_a_jitted_function_are_rejected(options):
    with pytest.raises(UsageError, match="power is already jitted"):
        lower(jax.jit(power), (SPEC, 2), **options)


class Model:
    scale = 3.0

    @functools.partial(jax.jit, static_argnums=0)
    def jitted(self, x):
        return x * self.scale

    def plain(self, x):
        return x * self.scale

    __call__ = plain


@pytest.mark.parametrize("fn", [Model().jitted, Model().plain, Model()])
def test_lower_accepts_methods_and_callable_objects(fn):
    np.testing.assert_array_equal(run(lower(fn, (SPEC,)), X), X * 3)


def test_jit_options_are_passed_on():
    lowering = lower(lambda x: x + 1, (SPEC,), jit_kwargs={"donate_argnums": 0})
    assert jax.tree.leaves(lowering.lowered.args_info)[0].donated


def test_symbolic_main_has_the_arguments_of_the_function():
    (size,) = jax.export.symbolic_shape("b")
    lowering = lower(jnp.sum, (jax.ShapeDtypeStruct((size, 2), jnp.float32),))
    main = str(lowering.module).split("@main", 1)[1]
    assert main.startswith("(%arg0: tensor<?x2xf32>")
    assert lowering.is_symbolic


def test_lower_for_another_platform():
    def where(x):
        return jax.lax.platform_dependent(x, cpu=jnp.cos, tpu=jnp.sin)

    assert "sine" in str(lower(where, (SPEC,), platform="tpu").module)
    assert "cosine" in str(lower(where, (SPEC,)).module)


def test_lowering_for_a_device():
    device = jax.devices("cpu")[1]
    assert run(lower(jnp.sin, (SPEC,), device=device), X).devices() == {device}


def test_captured_constants_have_names_and_lines_in_order():
    table, few = np.ones((8, 4), np.float32), jnp.ones(4)
    lowering = lower(lambda x: jax.jit(lambda y: y + table)(x) + few, (SPEC,))
    names = {str(constant): constant.name for constant in lowering.constants}
    assert names == {
        "f32[8,4]": "the enclosing function's table",
        "f32[4]": "the enclosing function's few",
    }
    assert all(constant.place.file == __file__ for constant in lowering.constants)


def test_lowering_error_has_the_original_error_as_cause():
    def branch(x):
        return x if x.sum() > 0 else -x

    with pytest.raises(TraceError, match="asks whether a traced bool") as caught:
        lower(branch, (SPEC,))
    assert isinstance(caught.value.__cause__, jax.errors.TracerBoolConversionError)
    assert caught.value.place.file == __file__
    assert caught.value.place.text == "return x if x.sum() > 0 else -x"
    assert caught.value.exit_code == 1


def test_lower_rejects_arguments_that_do_not_fit_the_signature():
    with pytest.raises(ArgumentError, match="missing a required argument: 'n'") as caught:
        lower(power, (SPEC,))
    assert caught.value.exit_code == 2
    assert "test_lowering.py:" in str(caught.value)


def test_lowering_error_names_the_line_in_a_helper():
    def helper(x):
        return jnp.reshape(x, (3, 3))

    with pytest.raises(TraceError) as caught:
        lower(lambda x: helper(x) + 1, (SPEC,))
    assert caught.value.place.text == "return jnp.reshape(x, (3, 3))"


def test_lowering_error_of_a_leaked_tracer():
    kept = []
    jax.make_jaxpr(lambda x: kept.append(x * 2))(X)
    with pytest.raises(TraceError, match="a traced value left the function that made it"):
        lower(lambda x: x + kept[0], (SPEC,))


def test_callback_is_lowered_for_missing_hardware():
    def step(x):
        def body(_, y):
            jax.debug.print("{}", y)
            return y + x

        return jax.lax.fori_loop(0, 3, body, x)

    tpu = str(lower(step, (SPEC,), platform="tpu").module)
    assert "stablehlo.send" in tpu
    assert "is_host_transfer = true" in tpu
    gpu = str(lower(step, (SPEC,)).for_platform("cuda").module)
    assert "@xla_ffi_python_gpu_callback" in gpu


def test_error_of_a_lowering_for_missing_hardware_is_that_of_jax_despite_callbacks():
    def step(x):
        jax.debug.print("{}", x)
        return jax.lax.linalg.eig(x)

    with pytest.raises(TraceError, match="eig"):
        lower(step, (jax.ShapeDtypeStruct((4, 4), np.float32),), platform="tpu")


class WithConstant:
    def __init__(self):
        self.layers = [{"w": np.ones((2, 4), np.float32)}]

    def __call__(self, x):
        return self.layers[0]["w"] @ x


held = WithConstant()


@pytest.mark.parametrize(
    ("fn", "name"),
    [
        (held, "self.layers[0]['w']"),
        (held.__call__, "self.layers[0]['w']"),
        (lambda x: held(x), "the global held.layers[0]['w']"),
        (functools.partial(jnp.dot, np.ones((3, 4))), "the partial's argument 1"),
        (lambda x: x @ np.ones((4, 2)), ""),
    ],
)
def test_captured_constant_names_its_variable(fn, name):
    assert [constant.name for constant in lower(fn, (SPEC,)).constants] == [name]
