// RUN: %jxc opt %s -p indexing | FileCheck %s
// RUN: %jxc opt %s -p indexing,indexing | FileCheck %s

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

// 2^18 multiplications take as long as the test.
// CHECK-LABEL: func.func @finite_one_hot_product_to_gather_not_small(
// CHECK-NOT: stablehlo.if
// CHECK: stablehlo.dot_general
func.func @finite_one_hot_product_to_gather_not_small(%i: tensor<64xi32>, %e: tensor<256x16xf32>) -> tensor<64x16xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<64xi32>) -> tensor<64x256xi32>
  %places = stablehlo.iota dim = 1 : tensor<64x256xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<64x256xi32>, tensor<64x256xi32>) -> tensor<64x256xi1>
  %hot = stablehlo.convert %hits : (tensor<64x256xi1>) -> tensor<64x256xf32>
  %r = stablehlo.dot_general %hot, %e, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x16xf32>) -> tensor<64x16xf32>
  return %r : tensor<64x16xf32>
}

// For four vectors, the test reads more than the product would.
// CHECK-LABEL: func.func @finite_one_hot_product_to_gather_not_few_vectors(
// CHECK-NOT: stablehlo.if
// CHECK: stablehlo.dot_general
func.func @finite_one_hot_product_to_gather_not_few_vectors(%i: tensor<4xi32>, %e: tensor<512x256xf32>) -> tensor<4x256xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<4xi32>) -> tensor<4x512xi32>
  %places = stablehlo.iota dim = 1 : tensor<4x512xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<4x512xi32>, tensor<4x512xi32>) -> tensor<4x512xi1>
  %hot = stablehlo.convert %hits : (tensor<4x512xi1>) -> tensor<4x512xf32>
  %r = stablehlo.dot_general %hot, %e, contracting_dims = [1] x [0] : (tensor<4x512xf32>, tensor<512x256xf32>) -> tensor<4x256xf32>
  return %r : tensor<4x256xf32>
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

// A table of 32 elements: XLA's scatter takes longer than the product.
// CHECK-LABEL: func.func @finite_one_hot_product_to_scatter_not_into_few(
// CHECK-NOT: stablehlo.if
// CHECK: stablehlo.dot_general
func.func @finite_one_hot_product_to_scatter_not_into_few(%i: tensor<16384xi32>, %x: tensor<16384x1xf32>) -> tensor<32x1xf32> {
  %all = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<16384xi32>) -> tensor<16384x32xi32>
  %places = stablehlo.iota dim = 1 : tensor<16384x32xi32>
  %hits = stablehlo.compare EQ, %all, %places, SIGNED : (tensor<16384x32xi32>, tensor<16384x32xi32>) -> tensor<16384x32xi1>
  %hot = stablehlo.convert %hits : (tensor<16384x32xi1>) -> tensor<16384x32xf32>
  %r = stablehlo.dot_general %hot, %x, contracting_dims = [0] x [0] : (tensor<16384x32xf32>, tensor<16384x1xf32>) -> tensor<32x1xf32>
  return %r : tensor<32x1xf32>
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
