// RUN: %jxc opt %s -p 'indexing{always=true}' | FileCheck %s
// RUN: %jxc opt %s -p 'indexing{always=true},indexing{always=true}' | FileCheck %s

// jax.nn.one_hot(i, 512) @ e: rows of e if e is finite, and the product if it is not. The product
// in the other branch is not rewritten again.
// CHECK-LABEL: func.func @finite_one_hot_product_to_gather(
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<64xi32>
// CHECK-SAME: %[[E:[a-z0-9]+]]: tensor<512x32xf32>
// CHECK: %[[ZEROS:[a-z0-9_]+]] = stablehlo.multiply %[[E]],
// CHECK: %[[TOTAL:[a-z0-9_]+]] = stablehlo.reduce(%[[ZEROS]] init:
// CHECK: %[[IS:[a-z0-9_]+]] = stablehlo.is_finite %[[TOTAL]]
// CHECK-NOT: stablehlo.dot_general
// CHECK: %[[R:[a-z0-9_]+]] = "stablehlo.if"(%[[IS]])
// CHECK: "stablehlo.gather"(%[[E]], %[[I]])
// CHECK-SAME: offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1
// CHECK: }, {
// CHECK: %[[HOT:[a-z0-9_]+]] = stablehlo.convert
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.dot_general %[[HOT]], %[[E]], contracting_dims = [1] x [0]
// CHECK: stablehlo.return %[[P]]
// CHECK-NOT: stablehlo.if
// CHECK: return %[[R]]
func.func @finite_one_hot_product_to_gather(%i: tensor<64xi32>, %e: tensor<512x32xf32>) -> tensor<64x32xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<64xi32>) -> tensor<64x512xi32>
  %places = stablehlo.iota dim = 1 : tensor<64x512xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<64x512xi32>, tensor<64x512xi32>) -> tensor<64x512xi1>
  %hot = stablehlo.convert %hits : (tensor<64x512xi1>) -> tensor<64x512xf32>
  %r = stablehlo.dot_general %hot, %e, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512xf32>, tensor<512x32xf32>) -> tensor<64x32xf32>
  return %r : tensor<64x32xf32>
}

// The one-hot array on the right, as in jnp.einsum("vd,bv->db", e, one_hot(i)).
// CHECK-LABEL: func.func @finite_one_hot_product_to_gather_on_the_right(
// CHECK: "stablehlo.if"
// CHECK: %[[ROWS:[a-z0-9_]+]] = stablehlo.select
// CHECK: stablehlo.transpose %{{.*}}, dims = [1, 0]
// CHECK: stablehlo.dot_general %arg1, %{{.*}}, contracting_dims = [0] x [1]
func.func @finite_one_hot_product_to_gather_on_the_right(%i: tensor<64xi32>, %e: tensor<512x32xf32>) -> tensor<32x64xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<64xi32>) -> tensor<64x512xi32>
  %places = stablehlo.iota dim = 1 : tensor<64x512xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<64x512xi32>, tensor<64x512xi32>) -> tensor<64x512xi1>
  %hot = stablehlo.convert %hits : (tensor<64x512xi1>) -> tensor<64x512xf32>
  %r = stablehlo.dot_general %e, %hot, contracting_dims = [0] x [1] : (tensor<512x32xf32>, tensor<64x512xf32>) -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}

// jax.nn.one_hot(i, 512).T @ x, the gradient by e.
// CHECK-LABEL: func.func @finite_one_hot_product_to_scatter(
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<64xi32>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<64x32xf32>
// CHECK: stablehlo.multiply %[[X]],
// CHECK: %[[IS:[a-z0-9_]+]] = stablehlo.is_finite
// CHECK: %[[R:[a-z0-9_]+]] = "stablehlo.if"(%[[IS]])
// CHECK: "stablehlo.scatter"(%{{.*}}, %[[I]], %[[X]])
// CHECK: }, {
// CHECK: stablehlo.dot_general %{{.*}}, %[[X]], contracting_dims = [0] x [0]
// CHECK: return %[[R]]
func.func @finite_one_hot_product_to_scatter(%i: tensor<64xi32>, %x: tensor<64x32xf32>) -> tensor<512x32xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<64xi32>) -> tensor<64x512xi32>
  %places = stablehlo.iota dim = 1 : tensor<64x512xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<64x512xi32>, tensor<64x512xi32>) -> tensor<64x512xi1>
  %hot = stablehlo.convert %hits : (tensor<64x512xi1>) -> tensor<64x512xf32>
  %r = stablehlo.dot_general %hot, %x, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x512xf32>, tensor<64x32xf32>) -> tensor<512x32xf32>
  return %r : tensor<512x32xf32>
}

// The positions are an iota of fewer dimensions, as `loops` builds them.
// CHECK-LABEL: func.func @finite_one_hot_product_to_gather_positions_broadcast(
// CHECK: "stablehlo.if"
// CHECK: "stablehlo.gather"(%arg1, %arg0)
func.func @finite_one_hot_product_to_gather_positions_broadcast(%i: tensor<4x16xi32>, %e: tensor<512x32xf32>) -> tensor<4x16x32xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0, 1] : (tensor<4x16xi32>) -> tensor<4x16x512xi32>
  %row = stablehlo.iota dim = 1 : tensor<16x512xi32>
  %places = stablehlo.broadcast_in_dim %row, dims = [1, 2] : (tensor<16x512xi32>) -> tensor<4x16x512xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<4x16x512xi32>, tensor<4x16x512xi32>) -> tensor<4x16x512xi1>
  %hot = stablehlo.convert %hits : (tensor<4x16x512xi1>) -> tensor<4x16x512xf32>
  %r = stablehlo.dot_general %hot, %e, contracting_dims = [2] x [0] : (tensor<4x16x512xf32>, tensor<512x32xf32>) -> tensor<4x16x32xf32>
  return %r : tensor<4x16x32xf32>
}

// A comparison by NE: ones everywhere but at the index.
// CHECK-LABEL: func.func @finite_one_hot_product_to_gather_not_cold(
// CHECK-NOT: stablehlo.if
// CHECK: stablehlo.dot_general
func.func @finite_one_hot_product_to_gather_not_cold(%i: tensor<64xi32>, %e: tensor<512x32xf32>) -> tensor<64x32xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<64xi32>) -> tensor<64x512xi32>
  %places = stablehlo.iota dim = 1 : tensor<64x512xi32>
  %hits = stablehlo.compare NE, %all, %places : (tensor<64x512xi32>, tensor<64x512xi32>) -> tensor<64x512xi1>
  %hot = stablehlo.convert %hits : (tensor<64x512xi1>) -> tensor<64x512xf32>
  %r = stablehlo.dot_general %hot, %e, contracting_dims = [1] x [0] : (tensor<64x512xf32>, tensor<512x32xf32>) -> tensor<64x32xf32>
  return %r : tensor<64x32xf32>
}

// CHECK-LABEL: func.func @finite_one_hot_product_to_scatter_not_cold(
// CHECK-NOT: stablehlo.if
// CHECK: stablehlo.dot_general
func.func @finite_one_hot_product_to_scatter_not_cold(%i: tensor<64xi32>, %x: tensor<64x32xf32>) -> tensor<512x32xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<64xi32>) -> tensor<64x512xi32>
  %places = stablehlo.iota dim = 1 : tensor<64x512xi32>
  %hits = stablehlo.compare NE, %all, %places : (tensor<64x512xi32>, tensor<64x512xi32>) -> tensor<64x512xi1>
  %hot = stablehlo.convert %hits : (tensor<64x512xi1>) -> tensor<64x512xf32>
  %r = stablehlo.dot_general %hot, %x, contracting_dims = [0] x [0] : (tensor<64x512xf32>, tensor<64x32xf32>) -> tensor<512x32xf32>
  return %r : tensor<512x32xf32>
}
