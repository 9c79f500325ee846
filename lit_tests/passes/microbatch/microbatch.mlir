// RUN: %jxc opt %s -p 'microbatch{steps=4 arguments=1}' | FileCheck %s

// The gradient of a linear layer is added up; the loss per example is written into a whole array.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<5x3xf32>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x5xf32>
// CHECK: %[[LOOP:[a-z0-9]+]]:3 = stablehlo.while(%[[K:[a-zA-Z0-9_]+]] =
// CHECK: dense<4> : tensor<i32>
// CHECK: %[[PARTS:.+]] = stablehlo.reshape %[[X]] : (tensor<8x5xf32>) -> tensor<4x2x5xf32>
// CHECK: stablehlo.dynamic_slice %[[PARTS]], %[[K]], {{.*}}, sizes = [1, 2, 5]
// CHECK: stablehlo.dot_general {{.*}} -> tensor<2x3xf32>
// CHECK: stablehlo.dot_general {{.*}} -> tensor<5x3xf32>
// CHECK: stablehlo.subtract %[[W]], %[[LOOP]]#
func.func @main(%w: tensor<5x3xf32>, %x: tensor<8x5xf32>) -> (tensor<5x3xf32>, tensor<8xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x5xf32>, tensor<5x3xf32>) -> tensor<8x3xf32>
  %squares = stablehlo.multiply %y, %y : tensor<8x3xf32>
  %each = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8xf32>
  %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8x5xf32>, tensor<8x3xf32>) -> tensor<5x3xf32>
  %new = stablehlo.subtract %w, %g : tensor<5x3xf32>
  return %new, %each : tensor<5x3xf32>, tensor<8xf32>
}
