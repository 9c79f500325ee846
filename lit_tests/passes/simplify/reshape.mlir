// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @identity_reshape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK-NEXT: return %[[X]]
func.func @identity_reshape(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %r = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @identity_reshape_not_other_shape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK: stablehlo.reshape
func.func @identity_reshape_not_other_shape(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %r = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @reshape_of_reshape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x6xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @reshape_of_reshape(%x: tensor<2x6xf32>) -> tensor<4x3xf32> {
  %a = stablehlo.reshape %x : (tensor<2x6xf32>) -> tensor<12xf32>
  %r = stablehlo.reshape %a : (tensor<12xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @reshape_of_reshape_not_through_a_transpose(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x6xf32>
// CHECK: stablehlo.transpose
// CHECK-NEXT: stablehlo.reshape
func.func @reshape_of_reshape_not_through_a_transpose(%x: tensor<2x6xf32>) -> tensor<12xf32> {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x6xf32>) -> tensor<6x2xf32>
  %r = stablehlo.reshape %a : (tensor<6x2xf32>) -> tensor<12xf32>
  return %r : tensor<12xf32>
}

// keepdims, as JAX writes it.
// CHECK-LABEL: func.func @broadcast_to_reshape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @broadcast_to_reshape(%x: tensor<4xf32>) -> tensor<1x4x1xf32> {
  %r = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<1x4x1xf32>
  return %r : tensor<1x4x1xf32>
}

// CHECK-LABEL: func.func @broadcast_to_reshape_not_repeating(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.broadcast_in_dim
func.func @broadcast_to_reshape_not_repeating(%x: tensor<4xf32>) -> tensor<4x2xf32> {
  %r = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @transpose_to_reshape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x1x3xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @transpose_to_reshape(%x: tensor<4x1x3xf32>) -> tensor<1x4x3xf32> {
  %r = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<4x1x3xf32>) -> tensor<1x4x3xf32>
  return %r : tensor<1x4x3xf32>
}

// 4 and 3 change places.
// CHECK-LABEL: func.func @transpose_to_reshape_not_moving(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x1x3xf32>
// CHECK: stablehlo.transpose
func.func @transpose_to_reshape_not_moving(%x: tensor<4x1x3xf32>) -> tensor<3x1x4xf32> {
  %r = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<4x1x3xf32>) -> tensor<3x1x4xf32>
  return %r : tensor<3x1x4xf32>
}
