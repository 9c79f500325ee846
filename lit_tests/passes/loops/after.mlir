// RUN: %jxc opt %s -p loops --split-input-file | FileCheck %s
// RUN: %jxc opt %s -p loops --target tpu --split-input-file | FileCheck %s --check-prefix=TPU

// On TPU, two products must share the rows that the loop writes.
// TPU-NOT: dynamic_update_slice

// The gradients of a weight and of a bias, from the same rows that the loop writes.
// CHECK-LABEL: func.func @sums_of_products_after_loop(
// CHECK-SAME: %[[DW:[a-z0-9]+]]: tensor<8x4xf32>, %[[DB:[a-z0-9]+]]: tensor<4xf32>
// CHECK: %[[L:[a-z0-9_]+]]:3 = stablehlo.while({{.*}}) : tensor<i32>, tensor<2x4xf32>, tensor<3x2x4xf32>
// CHECK: stablehlo.dynamic_update_slice
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.dot_general %{{.*}}, %[[L]]#2, contracting_dims = [0, 1] x [0, 1]
// CHECK: stablehlo.add %[[DW]], %[[P]] : tensor<8x4xf32>
// CHECK: %[[S:[a-z0-9_]+]] = stablehlo.reduce(%[[L]]#2 init: %{{.*}}) applies stablehlo.add across dimensions = [0, 1]
// CHECK: stablehlo.add %[[DB]], %[[S]] : tensor<4xf32>
func.func @sums_of_products_after_loop(%x: tensor<3x2x8xf32>, %h0: tensor<2x4xf32>, %w: tensor<4x4xf32>, %dw0: tensor<8x4xf32>, %db0: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<8x4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %f0 = stablehlo.constant dense<0.0> : tensor<f32>
  %l:4 = stablehlo.while(%i = %zero, %h = %h0, %dw = %dw0, %db = %db0) : tensor<i32>, tensor<2x4xf32>, tensor<8x4xf32>, tensor<4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 2, 8] : (tensor<3x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x8xf32>
    %row = stablehlo.reshape %slice : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %g = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %dz = stablehlo.tanh %g : tensor<2x4xf32>
    %term = stablehlo.dot_general %row, %dz, contracting_dims = [0] x [0] : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    %dw1 = stablehlo.add %dw, %term : tensor<8x4xf32>
    %sum = stablehlo.reduce(%dz init: %f0) applies stablehlo.add across dimensions = [0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
    %db1 = stablehlo.add %db, %sum : tensor<4xf32>
    stablehlo.return %next, %dz, %dw1, %db1 : tensor<i32>, tensor<2x4xf32>, tensor<8x4xf32>, tensor<4xf32>
  }
  return %l#1, %l#2, %l#3 : tensor<2x4xf32>, tensor<8x4xf32>, tensor<4xf32>
}

// -----

// A transposed product is subtracted. The rows are written in the order of those that are read.
// CHECK-LABEL: func.func @sums_of_products_after_loop_reverse(
// CHECK: %[[L:[a-z0-9_]+]]:3 = stablehlo.while(%[[I:[a-zA-Z0-9_]+]] =
// CHECK: %[[AT:[a-z0-9_]+]] = stablehlo.subtract %{{.*}}, %[[I]]
// CHECK: stablehlo.dynamic_update_slice %{{.*}}, %{{.*}}, %[[AT]],
// CHECK: stablehlo.dot_general %[[L]]#2, %{{.*}}, contracting_dims = [0, 1] x [0, 1] : (tensor<3x2x4xf32>, tensor<3x2x8xf32>) -> tensor<4x8xf32>
// CHECK: stablehlo.transpose
// CHECK: stablehlo.subtract
func.func @sums_of_products_after_loop_reverse(%x: tensor<3x2x8xf32>, %h0: tensor<2x4xf32>, %w: tensor<4x4xf32>, %dw0: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<8x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:3 = stablehlo.while(%i = %zero, %h = %h0, %dw = %dw0) : tensor<i32>, tensor<2x4xf32>, tensor<8x4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %last = stablehlo.constant dense<2> : tensor<i32>
    %at = stablehlo.subtract %last, %i : tensor<i32>
    %slice = stablehlo.dynamic_slice %x, %at, %zero, %zero, sizes = [1, 2, 8] : (tensor<3x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x8xf32>
    %row = stablehlo.reshape %slice : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %g = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %dz = stablehlo.tanh %g : tensor<2x4xf32>
    %term = stablehlo.dot_general %dz, %row, contracting_dims = [0] x [0] : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
    %turned = stablehlo.transpose %term, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %dw1 = stablehlo.subtract %dw, %turned : tensor<8x4xf32>
    stablehlo.return %next, %dz, %dw1 : tensor<i32>, tensor<2x4xf32>, tensor<8x4xf32>
  }
  return %l#1, %l#2 : tensor<2x4xf32>, tensor<8x4xf32>
}

// -----

// Each iteration reads the sum so far.
// CHECK-LABEL: func.func @sums_of_products_after_loop_not_of_partial_sums(
// CHECK: stablehlo.while
// CHECK-NOT: dynamic_update_slice
// CHECK: return
func.func @sums_of_products_after_loop_not_of_partial_sums(%x: tensor<3x2x8xf32>, %h0: tensor<2x4xf32>, %w: tensor<4x4xf32>, %dw0: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<8x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:3 = stablehlo.while(%i = %zero, %h = %h0, %dw = %dw0) : tensor<i32>, tensor<2x4xf32>, tensor<8x4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 2, 8] : (tensor<3x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x8xf32>
    %row = stablehlo.reshape %slice : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %g = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %dz = stablehlo.tanh %g : tensor<2x4xf32>
    %term = stablehlo.dot_general %row, %dz, contracting_dims = [0] x [0] : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    %dw1 = stablehlo.add %dw, %term : tensor<8x4xf32>
    %part = stablehlo.slice %dw [0:2, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
    %dz2 = stablehlo.add %dz, %part : tensor<2x4xf32>
    stablehlo.return %next, %dz2, %dw1 : tensor<i32>, tensor<2x4xf32>, tensor<8x4xf32>
  }
  return %l#1, %l#2 : tensor<2x4xf32>, tensor<8x4xf32>
}

// -----

// Not a sum: each iteration doubles it first.
// CHECK-LABEL: func.func @sums_of_products_after_loop_not_scaled(
// CHECK: stablehlo.while
// CHECK-NOT: dynamic_update_slice
// CHECK: return
func.func @sums_of_products_after_loop_not_scaled(%x: tensor<3x2x8xf32>, %h0: tensor<2x4xf32>, %w: tensor<4x4xf32>, %dw0: tensor<8x4xf32>) -> (tensor<2x4xf32>, tensor<8x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:3 = stablehlo.while(%i = %zero, %h = %h0, %dw = %dw0) : tensor<i32>, tensor<2x4xf32>, tensor<8x4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 2, 8] : (tensor<3x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x8xf32>
    %row = stablehlo.reshape %slice : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %g = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %dz = stablehlo.tanh %g : tensor<2x4xf32>
    %term = stablehlo.dot_general %row, %dz, contracting_dims = [0] x [0] : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    %two = stablehlo.constant dense<2.0> : tensor<8x4xf32>
    %twice = stablehlo.multiply %dw, %two : tensor<8x4xf32>
    %dw1 = stablehlo.add %twice, %term : tensor<8x4xf32>
    stablehlo.return %next, %dz, %dw1 : tensor<i32>, tensor<2x4xf32>, tensor<8x4xf32>
  }
  return %l#1, %l#2 : tensor<2x4xf32>, tensor<8x4xf32>
}
