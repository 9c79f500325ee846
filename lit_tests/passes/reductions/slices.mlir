// RUN: %jxc opt %s -p 'reductions{always=true}' --split-input-file | FileCheck %s

// A norm of points in space. The sum starts from 0.0. This addition is written as a select, because
// XLA would fold x + 0.0 into x.
// CHECK-LABEL: func.func @reduce_to_slices(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<5600x3xf32>
// CHECK: %[[S0:[a-z0-9_]+]] = stablehlo.select {{.*}} tensor<5600xf32>
// CHECK: %[[S1:[a-z0-9_]+]] = stablehlo.add %[[S0]], %{{[a-z0-9_]+}} : tensor<5600xf32>
// CHECK: %[[S2:[a-z0-9_]+]] = stablehlo.add %[[S1]], %{{[a-z0-9_]+}} : tensor<5600xf32>
// CHECK-NEXT: return %[[S2]]
func.func @reduce_to_slices(%x: tensor<5600x3xf32>) -> tensor<5600xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<5600x3xf32>, tensor<f32>) -> tensor<5600xf32>
  return %r : tensor<5600xf32>
}

// XLA does not fuse a reduction into several users, but it would fuse slices.
// CHECK-LABEL: func.func @reduce_to_slices_used_twice(
// CHECK: %[[R:[a-z0-9_]+]] = call @stored_tensor_8400xf32_(
// CHECK: return %[[R]], %[[R]]
func.func @reduce_to_slices_used_twice(%x: tensor<8400x2xf32>) -> (tensor<8400xf32>, tensor<8400xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8400x2xf32>, tensor<f32>) -> tensor<8400xf32>
  return %r, %r : tensor<8400xf32>, tensor<8400xf32>
}

// No number is less than -inf: the initial value needs no op.
// CHECK-LABEL: func.func @reduce_to_slices_maximum(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8400x2xf32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:8400, 0:1]
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = stablehlo.reshape %[[A]]
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:8400, 1:2]
// CHECK-NEXT: %[[D:[a-z0-9_]+]] = stablehlo.reshape %[[C]]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.maximum %[[B]], %[[D]]
// CHECK-NEXT: return %[[R]]
func.func @reduce_to_slices_maximum(%x: tensor<8400x2xf32>) -> tensor<8400xf32> {
  %zero = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<8400x2xf32>, tensor<f32>) -> tensor<8400xf32>
  return %r : tensor<8400xf32>
}

// A mean of 2x2 pixels; 16-bit numbers are summed in f32.
// CHECK-LABEL: func.func @reduce_to_slices_two_axes(
// CHECK-NOT: stablehlo.reduce
// CHECK-COUNT-4: stablehlo.convert %{{.*}} -> tensor<48x48x3xf32>
// CHECK-COUNT-3: stablehlo.add %{{.*}} : tensor<48x48x3xf32>
// CHECK: stablehlo.convert %{{.*}} -> tensor<48x48x3xbf16>
func.func @reduce_to_slices_two_axes(%x: tensor<48x2x48x2x3xbf16>) -> tensor<48x48x3xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1, 3] : (tensor<48x2x48x2x3xbf16>, tensor<bf16>) -> tensor<48x48x3xbf16>
  return %r : tensor<48x48x3xbf16>
}

// Few rows, each of any length.
// CHECK-LABEL: func.func @reduce_to_slices_leading(
// CHECK-NOT: stablehlo.reduce
// CHECK-COUNT-4: stablehlo.slice
func.func @reduce_to_slices_leading(%x: tensor<4x5000xf64>) -> tensor<5000xf64> {
  %zero = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.minimum across dimensions = [0] : (tensor<4x5000xf64>, tensor<f64>) -> tensor<5000xf64>
  return %r : tensor<5000xf64>
}

// XLA vectorizes the reduction of more elements.
// CHECK-LABEL: func.func @reduce_to_slices_not_many(
// CHECK: stablehlo.reduce(
// CHECK-NOT: stablehlo.slice
// CHECK: return
func.func @reduce_to_slices_not_many(%x: tensor<2000x17xf32>) -> tensor<2000xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2000x17xf32>, tensor<f32>) -> tensor<2000xf32>
  return %r : tensor<2000xf32>
}

// XLA vectorizes sums of integers.
// CHECK-LABEL: func.func @reduce_to_slices_not_integers(
// CHECK: stablehlo.reduce(
// CHECK-NOT: stablehlo.slice
// CHECK: return
func.func @reduce_to_slices_not_integers(%x: tensor<5600x3xi32>) -> tensor<5600xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<5600x3xi32>, tensor<i32>) -> tensor<5600xi32>
  return %r : tensor<5600xi32>
}

// The reduction of XLA is as fast for products.
// CHECK-LABEL: func.func @reduce_to_slices_not_products(
// CHECK: stablehlo.reduce(
// CHECK-NOT: stablehlo.slice
// CHECK: return
func.func @reduce_to_slices_not_products(%x: tensor<5600x3xf32>) -> tensor<5600xf32> {
  %zero = stablehlo.constant dense<1.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.multiply across dimensions = [1] : (tensor<5600x3xf32>, tensor<f32>) -> tensor<5600xf32>
  return %r : tensor<5600xf32>
}

// The number of rows is unknown.
// CHECK-LABEL: func.func @reduce_to_slices_not_dynamic(
// CHECK: stablehlo.reduce(
// CHECK-NOT: stablehlo.slice
// CHECK: return
func.func @reduce_to_slices_not_dynamic(%x: tensor<?x3xf32>) -> tensor<?xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<?x3xf32>, tensor<f32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
