// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @identity_broadcast(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK-NEXT: return %[[X]]
func.func @identity_broadcast(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %r = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @identity_broadcast_not_permuted(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x3xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.transpose %[[X]], dims = [1, 0]
// CHECK-NEXT: return %[[R]]
func.func @identity_broadcast_not_permuted(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %r = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return %r : tensor<3x3xf32>
}

// CHECK-LABEL: func.func @broadcast_of_broadcast(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[X]], dims = [1]
// CHECK-NEXT: return %[[R]]
func.func @broadcast_of_broadcast(%x: tensor<2xf32>) -> tensor<5x2x3xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
  %r = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<2x3xf32>) -> tensor<5x2x3xf32>
  return %r : tensor<5x2x3xf32>
}

// CHECK-LABEL: func.func @broadcast_of_broadcast_not_of_sum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK: stablehlo.broadcast_in_dim
// CHECK-NEXT: stablehlo.add
// CHECK-NEXT: stablehlo.broadcast_in_dim
func.func @broadcast_of_broadcast_not_of_sum(%x: tensor<2xf32>, %y: tensor<2x3xf32>) -> tensor<5x2x3xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
  %b = stablehlo.add %a, %y : tensor<2x3xf32>
  %r = stablehlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<2x3xf32>) -> tensor<5x2x3xf32>
  return %r : tensor<5x2x3xf32>
}

// A mean with keepdims, broadcast to the shape of its operand.
// CHECK-LABEL: func.func @broadcast_of_reshape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[X]], dims = [0]
// CHECK-NEXT: return %[[R]]
func.func @broadcast_of_reshape(%x: tensor<4xf32>) -> tensor<4x8xf32> {
  %a = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<4x1xf32>
  %r = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// The operand has extents of 1 too.
// CHECK-LABEL: func.func @broadcast_of_reshape_with_ones(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[X]], dims = [0, 2]
// CHECK-NEXT: return %[[R]]
func.func @broadcast_of_reshape_with_ones(%x: tensor<1x4xf32>) -> tensor<3x2x4x5xf32> {
  %a = stablehlo.reshape %x : (tensor<1x4xf32>) -> tensor<1x1x4x1xf32>
  %r = stablehlo.broadcast_in_dim %a, dims = [0, 1, 2, 3] : (tensor<1x1x4x1xf32>) -> tensor<3x2x4x5xf32>
  return %r : tensor<3x2x4x5xf32>
}

// CHECK-LABEL: func.func @broadcast_of_reshape_not_splitting(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.reshape
// CHECK-NEXT: stablehlo.broadcast_in_dim
func.func @broadcast_of_reshape_not_splitting(%x: tensor<4xf32>) -> tensor<2x2x8xf32> {
  %a = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<2x2x1xf32>
  %r = stablehlo.broadcast_in_dim %a, dims = [0, 1, 2] : (tensor<2x2x1xf32>) -> tensor<2x2x8xf32>
  return %r : tensor<2x2x8xf32>
}

// CHECK-LABEL: func.func @broadcast_to_transpose(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.transpose %[[X]], dims = [2, 0, 1]
// CHECK-NEXT: return %[[R]]
func.func @broadcast_to_transpose(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %r = stablehlo.broadcast_in_dim %x, dims = [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  return %r : tensor<4x2x3xf32>
}

// CHECK-LABEL: func.func @broadcast_to_transpose_not_repeating(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x1xf32>
// CHECK: stablehlo.broadcast_in_dim
func.func @broadcast_to_transpose_not_repeating(%x: tensor<2x1xf32>) -> tensor<3x2xf32> {
  %r = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<2x1xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @broadcast_of_iota(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.iota dim = 1
// CHECK-NEXT: return %[[R]]
func.func @broadcast_of_iota() -> tensor<2x4x3xi32> {
  %a = stablehlo.iota dim = 0 : tensor<4x3xi32>
  %r = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<4x3xi32>) -> tensor<2x4x3xi32>
  return %r : tensor<2x4x3xi32>
}

// An iota over an extent of 1 is the constant 0.
// CHECK-LABEL: func.func @broadcast_of_iota_not_repeating_it(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<0>
// CHECK-NEXT: return %[[R]]
func.func @broadcast_of_iota_not_repeating_it() -> tensor<4x3xi32> {
  %a = stablehlo.iota dim = 0 : tensor<1x3xi32>
  %r = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<1x3xi32>) -> tensor<4x3xi32>
  return %r : tensor<4x3xi32>
}

// CHECK-LABEL: func.func @reshape_of_broadcast(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x1xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[X]], dims = [1, 2]
// CHECK-NEXT: return %[[R]]
func.func @reshape_of_broadcast(%x: tensor<2x1xf32>) -> tensor<1x2x3xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3xf32>
  %r = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
  return %r : tensor<1x2x3xf32>
}

// CHECK-LABEL: func.func @reshape_of_broadcast_dropping_a_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x1xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.reshape %[[X]]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[A]], dims = [0]
// CHECK-NEXT: return %[[R]]
func.func @reshape_of_broadcast_dropping_a_one(%x: tensor<2x1xf32>) -> tensor<2x3xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x1x3xf32>
  %r = stablehlo.reshape %a : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @reshape_of_broadcast_not_joining(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xf32>
// CHECK: stablehlo.broadcast_in_dim
// CHECK-NEXT: stablehlo.reshape
func.func @reshape_of_broadcast_not_joining(%x: tensor<2xf32>) -> tensor<6xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
  %r = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// CHECK-LABEL: func.func @reshape_of_iota(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.iota dim = 1
// CHECK-NEXT: return %[[R]]
func.func @reshape_of_iota() -> tensor<1x4xi32> {
  %a = stablehlo.iota dim = 0 : tensor<4xi32>
  %r = stablehlo.reshape %a : (tensor<4xi32>) -> tensor<1x4xi32>
  return %r : tensor<1x4xi32>
}

// CHECK-LABEL: func.func @reshape_of_iota_not_splitting(
// CHECK: stablehlo.reshape
func.func @reshape_of_iota_not_splitting() -> tensor<2x2xi32> {
  %a = stablehlo.iota dim = 0 : tensor<4xi32>
  %r = stablehlo.reshape %a : (tensor<4xi32>) -> tensor<2x2xi32>
  return %r : tensor<2x2xi32>
}

// CHECK-LABEL: func.func @iota_of_one(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<0.000000e+00>
// CHECK-NEXT: return %[[R]]
func.func @iota_of_one() -> tensor<1x4xf32> {
  %r = stablehlo.iota dim = 0 : tensor<1x4xf32>
  return %r : tensor<1x4xf32>
}

// CHECK-LABEL: func.func @iota_of_one_not_of_two(
// CHECK: stablehlo.iota
func.func @iota_of_one_not_of_two() -> tensor<2x4xf32> {
  %r = stablehlo.iota dim = 0 : tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
