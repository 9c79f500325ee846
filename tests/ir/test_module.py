"""Which ops have no effects, and so may be erased, moved or left out of a branch."""

import pytest

from jxc.ir import make_context, read_module, walk
from jxc.ir.module import has_side_effect, is_pure

CASES = {
    "stablehlo.add %x, %x : tensor<4xf32>": (True, False),
    "stablehlo.custom_call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>": (True, False),
    "stablehlo.custom_call @f(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>": (
        False,
        True,
    ),
    "stablehlo.optimization_barrier %x : tensor<4xf32>": (False, False),
    "stablehlo.partition_id : tensor<ui32>": (False, False),
    "func.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>": (False, False),
    '"stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}'
    " : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token": (False, True),
}


@pytest.mark.parametrize("text", CASES)
def test_ops_are_pure_or_have_effects(text):
    module = read_module(
        "func.func private @g(tensor<4xf32>) -> tensor<4xf32>\n"
        f"func.func @main(%x: tensor<4xf32>, %t: !stablehlo.token) {{ %0 = {text} return }}",
        make_context(),
    )
    op = next(op for op in walk(module.operation) if len(op.results))
    assert (is_pure(op), has_side_effect(op)) == CASES[text]
