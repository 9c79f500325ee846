// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @clamp_to_minimum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.minimum %[[X]], %[[Y]]
// CHECK-NEXT: return %[[R]]
func.func @clamp_to_minimum(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = stablehlo.clamp %c, %x, %y : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @clamp_to_minimum_of_a_constant(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xui8>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<7> : tensor<4xui8>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.minimum %[[X]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @clamp_to_minimum_of_a_constant(%x: tensor<4xui8>) -> tensor<4xui8> {
  %c = stablehlo.constant dense<0> : tensor<ui8>
  %d = stablehlo.constant dense<7> : tensor<ui8>
  %r = stablehlo.clamp %c, %x, %d : (tensor<ui8>, tensor<4xui8>, tensor<ui8>) -> tensor<4xui8>
  return %r : tensor<4xui8>
}

// The bound would have to be broadcast.
// CHECK-LABEL: func.func @clamp_to_minimum_not_to_a_scalar(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<f32>
// CHECK: stablehlo.clamp
func.func @clamp_to_minimum_not_to_a_scalar(%x: tensor<4xf32>, %y: tensor<f32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = stablehlo.clamp %c, %x, %y : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @clamp_to_maximum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<0> : tensor<4xi32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.maximum %[[X]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @clamp_to_maximum(%x: tensor<4xi32>) -> tensor<4xi32> {
  %d = stablehlo.constant dense<2147483647> : tensor<i32>
  %e = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.clamp %e, %x, %d : (tensor<i32>, tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// Infinity is above the greatest finite number.
// CHECK-LABEL: func.func @clamp_to_maximum_not_finite(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.clamp
func.func @clamp_to_maximum_not_finite(%x: tensor<4xf32>) -> tensor<4xf32> {
  %d = stablehlo.constant dense<3.4028234663852886E+38> : tensor<f32>
  %e = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.clamp %e, %x, %d : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @clamp_of_clamp(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.clamp %[[C]], %[[X]], %[[A]]
// CHECK-NEXT: return %[[R]]
func.func @clamp_of_clamp(%x: tensor<4xf32>, %a: tensor<f32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.clamp %c, %x, %a : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %r = stablehlo.clamp %d, %b, %a : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// The bounds have changed places.
// CHECK-LABEL: func.func @clamp_of_clamp_not_to_others(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<f32>
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<f32>
// CHECK: stablehlo.clamp
// CHECK-NEXT: stablehlo.clamp
func.func @clamp_of_clamp_not_to_others(%x: tensor<4xf32>, %a: tensor<f32>, %b: tensor<f32>) -> tensor<4xf32> {
  %c = stablehlo.clamp %a, %x, %b : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %r = stablehlo.clamp %b, %c, %a : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
