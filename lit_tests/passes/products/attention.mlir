// RUN: %jxc opt %s -p 'products{always=true}' --split-input-file | FileCheck %s

// P is the softmax; the sum has a key for each of 80 columns, o has 32.
// CHECK-LABEL: func.func @sum_over_keys_to_features(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<2x512x80xf32>, %[[V:[a-z0-9]+]]: tensor<2x80x32xf32>, %[[D:[a-z0-9]+]]: tensor<2x512x32xf32>
// CHECK: %[[O:[a-z0-9_]+]] = stablehlo.dot_general %[[P]], %[[V]]
// CHECK: %[[M:[a-z0-9_]+]] = stablehlo.multiply %[[D]], %[[O]] : tensor<2x512x32xf32>
// CHECK: stablehlo.reduce(%[[M]] init: %{{.*}}) applies stablehlo.add across dimensions = [2]
func.func @sum_over_keys_to_features(%p: tensor<2x512x80xf32>, %v: tensor<2x80x32xf32>, %d: tensor<2x512x32xf32>) -> (tensor<2x512x32xf32>, tensor<2x512x80xf32>, tensor<2x512xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x512x80xf32>, tensor<2x80x32xf32>) -> tensor<2x512x32xf32>
  %m = stablehlo.dot_general %d, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x512x32xf32>, tensor<2x80x32xf32>) -> tensor<2x512x80xf32>
  %q = stablehlo.multiply %p, %m : tensor<2x512x80xf32>
  %r = stablehlo.reduce(%q init: %z) applies stablehlo.add across dimensions = [2] : (tensor<2x512x80xf32>, tensor<f32>) -> tensor<2x512xf32>
  return %o, %m, %r : tensor<2x512x32xf32>, tensor<2x512x80xf32>, tensor<2x512xf32>
}

// -----

// As JAX writes the gradient of a softmax: P is e / l, with the sum l of e. Heads are between positions and features,
// and both products have V on the left.
// CHECK-LABEL: func.func @sum_over_keys_to_features_of_exponentials(
// CHECK: %[[L:[a-z0-9_]+]] = stablehlo.reduce({{.*}} across dimensions = [3]
// CHECK: %[[O:[a-z0-9_]+]] = stablehlo.dot_general %{{.*}} -> tensor<2x3x16x160xf32>
// CHECK-DAG: %[[A:[a-z0-9_]+]] = stablehlo.transpose %arg2, dims = [0, 2, 1, 3]
// CHECK-DAG: %[[B:[a-z0-9_]+]] = stablehlo.transpose %[[O]], dims = [0, 1, 3, 2]
// CHECK: %[[M:[a-z0-9_]+]] = stablehlo.multiply %[[A]], %[[B]]
// CHECK: %[[S:[a-z0-9_]+]] = stablehlo.reduce(%[[M]] init: %{{.*}}) applies stablehlo.add across dimensions = [3]
// CHECK: stablehlo.multiply %{{.*}}, %[[L]]
func.func @sum_over_keys_to_features_of_exponentials(%x: tensor<2x3x160x96xf32>, %v: tensor<2x96x3x16xf32>, %d: tensor<2x160x3x16xf32>, %c: tensor<2x3x160x1xf32>) -> (tensor<2x3x16x160xf32>, tensor<2x3x160xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<2x3x160x96xf32>
  %l = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [3] : (tensor<2x3x160x96xf32>, tensor<f32>) -> tensor<2x3x160xf32>
  %b = stablehlo.broadcast_in_dim %l, dims = [0, 1, 2] : (tensor<2x3x160xf32>) -> tensor<2x3x160x96xf32>
  %p = stablehlo.divide %e, %b : tensor<2x3x160x96xf32>
  %o = stablehlo.dot_general %v, %p, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x96x3x16xf32>, tensor<2x3x160x96xf32>) -> tensor<2x3x16x160xf32>
  %m = stablehlo.dot_general %d, %v, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x160x3x16xf32>, tensor<2x96x3x16xf32>) -> tensor<2x3x160x96xf32>
  %s = stablehlo.broadcast_in_dim %c, dims = [0, 1, 2, 3] : (tensor<2x3x160x1xf32>) -> tensor<2x3x160x96xf32>
  %q = stablehlo.multiply %m, %s : tensor<2x3x160x96xf32>
  %t = stablehlo.multiply %q, %e : tensor<2x3x160x96xf32>
  %r = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [3] : (tensor<2x3x160x96xf32>, tensor<f32>) -> tensor<2x3x160xf32>
  return %o, %r : tensor<2x3x16x160xf32>, tensor<2x3x160xf32>
}

// -----

// No product of p with v, but with another matrix; a sum over the queries.
// CHECK-LABEL: func.func @sum_over_keys_to_features_not_of_others(
// CHECK: across dimensions = [2] : (tensor<2x512x80xf32>
// CHECK: across dimensions = [1] : (tensor<2x512x80xf32>
func.func @sum_over_keys_to_features_not_of_others(%p: tensor<2x512x80xf32>, %v: tensor<2x80x32xf32>, %d: tensor<2x512x32xf32>, %w: tensor<2x80x32xf32>) -> (tensor<2x512x32xf32>, tensor<2x512xf32>, tensor<2x80xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x512x80xf32>, tensor<2x80x32xf32>) -> tensor<2x512x32xf32>
  %m = stablehlo.dot_general %d, %w, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x512x32xf32>, tensor<2x80x32xf32>) -> tensor<2x512x80xf32>
  %q = stablehlo.multiply %p, %m : tensor<2x512x80xf32>
  %r = stablehlo.reduce(%q init: %z) applies stablehlo.add across dimensions = [2] : (tensor<2x512x80xf32>, tensor<f32>) -> tensor<2x512xf32>
  %n = stablehlo.dot_general %d, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x512x32xf32>, tensor<2x80x32xf32>) -> tensor<2x512x80xf32>
  %s = stablehlo.multiply %p, %n : tensor<2x512x80xf32>
  %t = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x512x80xf32>, tensor<f32>) -> tensor<2x80xf32>
  return %o, %r, %t : tensor<2x512x32xf32>, tensor<2x512xf32>, tensor<2x80xf32>
}

// -----

// The scale of p may be 0.
// CHECK-LABEL: func.func @sum_over_keys_to_features_not_of_any_scale(
// CHECK: across dimensions = [2] : (tensor<2x512x80xf32>
func.func @sum_over_keys_to_features_not_of_any_scale(%e: tensor<2x512x80xf32>, %l: tensor<2x512xf32>, %v: tensor<2x80x32xf32>, %d: tensor<2x512x32xf32>) -> (tensor<2x512x32xf32>, tensor<2x512xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %l, dims = [0, 1] : (tensor<2x512xf32>) -> tensor<2x512x80xf32>
  %p = stablehlo.divide %e, %b : tensor<2x512x80xf32>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x512x80xf32>, tensor<2x80x32xf32>) -> tensor<2x512x32xf32>
  %m = stablehlo.dot_general %d, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x512x32xf32>, tensor<2x80x32xf32>) -> tensor<2x512x80xf32>
  %q = stablehlo.multiply %e, %m : tensor<2x512x80xf32>
  %r = stablehlo.reduce(%q init: %z) applies stablehlo.add across dimensions = [2] : (tensor<2x512x80xf32>, tensor<f32>) -> tensor<2x512xf32>
  return %o, %r : tensor<2x512x32xf32>, tensor<2x512xf32>
}
