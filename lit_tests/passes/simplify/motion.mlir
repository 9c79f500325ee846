// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// Each op is computed on the dimensions along which it varies.
// CHECK-LABEL: func.func @elementwise_of_broadcasts(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<2.000000e+00> : tensor<8xf32>
// CHECK-NEXT: %[[D:[a-z0-9_]+]] = stablehlo.multiply %[[C]], %[[Y]] : tensor<8xf32>
// CHECK-NEXT: %[[E:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[D]], dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %[[F:[a-z0-9_]+]] = stablehlo.add %[[X]], %[[E]] : tensor<4x8xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[F]], dims = [1, 2] : (tensor<4x8xf32>) -> tensor<3x4x8xf32>
// CHECK-NEXT: return %[[R]]
func.func @elementwise_of_broadcasts(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<3x4x8xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<3x4x8xf32>
  %a = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<4x8xf32>) -> tensor<3x4x8xf32>
  %b = stablehlo.broadcast_in_dim %y, dims = [2] : (tensor<8xf32>) -> tensor<3x4x8xf32>
  %d = stablehlo.multiply %c, %b : tensor<3x4x8xf32>
  %r = stablehlo.add %a, %d : tensor<3x4x8xf32>
  return %r : tensor<3x4x8xf32>
}

// CHECK-LABEL: func.func @elementwise_of_broadcasts_beside_a_scalar(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<i1>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.select %[[P]], %[[X]], %[[C]] : tensor<i1>, tensor<8xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[A]], dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: return %[[R]]
func.func @elementwise_of_broadcasts_beside_a_scalar(%p: tensor<i1>, %x: tensor<8xf32>) -> tensor<4x8xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %a = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %r = stablehlo.select %p, %a, %c : tensor<i1>, tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Together the operands vary along all dimensions of the result.
// CHECK-LABEL: func.func @elementwise_of_broadcasts_not_over_all(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8xf32>
// CHECK-DAG: %[[A:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[X]]
// CHECK-DAG: %[[B:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[Y]]
// CHECK: stablehlo.multiply %[[A]], %[[B]]
func.func @elementwise_of_broadcasts_not_over_all(%x: tensor<4xf32>, %y: tensor<8xf32>) -> tensor<4x8xf32> {
  %a = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %b = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %r = stablehlo.multiply %a, %b : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// There would be two broadcasts.
// CHECK-LABEL: func.func @elementwise_of_broadcasts_not_used_elsewhere(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK: stablehlo.broadcast_in_dim
// CHECK-NEXT: stablehlo.exponential
func.func @elementwise_of_broadcasts_not_used_elsewhere(%x: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %a = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %r = stablehlo.exponential %a : tensor<4x8xf32>
  return %r, %a : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @elementwise_of_rearranged(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<2.000000e+00> : tensor<4x8xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.multiply %[[X]], %[[C]] : tensor<4x8xf32>
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = stablehlo.add %[[A]], %[[Y]] : tensor<4x8xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.transpose %[[B]], dims = [1, 0]
// CHECK-NEXT: return %[[R]]
func.func @elementwise_of_rearranged(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<8x4xf32>
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %b = stablehlo.transpose %y, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %d = stablehlo.multiply %a, %c : tensor<8x4xf32>
  %r = stablehlo.add %d, %b : tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// The transpose of a broadcast needs no op.
// CHECK-LABEL: func.func @elementwise_of_rearranged_beside_a_bias(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[Y]], dims = [0]
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.add %[[X]], %[[B]]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.transpose %[[A]], dims = [1, 0]
// CHECK-NEXT: return %[[R]]
func.func @elementwise_of_rearranged_beside_a_bias(%x: tensor<4x8xf32>, %y: tensor<4xf32>) -> tensor<8x4xf32> {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %b = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %r = stablehlo.add %a, %b : tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @elementwise_of_rearranged_reshape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.exponential %[[X]]
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = stablehlo.convert %[[A]]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[B]]
// CHECK-NEXT: return %[[R]]
func.func @elementwise_of_rearranged_reshape(%x: tensor<4x8xf32>) -> tensor<32xi32> {
  %a = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<32xf32>
  %b = stablehlo.exponential %a : tensor<32xf32>
  %r = stablehlo.convert %b : (tensor<32xf32>) -> tensor<32xi32>
  return %r : tensor<32xi32>
}

// CHECK-LABEL: func.func @elementwise_of_rearranged_reverse(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[Y]], dims = [1]
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.add %[[X]], %[[B]]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reverse %[[A]], dims = [0]
// CHECK-NEXT: return %[[R]]
func.func @elementwise_of_rearranged_reverse(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<4x8xf32> {
  %a = stablehlo.reverse %x, dims = [0] : tensor<4x8xf32>
  %b = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %r = stablehlo.add %a, %b : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// The transpose has another user, but it is merged into the reduction.
// CHECK-LABEL: func.func @elementwise_of_rearranged_in_front_of_a_reduction(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8xf32>
// CHECK-DAG: %[[T:[a-z0-9_]+]] = stablehlo.transpose %[[X]], dims = [1, 0]
// CHECK-DAG: %[[B:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[Y]], dims = [1]
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.multiply %[[X]], %[[B]]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.reduce(%[[A]] init: %{{[a-z0-9_]+}}) applies stablehlo.add across dimensions = [1]
// CHECK: return %[[R]], %[[T]]
func.func @elementwise_of_rearranged_in_front_of_a_reduction(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> (tensor<4xf32>, tensor<8x4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %b = stablehlo.broadcast_in_dim %y, dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
  %a = stablehlo.multiply %t, %b : tensor<8x4xf32>
  %r = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r, %t : tensor<4xf32>, tensor<8x4xf32>
}

// The kept dimensions have another order, so the result would be transposed.
// CHECK-LABEL: func.func @elementwise_of_rearranged_not_in_front_of_any_reduction(
// CHECK: stablehlo.transpose
// CHECK: stablehlo.multiply %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : tensor<8x4x2xf32>
// CHECK: across dimensions = [2]
func.func @elementwise_of_rearranged_not_in_front_of_any_reduction(%x: tensor<4x8x2xf32>, %y: tensor<8xf32>) -> (tensor<8x4xf32>, tensor<8x4x2xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<4x8x2xf32>) -> tensor<8x4x2xf32>
  %b = stablehlo.broadcast_in_dim %y, dims = [0] : (tensor<8xf32>) -> tensor<8x4x2xf32>
  %a = stablehlo.multiply %t, %b : tensor<8x4x2xf32>
  %r = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<8x4x2xf32>, tensor<f32>) -> tensor<8x4xf32>
  return %r, %t : tensor<8x4xf32>, tensor<8x4x2xf32>
}

// The other operand would have to be transposed back.
// CHECK-LABEL: func.func @elementwise_of_rearranged_not_beside_another(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK: stablehlo.transpose
// CHECK-NEXT: stablehlo.add
func.func @elementwise_of_rearranged_not_beside_another(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %r = stablehlo.add %a, %y : tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// A scalar stays a scalar: its constants would be needed in two shapes.
// CHECK-LABEL: func.func @elementwise_of_rearranged_not_scalars(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<f32>
// CHECK: stablehlo.reshape
// CHECK-NEXT: stablehlo.negate
func.func @elementwise_of_rearranged_not_scalars(%x: tensor<1xf32>, %y: tensor<f32>) -> tensor<f32> {
  %a = stablehlo.reshape %x : (tensor<1xf32>) -> tensor<f32>
  %r = stablehlo.negate %a : tensor<f32>
  return %r : tensor<f32>
}

// A reshape that adds an extent of 1 costs nothing, such as that of a sum with keepdims.
// CHECK-LABEL: func.func @elementwise_of_rearranged_not_ones(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.reshape %[[X]]
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = stablehlo.exponential %[[A]]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[B]], dims = [0, 1]
// CHECK-NEXT: return %[[R]]
func.func @elementwise_of_rearranged_not_ones(%x: tensor<4xf32>) -> tensor<4x8xf32> {
  %a = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<4x1xf32>
  %b = stablehlo.exponential %a : tensor<4x1xf32>
  %r = stablehlo.broadcast_in_dim %b, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// The reshape meets one that removes the extent: both are removed.
// CHECK-LABEL: func.func @elementwise_of_rearranged_ones(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.exponential %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @elementwise_of_rearranged_ones(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<4x1xf32>
  %b = stablehlo.exponential %a : tensor<4x1xf32>
  %r = stablehlo.reshape %b : (tensor<4x1xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// There would be two reshapes, and more dimensions.
// CHECK-LABEL: func.func @elementwise_of_rearranged_not_for_others(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x1xf32>
// CHECK: stablehlo.reshape
// CHECK-NEXT: stablehlo.exponential
func.func @elementwise_of_rearranged_not_for_others(%x: tensor<4x1xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = stablehlo.reshape %x : (tensor<4x1xf32>) -> tensor<4xf32>
  %b = stablehlo.exponential %a : tensor<4xf32>
  return %b, %a : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @rearranged_elementwise(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.transpose %[[Y]], dims = [1, 0]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.add %[[X]], %[[A]]
// CHECK-NEXT: return %[[R]]
func.func @rearranged_elementwise(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> tensor<4x8xf32> {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %b = stablehlo.add %a, %y : tensor<8x4xf32>
  %r = stablehlo.transpose %b, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @rearranged_elementwise_reshape(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<32xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.reshape %[[Y]]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.multiply %[[A]], %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @rearranged_elementwise_reshape(%x: tensor<4x8xf32>, %y: tensor<32xf32>) -> tensor<4x8xf32> {
  %a = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<32xf32>
  %b = stablehlo.multiply %y, %a : tensor<32xf32>
  %r = stablehlo.reshape %b : (tensor<32xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// Two operands would be transposed instead of one.
// CHECK-LABEL: func.func @rearranged_elementwise_not_of_two_others(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<8x4xi1>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK: stablehlo.transpose
// CHECK-NEXT: stablehlo.select
// CHECK-NEXT: stablehlo.transpose
func.func @rearranged_elementwise_not_of_two_others(%p: tensor<8x4xi1>, %x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> (tensor<4x8xf32>, tensor<8x4xf32>) {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %b = stablehlo.select %p, %a, %y : tensor<8x4xi1>, tensor<8x4xf32>
  %r = stablehlo.transpose %b, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  return %r, %a : tensor<4x8xf32>, tensor<8x4xf32>
}

// The transpose can then be merged into a product.
// CHECK-LABEL: func.func @reshape_of_transpose(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x1x4xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.reshape %[[X]] : (tensor<2x3x1x4xf32>) -> tensor<2x1x3x4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.transpose %[[A]], dims = [3, 1, 2, 0]
// CHECK-NEXT: return %[[R]]
func.func @reshape_of_transpose(%x: tensor<2x3x1x4xf32>) -> tensor<4x1x3x2xf32> {
  %a = stablehlo.transpose %x, dims = [2, 3, 1, 0] : (tensor<2x3x1x4xf32>) -> tensor<1x4x3x2xf32>
  %r = stablehlo.reshape %a : (tensor<1x4x3x2xf32>) -> tensor<4x1x3x2xf32>
  return %r : tensor<4x1x3x2xf32>
}

// The two dimensions that are joined have another order in x.
// CHECK-LABEL: func.func @reshape_of_transpose_not_joining(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x4xf32>
// CHECK: stablehlo.transpose
// CHECK-NEXT: stablehlo.reshape
func.func @reshape_of_transpose_not_joining(%x: tensor<2x3x4xf32>) -> tensor<12x2xf32> {
  %a = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  %r = stablehlo.reshape %a : (tensor<4x3x2xf32>) -> tensor<12x2xf32>
  return %r : tensor<12x2xf32>
}

// CHECK-LABEL: func.func @reshape_of_transpose_splitting_and_joining(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x12xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.reshape %[[X]] : (tensor<2x3x12xf32>) -> tensor<6x4x3xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.transpose %[[A]], dims = [1, 2, 0]
// CHECK-NEXT: return %[[R]]
func.func @reshape_of_transpose_splitting_and_joining(%x: tensor<2x3x12xf32>) -> tensor<4x3x6xf32> {
  %a = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x12xf32>) -> tensor<12x2x3xf32>
  %r = stablehlo.reshape %a : (tensor<12x2x3xf32>) -> tensor<4x3x6xf32>
  return %r : tensor<4x3x6xf32>
}

// CHECK-LABEL: func.func @reverse_of_transpose(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x4xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.reverse %[[X]], dims = [1, 2]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.transpose %[[A]], dims = [2, 0, 1]
// CHECK-NEXT: return %[[R]]
func.func @reverse_of_transpose(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %a = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %r = stablehlo.reverse %a, dims = [0, 2] : tensor<4x2x3xf32>
  return %r : tensor<4x2x3xf32>
}

// The transpose has another use.
// CHECK-LABEL: func.func @reverse_of_transpose_not_with_others(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK: stablehlo.transpose
// CHECK-NEXT: stablehlo.reverse
func.func @reverse_of_transpose_not_with_others(%x: tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %r = stablehlo.reverse %a, dims = [0] : tensor<8x4xf32>
  return %r, %a : tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: func.func @broadcast_of_transpose(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[X]], dims = [2, 0]
// CHECK-NEXT: return %[[R]]
func.func @broadcast_of_transpose(%x: tensor<4x8xf32>) -> tensor<8x3x4xf32> {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %r = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<8x4xf32>) -> tensor<8x3x4xf32>
  return %r : tensor<8x3x4xf32>
}

// A reverse does not permute dimensions.
// CHECK-LABEL: func.func @broadcast_of_transpose_not_of_reverse(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK: stablehlo.reverse
// CHECK-NEXT: stablehlo.broadcast_in_dim
func.func @broadcast_of_transpose_not_of_reverse(%x: tensor<4x8xf32>) -> tensor<3x4x8xf32> {
  %a = stablehlo.reverse %x, dims = [0] : tensor<4x8xf32>
  %r = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<4x8xf32>) -> tensor<3x4x8xf32>
  return %r : tensor<3x4x8xf32>
}

// The operand of the broadcast has a dynamic extent.
// CHECK-LABEL: func.func @elementwise_of_broadcasts_not_of_dynamic(
// CHECK: stablehlo.broadcast_in_dim
// CHECK: stablehlo.multiply
// CHECK-NEXT: return
func.func @elementwise_of_broadcasts_not_of_dynamic(%x: tensor<?xf32>) -> tensor<4x8xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<4x8xf32>
  %a = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<?xf32>) -> tensor<4x8xf32>
  %r = stablehlo.multiply %c, %a : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// The scalar that chooses is reshaped, and not what is chosen.
// CHECK-LABEL: func.func @elementwise_of_rearranged_not_scalar(
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.reshape
// CHECK: stablehlo.select %[[P]], %{{.*}}, %{{.*}} : tensor<i1>, tensor<4xf32>
func.func @elementwise_of_rearranged_not_scalar(%p: tensor<1xi1>) -> tensor<4xf32> {
  %x = stablehlo.constant dense<1.0> : tensor<4xf32>
  %y = stablehlo.constant dense<0.0> : tensor<4xf32>
  %q = stablehlo.reshape %p : (tensor<1xi1>) -> tensor<i1>
  %z = stablehlo.select %q, %x, %y : tensor<i1>, tensor<4xf32>
  return %z : tensor<4xf32>
}

// A converted mask stays a factor: XLA computes such a product as a select.
// CHECK-LABEL: func.func @elementwise_of_rearranged_not_of_booleans(
// CHECK: %[[T:[a-z0-9_]+]] = stablehlo.transpose %{{.*}} : (tensor<4x8xi1>) -> tensor<8x4xi1>
// CHECK-NEXT: %[[M:[a-z0-9_]+]] = stablehlo.convert %[[T]]
// CHECK-NEXT: stablehlo.multiply %{{.*}}, %[[M]]
func.func @elementwise_of_rearranged_not_of_booleans(%x: tensor<8x4xf32>, %m: tensor<4x8xi1>) -> tensor<8x4xf32> {
  %t = stablehlo.transpose %m, dims = [1, 0] : (tensor<4x8xi1>) -> tensor<8x4xi1>
  %f = stablehlo.convert %t : (tensor<8x4xi1>) -> tensor<8x4xf32>
  %r = stablehlo.multiply %x, %f : tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
