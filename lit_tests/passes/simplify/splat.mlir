// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @rearranged_splat(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<0x7FC00001> : tensor<3x2xf32>
// CHECK-NEXT: return %[[R]]
func.func @rearranged_splat() -> tensor<3x2xf32> {
  %c = stablehlo.constant dense<0x7FC00001> : tensor<f32>
  %a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  %b = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %d = stablehlo.reverse %b, dims = [0] : tensor<3x2xf32>
  %e = stablehlo.slice %d [0:2, 0:2] : (tensor<3x2xf32>) -> tensor<2x2xf32>
  %f = stablehlo.reshape %e : (tensor<2x2xf32>) -> tensor<4xf32>
  %r = stablehlo.broadcast_in_dim %f, dims = [0] : (tensor<4xf32>) -> tensor<4x2xf32>
  %s = stablehlo.slice %r [0:3, 0:2] : (tensor<4x2xf32>) -> tensor<3x2xf32>
  return %s : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @rearranged_splat_not_of_two_values(
// CHECK: stablehlo.broadcast_in_dim
func.func @rearranged_splat_not_of_two_values() -> tensor<2x5000xi32> {
  %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %r = stablehlo.broadcast_in_dim %c, dims = [0] : (tensor<2xi32>) -> tensor<2x5000xi32>
  return %r : tensor<2x5000xi32>
}

// CHECK-LABEL: func.func @pad_of_splat(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: return %[[R]]
func.func @pad_of_splat() -> tensor<4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<2xf32>
  %p = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.pad %c, %p, low = [1], high = [1], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// 0.0 and -0.0 are equal, and not the same.
// CHECK-LABEL: func.func @pad_of_splat_not_negative_zero(
// CHECK: stablehlo.pad
func.func @pad_of_splat_not_negative_zero() -> tensor<5002xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<5000xf32>
  %p = stablehlo.constant dense<-0.0> : tensor<f32>
  %r = stablehlo.pad %c, %p, low = [1], high = [1], interior = [0] : (tensor<5000xf32>, tensor<f32>) -> tensor<5002xf32>
  return %r : tensor<5002xf32>
}

// CHECK-LABEL: func.func @concatenate_of_splats(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<7> : tensor<5xi8>
// CHECK-NEXT: return %[[R]]
func.func @concatenate_of_splats() -> tensor<5xi8> {
  %c = stablehlo.constant dense<7> : tensor<2xi8>
  %d = stablehlo.constant dense<7> : tensor<3xi8>
  %r = stablehlo.concatenate %c, %d, dim = 0 : (tensor<2xi8>, tensor<3xi8>) -> tensor<5xi8>
  return %r : tensor<5xi8>
}

// CHECK-LABEL: func.func @concatenate_of_splats_not_of_others(
// CHECK: stablehlo.concatenate
func.func @concatenate_of_splats_not_of_others() -> tensor<5003xi8> {
  %c = stablehlo.constant dense<7> : tensor<5000xi8>
  %d = stablehlo.constant dense<8> : tensor<3xi8>
  %r = stablehlo.concatenate %c, %d, dim = 0 : (tensor<5000xi8>, tensor<3xi8>) -> tensor<5003xi8>
  return %r : tensor<5003xi8>
}
