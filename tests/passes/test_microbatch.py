"""The pass microbatch on training steps, compared with plain JAX."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc

from .microbatch_models import MODELS

pytestmark = pytest.mark.filterwarnings("error")


def _split(function: Callable[..., Any], steps: int, more: str = "") -> Callable[..., Any]:
    return jxc.jit(function, pipeline=f"microbatch{{steps={steps}{more}}}")


def _assert_close(found: Any, wanted: Any, tolerance: float) -> None:
    for one, two in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        one, two = (np.asarray(each, np.float64) for each in (one, two))
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance / 10)


@pytest.mark.parametrize(("name", "steps"), list(zip(MODELS, cycle((2, 8)), strict=False)))
def test_microbatch_computes_the_same_step(name: str, steps: int) -> None:
    step, arguments = MODELS[name]()
    tolerance = 2e-2 if name == "mixed_precision" else 3e-5
    text = jxc.lower(step, *arguments).opt(f"microbatch{{steps={steps}}}").as_text()
    assert "stablehlo.while" in text
    _assert_close(_split(step, steps)(*arguments), jax.jit(step)(*arguments), tolerance)


def test_microbatch_keeps_the_bits_of_dropout_and_outputs() -> None:
    def masks(x: jax.Array, key: jax.Array) -> Any:
        keep = jax.random.bernoulli(key, 0.5, x.shape)
        bits = jax.random.bits(key, x.shape[::-1]).T
        return jnp.where(keep, x, 0), jnp.where(x > 0, bits, ~bits)

    arguments = jax.random.uniform(jax.random.key(0), (8, 3)), jax.random.key(1)
    found = _split(masks, 4, " arguments=x")(*arguments)
    for one, two in zip(found, jax.jit(masks)(*arguments), strict=True):
        assert np.array_equal(one, two)


def _deep(params: list[jax.Array], x: jax.Array, key: jax.Array) -> Any:
    def loss(params: list[jax.Array]) -> jax.Array:
        h = x
        for index, w in enumerate(params):
            h = jnp.tanh(h @ w)
            keep = jax.random.bernoulli(jax.random.fold_in(key, index), 0.9, h.shape)
            h = jnp.where(keep, h, 0)
        return (h**2).mean()

    return jax.value_and_grad(loss)(params)


def test_microbatch_divides_the_memory_of_activations() -> None:
    params = [jnp.eye(64)] * 8
    arguments = params, jnp.ones((4096, 64)), jax.random.key(0)
    sizes = [
        f.lower(*arguments).compile().memory_analysis().temp_size_in_bytes
        for f in (jax.jit(_deep), _split(_deep, 4), _split(_deep, 16))
    ]
    assert sizes[0] > 3.5 * sizes[1] > 3.5 * 3 * sizes[2]


def _normalized(w: jax.Array, x: jax.Array) -> jax.Array:
    h = x @ w
    return ((h - h.mean(0)) ** 3).mean()


def _contrastive(w: jax.Array, x: jax.Array) -> jax.Array:
    h = x @ w
    return jax.nn.logsumexp(h @ h.T, -1).mean()


def _printing(w: jax.Array, x: jax.Array) -> jax.Array:
    h = x @ w
    jax.debug.print("{}", h)
    return (h**2).mean()


def _printing_in_order(w: jax.Array, x: jax.Array) -> jax.Array:
    h = x @ w
    jax.debug.print("{}", h, ordered=True)
    return (h**2).mean()


def _printing_in_scan(w: jax.Array, x: jax.Array) -> jax.Array:
    def body(h: jax.Array, i: jax.Array) -> tuple[jax.Array, None]:
        jax.debug.print("{}", i)
        return jnp.sin(h), None

    return jax.lax.scan(body, x @ w, jnp.arange(3))[0].mean()


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (_normalized, "subtract: it needs a value that combines all examples of the batch"),
        (_contrastive, "dot_general: it multiplies each example by each other example"),
        (_printing, "custom_call: xla_ffi_python_cpu_callback may have effects"),
        (_printing_in_order, "custom_call: xla_ffi_python_cpu_callback may have effects"),
        (_printing_in_scan, "xla_ffi_python_cpu_callback may have effects, in a loop that has"),
    ],
)
def test_microbatch_refuses_with_the_line(function: Callable[..., Any], reason: str) -> None:
    step = jax.value_and_grad(function)
    lowered = jxc.lower(step, jnp.eye(4), jnp.ones((8, 4)))
    with pytest.raises(jxc.errors.JxcError) as error:
        lowered.opt("microbatch{steps=4}")
    assert reason in str(error.value) and "test_microbatch.py:" in str(error.value)


def test_microbatch_names_the_divisors() -> None:
    lowered = jxc.lower(jax.grad(_normalized), jnp.eye(4), jnp.ones((8, 4)))
    with pytest.raises(jxc.errors.JxcError, match="batch of 8: expected one of 2, 4, 8"):
        lowered.opt("microbatch{steps=3}")


def test_microbatch_asks_for_names_where_sizes_differ() -> None:
    lowered = jxc.lower(lambda w, x: (x @ w).mean(), jnp.ones((4, 4)), jnp.ones((8, 4)))
    with pytest.raises(jxc.errors.JxcError, match=r"several sizes, 4 \(w\); 8 \(x\): name"):
        lowered.opt("microbatch{steps=4}")
    assert "while" in lowered.opt("microbatch{steps=4 arguments=x}").as_text()


def test_microbatch_names_few_of_many_arguments() -> None:
    def step(w: list[jax.Array], x: jax.Array, unused: jax.Array) -> jax.Array:
        return sum((x @ each).mean() for each in w)  # type: ignore[return-value]

    lowered = jxc.lower(step, [jnp.ones((4, 4))] * 9, jnp.ones((8, 4)), jnp.ones(8))
    with pytest.raises(jxc.errors.JxcError, match=r"4 \(w\[0\], .*, w\[3\] and 5 more\); 8 \(x\)"):
        lowered.opt("microbatch{steps=4}")
    with pytest.raises(jxc.errors.JxcError, match=r"uses no argument 'unused'.* It uses w, x$"):
        lowered.opt("microbatch{steps=4 arguments=x,unused}")


def test_microbatch_says_that_no_argument_may_have_the_batch() -> None:
    def step(key: jax.Array, w: jax.Array) -> jax.Array:
        return w - jax.grad(lambda w: (jax.random.normal(key, (8, 4)) @ w).mean())(w)

    lowered = jxc.lower(step, jax.random.key(0), jnp.ones((4, 4)))
    with pytest.raises(jxc.errors.JxcError, match="found no argument that has the batch"):
        lowered.opt("microbatch{steps=4}")


@pytest.mark.parametrize("ordered", [False, True])
def test_microbatch_prints_after_the_loop(capfd: pytest.CaptureFixture[str], ordered: bool) -> None:
    def step(w: jax.Array, x: jax.Array) -> Any:
        loss, grad = jax.value_and_grad(lambda w: ((x @ w) ** 2).mean())(w)
        jax.debug.print("loss {}", loss, ordered=ordered)
        return w - grad

    _split(step, 4)(jnp.eye(4), jnp.ones((8, 4)))
    jax.effects_barrier()
    assert capfd.readouterr().out.count("loss 1.0") == 1


def test_microbatch_keeps_donation() -> None:
    def step(w: jax.Array, x: jax.Array) -> Any:
        return w - jax.grad(lambda w: ((x @ w) ** 2).mean())(w)

    f = jxc.jit(step, pipeline="microbatch{steps=2}", donate_argnums=0)
    w = jnp.eye(4) + 0
    found = f(w, jnp.ones((8, 4)))
    assert w.is_deleted() and np.allclose(found, jax.jit(step)(jnp.eye(4), jnp.ones((8, 4))))


_SHARDED = """
sdy.mesh @mesh = <["data"=2]>
func.func @main(%w: tensor<4xf32>,
                %x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [SPEC, {}]>})
    -> tensor<8x4xf32> {
  %0 = stablehlo.exponential %x : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
"""


def test_microbatch_refuses_a_batch_on_several_devices() -> None:
    with pytest.raises(jxc.errors.JxcError, match="the batch is split over devices"):
        jxc.opt(_SHARDED.replace("SPEC", '{"data"}'), "microbatch{steps=2 arguments=1}")
    found = jxc.opt(_SHARDED.replace("SPEC", "{}"), "microbatch{steps=2 arguments=1}")
    assert "stablehlo.while" in str(found) and "sdy.sharding = #sdy" in str(found)


def test_microbatch_of_a_scan_over_layers_in_mixed_precision() -> None:
    def step(stack: jax.Array, x: jax.Array) -> Any:
        def loss(stack: jax.Array) -> jax.Array:
            def layer(h: jax.Array, w: jax.Array) -> tuple[jax.Array, None]:
                return jnp.tanh(h @ w.astype(jnp.bfloat16)), None

            return jax.lax.scan(layer, x.astype(jnp.bfloat16), stack)[0].astype(jnp.float32).mean()

        return jax.value_and_grad(loss)(stack)

    key = jax.random.key(0)
    arguments = jax.random.normal(key, (3, 16, 16)), jax.random.normal(key, (32, 16))
    _assert_close(_split(step, 4)(*arguments), jax.jit(step)(*arguments), 2e-2)


def _returning(params: jax.Array, x: jax.Array, y: jax.Array) -> Any:
    def loss(w: jax.Array) -> tuple[jax.Array, jax.Array]:
        h = jnp.tanh(x @ w)
        return ((h.sum(-1) - y) ** 2).mean(), h

    (value, h), gradient = jax.value_and_grad(loss, has_aux=True)(params)
    return value, h, params - gradient


def test_microbatch_splits_inputs_that_have_the_type_of_a_result() -> None:
    arguments = 0.1 * jnp.eye(4), jnp.ones((8, 4)), jnp.arange(8.0)
    text = jxc.lower(_returning, *arguments).opt("microbatch{steps=4}").as_text()
    assert "(tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>" in text
    _assert_close(_split(_returning, 4)(*arguments), jax.jit(_returning)(*arguments), 1e-5)


def test_microbatch_leaves_out_a_parameter_of_the_size_of_the_batch() -> None:
    arguments = 0.1 * jnp.ones((8, 8)), jnp.arange(8 * 8.0).reshape(8, 8), jnp.arange(8.0)
    text = jxc.lower(_returning, *arguments).opt("microbatch{steps=4}").as_text()
    assert "stablehlo.while" in text
    _assert_close(_split(_returning, 4)(*arguments), jax.jit(_returning)(*arguments), 1e-5)


def test_microbatch_keeps_the_bits_of_row_numbers_in_narrow_floats() -> None:
    def numbered(x: jax.Array) -> jax.Array:
        return jax.lax.iota(jnp.bfloat16, 4096) * x

    x = jnp.ones(4096, jnp.bfloat16)
    found = _split(numbered, 2, " arguments=x")(x)
    assert np.array_equal(found.astype(float), jax.jit(numbered)(x).astype(float))
