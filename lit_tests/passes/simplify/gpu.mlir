// Transposes beside products cost nothing on GPU and TPU: their compilers choose layouts.
// RUN: %jxc opt %s -p simplify --target gpu | FileCheck %s

// CHECK-LABEL: func.func @transpose_of_dot_not_on_gpu(
// CHECK: stablehlo.dot_general
// CHECK-NEXT: stablehlo.transpose
func.func @transpose_of_dot_not_on_gpu(%x: tensor<4x8xf32>, %y: tensor<8x3xf32>) -> tensor<3x4xf32> {
  %a = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %r = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @batched_dot_of_transpose_not_on_gpu(
// CHECK: stablehlo.transpose
// CHECK-NEXT: stablehlo.dot_general
func.func @batched_dot_of_transpose_not_on_gpu(%x: tensor<5x80x40xf32>, %y: tensor<5x80x30xf32>) -> tensor<5x40x30xf32> {
  %a = stablehlo.transpose %x, dims = [0, 2, 1] : (tensor<5x80x40xf32>) -> tensor<5x40x80xf32>
  %r = stablehlo.dot_general %a, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<5x40x80xf32>, tensor<5x80x30xf32>) -> tensor<5x40x30xf32>
  return %r : tensor<5x40x30xf32>
}

// The other rules are tried.
// CHECK-LABEL: func.func @select_to_convert(
// CHECK-NEXT: stablehlo.convert
// CHECK-NEXT: return
func.func @select_to_convert(%p: tensor<4xi1>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r = stablehlo.select %p, %c, %z : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @gather_of_affine_indices_not_on_gpu(
// CHECK: stablehlo.gather
func.func @gather_of_affine_indices_not_on_gpu(%x: tensor<8xf32>) -> tensor<3xf32> {
  %i = stablehlo.constant dense<[[1], [3], [5]]> : tensor<3x1xi32>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xf32>, tensor<3x1xi32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
