"""Workarounds for bugs of the reference interpreter: its results compared with numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from jxc.check import Interpreter
from jxc.ir import make_context, read_module

INTEGERS = ["int8", "uint8", "int32", "uint32", "int64", "uint64"]


@pytest.fixture(scope="module")
def interpreter():
    interpreter = Interpreter()
    yield interpreter
    interpreter.close()


def _run(interpreter, text, *inputs):
    return interpreter.run(read_module(text, make_context()), inputs)[0]


def _type(dtype):
    return np.dtype(dtype).name.replace("uint", "ui").replace("int", "i")


@pytest.mark.parametrize("dtype", INTEGERS)
def test_division_of_integers_by_all_edge_values(interpreter, dtype):
    info = np.iinfo(dtype)
    values = sorted({info.min, info.min + 1, -7, -1, 0, 1, 7, info.max} - set(range(-7, info.min)))
    kind = f"tensor<{len(values) ** 2}x{_type(dtype)}>"
    x, y = (each.ravel() for each in np.meshgrid(np.array(values, dtype), np.array(values, dtype)))
    for op, expected in (("divide", _quotient), ("remainder", _remainder)):
        found = _run(
            interpreter,
            f"func.func @main(%x: {kind}, %y: {kind}) -> {kind} {{\n"
            f"  %r = stablehlo.{op} %x, %y : {kind}\n  return %r : {kind}\n}}",
            *(x, y),
        )
        want = [expected(int(a), int(b), info) for a, b in zip(x, y, strict=True)]
        assert found.tolist() == want


def _quotient(a, b, info):
    if b == 0:
        return -1 if info.min else info.max
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return info.min if quotient > info.max else quotient


def _remainder(a, b, _):
    return a if b == 0 else abs(a) % abs(b) * (-1 if a < 0 else 1)


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64"])
@pytest.mark.parametrize("high_bit", [False, True])
def test_dynamic_slice_with_unsigned_indices(interpreter, dtype, high_bit):
    index = np.asarray(np.iinfo(dtype).max - 3 if high_bit else 200, dtype)
    found = _run(
        interpreter,
        f"""func.func @main(%x: tensor<256xi32>, %i: tensor<{_type(dtype)}>) -> tensor<1xi32> {{
          %r = stablehlo.dynamic_slice %x, %i, sizes = [1]
              : (tensor<256xi32>, tensor<{_type(dtype)}>) -> tensor<1xi32>
          return %r : tensor<1xi32>
        }}""",
        *(np.arange(256, dtype=np.int32), index),
    )
    assert found.tolist() == [min(int(index), 255)]


def test_gather_with_unsigned_indices(interpreter):
    found = _run(
        interpreter,
        """func.func @main(%x: tensor<256xi32>, %i: tensor<2x1xui8>) -> tensor<2xi32> {
          %r = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<
              collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
              slice_sizes = array<i64: 1>} : (tensor<256xi32>, tensor<2x1xui8>) -> tensor<2xi32>
          return %r : tensor<2xi32>
        }""",
        *(np.arange(256, dtype=np.int32), np.array([[200], [3]], np.uint8)),
    )
    assert found.tolist() == [200, 3]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_compare_in_total_order(interpreter, dtype):
    values = np.array([-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, np.nan], dtype)
    ordered = np.concatenate([np.copysign(values[-1:], -1), values])
    kind = _type(dtype).replace("float", "f")
    size = len(ordered)
    rows = f"tensor<{size}x{size}x{kind}>"
    found = _run(
        interpreter,
        f"""func.func @main(%x: {rows}, %y: {rows}) -> tensor<{size}x{size}xi1> {{
          %r = stablehlo.compare LT, %x, %y, TOTALORDER
              : ({rows}, {rows}) -> tensor<{size}x{size}xi1>
          return %r : tensor<{size}x{size}xi1>
        }}""",
        *np.broadcast_arrays(ordered[:, None], ordered[None, :]),
    )
    assert np.array_equal(found, np.triu(np.ones((size, size), bool), 1))


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


def test_scatter_does_not_change_its_operand(interpreter):
    inputs = [np.array([10, 11, 12], np.int32), np.array([77], np.int32)]
    scattered, reverse = interpreter.run(read_module(SCATTER_THEN_READ, make_context()), inputs)
    assert scattered.tolist() == [10, 77, 12]
    assert reverse.tolist() == [12, 11, 10]


def test_a_call_that_fixes_a_layout_returns_its_operand(interpreter):
    layouts = "[dense<[1, 0]> : tensor<2xindex>]"
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = _run(
        interpreter,
        "func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
        "  %r = stablehlo.custom_call @LayoutConstraint(%x) "
        f"{{operand_layouts = {layouts}, result_layouts = {layouts}}} "
        ": (tensor<2x3xf32>) -> tensor<2x3xf32>\n  return %r : tensor<2x3xf32>\n}",
        x,
    )
    assert found.tolist() == x.tolist()


def test_approx_top_k_is_exact_with_nans_last(interpreter):
    x = np.array([[3, np.nan, -1, 2], [np.nan, 0, np.nan, np.nan]], np.float32)
    text = (
        "func.func private @lt(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>)"
        " -> tensor<i1> {\n"
        "  %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "  return %p : tensor<i1>\n"
        "}\n"
        "func.func public @main(%x: tensor<2x4xf32>) -> tensor<2x2xi32> {\n"
        "  %i = stablehlo.iota dim = 1 : tensor<2x4xi32>\n"
        "  %c = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %d = stablehlo.constant dense<-1> : tensor<i32>\n"
        "  %r:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %c, %d) {called_computations = [@lt],"
        " mhlo.backend_config = {reduction_dim = 1 : i64, top_k = 2 : i64}} :"
        " (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>)"
        " -> (tensor<2x2xf32>, tensor<2x2xi32>)\n"
        "  return %r#1 : tensor<2x2xi32>\n"
        "}\n"
    )
    found = _run(interpreter, text, x)
    np.testing.assert_array_equal(found, [[2, 3], [1, 0]])
