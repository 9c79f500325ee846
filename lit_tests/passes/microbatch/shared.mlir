// RUN: %jxc opt %s -p 'microbatch{steps=4 arguments=1}' --split-input-file | FileCheck %s

// The terms of a shared weight's gradient are added in the loop, after one of them is transposed and
// made wider: one accumulator. The weight is transposed in the loop as well.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<5x3xf32>
// CHECK-NOT: stablehlo.transpose
// CHECK: %[[LOOP:[a-z0-9]+]]:2 = stablehlo.while(
// CHECK: stablehlo.transpose %[[W]]
// CHECK: %[[SLOPE:[a-z0-9]+]] = stablehlo.dot_general {{.*}} -> tensor<3x5xbf16>
// CHECK: %[[TURNED:[a-z0-9]+]] = stablehlo.transpose %[[SLOPE]]
// CHECK: %[[WIDE:[a-z0-9]+]] = stablehlo.convert %[[TURNED]]
// CHECK: stablehlo.add %{{[a-z0-9]+}}, %[[WIDE]]
// CHECK: stablehlo.subtract %[[W]], %[[LOOP]]#1
func.func @main(%w: tensor<5x3xf32>, %x: tensor<8x5xf32>) -> tensor<5x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %turned = stablehlo.transpose %w, dims = [1, 0] : (tensor<5x3xf32>) -> tensor<3x5xf32>
  %y = stablehlo.dot_general %x, %turned, contracting_dims = [1] x [1] : (tensor<8x5xf32>, tensor<3x5xf32>) -> tensor<8x3xf32>
  %one = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8x5xf32>, tensor<8x3xf32>) -> tensor<5x3xf32>
  %narrow_x = stablehlo.convert %x : (tensor<8x5xf32>) -> tensor<8x5xbf16>
  %narrow_y = stablehlo.convert %y : (tensor<8x3xf32>) -> tensor<8x3xbf16>
  %two = stablehlo.dot_general %narrow_y, %narrow_x, contracting_dims = [0] x [0] : (tensor<8x3xbf16>, tensor<8x5xbf16>) -> tensor<3x5xbf16>
  %two_turned = stablehlo.transpose %two, dims = [1, 0] : (tensor<3x5xbf16>) -> tensor<5x3xbf16>
  %two_wide = stablehlo.convert %two_turned : (tensor<5x3xbf16>) -> tensor<5x3xf32>
  %g = stablehlo.add %one, %two_wide : tensor<5x3xf32>
  %new = stablehlo.subtract %w, %g : tensor<5x3xf32>
  return %new : tensor<5x3xf32>
}

// -----

// A term that is also a result has an accumulator of its own, and is turned after the loop.
// CHECK-LABEL: func.func @main(
// CHECK: %[[LOOP:[a-z0-9]+]]:3 = stablehlo.while(
// CHECK: %[[TURNED:[a-z0-9]+]] = stablehlo.transpose %[[LOOP]]#
// CHECK: stablehlo.add %[[LOOP]]#{{[0-9]+}}, %[[TURNED]]
func.func @main(%w: tensor<5x3xf32>, %x: tensor<8x5xf32>) -> (tensor<5x3xf32>, tensor<3x5xf32>) {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x5xf32>, tensor<5x3xf32>) -> tensor<8x3xf32>
  %one = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8x5xf32>, tensor<8x3xf32>) -> tensor<5x3xf32>
  %two = stablehlo.dot_general %y, %x, contracting_dims = [0] x [0] : (tensor<8x3xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
  %turned = stablehlo.transpose %two, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
  %g = stablehlo.add %one, %turned : tensor<5x3xf32>
  return %g, %two : tensor<5x3xf32>, tensor<3x5xf32>
}
