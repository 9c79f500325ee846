// RUN: %jxc opt %s -p reductions --target tpu --split-input-file | FileCheck %s
// RUN: %jxc opt %s -p reductions --target gpu --split-input-file | FileCheck %s --check-prefix=GPU

// As jax.nn.softmax and jnp.einsum write attention, with heads between positions and features.
// CHECK-LABEL: func.func @sum_of_softmax_to_column(
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<2x2x256x256xf32>, %[[V:[a-z0-9]+]]: tensor<2x256x2x2xf32>
// CHECK: %[[E:[a-z0-9_]+]] = stablehlo.exponential
// CHECK: %[[ONE:[a-z0-9_]+]] = stablehlo.constant dense<1.000000e+00> : tensor<2x256x2x1xf32>
// CHECK: %[[W:[a-z0-9_]+]] = stablehlo.concatenate %[[V]], %[[ONE]], dim = 3
// CHECK: %[[D:[a-z0-9_]+]] = stablehlo.dot_general %[[W]], %[[E]], batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3]{{.*}} -> tensor<2x2x3x256xf32>
// CHECK: stablehlo.slice %[[D]] [0:2, 0:2, 2:3, 0:256]
// CHECK: %[[O:[a-z0-9_]+]] = stablehlo.slice %[[D]] [0:2, 0:2, 0:2, 0:256]
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [0, 1, 3] : (tensor<2x2x256xf32>) -> tensor<2x2x2x256xf32>
// CHECK: %[[Q:[a-z0-9_]+]] = stablehlo.divide %[[O]], %[[B]]
// CHECK-NEXT: return %[[Q]]
// GPU-LABEL: func.func @sum_of_softmax_to_column(
// GPU: stablehlo.divide {{.*}} : tensor<2x2x256x256xf32>
func.func @sum_of_softmax_to_column(%s: tensor<2x2x256x256xf32>, %v: tensor<2x256x2x2xf32>) -> tensor<2x2x2x256xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x2x256x256xf32>, tensor<f32>) -> tensor<2x2x256xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2] : (tensor<2x2x256xf32>) -> tensor<2x2x256x256xf32>
  %x = stablehlo.subtract %s, %mb : tensor<2x2x256x256xf32>
  %e = stablehlo.exponential %x : tensor<2x2x256x256xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x2x256x256xf32>, tensor<f32>) -> tensor<2x2x256xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1, 2] : (tensor<2x2x256xf32>) -> tensor<2x2x256x256xf32>
  %p = stablehlo.divide %e, %tb : tensor<2x2x256x256xf32>
  %o = stablehlo.dot_general %v, %p, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x256x2x2xf32>, tensor<2x2x256x256xf32>) -> tensor<2x2x2x256xf32>
  return %o : tensor<2x2x2x256xf32>
}

// -----

// The values are computed after the sum, so that they are computed again before it.
// CHECK-LABEL: func.func @sum_of_softmax_to_column_of_later_values(
// CHECK: %[[V:[a-z0-9_]+]] = stablehlo.transpose %arg1, dims = [0, 2, 1]
// CHECK: %[[W:[a-z0-9_]+]] = stablehlo.concatenate %[[V]], %{{.*}}, dim = 2
// CHECK: %[[D:[a-z0-9_]+]] = stablehlo.dot_general %{{.*}}, %[[W]], {{.*}} -> tensor<1x1024x3xf32>
// CHECK-NOT: stablehlo.dot_general
// CHECK: %[[Q:[a-z0-9_]+]] = stablehlo.divide {{.*}} : tensor<1x1024x2xf32>
// CHECK-NEXT: return %[[Q]]
func.func @sum_of_softmax_to_column_of_later_values(%s: tensor<1x1024x256xf32>, %v: tensor<1x2x256xf32>) -> tensor<1x1024x2xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<1x1024x256xf32>, tensor<f32>) -> tensor<1x1024xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<1x1024x256xf32>
  %x = stablehlo.subtract %s, %mb : tensor<1x1024x256xf32>
  %e = stablehlo.exponential %x : tensor<1x1024x256xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x1024x256xf32>, tensor<f32>) -> tensor<1x1024xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<1x1024x256xf32>
  %p = stablehlo.divide %e, %tb : tensor<1x1024x256xf32>
  %w = stablehlo.transpose %v, dims = [0, 2, 1] : (tensor<1x2x256xf32>) -> tensor<1x256x2xf32>
  %o = stablehlo.dot_general %p, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<1x1024x256xf32>, tensor<1x256x2xf32>) -> tensor<1x1024x2xf32>
  return %o : tensor<1x1024x2xf32>
}

// -----
// The product with the column of ones exists, as `sum-of-softmax-to-column` leaves it.
// CHECK-LABEL: func.func @product_of_quotients_to_columns(
// CHECK: %[[W:[a-z0-9_]+]] = stablehlo.concatenate
// CHECK: %[[D:[a-z0-9_]+]] = stablehlo.dot_general %{{.*}}, %[[W]]
// CHECK: %[[T:[a-z0-9_]+]] = stablehlo.reshape %{{.*}} : (tensor<2x4x1xf32>) -> tensor<2x4xf32>
// CHECK-NOT: stablehlo.dot_general
// CHECK: %[[O:[a-z0-9_]+]] = stablehlo.slice %[[D]] [0:2, 0:4, 0:3]
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %[[T]], dims = [0, 1]
// CHECK: %[[Q:[a-z0-9_]+]] = stablehlo.divide %[[O]], %[[B]] : tensor<2x4x3xf32>
// CHECK-NEXT: return %[[Q]]
func.func @product_of_quotients_to_columns(%s: tensor<2x4x6xf32>, %v: tensor<2x6x3xf32>) -> tensor<2x4x3xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<2x6x1xf32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %x = stablehlo.subtract %s, %mb : tensor<2x4x6xf32>
  %e = stablehlo.exponential %x : tensor<2x4x6xf32>
  %w = stablehlo.concatenate %v, %one, dim = 2 : (tensor<2x6x3xf32>, tensor<2x6x1xf32>) -> tensor<2x6x4xf32>
  %d = stablehlo.dot_general %e, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf32>, tensor<2x6x4xf32>) -> tensor<2x4x4xf32>
  %c = stablehlo.slice %d [0:2, 0:4, 3:4] : (tensor<2x4x4xf32>) -> tensor<2x4x1xf32>
  %t = stablehlo.reshape %c : (tensor<2x4x1xf32>) -> tensor<2x4xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %p = stablehlo.divide %e, %tb : tensor<2x4x6xf32>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf32>, tensor<2x6x3xf32>) -> tensor<2x4x3xf32>
  return %o : tensor<2x4x3xf32>
}

// -----
// The column is divided by, but the other product is with other values.
// CHECK-LABEL: func.func @product_of_quotients_to_columns_not_of_others(
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.divide {{.*}} : tensor<2x4x6xf32>
// CHECK: stablehlo.dot_general
func.func @product_of_quotients_to_columns_not_of_others(%s: tensor<2x4x6xf32>, %v: tensor<2x6x3xf32>, %u: tensor<2x6x3xf32>) -> tensor<2x4x3xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<2x6x1xf32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %x = stablehlo.subtract %s, %mb : tensor<2x4x6xf32>
  %e = stablehlo.exponential %x : tensor<2x4x6xf32>
  %w = stablehlo.concatenate %v, %one, dim = 2 : (tensor<2x6x3xf32>, tensor<2x6x1xf32>) -> tensor<2x6x4xf32>
  %d = stablehlo.dot_general %e, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf32>, tensor<2x6x4xf32>) -> tensor<2x4x4xf32>
  %c = stablehlo.slice %d [0:2, 0:4, 3:4] : (tensor<2x4x4xf32>) -> tensor<2x4x1xf32>
  %t = stablehlo.reshape %c : (tensor<2x4x1xf32>) -> tensor<2x4xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %p = stablehlo.divide %e, %tb : tensor<2x4x6xf32>
  %o = stablehlo.dot_general %p, %u, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf32>, tensor<2x6x3xf32>) -> tensor<2x4x3xf32>
  return %o : tensor<2x4x3xf32>
}

// -----

// The weights are a result, whose rows sum to 1; the exponentials are not of differences to the maximum.
// CHECK-LABEL: func.func @sum_of_softmax_to_column_not_of_results(
// CHECK-NOT: stablehlo.concatenate
// CHECK: return
func.func @sum_of_softmax_to_column_not_of_results(%s: tensor<1024x256xf32>, %v: tensor<256x2xf32>) -> (tensor<1024x2xf32>, tensor<1024x256xf32>, tensor<1024x2xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<1024x256xf32>, tensor<f32>) -> tensor<1024xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<1024xf32>) -> tensor<1024x256xf32>
  %x = stablehlo.subtract %s, %mb : tensor<1024x256xf32>
  %e = stablehlo.exponential %x : tensor<1024x256xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x256xf32>, tensor<f32>) -> tensor<1024xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<1024xf32>) -> tensor<1024x256xf32>
  %p = stablehlo.divide %e, %tb : tensor<1024x256xf32>
  %o = stablehlo.dot_general %p, %v, contracting_dims = [1] x [0] : (tensor<1024x256xf32>, tensor<256x2xf32>) -> tensor<1024x2xf32>
  %e2 = stablehlo.exponential %s : tensor<1024x256xf32>
  %t2 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x256xf32>, tensor<f32>) -> tensor<1024xf32>
  %tb2 = stablehlo.broadcast_in_dim %t2, dims = [0] : (tensor<1024xf32>) -> tensor<1024x256xf32>
  %p2 = stablehlo.divide %e2, %tb2 : tensor<1024x256xf32>
  %o2 = stablehlo.dot_general %p2, %v, contracting_dims = [1] x [0] : (tensor<1024x256xf32>, tensor<256x2xf32>) -> tensor<1024x2xf32>
  return %o, %p, %o2 : tensor<1024x2xf32>, tensor<1024x256xf32>, tensor<1024x2xf32>
}

// -----

// The highest precision.
// CHECK-LABEL: func.func @sum_of_softmax_to_column_not_at_highest(
// CHECK-NOT: stablehlo.concatenate
// CHECK: return
func.func @sum_of_softmax_to_column_not_at_highest(%s: tensor<1024x256xf32>, %v: tensor<256x2xf32>) -> tensor<1024x2xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<1024x256xf32>, tensor<f32>) -> tensor<1024xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<1024xf32>) -> tensor<1024x256xf32>
  %x = stablehlo.subtract %s, %mb : tensor<1024x256xf32>
  %e = stablehlo.exponential %x : tensor<1024x256xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x256xf32>, tensor<f32>) -> tensor<1024xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<1024xf32>) -> tensor<1024x256xf32>
  %p = stablehlo.divide %e, %tb : tensor<1024x256xf32>
  %o = stablehlo.dot_general %p, %v, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<1024x256xf32>, tensor<256x2xf32>) -> tensor<1024x2xf32>
  return %o : tensor<1024x2xf32>
}
// -----

// 64 keys.
// CHECK-LABEL: func.func @sum_of_softmax_to_column_not_of_few_keys(
// CHECK-NOT: stablehlo.concatenate
// CHECK: return
func.func @sum_of_softmax_to_column_not_of_few_keys(%s: tensor<4096x64xf32>, %v: tensor<64x2xf32>) -> tensor<4096x2xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<4096x64xf32>, tensor<f32>) -> tensor<4096xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<4096xf32>) -> tensor<4096x64xf32>
  %x = stablehlo.subtract %s, %mb : tensor<4096x64xf32>
  %e = stablehlo.exponential %x : tensor<4096x64xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x64xf32>, tensor<f32>) -> tensor<4096xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<4096xf32>) -> tensor<4096x64xf32>
  %p = stablehlo.divide %e, %tb : tensor<4096x64xf32>
  %o = stablehlo.dot_general %p, %v, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x2xf32>) -> tensor<4096x2xf32>
  return %o : tensor<4096x2xf32>
}
