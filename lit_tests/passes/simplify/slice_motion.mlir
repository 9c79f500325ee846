// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @slice_of_elementwise(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8xf32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [3:4, 0:8]
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.reshape %[[Y]]
// CHECK-NEXT: %[[D:[a-z0-9_]+]] = stablehlo.add %[[A]], %[[B]]
// CHECK: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<2.000000e+00> : tensor<1x8xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.multiply %[[D]], %[[C]]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_elementwise(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<1x8xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<4x8xf32>
  %a = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %b = stablehlo.add %x, %a : tensor<4x8xf32>
  %d = stablehlo.multiply %b, %c : tensor<4x8xf32>
  %r = stablehlo.slice %d [3:4, 0:8] : (tensor<4x8xf32>) -> tensor<1x8xf32>
  return %r : tensor<1x8xf32>
}

// All of it is needed.
// CHECK-LABEL: func.func @slice_of_elementwise_not_of_many(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK: stablehlo.exponential
// CHECK-NEXT: stablehlo.slice
// CHECK-NEXT: stablehlo.slice
func.func @slice_of_elementwise_not_of_many(%x: tensor<4x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %a = stablehlo.exponential %x : tensor<4x8xf32>
  %b = stablehlo.slice %a [0:2, 0:8] : (tensor<4x8xf32>) -> tensor<2x8xf32>
  %c = stablehlo.slice %a [2:4, 0:8] : (tensor<4x8xf32>) -> tensor<2x8xf32>
  return %b, %c : tensor<2x8xf32>, tensor<2x8xf32>
}

// CHECK-LABEL: func.func @slice_of_transpose(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x4xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:2, 0:3, 0:3:2]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.transpose %[[A]], dims = [2, 0, 1]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_transpose(%x: tensor<2x3x4xf32>) -> tensor<2x2x3xf32> {
  %a = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %r = stablehlo.slice %a [0:4:2, 0:2, 0:3] : (tensor<4x2x3xf32>) -> tensor<2x2x3xf32>
  return %r : tensor<2x2x3xf32>
}

// The transpose stays.
// CHECK-LABEL: func.func @slice_of_transpose_not_with_others(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK: stablehlo.transpose
// CHECK-NEXT: stablehlo.slice
func.func @slice_of_transpose_not_with_others(%x: tensor<4x8xf32>) -> (tensor<2x4xf32>, tensor<8x4xf32>) {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %r = stablehlo.slice %a [0:2, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
  return %r, %a : tensor<2x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: func.func @slice_of_reverse(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:4, 3:8:2]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reverse %[[A]], dims = [1]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_reverse(%x: tensor<4x8xf32>) -> tensor<4x3xf32> {
  %a = stablehlo.reverse %x, dims = [1] : tensor<4x8xf32>
  %r = stablehlo.slice %a [0:4, 0:6:2] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// There is no last element to count from.
// CHECK-LABEL: func.func @slice_of_reverse_not_of_nothing(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK: stablehlo.reverse
func.func @slice_of_reverse_not_of_nothing(%x: tensor<4x8xf32>) -> tensor<4x0xf32> {
  %a = stablehlo.reverse %x, dims = [1] : tensor<4x8xf32>
  %r = stablehlo.slice %a [0:4, 3:3] : (tensor<4x8xf32>) -> tensor<4x0xf32>
  return %r : tensor<4x0xf32>
}

// The second of three pairs of rows.
// CHECK-LABEL: func.func @slice_of_reshape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<6x4xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [2:4, 0:4]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[A]]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_reshape(%x: tensor<6x4xf32>) -> tensor<1x2x1x4xf32> {
  %a = stablehlo.reshape %x : (tensor<6x4xf32>) -> tensor<1x3x2x4xf32>
  %r = stablehlo.slice %a [0:1, 1:2, 0:2, 0:4] : (tensor<1x3x2x4xf32>) -> tensor<1x1x2x4xf32>
  %s = stablehlo.reshape %r : (tensor<1x1x2x4xf32>) -> tensor<1x2x1x4xf32>
  return %s : tensor<1x2x1x4xf32>
}

// CHECK-LABEL: func.func @slice_of_reshape_to_less(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x2x4xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [1:2, 0:2, 0:4]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[A]]
// CHECK-NEXT: return %[[R]]
func.func @slice_of_reshape_to_less(%x: tensor<3x2x4xf32>) -> tensor<2x4xf32> {
  %a = stablehlo.reshape %x : (tensor<3x2x4xf32>) -> tensor<6x4xf32>
  %r = stablehlo.slice %a [2:4, 0:4] : (tensor<6x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// Half of one pair, and half of the next.
// CHECK-LABEL: func.func @slice_of_reshape_not_across(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x2x4xf32>
// CHECK: stablehlo.reshape
// CHECK-NEXT: stablehlo.slice
func.func @slice_of_reshape_not_across(%x: tensor<3x2x4xf32>) -> tensor<2x4xf32> {
  %a = stablehlo.reshape %x : (tensor<3x2x4xf32>) -> tensor<6x4xf32>
  %r = stablehlo.slice %a [1:3, 0:4] : (tensor<6x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
