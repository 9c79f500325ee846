// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @gather_of_splat(
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.constant dense<2.500000e+00> : tensor<3xf32>
// CHECK-NEXT: return %[[R]]
func.func @gather_of_splat(%i: tensor<3x1xi32>) -> tensor<3xf32> {
  %x = stablehlo.constant dense<2.5> : tensor<8xf32>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xf32>, tensor<3x1xi32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @gather_of_splat_not_of_different(
// CHECK: stablehlo.gather
func.func @gather_of_splat_not_of_different(%i: tensor<3x1xi32>) -> tensor<3xf32> {
  %x = stablehlo.constant dense<[2.5, 2.0]> : tensor<2xf32>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<2xf32>, tensor<3x1xi32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// x[1:3, [5, 3, 1]]
// CHECK-LABEL: func.func @gather_of_affine_indices(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [1:3, 1:6:2]
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = stablehlo.reverse %[[A]], dims = [1]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.transpose %[[B]], dims = [1, 0]
// CHECK-NEXT: return %[[R]]
func.func @gather_of_affine_indices(%x: tensor<4x8xf32>) -> tensor<3x2xf32> {
  %i = stablehlo.constant dense<[[1, 5], [1, 3], [1, 1]]> : tensor<3x2xi32>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1>}> : (tensor<4x8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// Columns 2 and 5 of all rows: the start along the batching dimension is the batch index.
// CHECK-LABEL: func.func @gather_of_affine_indices_in_batches(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:4, 2:6:3]
// CHECK-NEXT: return %[[R]]
func.func @gather_of_affine_indices_in_batches(%x: tensor<4x8xf32>) -> tensor<4x2xf32> {
  %i = stablehlo.iota dim = 1 : tensor<4x2x1xi32>
  %c = stablehlo.constant dense<3> : tensor<4x2x1xi32>
  %d = stablehlo.constant dense<2> : tensor<4x2x1xi32>
  %j = stablehlo.multiply %i, %c : tensor<4x2x1xi32>
  %k = stablehlo.add %j, %d : tensor<4x2x1xi32>
  %r = "stablehlo.gather"(%x, %k) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x8xf32>, tensor<4x2x1xi32>) -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// One constant window is clamped: here to [6:8].
// CHECK-LABEL: func.func @gather_of_affine_indices_of_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.slice %[[X]] [6:8]
// CHECK-NEXT: return %[[R]]
func.func @gather_of_affine_indices_of_one(%x: tensor<8xf32>) -> tensor<2xf32> {
  %i = stablehlo.constant dense<20> : tensor<1xi32>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 2>}> : (tensor<8xf32>, tensor<1xi32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// x[:, [1, 1, 1]]
// CHECK-LABEL: func.func @gather_of_affine_indices_that_repeats(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [1:2]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim
// CHECK-NEXT: return %[[R]]
func.func @gather_of_affine_indices_that_repeats(%x: tensor<8xf32>) -> tensor<3xf32> {
  %i = stablehlo.constant dense<1> : tensor<3x1xi32>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xf32>, tensor<3x1xi32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// A value that no other op uses is computed once, only where it is read.
// CHECK-LABEL: func.func @gather_of_affine_indices_computed_for_it(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:5:2]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.tanh %[[A]]
// CHECK-NEXT: return %[[R]]
func.func @gather_of_affine_indices_computed_for_it(%x: tensor<8xf32>) -> tensor<3xf32> {
  %i = stablehlo.constant dense<[[0], [2], [4]]> : tensor<3x1xi32>
  %y = stablehlo.tanh %x : tensor<8xf32>
  %r = "stablehlo.gather"(%y, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xf32>, tensor<3x1xi32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// As a slice, the hyperbolic tangent would be fused into each of its users.
// CHECK-LABEL: func.func @gather_of_affine_indices_not_computed_for_others(
// CHECK: stablehlo.gather
func.func @gather_of_affine_indices_not_computed_for_others(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<3xf32>) {
  %i = stablehlo.constant dense<[[0], [2], [4]]> : tensor<3x1xi32>
  %y = stablehlo.tanh %x : tensor<8xf32>
  %r = "stablehlo.gather"(%y, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xf32>, tensor<3x1xi32>) -> tensor<3xf32>
  return %y, %r : tensor<8xf32>, tensor<3xf32>
}

// The same if the gather itself has two users.
// CHECK-LABEL: func.func @gather_of_affine_indices_not_for_two_users(
// CHECK: stablehlo.gather
func.func @gather_of_affine_indices_not_for_two_users(%x: tensor<8xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %i = stablehlo.constant dense<[[0], [2], [4]]> : tensor<3x1xi32>
  %y = stablehlo.tanh %x : tensor<8xf32>
  %r = "stablehlo.gather"(%y, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xf32>, tensor<3x1xi32>) -> tensor<3xf32>
  %a = stablehlo.exponential %r : tensor<3xf32>
  %b = stablehlo.cosine %r : tensor<3xf32>
  return %a, %b : tensor<3xf32>, tensor<3xf32>
}

// The last index is clamped to 7.
// CHECK-LABEL: func.func @gather_of_affine_indices_not_beyond(
// CHECK: stablehlo.gather
func.func @gather_of_affine_indices_not_beyond(%x: tensor<8xf32>) -> tensor<3xf32> {
  %i = stablehlo.constant dense<[[4], [6], [8]]> : tensor<3x1xi32>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xf32>, tensor<3x1xi32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// Two operand dimensions vary along one of the indices: a diagonal is not a slice.
// CHECK-LABEL: func.func @gather_of_affine_indices_not_of_diagonal(
// CHECK: stablehlo.gather
func.func @gather_of_affine_indices_not_of_diagonal(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  %i = stablehlo.iota dim = 0 : tensor<4x2xi32>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x4xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @gather_to_dynamic_slice(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>, %[[I:[a-z0-9]+]]: tensor<1xi32>
// CHECK: %[[J:[a-z0-9_]+]] = stablehlo.reshape %[[I]]
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[X]], %{{[a-z0-9_]+}}, %[[J]], sizes = [4, 1]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[A]]
// CHECK-NEXT: return %[[R]]
func.func @gather_to_dynamic_slice(%x: tensor<4x8xf32>, %i: tensor<1xi32>) -> tensor<4xf32> {
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1]>, slice_sizes = array<i64: 4, 1>}> : (tensor<4x8xf32>, tensor<1xi32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @gather_to_dynamic_slice_of_two(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>, %[[I:[a-z0-9]+]]: tensor<i32>, %[[J:[a-z0-9]+]]: tensor<i32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[X]], %[[J]], %[[I]], sizes = [1, 1]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[A]]
// CHECK-NEXT: return %[[R]]
func.func @gather_to_dynamic_slice_of_two(%x: tensor<4x8xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<f32> {
  %a = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
  %b = stablehlo.reshape %j : (tensor<i32>) -> tensor<1xi32>
  %c = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %r = "stablehlo.gather"(%x, %c) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [1, 0]>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x8xf32>, tensor<2xi32>) -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @gather_to_dynamic_slice_not_of_several(
// CHECK: stablehlo.gather
func.func @gather_to_dynamic_slice_not_of_several(%x: tensor<8xf32>, %i: tensor<3x1xi32>) -> tensor<3xf32> {
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xf32>, tensor<3x1xi32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// CHECK-LABEL: func.func @gather_of_broadcast(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[X]], dims = [1] : (tensor<8xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: return %[[R]]
func.func @gather_of_broadcast(%x: tensor<8xf32>, %i: tensor<3x1xi32>) -> tensor<3x8xf32> {
  %b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %r = "stablehlo.gather"(%b, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  return %r : tensor<3x8xf32>
}

// CHECK-LABEL: func.func @gather_of_broadcast_not_along_its_own(
// CHECK: stablehlo.gather
func.func @gather_of_broadcast_not_along_its_own(%x: tensor<4xf32>, %i: tensor<3x1xi32>) -> tensor<3x8xf32> {
  %b = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %r = "stablehlo.gather"(%b, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  return %r : tensor<3x8xf32>
}

// CHECK-LABEL: func.func @gather_of_iota(
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<3x1xi32>
// CHECK: %[[C:[a-z0-9_]+]] = stablehlo.clamp
// CHECK: return
func.func @gather_of_iota(%i: tensor<3x1xi32>) -> tensor<3xi32> {
  %x = stablehlo.iota dim = 0 : tensor<8xi32>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xi32>, tensor<3x1xi32>) -> tensor<3xi32>
  return %r : tensor<3xi32>
}

// An i8 cannot represent the greatest index 299.
// CHECK-LABEL: func.func @gather_of_iota_not_beyond_the_type(
// CHECK: stablehlo.gather
func.func @gather_of_iota_not_beyond_the_type(%i: tensor<3x1xi8>) -> tensor<3xi8> {
  %x = stablehlo.iota dim = 0 : tensor<300xi8>
  %r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<300xi8>, tensor<3x1xi8>) -> tensor<3xi8>
  return %r : tensor<3xi8>
}

// CHECK-LABEL: func.func @gather_of_clamp(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>, %[[I:[a-z0-9]+]]: tensor<3xi32>
// CHECK-NEXT: %[[J:[a-z0-9_]+]] = stablehlo.reshape %[[I]]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = "stablehlo.gather"(%[[X]], %[[J]])
// CHECK-NEXT: return %[[R]]
func.func @gather_of_clamp(%x: tensor<8xf32>, %i: tensor<3xi32>) -> tensor<3xf32> {
  %z = stablehlo.constant dense<0> : tensor<3xi32>
  %c = stablehlo.constant dense<7> : tensor<3xi32>
  %a = stablehlo.maximum %i, %z : tensor<3xi32>
  %b = stablehlo.minimum %a, %c : tensor<3xi32>
  %j = stablehlo.reshape %b : (tensor<3xi32>) -> tensor<3x1xi32>
  %r = "stablehlo.gather"(%x, %j) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xf32>, tensor<3x1xi32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// The second dimension has indices up to 7.
// CHECK-LABEL: func.func @gather_of_clamp_not_to_less(
// CHECK: stablehlo.minimum
func.func @gather_of_clamp_not_to_less(%x: tensor<4x8xf32>, %i: tensor<3x2xi32>) -> tensor<3xf32> {
  %c = stablehlo.constant dense<3> : tensor<3x2xi32>
  %j = stablehlo.minimum %i, %c : tensor<3x2xi32>
  %r = "stablehlo.gather"(%x, %j) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x8xf32>, tensor<3x2xi32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
