"""What the interpreter is known to do wrong, and the child that runs it puts right."""

from __future__ import annotations

import numpy as np

from jxc.check import Interpreter
from jxc.ir import make_context, read_module

SCATTER_THEN_READ = """
func.func @main(%x: tensor<3xi32>, %u: tensor<1xi32>) -> (tensor<3xi32>, tensor<3xi32>) {
  %i = stablehlo.constant dense<1> : tensor<1x1xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      stablehlo.return %b : tensor<i32>
  }) : (tensor<3xi32>, tensor<1x1xi32>, tensor<1xi32>) -> tensor<3xi32>
  %r = stablehlo.reverse %x, dims = [0] : tensor<3xi32>
  return %0, %r : tensor<3xi32>, tensor<3xi32>
}
"""


def test_scatter_leaves_its_operand_alone() -> None:
    interpreter = Interpreter()
    inputs = [np.array([10, 11, 12], np.int32), np.array([77], np.int32)]
    scattered, reverse = interpreter.run(read_module(SCATTER_THEN_READ, make_context()), inputs)
    interpreter.close()
    assert scattered.tolist() == [10, 77, 12]
    assert reverse.tolist() == [12, 11, 10]
