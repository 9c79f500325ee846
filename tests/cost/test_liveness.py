"""The timeline of a program: what the compiler stores, in which order, and for how long."""

import jax
import jax.numpy as jnp
import pytest

import jxc
from jxc.cost.liveness import Timeline, size_of
from jxc.ir import make_context, read_module
from jxc.ir.locations import inline_calls
from jxc.ir.module import main_of
from jxc.rewrite import PassContext

MIB = 2**20


def timeline(function, *shapes, target="gpu:h100"):
    """The timeline of a function on arguments of given shapes, and what keeps it alive."""
    dtype = jnp.bfloat16
    module = jxc.lower(function, *(jax.ShapeDtypeStruct(s, dtype) for s in shapes)).module
    with module.context:
        inline_calls(module.operation)
    context = PassContext(target)
    block = main_of(module).regions[0].blocks[0]
    return Timeline(block, context.device, context.rates), module


def names_of(steps):
    return [step.op.operation.name.removeprefix("stablehlo.") for step in steps]


def residuals(x, w):
    for _ in range(8):
        y = x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True))
        x = x + y @ w
    return x


@pytest.mark.parametrize("target", ["gpu:h100", "tpu:v5e"])
def test_sum_of_residuals_is_stored(target):
    found, module = timeline(residuals, (8192, 1024), (1024, 1024), target=target)
    assert max(len(step.ops) for step in found.steps) < 30
    assert max(len(step.reads) for step in found.steps) <= 4
    del module


def attention(q, k, v):
    scores = (q @ k.T).astype(jnp.float32)
    weights = jnp.exp(scores)
    return (weights / weights.sum(-1, keepdims=True)).astype(jnp.bfloat16) @ v


def test_value_that_is_faster_to_compute_again_is_not_stored():
    found, module = timeline(attention, (8192, 64), (8192, 64), (8192, 64))
    assert "exponential" not in names_of(found.steps)
    large = [size_of(v) for step in found.steps for v in step.results if size_of(v) > 64 * MIB]
    assert large == [128 * MIB] * 2  # the scores and the weights, in bf16
    del module


def test_value_of_a_product_is_never_computed_again():
    def step(x, w):
        y = x @ w
        return jnp.sin(y).T, jnp.cos(y).sum(0)

    found, module = timeline(step, (8192, 64), (64, 8192))
    assert names_of(found.steps).count("dot_general") == 1
    del module


def updated(w, x):
    def loss(w):
        y = x
        for each in w:
            y = jnp.tanh(y @ each)
        return y.astype(jnp.float32).mean()

    return [each - slope for each, slope in zip(w, jax.grad(loss)(w), strict=True)]


@pytest.mark.parametrize("target", ["gpu:h100", "tpu:v5e"])
def test_kernel_that_frees_its_operands_runs_as_soon_as_it_can(target):
    def step(x, *w):
        return updated(w, x)

    found, module = timeline(step, (4096, 1024), *[(1024, 1024)] * 8, target=target)
    live = [size for size in found.live if size > 40 * MIB]
    assert found.live[-1] < 40 * MIB and len(live) < len(found.steps) / 2
    del module


def test_read_through_a_view_keeps_the_value():
    def step(x, w):
        y = x @ x
        other = jnp.tanh(w @ w.T)
        return other @ y.reshape(512, 2048)

    found, module = timeline(step, (1024, 1024), (512, 512))
    product = found.steps[names_of(found.steps).index("dot_general")].results[0]
    assert size_of(product) == 2 * MIB and found.last[product] == len(found.steps) - 1
    del module


CAPTURED = """
func.func @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<8> : tensor<i32>
  %wide = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
  %i, %stack = stablehlo.while(%n = %zero, %s = %wide) : tensor<i32>, tensor<1024x1024xf32>
  cond {
    %go = stablehlo.compare LT, %n, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %next = stablehlo.add %n, %one : tensor<i32>
    %more = stablehlo.sine %s : tensor<1024x1024xf32>
    stablehlo.return %next, %more : tensor<i32>, tensor<1024x1024xf32>
  }
  %j, %sum = stablehlo.while(%n = %zero, %s = %x) : tensor<i32>, tensor<1024xf32>
  cond {
    %go = stablehlo.compare LT, %n, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %next = stablehlo.add %n, %one : tensor<i32>
    %row = stablehlo.dynamic_slice %stack, %n, %zero, sizes = [1, 1024]
      : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1024xf32>
    %flat = stablehlo.reshape %row : (tensor<1x1024xf32>) -> tensor<1024xf32>
    %more = stablehlo.add %s, %flat : tensor<1024xf32>
    stablehlo.return %next, %more : tensor<i32>, tensor<1024xf32>
  }
  return %sum : tensor<1024xf32>
}
"""


@pytest.mark.parametrize("target", ["cpu", "gpu:h100", "tpu:v5e"])
def test_result_that_only_another_loop_reads_is_live(target):
    module, context = read_module(CAPTURED, make_context()), PassContext(target)
    found = Timeline(main_of(module).regions[0].blocks[0], context.device, context.rates)
    assert names_of(found.steps)[-2:] == ["while", "while"]
    assert found.live[-1] >= 4 * MIB
