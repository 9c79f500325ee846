// RUN: %jxc opt %s -p products | FileCheck %s

// Scores of one query for each of eight heads, four of which share keys: no key is copied.
// CHECK-LABEL: func.func @product_of_repeated(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x8x1x16xf32>
// CHECK-SAME: %[[K:[a-z0-9]+]]: tensor<2x2x64x16xf32>
// CHECK-NOT: stablehlo.broadcast_in_dim
// CHECK: %[[SPLIT:[a-z0-9_]+]] = stablehlo.reshape %[[Q]] : (tensor<2x8x1x16xf32>) -> tensor<2x2x4x1x16xf32>
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.dot_general %[[SPLIT]], %[[K]], batching_dims = [0, 1] x [0, 1], contracting_dims = [4] x [3]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[P]] : (tensor<2x2x4x1x64xf32>) -> tensor<2x8x1x64xf32>
// CHECK-NEXT: return %[[R]]
func.func @product_of_repeated(%q: tensor<2x8x1x16xf32>, %k: tensor<2x2x64x16xf32>) -> tensor<2x8x1x64xf32> {
  %wide = stablehlo.broadcast_in_dim %k, dims = [0, 1, 3, 4] : (tensor<2x2x64x16xf32>) -> tensor<2x2x4x64x16xf32>
  %keys = stablehlo.reshape %wide : (tensor<2x2x4x64x16xf32>) -> tensor<2x8x64x16xf32>
  %r = stablehlo.dot_general %q, %keys, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x8x1x16xf32>, tensor<2x8x64x16xf32>) -> tensor<2x8x1x64xf32>
  return %r : tensor<2x8x1x64xf32>
}

// Heads after positions: the rows are transposed to where the result has them.
// CHECK-LABEL: func.func @product_of_repeated_heads_last(
// CHECK: %[[SPLIT:[a-z0-9_]+]] = stablehlo.reshape %arg0 : (tensor<2x3x8x16xbf16>) -> tensor<2x3x2x4x16xbf16>
// CHECK: %[[ROWS:[a-z0-9_]+]] = stablehlo.transpose %[[SPLIT]], dims = [0, 2, 3, 1, 4]
// CHECK: stablehlo.dot_general %[[ROWS]], %arg1, batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [3]{{.*}} -> tensor<2x2x4x3x64xf32>
func.func @product_of_repeated_heads_last(%q: tensor<2x3x8x16xbf16>, %k: tensor<2x64x2x16xbf16>) -> tensor<2x8x3x64xf32> {
  %wide = stablehlo.broadcast_in_dim %k, dims = [0, 1, 2, 4] : (tensor<2x64x2x16xbf16>) -> tensor<2x64x2x4x16xbf16>
  %keys = stablehlo.reshape %wide : (tensor<2x64x2x4x16xbf16>) -> tensor<2x64x8x16xbf16>
  %r = stablehlo.dot_general %q, %keys, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x3x8x16xbf16>, tensor<2x64x8x16xbf16>) -> tensor<2x8x3x64xf32>
  return %r : tensor<2x8x3x64xf32>
}

// The repeated factor on the left, as jnp.einsum writes the product with the values.
// CHECK-LABEL: func.func @product_of_repeated_on_the_left(
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.dot_general %{{.*}}, %arg1, batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [1]{{.*}} -> tensor<2x2x4x3x16xf32>
// CHECK: %[[M:[a-z0-9_]+]] = stablehlo.reshape %[[P]] : (tensor<2x2x4x3x16xf32>) -> tensor<2x8x3x16xf32>
// CHECK: stablehlo.transpose %[[M]], dims = [0, 1, 3, 2]
func.func @product_of_repeated_on_the_left(%p: tensor<2x8x3x64xf32>, %v: tensor<2x64x2x16xf32>) -> tensor<2x8x16x3xf32> {
  %wide = stablehlo.broadcast_in_dim %v, dims = [0, 1, 2, 4] : (tensor<2x64x2x16xf32>) -> tensor<2x64x2x4x16xf32>
  %values = stablehlo.reshape %wide : (tensor<2x64x2x4x16xf32>) -> tensor<2x64x8x16xf32>
  %r = stablehlo.dot_general %values, %p, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x64x8x16xf32>, tensor<2x8x3x64xf32>) -> tensor<2x8x16x3xf32>
  return %r : tensor<2x8x16x3xf32>
}

// With many queries the copies are a small part of the work.
// CHECK-LABEL: func.func @product_of_repeated_not_many_rows(
// CHECK: stablehlo.broadcast_in_dim
// CHECK: stablehlo.dot_general %arg0, %{{.*}}, batching_dims = [0, 1] x [0, 1]
func.func @product_of_repeated_not_many_rows(%q: tensor<2x8x2048x16xf32>, %k: tensor<2x2x64x16xf32>) -> tensor<2x8x2048x64xf32> {
  %wide = stablehlo.broadcast_in_dim %k, dims = [0, 1, 3, 4] : (tensor<2x2x64x16xf32>) -> tensor<2x2x4x64x16xf32>
  %keys = stablehlo.reshape %wide : (tensor<2x2x4x64x16xf32>) -> tensor<2x8x64x16xf32>
  %r = stablehlo.dot_general %q, %keys, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x8x2048x16xf32>, tensor<2x8x64x16xf32>) -> tensor<2x8x2048x64xf32>
  return %r : tensor<2x8x2048x64xf32>
}

// jnp.tile: all keys stand one after the other, several times.
// CHECK-LABEL: func.func @product_of_repeated_not_tiled(
// CHECK: stablehlo.dot_general %arg0, %{{.*}}, batching_dims = [0, 1] x [0, 1]
func.func @product_of_repeated_not_tiled(%q: tensor<2x8x1x16xf32>, %k: tensor<2x2x64x16xf32>) -> tensor<2x8x1x64xf32> {
  %wide = stablehlo.broadcast_in_dim %k, dims = [0, 2, 3, 4] : (tensor<2x2x64x16xf32>) -> tensor<2x4x2x64x16xf32>
  %keys = stablehlo.reshape %wide : (tensor<2x4x2x64x16xf32>) -> tensor<2x8x64x16xf32>
  %r = stablehlo.dot_general %q, %keys, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x8x1x16xf32>, tensor<2x8x64x16xf32>) -> tensor<2x8x1x64xf32>
  return %r : tensor<2x8x1x64xf32>
}

// The batch of heads is followed by another: the result would have to be transposed.
// CHECK-LABEL: func.func @product_of_repeated_not_first_in_batch(
// CHECK: stablehlo.dot_general %arg0, %{{.*}}, batching_dims = [1, 0] x [1, 0]
func.func @product_of_repeated_not_first_in_batch(%q: tensor<2x8x1x16xf32>, %k: tensor<2x2x64x16xf32>) -> tensor<8x2x1x64xf32> {
  %wide = stablehlo.broadcast_in_dim %k, dims = [0, 1, 3, 4] : (tensor<2x2x64x16xf32>) -> tensor<2x2x4x64x16xf32>
  %keys = stablehlo.reshape %wide : (tensor<2x2x4x64x16xf32>) -> tensor<2x8x64x16xf32>
  %r = stablehlo.dot_general %q, %keys, batching_dims = [1, 0] x [1, 0], contracting_dims = [3] x [3] : (tensor<2x8x1x16xf32>, tensor<2x8x64x16xf32>) -> tensor<8x2x1x64xf32>
  return %r : tensor<8x2x1x64xf32>
}

// All heads share one key for each position.
// CHECK-LABEL: func.func @product_of_repeated_once(
// CHECK: %[[K:[a-z0-9_]+]] = stablehlo.reshape %arg1 : (tensor<2x64x16xf32>) -> tensor<2x64x1x16xf32>
// CHECK: %[[SPLIT:[a-z0-9_]+]] = stablehlo.reshape %arg0 : (tensor<2x1x8x16xf32>) -> tensor<2x1x1x8x16xf32>
// CHECK: %[[ROWS:[a-z0-9_]+]] = stablehlo.transpose %[[SPLIT]], dims = [0, 2, 3, 1, 4]
// CHECK: stablehlo.dot_general %[[ROWS]], %[[K]], batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [3]
func.func @product_of_repeated_once(%q: tensor<2x1x8x16xf32>, %k: tensor<2x64x16xf32>) -> tensor<2x8x1x64xf32> {
  %keys = stablehlo.broadcast_in_dim %k, dims = [0, 1, 3] : (tensor<2x64x16xf32>) -> tensor<2x64x8x16xf32>
  %r = stablehlo.dot_general %q, %keys, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x1x8x16xf32>, tensor<2x64x8x16xf32>) -> tensor<2x8x1x64xf32>
  return %r : tensor<2x8x1x64xf32>
}

// The second extent is that of the first dimension, which the broadcast adds: each head has its own
// keys.
// CHECK-LABEL: func.func @product_of_repeated_not_each_head(
// CHECK: %[[K:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %arg1, dims = [1, 2, 3]
// CHECK: stablehlo.dot_general %arg0, %[[K]], batching_dims = [0, 1] x [0, 1]
func.func @product_of_repeated_not_each_head(%q: tensor<4x4x1x8xf32>, %k: tensor<4x8x5xf32>) -> tensor<4x4x1x5xf32> {
  %keys = stablehlo.broadcast_in_dim %k, dims = [1, 2, 3] : (tensor<4x8x5xf32>) -> tensor<4x4x8x5xf32>
  %r = stablehlo.dot_general %q, %keys, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<4x4x1x8xf32>, tensor<4x4x8x5xf32>) -> tensor<4x4x1x5xf32>
  return %r : tensor<4x4x1x5xf32>
}
