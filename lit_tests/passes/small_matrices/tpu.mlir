// RUN: %jxc opt %s -p small-matrices --target tpu | FileCheck %s
// RUN: %jxc opt %s -p small-matrices --target gpu | FileCheck %s --check-prefix=GPU

// CHECK-LABEL: func.func @small_product_to_multiply_add_on_tpu(
// CHECK-NOT: stablehlo.dot_general
// CHECK: stablehlo.multiply
// CHECK: stablehlo.add
// CHECK: return
// GPU-LABEL: func.func @small_product_to_multiply_add_on_tpu(
// GPU-NEXT: stablehlo.dot_general
func.func @small_product_to_multiply_add_on_tpu(%x: tensor<1024x2x2xf32>, %y: tensor<1024x2x2xf32>) -> tensor<1024x2x2xf32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<1024x2x2xf32>, tensor<1024x2x2xf32>) -> tensor<1024x2x2xf32>
  return %r : tensor<1024x2x2xf32>
}

// A batch that is too small for TPU. It is large enough for CPU.
// CHECK-LABEL: func.func @small_product_to_multiply_add_not_of_few(
// CHECK-NEXT: stablehlo.dot_general
func.func @small_product_to_multiply_add_not_of_few(%x: tensor<256x4x4xf32>, %y: tensor<256x4x4xf32>) -> tensor<256x4x4xf32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<256x4x4xf32>, tensor<256x4x4xf32>) -> tensor<256x4x4xf32>
  return %r : tensor<256x4x4xf32>
}

// One column: the product already fuses with its neighbours.
// CHECK-LABEL: func.func @small_product_to_multiply_add_not_of_vectors(
// CHECK-NEXT: stablehlo.dot_general
func.func @small_product_to_multiply_add_not_of_vectors(%x: tensor<4096x4x4xf32>, %y: tensor<4096x4xf32>) -> tensor<4096x4xf32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4096x4x4xf32>, tensor<4096x4xf32>) -> tensor<4096x4xf32>
  return %r : tensor<4096x4xf32>
}
