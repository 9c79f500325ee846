// RUN: %jxc opt %s -p simplify --assume no-signed-zeros --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @add_float_zero(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @add_float_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r = stablehlo.add %c, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// 1 is not neutral.
// CHECK-LABEL: func.func @add_float_zero_not_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.add
func.func @add_float_zero_not_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<4xf32>
  %r = stablehlo.add %c, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @subtract_float_zero(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.negate %[[X]]
// CHECK-NEXT: return %[[X]], %[[R]]
func.func @subtract_float_zero(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = stablehlo.constant dense<0.0> : tensor<4xf32>
  %d = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %a = stablehlo.subtract %x, %d : tensor<4xf32>
  %b = stablehlo.subtract %c, %x : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// inf - inf is NaN, and no-nans is not promised.
// CHECK-LABEL: func.func @subtract_float_zero_not_of_the_same(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.subtract
func.func @subtract_float_zero_not_of_the_same(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.subtract %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

// The form of gradients of jnp.roll.
// CHECK-LABEL: func.func @add_of_float_pads(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.concatenate %[[Y]], %[[X]], dim = 0
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.pad %[[A]], %{{.*}}, low = [0], high = [1], interior = [0]
// CHECK-NEXT: return %[[R]]
func.func @add_of_float_pads(%x: tensor<3xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.pad %x, %c, low = [4], high = [1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<8xf32>
  %b = stablehlo.pad %y, %c, low = [0], high = [4], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %r = stablehlo.add %a, %b : tensor<8xf32>
  return %r : tensor<8xf32>
}

// The padding value is 1.
// CHECK-LABEL: func.func @add_of_float_pads_not_of_ones(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.pad
// CHECK-NEXT: stablehlo.pad
// CHECK-NEXT: stablehlo.add
func.func @add_of_float_pads_not_of_ones(%x: tensor<3xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %a = stablehlo.pad %x, %c, low = [4], high = [1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<8xf32>
  %b = stablehlo.pad %y, %c, low = [0], high = [4], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %r = stablehlo.add %a, %b : tensor<8xf32>
  return %r : tensor<8xf32>
}
