// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// Of static extents it is a reshape first; this one is not.
// CHECK-LABEL: func.func @identity_transpose(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x3xf32>
// CHECK-NEXT: return %[[X]]
func.func @identity_transpose(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %r = stablehlo.transpose %x, dims = [0, 1] : (tensor<?x3xf32>) -> tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}

// Equal types do not make it an identity.
// CHECK-LABEL: func.func @identity_transpose_not_square(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x3xf32>
// CHECK: stablehlo.transpose
func.func @identity_transpose_not_square(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return %r : tensor<3x3xf32>
}

// CHECK-LABEL: func.func @transpose_of_transpose(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.transpose %[[X]], dims = [1, 2, 0]
// CHECK-NEXT: return %[[R]]
func.func @transpose_of_transpose(%x: tensor<2x3x4xf32>) -> tensor<3x4x2xf32> {
  %a = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %r = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<4x2x3xf32>) -> tensor<3x4x2xf32>
  return %r : tensor<3x4x2xf32>
}

// CHECK-LABEL: func.func @transpose_of_transpose_to_nothing(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x4xf32>
// CHECK-NEXT: return %[[X]]
func.func @transpose_of_transpose_to_nothing(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %a = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %r = stablehlo.transpose %a, dims = [1, 2, 0] : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
  return %r : tensor<2x3x4xf32>
}

// The product is used as it is, too.
// CHECK-LABEL: func.func @transpose_of_transpose_not_through_a_product(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x3xf32>
// CHECK: stablehlo.transpose
// CHECK-NEXT: stablehlo.multiply
// CHECK-NEXT: stablehlo.transpose
func.func @transpose_of_transpose_not_through_a_product(%x: tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3x3xf32>) {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %b = stablehlo.multiply %a, %x : tensor<3x3xf32>
  %r = stablehlo.transpose %b, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return %r, %b : tensor<3x3xf32>, tensor<3x3xf32>
}

// CHECK-LABEL: func.func @transpose_of_broadcast(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[X]], dims = [2, 0]
// CHECK-NEXT: return %[[R]]
func.func @transpose_of_broadcast(%x: tensor<2x3xf32>) -> tensor<3x4x2xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x4x3xf32>
  %r = stablehlo.transpose %a, dims = [2, 1, 0] : (tensor<2x4x3xf32>) -> tensor<3x4x2xf32>
  return %r : tensor<3x4x2xf32>
}

// The reshape joins what the transpose would part.
// CHECK-LABEL: func.func @transpose_of_broadcast_not_of_reshape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x4xf32>
// CHECK: stablehlo.transpose
func.func @transpose_of_broadcast_not_of_reshape(%x: tensor<2x3x4xf32>) -> tensor<4x6xf32> {
  %a = stablehlo.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %r = stablehlo.transpose %a, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @transpose_of_iota(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.iota dim = 1
// CHECK-NEXT: return %[[R]]
func.func @transpose_of_iota() -> tensor<3x2xi32> {
  %a = stablehlo.iota dim = 0 : tensor<2x3xi32>
  %r = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  return %r : tensor<3x2xi32>
}

// CHECK-LABEL: func.func @transpose_of_iota_not_of_sum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3xi32>
// CHECK: stablehlo.transpose
func.func @transpose_of_iota_not_of_sum(%x: tensor<2x3xi32>) -> tensor<3x2xi32> {
  %a = stablehlo.iota dim = 0 : tensor<2x3xi32>
  %b = stablehlo.add %a, %x : tensor<2x3xi32>
  %r = stablehlo.transpose %b, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  return %r : tensor<3x2xi32>
}
