// RUN: %jxc opt %s -p reductions --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @sum_of_narrow_to_materialized(
// CHECK: %[[M:[a-z0-9_]+]] = stablehlo.multiply
// CHECK: %[[S:[a-z0-9_]+]] = call @stored_tensor_2048x3xf32_(%[[M]])
// CHECK: stablehlo.reduce(%[[S]] init: %{{[a-z0-9_]+}}) applies stablehlo.add across dimensions = [0, 1]
func.func @sum_of_narrow_to_materialized(%x: tensor<2048x3xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c = stablehlo.constant dense<0.1> : tensor<2048x3xf32>
  %a = stablehlo.add %x, %c : tensor<2048x3xf32>
  %m = stablehlo.multiply %a, %x : tensor<2048x3xf32>
  %r = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2048x3xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// A product of values that are not scalars; many columns; few rows; a maximum.
// CHECK-LABEL: func.func @sum_of_narrow_to_materialized_not_of_others(
// CHECK-NOT: call
// CHECK: return
func.func @sum_of_narrow_to_materialized_not_of_others(%x: tensor<2048x3xf32>, %y: tensor<128x64xf32>, %z: tensor<100x3xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c = stablehlo.constant dense<0.1> : tensor<2048x3xf32>
  %d = stablehlo.constant dense<0.1> : tensor<128x64xf32>
  %e = stablehlo.constant dense<0.1> : tensor<100x3xf32>
  %m = stablehlo.multiply %x, %x : tensor<2048x3xf32>
  %n = stablehlo.add %y, %d : tensor<128x64xf32>
  %o = stablehlo.add %z, %e : tensor<100x3xf32>
  %p = stablehlo.add %x, %c : tensor<2048x3xf32>
  %r = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2048x3xf32>, tensor<f32>) -> tensor<f32>
  %s = stablehlo.reduce(%n init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<128x64xf32>, tensor<f32>) -> tensor<f32>
  %t = stablehlo.reduce(%o init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<100x3xf32>, tensor<f32>) -> tensor<f32>
  %u = stablehlo.reduce(%p init: %zero) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<2048x3xf32>, tensor<f32>) -> tensor<f32>
  return %r, %s, %t, %u : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// As `jnp.vdot` writes it.
// CHECK-LABEL: func.func @dot_of_narrow_to_materialized(
// CHECK: %[[D:[a-z0-9_]+]] = stablehlo.divide
// CHECK: %[[S:[a-z0-9_]+]] = call @stored_tensor_2048x3xf32_(%[[D]])
// CHECK: %[[F:[a-z0-9_]+]] = stablehlo.reshape %[[S]]
// CHECK: stablehlo.dot_general %[[F]], %[[F]], contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST]
func.func @dot_of_narrow_to_materialized(%x: tensor<2048x3xf32>) -> tensor<f32> {
  %c = stablehlo.constant dense<0.1> : tensor<2048x3xf32>
  %d = stablehlo.divide %x, %c : tensor<2048x3xf32>
  %f = stablehlo.reshape %d : (tensor<2048x3xf32>) -> tensor<6144xf32>
  %r = stablehlo.dot_general %f, %f, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<6144xf32>, tensor<6144xf32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// A product of two different vectors was not measured. An outer product is not a sum.
// CHECK-LABEL: func.func @dot_of_narrow_to_materialized_not_of_two(
// CHECK-NOT: call
// CHECK: return
func.func @dot_of_narrow_to_materialized_not_of_two(%x: tensor<2048x3xf32>, %y: tensor<6144xf32>) -> (tensor<f32>, tensor<6144x6144xf32>) {
  %c = stablehlo.constant dense<0.1> : tensor<2048x3xf32>
  %d = stablehlo.divide %x, %c : tensor<2048x3xf32>
  %f = stablehlo.reshape %d : (tensor<2048x3xf32>) -> tensor<6144xf32>
  %r = stablehlo.dot_general %f, %y, contracting_dims = [0] x [0] : (tensor<6144xf32>, tensor<6144xf32>) -> tensor<f32>
  %s = stablehlo.dot_general %f, %f, contracting_dims = [] x [] : (tensor<6144xf32>, tensor<6144xf32>) -> tensor<6144x6144xf32>
  return %r, %s : tensor<f32>, tensor<6144x6144xf32>
}

// The gradient of a layer's weights. The input of the layer is computed by four ops.
// CHECK-LABEL: func.func @dot_over_rows_to_materialized(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x128x128xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4x128x8xf32>
// CHECK: %[[H:[a-z0-9_]+]] = stablehlo.multiply %[[X]]
// CHECK: %[[S:[a-z0-9_]+]] = call @stored_tensor_4x128x128xf32_(%[[H]])
// CHECK: stablehlo.dot_general %[[S]], %[[Y]], contracting_dims = [0, 1] x [0, 1], precision = [HIGH, HIGH]
func.func @dot_over_rows_to_materialized(%x: tensor<4x128x128xf32>, %y: tensor<4x128x8xf32>) -> tensor<128x8xf32> {
  %a = stablehlo.abs %x : tensor<4x128x128xf32>
  %b = stablehlo.tanh %a : tensor<4x128x128xf32>
  %c = stablehlo.add %b, %x : tensor<4x128x128xf32>
  %h = stablehlo.multiply %x, %c : tensor<4x128x128xf32>
  %r = stablehlo.dot_general %h, %y, contracting_dims = [0, 1] x [0, 1], precision = [HIGH, HIGH] : (tensor<4x128x128xf32>, tensor<4x128x8xf32>) -> tensor<128x8xf32>
  return %r : tensor<128x8xf32>
}

// -----

// An operand of two ops; a sum over the last dimensions; a sum over one dimension.
// CHECK-LABEL: func.func @dot_over_rows_to_materialized_not_of_others(
// CHECK-NOT: call
// CHECK: return
func.func @dot_over_rows_to_materialized_not_of_others(%x: tensor<4x128x128xf32>, %y: tensor<4x128x32xf32>, %z: tensor<128x128x2xf32>, %w: tensor<4x8xf32>) -> (tensor<128x32xf32>, tensor<4x2xf32>, tensor<128x128x8xf32>) {
  %a = stablehlo.abs %x : tensor<4x128x128xf32>
  %b = stablehlo.tanh %a : tensor<4x128x128xf32>
  %c = stablehlo.add %b, %x : tensor<4x128x128xf32>
  %h = stablehlo.multiply %x, %c : tensor<4x128x128xf32>
  %r = stablehlo.dot_general %b, %y, contracting_dims = [0, 1] x [0, 1] : (tensor<4x128x128xf32>, tensor<4x128x32xf32>) -> tensor<128x32xf32>
  %s = stablehlo.dot_general %h, %z, contracting_dims = [1, 2] x [0, 1] : (tensor<4x128x128xf32>, tensor<128x128x2xf32>) -> tensor<4x2xf32>
  %t = stablehlo.dot_general %h, %w, contracting_dims = [0] x [0] : (tensor<4x128x128xf32>, tensor<4x8xf32>) -> tensor<128x128x8xf32>
  return %r, %s, %t : tensor<128x32xf32>, tensor<4x2xf32>, tensor<128x128x8xf32>
}
