"""Materialized values: calls that XLA does not inline."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib.mlir import ir

import jxc
from jxc.backend import hook
from jxc.check.run import run_xla
from jxc.ir import functions, make_context, read_module, walk
from jxc.ir.materialize import in_row_major, is_layout_call, is_materialize_call, materialize

MAIN = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"


def with_stores(text, count):
    module = read_module(text, make_context())
    block = functions(module)["main"].entry_block
    with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown(module.context):
        for _ in range(count):
            materialize(block.arguments[0])
    assert module.operation.verify()
    return module


def test_materialize_reuses_an_earlier_call():
    module = with_stores(MAIN, 2)
    assert list(functions(module)) == ["main", "stored_tensor_4xf32_"]
    assert sum(map(is_materialize_call, walk(module.operation))) == 1


def test_materialize_makes_one_function_for_a_type():
    module = with_stores(MAIN, 1)
    block = functions(module)["main"].entry_block
    with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown(module.context):
        materialize(block.arguments[0])  # before the other call, which therefore cannot be reused
    assert list(functions(module)) == ["main", "stored_tensor_4xf32_"]
    assert sum(map(is_materialize_call, walk(module.operation))) == 2


@pytest.mark.parametrize(
    "taken",
    [
        "(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }",
        "(%x: tensor<4xf32>) -> tensor<4xf32> {"
        " %0 = stablehlo.negate %x : tensor<4xf32> return %0 : tensor<4xf32> }",
        "(tensor<4xf32>) -> tensor<4xf32>",
    ],
)
def test_materialize_avoids_names_in_use(taken):
    module = with_stores(f"func.func private @stored_tensor_4xf32_{taken}\n{MAIN}", 1)
    (call,) = filter(is_materialize_call, walk(module.operation))
    assert str(call.attributes["callee"]) == "@stored_tensor_4xf32__"


def test_ordinary_call_is_no_materialize_call():
    text = "func.func private @g()\nfunc.func @main() { func.call @g() : () -> () return }"
    assert not any(map(is_materialize_call, walk(read_module(text, make_context()).operation)))


def test_xla_keeps_the_call_of_materialize():
    def function(x):
        y = jnp.mod(x, 12.0)
        return y * 2, y.reshape(32, 64) + 1

    x = jnp.linspace(-1e3, 1e3, 2048)
    found = jxc.lower(function, x).opt("O2")
    assert "@stored_tensor_2048xf32_" in str(found.module)
    for a, b in zip(found.compile()(x), function(x), strict=True):
        np.testing.assert_array_equal(a, b)


def test_in_row_major_makes_a_call_that_xla_takes():
    text = "func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> { return %x : tensor<2x3xf32> }"
    module = read_module(text, make_context())
    block = functions(module)["main"].entry_block
    with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown(module.context):
        stored = in_row_major(block.arguments[0])
        block.operations[1].operands[0] = stored
    assert is_layout_call(stored.owner)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(run_xla(module, [x])[0], x)


def _chain(x):
    for factor in range(2, 30):
        x = jnp.tanh(x * factor) + x
    return x


def _rolled(x):
    return jnp.roll(x, 1, 0) + x


STORED_AND_READ_ELSEWHERE = {
    "the distance to a mean": lambda x: _chain(x) - _chain(x).mean(0),
    "the distance to a maximum": lambda x: _chain(x) - _chain(x).max(0),
    "a softmax": lambda x: jax.nn.softmax(_rolled(jnp.abs(jnp.tanh(_rolled(x))) - 0.5), 0),
    "a sine": lambda x: jnp.sin(jnp.tanh(x).reshape(-1)) + jnp.roll(jnp.tanh(x).reshape(-1), 1),
}


@pytest.mark.parametrize("shape", [(2, 64), (2, 4096), (4, 64), (512, 256)])
@pytest.mark.parametrize("name", STORED_AND_READ_ELSEWHERE)
def test_stored_values_are_not_overwritten_while_others_read_them(name, shape):
    """XLA gives a call that returns its argument the buffer of that, and forgets its readers."""
    function = STORED_AND_READ_ELSEWHERE[name]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    with hook.use(None):
        expected = jax.jit(function)(x)
    found = jxc.lower(function, x).opt("O2").compile()(x)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
