// RUN: %jxc opt %s -p 'microbatch{steps=2 arguments=0}' | FileCheck %s

// The sum of the mask is computed before the loop; the part of an iota has its own first row.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[MASK:[a-z0-9]+]]: tensor<8xf32>
// CHECK: stablehlo.reduce(%[[MASK]]
// CHECK: stablehlo.while
// CHECK: stablehlo.iota dim = 0 : tensor<4xi32>
// CHECK-NOT: tensor<8xi32>
// CHECK: stablehlo.dynamic_update_slice
func.func @main(%mask: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%mask init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %all = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %share = stablehlo.divide %mask, %all : tensor<8xf32>
  %row = stablehlo.iota dim = 0 : tensor<8xi32>
  %number = stablehlo.convert %row : (tensor<8xi32>) -> tensor<8xf32>
  %result = stablehlo.multiply %share, %number : tensor<8xf32>
  return %result : tensor<8xf32>
}
