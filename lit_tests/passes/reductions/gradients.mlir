// RUN: %jxc opt %s -p reductions --split-input-file | FileCheck %s

// The gradient of a layer's weights: what the layer was given is of four ops.
// CHECK-LABEL: func.func @dot_over_rows_to_materialized(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x128x128xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4x128x8xf32>
// CHECK: %[[H:[a-z0-9_]+]] = stablehlo.multiply %[[X]]
// CHECK: %[[S:[a-z0-9_]+]] = call @stored_tensor_4x128x128xf32_(%[[H]])
// CHECK: stablehlo.dot_general %[[S]], %[[Y]], contracting_dims = [0, 1] x [0, 1], precision = [HIGH, HIGH]
func.func @dot_over_rows_to_materialized(%x: tensor<4x128x128xf32>, %y: tensor<4x128x8xf32>) -> tensor<128x8xf32> {
  %a = stablehlo.abs %x : tensor<4x128x128xf32>
  %b = stablehlo.tanh %a : tensor<4x128x128xf32>
  %c = stablehlo.add %b, %x : tensor<4x128x128xf32>
  %h = stablehlo.multiply %x, %c : tensor<4x128x128xf32>
  %r = stablehlo.dot_general %h, %y, contracting_dims = [0, 1] x [0, 1], precision = [HIGH, HIGH] : (tensor<4x128x128xf32>, tensor<4x128x8xf32>) -> tensor<128x8xf32>
  return %r : tensor<128x8xf32>
}

// -----

// Of two ops; over the last dimensions; over one dimension.
// CHECK-LABEL: func.func @dot_over_rows_to_materialized_not_of_others(
// CHECK-NOT: call
// CHECK: return
func.func @dot_over_rows_to_materialized_not_of_others(%x: tensor<4x128x128xf32>, %y: tensor<4x128x32xf32>, %z: tensor<128x128x2xf32>, %w: tensor<4x8xf32>) -> (tensor<128x32xf32>, tensor<4x2xf32>, tensor<128x128x8xf32>) {
  %a = stablehlo.abs %x : tensor<4x128x128xf32>
  %b = stablehlo.tanh %a : tensor<4x128x128xf32>
  %c = stablehlo.add %b, %x : tensor<4x128x128xf32>
  %h = stablehlo.multiply %x, %c : tensor<4x128x128xf32>
  %r = stablehlo.dot_general %b, %y, contracting_dims = [0, 1] x [0, 1] : (tensor<4x128x128xf32>, tensor<4x128x32xf32>) -> tensor<128x32xf32>
  %s = stablehlo.dot_general %h, %z, contracting_dims = [1, 2] x [0, 1] : (tensor<4x128x128xf32>, tensor<128x128x2xf32>) -> tensor<4x2xf32>
  %t = stablehlo.dot_general %h, %w, contracting_dims = [0] x [0] : (tensor<4x128x128xf32>, tensor<4x8xf32>) -> tensor<128x128x8xf32>
  return %r, %s, %t : tensor<128x32xf32>, tensor<4x2xf32>, tensor<128x128x8xf32>
}
