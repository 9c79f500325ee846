// RUN: %jxc opt %s -p 'pooling{always=true}' --target gpu --split-input-file | FileCheck %s
// RUN: %jxc opt %s -p pooling --target tpu --split-input-file | FileCheck %s --check-prefix=TPU

// The gradient of max pooling has a price on GPU, and none on TPU.
// CHECK-LABEL: func.func @disjoint_select_and_scatter_to_compare_on_gpu(
// CHECK-NOT: select_and_scatter
// CHECK: return
// TPU-LABEL: func.func @disjoint_select_and_scatter_to_compare_on_gpu(
// TPU: select_and_scatter
func.func @disjoint_select_and_scatter_to_compare_on_gpu(%x: tensor<2x4x3xf32>, %dy: tensor<2x2x3xf32>) -> tensor<2x4x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %dx = "stablehlo.select_and_scatter"(%x, %dy, %zero) <{window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x4x3xf32>, tensor<2x2x3xf32>, tensor<f32>) -> tensor<2x4x3xf32>
  return %dx : tensor<2x4x3xf32>
}

// -----

// CHECK-LABEL: func.func @select_and_scatter_to_compare_on_gpu(
// CHECK-NOT: select_and_scatter
// CHECK: return
// TPU-LABEL: func.func @select_and_scatter_to_compare_on_gpu(
// TPU: select_and_scatter
func.func @select_and_scatter_to_compare_on_gpu(%x: tensor<7xf32>, %dy: tensor<3xf32>) -> tensor<7xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %dx = "stablehlo.select_and_scatter"(%x, %dy, %zero) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<7xf32>, tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
  return %dx : tensor<7xf32>
}
