// RUN: %jxc opt %s -p 'indexing{always=true}' --assume no-nans | FileCheck %s

// jax.nn.one_hot(i, 16) @ e: rows of e, or zeros if an index is out of range. A sum of products
// that are all -0.0 starts from 0.0 and is 0.0, hence the first select.
// CHECK-LABEL: func.func @one_hot_product_to_gather(
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<5xi32>
// CHECK-SAME: %[[E:[a-z0-9]+]]: tensor<16x3xf32>
// CHECK: %[[ROWS:[a-z0-9_]+]] = "stablehlo.gather"(%[[E]], %[[I]])
// CHECK-SAME: offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1
// CHECK-SAME: slice_sizes = array<i64: 1, 3>
// CHECK: %[[SUMS:[a-z0-9_]+]] = stablehlo.select %{{.*}}, %{{.*}}, %[[ROWS]]
// CHECK: stablehlo.compare GE, %[[I]],
// CHECK: stablehlo.compare LE, %[[I]],
// CHECK: %[[IS:[a-z0-9_]+]] = stablehlo.and
// CHECK: %[[MASK:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[IS]], dims = [0]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.select %[[MASK]], %[[SUMS]],
// CHECK-NEXT: return %[[R]]
func.func @one_hot_product_to_gather(%i: tensor<5xi32>, %e: tensor<16x3xf32>) -> tensor<5x3xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<5xi32>) -> tensor<5x16xi32>
  %places = stablehlo.iota dim = 1 : tensor<5x16xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<5x16xi32>, tensor<5x16xi32>) -> tensor<5x16xi1>
  %hot = stablehlo.convert %hits : (tensor<5x16xi1>) -> tensor<5x16xf32>
  %r = stablehlo.dot_general %hot, %e, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5x16xf32>, tensor<16x3xf32>) -> tensor<5x3xf32>
  return %r : tensor<5x3xf32>
}

// The classes are the last dimension of e and the first of the one-hot array; i has two dimensions.
// CHECK-LABEL: func.func @one_hot_product_to_gather_columns(
// CHECK: "stablehlo.gather"(%arg1, %arg0)
// CHECK-SAME: offset_dims = [2, 3], collapsed_slice_dims = [2], start_index_map = [2], index_vector_dim = 2
// CHECK-NOT: stablehlo.dot_general
func.func @one_hot_product_to_gather_columns(%i: tensor<5x2xi32>, %e: tensor<3x4x20xf64>) -> tensor<5x2x3x4xf64> {
  %all = stablehlo.broadcast_in_dim %i, dims = [1, 2] : (tensor<5x2xi32>) -> tensor<20x5x2xi32>
  %places = stablehlo.iota dim = 0 : tensor<20x5x2xi32>
  %hits = stablehlo.compare EQ, %places, %all : (tensor<20x5x2xi32>, tensor<20x5x2xi32>) -> tensor<20x5x2xi1>
  %hot = stablehlo.convert %hits : (tensor<20x5x2xi1>) -> tensor<20x5x2xf64>
  %r = stablehlo.dot_general %hot, %e, contracting_dims = [0] x [2] : (tensor<20x5x2xf64>, tensor<3x4x20xf64>) -> tensor<5x2x3x4xf64>
  return %r : tensor<5x2x3x4xf64>
}

// A comparison by NE: ones everywhere but at the index.
// CHECK-LABEL: func.func @one_hot_product_to_gather_not_cold(
// CHECK: stablehlo.dot_general
func.func @one_hot_product_to_gather_not_cold(%i: tensor<5xi32>, %e: tensor<16x3xf32>) -> tensor<5x3xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<5xi32>) -> tensor<5x16xi32>
  %places = stablehlo.iota dim = 1 : tensor<5x16xi32>
  %hits = stablehlo.compare NE, %all, %places : (tensor<5x16xi32>, tensor<5x16xi32>) -> tensor<5x16xi1>
  %hot = stablehlo.convert %hits : (tensor<5x16xi1>) -> tensor<5x16xf32>
  %r = stablehlo.dot_general %hot, %e, contracting_dims = [1] x [0] : (tensor<5x16xf32>, tensor<16x3xf32>) -> tensor<5x3xf32>
  return %r : tensor<5x3xf32>
}

// jax.nn.one_hot(i, 16).T @ x, the gradient by e: rows of x with an index out of range are dropped.
// CHECK-LABEL: func.func @one_hot_product_to_scatter(
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<5xi32>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<5x3xf32>
// CHECK: %[[ZERO:[a-z0-9_]+]] = stablehlo.constant dense<0.000000e+00> : tensor<16x3xf32>
// CHECK: %[[R:[a-z0-9_]+]] = "stablehlo.scatter"(%[[ZERO]], %[[I]], %[[X]])
// CHECK-SAME: update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1
// CHECK: stablehlo.add
// CHECK: return %[[R]]
func.func @one_hot_product_to_scatter(%i: tensor<5xi32>, %x: tensor<5x3xf32>) -> tensor<16x3xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<5xi32>) -> tensor<5x16xi32>
  %places = stablehlo.iota dim = 1 : tensor<5x16xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<5x16xi32>, tensor<5x16xi32>) -> tensor<5x16xi1>
  %hot = stablehlo.convert %hits : (tensor<5x16xi1>) -> tensor<5x16xf32>
  %r = stablehlo.dot_general %hot, %x, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5x16xf32>, tensor<5x3xf32>) -> tensor<16x3xf32>
  return %r : tensor<16x3xf32>
}

// i has two dimensions, and both are summed over in another order.
// CHECK-LABEL: func.func @one_hot_product_to_scatter_several(
// CHECK: %[[U:[a-z0-9_]+]] = stablehlo.transpose %arg1, dims = [2, 0, 1]
// CHECK: "stablehlo.scatter"(%{{.*}}, %arg0, %[[U]])
func.func @one_hot_product_to_scatter_several(%i: tensor<4x5xi32>, %x: tensor<5x3x4xf32>) -> tensor<16x3xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0, 2] : (tensor<4x5xi32>) -> tensor<4x16x5xi32>
  %places = stablehlo.iota dim = 1 : tensor<4x16x5xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<4x16x5xi32>, tensor<4x16x5xi32>) -> tensor<4x16x5xi1>
  %hot = stablehlo.convert %hits : (tensor<4x16x5xi1>) -> tensor<4x16x5xf32>
  %r = stablehlo.dot_general %hot, %x, contracting_dims = [2, 0] x [0, 2] : (tensor<4x16x5xf32>, tensor<5x3x4xf32>) -> tensor<16x3xf32>
  return %r : tensor<16x3xf32>
}

// Only one of the two dimensions of i is summed over: the result is a table for each index of the
// other.
// CHECK-LABEL: func.func @one_hot_product_to_scatter_not_part(
// CHECK: stablehlo.dot_general
func.func @one_hot_product_to_scatter_not_part(%i: tensor<4x5xi32>, %x: tensor<5x3xf32>) -> tensor<4x16x3xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0, 2] : (tensor<4x5xi32>) -> tensor<4x16x5xi32>
  %places = stablehlo.iota dim = 1 : tensor<4x16x5xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<4x16x5xi32>, tensor<4x16x5xi32>) -> tensor<4x16x5xi1>
  %hot = stablehlo.convert %hits : (tensor<4x16x5xi1>) -> tensor<4x16x5xf32>
  %r = stablehlo.dot_general %hot, %x, contracting_dims = [2] x [0] : (tensor<4x16x5xf32>, tensor<5x3xf32>) -> tensor<4x16x3xf32>
  return %r : tensor<4x16x3xf32>
}
