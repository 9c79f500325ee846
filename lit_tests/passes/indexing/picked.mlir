// RUN: %jxc opt %s -p 'indexing{always=true}' | FileCheck %s

// One element of x - m in each row.
// CHECK-LABEL: func.func @gather_of_elementwise(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x32768xf32>
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<4x1xi32>
// CHECK: %[[G:[a-z0-9_]+]] = "stablehlo.gather"(%[[X]], %[[I]])
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.subtract %[[G]], %[[M]] : tensor<4xf32>
// CHECK: return %[[R]]
func.func @gather_of_elementwise(%x: tensor<4x32768xf32>, %m: tensor<4xf32>, %i: tensor<4x1xi32>) -> tensor<4xf32> {
  %all = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<4xf32>) -> tensor<4x32768xf32>
  %d = stablehlo.subtract %x, %all : tensor<4x32768xf32>
  %r = "stablehlo.gather"(%d, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x32768xf32>, tensor<4x1xi32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// x[jnp.arange(4), i], as indexing by two arrays writes it: m is read in order.
// CHECK-LABEL: func.func @gather_of_elementwise_indexed(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x32768xf32>
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<4xf32>
// CHECK: %[[G:[a-z0-9_]+]] = "stablehlo.gather"(%[[X]],
// CHECK: stablehlo.subtract %[[G]], %[[M]] : tensor<4xf32>
func.func @gather_of_elementwise_indexed(%x: tensor<4x32768xf32>, %m: tensor<4xf32>, %i: tensor<4x1xi32>) -> tensor<4xf32> {
  %all = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<4xf32>) -> tensor<4x32768xf32>
  %d = stablehlo.subtract %x, %all : tensor<4x32768xf32>
  %rows = stablehlo.iota dim = 0 : tensor<4x1xi32>
  %both = stablehlo.concatenate %rows, %i, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %r = "stablehlo.gather"(%d, %both) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x32768xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// Two gathers would be needed.
// CHECK-LABEL: func.func @gather_of_elementwise_not_two(
// CHECK: stablehlo.add %{{.*}} : tensor<4x32768xf32>
func.func @gather_of_elementwise_not_two(%x: tensor<4x32768xf32>, %y: tensor<4x32768xf32>, %i: tensor<4x1xi32>) -> tensor<4xf32> {
  %s = stablehlo.add %x, %y : tensor<4x32768xf32>
  %r = "stablehlo.gather"(%s, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x32768xf32>, tensor<4x1xi32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// A product needs e in memory anyway.
// CHECK-LABEL: func.func @gather_of_elementwise_not_needed(
// CHECK: %[[E:[a-z0-9_]+]] = stablehlo.exponential
// CHECK: "stablehlo.gather"(%[[E]],
func.func @gather_of_elementwise_not_needed(%x: tensor<4x32768xf32>, %w: tensor<32768x2xf32>, %i: tensor<4x1xi32>) -> (tensor<4xf32>, tensor<4x2xf32>) {
  %e = stablehlo.exponential %x : tensor<4x32768xf32>
  %r = "stablehlo.gather"(%e, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x32768xf32>, tensor<4x1xi32>) -> tensor<4xf32>
  %p = stablehlo.dot_general %e, %w, contracting_dims = [1] x [0] : (tensor<4x32768xf32>, tensor<32768x2xf32>) -> tensor<4x2xf32>
  return %r, %p : tensor<4xf32>, tensor<4x2xf32>
}

// x[:, :-1] is not copied: x is read at rows 0 to 3 and 0 to 2.
// CHECK-LABEL: func.func @gather_of_slice(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x4x16384xf32>
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<4x3x1xi32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.iota dim = 0 : tensor<4x3x1xi32>
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.iota dim = 1 : tensor<4x3x1xi32>
// CHECK: %[[J:[a-z0-9_]+]] = stablehlo.concatenate %[[A]], %[[B]], %[[I]], dim = 2
// CHECK: "stablehlo.gather"(%[[X]], %[[J]])
// CHECK-SAME: collapsed_slice_dims = [0, 1, 2], start_index_map = [0, 1, 2], index_vector_dim = 2
func.func @gather_of_slice(%x: tensor<4x4x16384xf32>, %i: tensor<4x3x1xi32>) -> tensor<4x3xf32> {
  %s = stablehlo.slice %x [0:4, 0:3, 0:16384] : (tensor<4x4x16384xf32>) -> tensor<4x3x16384xf32>
  %r = "stablehlo.gather"(%s, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<4x3x16384xf32>, tensor<4x3x1xi32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// The slice starts at 1; m is sliced too.
// CHECK-LABEL: func.func @gather_of_slice_and_elementwise(
// CHECK-NOT: tensor<4x3x16384xf32>
// CHECK: stablehlo.slice %{{.*}} [0:4, 1:4] : (tensor<4x4xf32>) -> tensor<4x3xf32>
// CHECK-NOT: tensor<4x3x16384xf32>
// CHECK: return
func.func @gather_of_slice_and_elementwise(%x: tensor<4x4x16384xf32>, %m: tensor<4x4xf32>, %i: tensor<4x3x1xi32>) -> tensor<4x3xf32> {
  %all = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<4x4xf32>) -> tensor<4x4x16384xf32>
  %d = stablehlo.subtract %x, %all : tensor<4x4x16384xf32>
  %s = stablehlo.slice %d [0:4, 1:4, 0:16384] : (tensor<4x4x16384xf32>) -> tensor<4x3x16384xf32>
  %r = "stablehlo.gather"(%s, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<4x3x16384xf32>, tensor<4x3x1xi32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// An index beyond the slice is clamped to its last element, not to that of x.
// CHECK-LABEL: func.func @gather_of_slice_not_clamped_alike(
// CHECK: stablehlo.slice
func.func @gather_of_slice_not_clamped_alike(%x: tensor<4x32769xf32>, %i: tensor<4x1xi32>) -> tensor<4xf32> {
  %s = stablehlo.slice %x [0:4, 0:32768] : (tensor<4x32769xf32>) -> tensor<4x32768xf32>
  %r = "stablehlo.gather"(%s, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x32768xf32>, tensor<4x1xi32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
