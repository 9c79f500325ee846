// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @identity_reverse(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x1xf32>
// CHECK-NEXT: return %[[X]]
func.func @identity_reverse(%x: tensor<4x1xf32>) -> tensor<4x1xf32> {
  %r = stablehlo.reverse %x, dims = [1] : tensor<4x1xf32>
  return %r : tensor<4x1xf32>
}

// CHECK-LABEL: func.func @identity_reverse_not_of_four(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x1xf32>
// CHECK: stablehlo.reverse
func.func @identity_reverse_not_of_four(%x: tensor<4x1xf32>) -> tensor<4x1xf32> {
  %r = stablehlo.reverse %x, dims = [0] : tensor<4x1xf32>
  return %r : tensor<4x1xf32>
}

// CHECK-LABEL: func.func @reverse_of_reverse(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reverse %[[X]], dims = [0]
// CHECK-NEXT: return %[[R]]
func.func @reverse_of_reverse(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = stablehlo.reverse %x, dims = [0, 1] : tensor<4x4xf32>
  %r = stablehlo.reverse %a, dims = [1] : tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @reverse_of_reverse_to_nothing(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x4xf32>
// CHECK-NEXT: return %[[X]]
func.func @reverse_of_reverse_to_nothing(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = stablehlo.reverse %x, dims = [1] : tensor<4x4xf32>
  %r = stablehlo.reverse %a, dims = [1] : tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @reverse_of_reverse_not_of_a_part(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.reverse
// CHECK-NEXT: stablehlo.concatenate
// CHECK-NEXT: stablehlo.reverse
func.func @reverse_of_reverse_not_of_a_part(%x: tensor<4xf32>) -> tensor<8xf32> {
  %a = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
  %b = stablehlo.concatenate %x, %a, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %r = stablehlo.reverse %b, dims = [0] : tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @reverse_of_broadcast(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x1xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.reverse %[[X]], dims = [0]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[A]], dims = [0, 1]
// CHECK-NEXT: return %[[R]]
func.func @reverse_of_broadcast(%x: tensor<4x1xf32>) -> tensor<4x3x2xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x3x2xf32>
  %r = stablehlo.reverse %a, dims = [0, 1, 2] : tensor<4x3x2xf32>
  return %r : tensor<4x3x2xf32>
}

// CHECK-LABEL: func.func @reverse_of_broadcast_of_what_repeats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[X]], dims = [0]
// CHECK-NEXT: return %[[R]]
func.func @reverse_of_broadcast_of_what_repeats(%x: tensor<4xf32>) -> tensor<4x3xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
  %r = stablehlo.reverse %a, dims = [1] : tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @reverse_of_broadcast_not_of_iota(
// CHECK: stablehlo.reverse
func.func @reverse_of_broadcast_not_of_iota() -> tensor<4xi32> {
  %a = stablehlo.iota dim = 0 : tensor<4xi32>
  %r = stablehlo.reverse %a, dims = [0] : tensor<4xi32>
  return %r : tensor<4xi32>
}
