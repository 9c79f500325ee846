// RUN: %jxc opt %s -p layouts{always=true} --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @store_transpose(
// CHECK-SAME: %[[X:.*]]: tensor<40x24xf32>
// CHECK: %[[T:.*]] = stablehlo.transpose %[[X]], dims = [1, 0]
// CHECK: %[[S:.*]] = stablehlo.custom_call @LayoutConstraint(%[[T]]) {{.*}}dense<[1, 0]>
// CHECK: stablehlo.add %[[S]],
func.func @store_transpose(%x: tensor<40x24xf32>) -> tensor<24x40xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<24x40xf32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<40x24xf32>) -> tensor<24x40xf32>
  %y = stablehlo.add %t, %one : tensor<24x40xf32>
  return %y : tensor<24x40xf32>
}

// -----

// The operand is computed with a constant, so it is stored as well.
// CHECK-LABEL: func.func @store_transpose_of_computed(
// CHECK: %[[Y:.*]] = stablehlo.add
// CHECK: %[[S:.*]] = stablehlo.custom_call @LayoutConstraint(%[[Y]])
// CHECK: %[[T:.*]] = stablehlo.transpose %[[S]]
// CHECK: stablehlo.custom_call @LayoutConstraint(%[[T]])
func.func @store_transpose_of_computed(%x: tensor<4x40x24xi32>) -> tensor<24x40x4xi32> {
  %one = stablehlo.constant dense<1> : tensor<4x40x24xi32>
  %y = stablehlo.add %x, %one : tensor<4x40x24xi32>
  %t = stablehlo.transpose %y, dims = [2, 1, 0] : (tensor<4x40x24xi32>) -> tensor<24x40x4xi32>
  return %t : tensor<24x40x4xi32>
}

// -----

// The second transpose undoes the first, and XLA computes the addition in the order of the operand.
// CHECK-LABEL: func.func @store_transpose_not_of_undone(
// CHECK: %[[T:.*]] = stablehlo.transpose
// CHECK-NEXT: stablehlo.add %[[T]],
func.func @store_transpose_not_of_undone(%x: tensor<40x24xf32>) -> tensor<40x24xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<24x40xf32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<40x24xf32>) -> tensor<24x40xf32>
  %y = stablehlo.add %t, %one : tensor<24x40xf32>
  %u = stablehlo.transpose %y, dims = [1, 0] : (tensor<24x40xf32>) -> tensor<40x24xf32>
  %z = stablehlo.custom_call @LayoutConstraint(%u) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<40x24xf32>) -> tensor<40x24xf32>
  return %z : tensor<40x24xf32>
}

// -----

// XLA reverses in the order of the operand as well.
// CHECK-LABEL: func.func @store_transpose_not_of_reversed(
// CHECK-NOT: LayoutConstraint
// CHECK: return
func.func @store_transpose_not_of_reversed(%x: tensor<40x24xf32>) -> tensor<24xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<24x40xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<40x24xf32>) -> tensor<24x40xf32>
  %y = stablehlo.multiply %t, %one : tensor<24x40xf32>
  %v = stablehlo.reverse %y, dims = [1] : tensor<24x40xf32>
  %u = stablehlo.transpose %v, dims = [1, 0] : (tensor<24x40xf32>) -> tensor<40x24xf32>
  %r = stablehlo.reduce(%u init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<40x24xf32>, tensor<f32>) -> tensor<24xf32>
  return %r : tensor<24xf32>
}

// -----

// No operand of that size has an order: XLA computes the transpose at once.
// CHECK-LABEL: func.func @store_transpose_not_of_smaller(
// CHECK-NOT: LayoutConstraint
// CHECK: return
func.func @store_transpose_not_of_smaller(%x: tensor<40x1xf32>, %y: tensor<24xf32>) -> tensor<24x40xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.pad %x, %zero, low = [0, 23], high = [0, 0], interior = [0, 0] : (tensor<40x1xf32>, tensor<f32>) -> tensor<40x24xf32>
  %b = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<24xf32>) -> tensor<40x24xf32>
  %s = stablehlo.add %p, %b : tensor<40x24xf32>
  %t = stablehlo.transpose %s, dims = [1, 0] : (tensor<40x24xf32>) -> tensor<24x40xf32>
  return %t : tensor<24x40xf32>
}

// -----

// The product reads its right operand in any order.
// CHECK-LABEL: func.func @store_transpose_not_before_product(
// CHECK-NOT: LayoutConstraint
// CHECK: return
func.func @store_transpose_not_before_product(%x: tensor<40x24xf32>, %w: tensor<8x40xf32>) -> tensor<8x24xf32> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<40x24xf32>) -> tensor<24x40xf32>
  %y = stablehlo.exponential %t : tensor<24x40xf32>
  %z = stablehlo.dot_general %w, %y, contracting_dims = [1] x [1] : (tensor<8x40xf32>, tensor<24x40xf32>) -> tensor<8x24xf32>
  return %z : tensor<8x24xf32>
}

// -----

// CHECK-LABEL: func.func @store_transposed_factor(
// CHECK-SAME: %[[X:.*]]: tensor<40x24xf32>, %[[Y:.*]]: tensor<40x8xf32>
// CHECK: %[[T:.*]] = stablehlo.transpose %[[X]], dims = [1, 0]
// CHECK: %[[S:.*]] = stablehlo.custom_call @LayoutConstraint(%[[T]])
// CHECK: stablehlo.dot_general %[[S]], %[[Y]], contracting_dims = [1] x [0]
func.func @store_transposed_factor(%x: tensor<40x24xf32>, %y: tensor<40x8xf32>) -> tensor<24x8xf32> {
  %z = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<40x24xf32>, tensor<40x8xf32>) -> tensor<24x8xf32>
  return %z : tensor<24x8xf32>
}

// -----

// XLA copies the operands of a batch of products itself.
// CHECK-LABEL: func.func @store_transposed_factor_not_of_a_batch(
// CHECK-NEXT: stablehlo.dot_general
func.func @store_transposed_factor_not_of_a_batch(%x: tensor<4x40x24xf32>, %y: tensor<4x40x8xf32>) -> tensor<4x24x8xf32> {
  %z = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<4x40x24xf32>, tensor<4x40x8xf32>) -> tensor<4x24x8xf32>
  return %z : tensor<4x24x8xf32>
}

// -----

// The addition of a constant lies between a transpose and the one that undoes it.
// CHECK-LABEL: func.func @store_transpose_not_of_undoing(
// CHECK-NOT: LayoutConstraint
func.func @store_transpose_not_of_undoing(%x: tensor<40x24xf32>) -> tensor<40x24xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<24x40xf32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<40x24xf32>) -> tensor<24x40xf32>
  %y = stablehlo.add %t, %one : tensor<24x40xf32>
  %u = stablehlo.transpose %y, dims = [1, 0] : (tensor<24x40xf32>) -> tensor<40x24xf32>
  return %u : tensor<40x24xf32>
}
