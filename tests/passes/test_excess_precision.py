"""Roundings to bfloat16 that `jax.remat` demands, so that both halves of a gradient agree."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jxc
from jxc.ir import make_context, read_module
from jxc.pipeline import make_pipeline, run_pipeline
from jxc.rewrite import PassContext

INLINED = "inline{default-pipeline=},symbol-dce,"
PIPELINES = [f"{INLINED}O1", f"{INLINED}O2", f"{INLINED}simplify"]  # also of tiny programs

PRODUCTS = {
    "product": lambda x: x * x,
    "dot": lambda x: jnp.dot(x, x),
    "exponential": jnp.exp,
}
READINGS = {
    "converted": lambda x: x.astype(jnp.float32),
    "times one": lambda x: jnp.float32(1) * x.astype(jnp.float32),
    "times a narrow one": lambda x: (x * jnp.bfloat16(1)).astype(jnp.float32),
    "rearranged": lambda x: x.T.reshape(-1).reshape(x.shape).T.astype(jnp.float32),
    "there and back": lambda x: x.astype(jnp.float32).astype(x.dtype).astype(jnp.float32),
}

Array = jax.Array
Function = Callable[[Array], Array]


def both_halves(product: Function, reading: Function, x: Array) -> tuple[Array, Array]:
    """What is read of a residual forward, and backward, where the residual is kept."""

    @jax.custom_vjp
    def computed(x: Array) -> Array:
        return product(x)

    @jax.custom_vjp
    def read(x: Array) -> Array:
        return reading(x)

    computed.defvjp(lambda x: (computed(x), None), lambda _, gradient: (gradient,))
    read.defvjp(lambda x: (read(x), x), lambda x, _: (reading(x),))
    keep_all = jax.checkpoint_policies.everything_saveable
    step = jax.jit(jax.checkpoint(lambda x: read(computed(x)), policy=keep_all))
    forward, pullback = jax.vjp(step, x)
    return forward, pullback(jnp.ones_like(forward))[0]


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("product", PRODUCTS)
def test_both_halves_of_a_remat_round_alike(product: str, reading: str) -> None:
    x = jnp.asarray(np.random.default_rng(0).uniform(0.5, 2, (8, 8)), jnp.bfloat16)
    for pipeline in (None, *PIPELINES):
        with jxc.use(pipeline, strict=True):
            forward, backward = both_halves(PRODUCTS[product], READINGS[reading], x)
        np.testing.assert_array_equal(forward, backward, err_msg=str(pipeline))


def test_a_rounding_that_the_program_demands_is_done() -> None:
    x = jnp.asarray([1.1, 1.3, 0.7], jnp.bfloat16)

    def rounded(x: Array) -> Array:
        return lax.reduce_precision(x * x, exponent_bits=8, mantissa_bits=7).astype(jnp.float32)

    exact = np.asarray(x, np.float32) ** 2
    want = exact.astype(jnp.bfloat16).astype(np.float32)
    assert np.any(want != exact)
    for pipeline in PIPELINES:
        np.testing.assert_array_equal(jxc.jit(rounded, pipeline=pipeline)(x), want)


@pytest.mark.parametrize("wide", ["f64", "f32"])
def test_reduce_precision_behind_rearranged_conversions(wide: str) -> None:
    """It is kept if the conversion narrows, and may be omitted by XLA once it is adjacent."""
    text = f"""func.func @main(%x: tensor<2x4x{wide}>) -> tensor<8xf32> {{
      %a = stablehlo.multiply %x, %x : tensor<2x4x{wide}>
      %b = stablehlo.convert %a : (tensor<2x4x{wide}>) -> tensor<2x4xf32>
      %c = stablehlo.transpose %b, dims = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
      %d = stablehlo.reshape %c : (tensor<4x2xf32>) -> tensor<8xf32>
      %r = stablehlo.reduce_precision %d, format = e8m23 : tensor<8xf32>
      return %r : tensor<8xf32>
    }}"""
    module = read_module(text, make_context())
    run_pipeline(module, make_pipeline("simplify"), PassContext())
    assert ("reduce_precision" in str(module)) == (wide == "f64")
