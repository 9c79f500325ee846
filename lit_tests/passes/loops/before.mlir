// RUN: %jxc opt %s -p loops --split-input-file | FileCheck %s

// The product of all rows in front of the loop, which reads a row of it.
// CHECK-LABEL: func.func @products_of_rows_before_loop(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x2x8xf32>, %[[W:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK: %[[Y:[a-z0-9_]+]] = stablehlo.dot_general %{{.*}}, %[[W]], contracting_dims = [2] x [0] : (tensor<3x2x8xf32>, tensor<8x4xf32>) -> tensor<3x2x4xf32>
// CHECK: stablehlo.while(%[[I:[a-zA-Z0-9_]+]] =
// CHECK: stablehlo.dynamic_slice %[[Y]], %[[I]], %{{.*}}, sizes = [1, 2, 4]
// CHECK-NOT: dot_general
func.func @products_of_rows_before_loop(%x: tensor<3x2x8xf32>, %w: tensor<8x4xf32>, %h0: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %h = %h0) : tensor<i32>, tensor<2x4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 2, 8] : (tensor<3x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x8xf32>
    %row = stablehlo.reshape %slice : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %y = stablehlo.dot_general %row, %w, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %h1 = stablehlo.add %h, %y : tensor<2x4xf32>
    %h2 = stablehlo.tanh %h1 : tensor<2x4xf32>
    stablehlo.return %next, %h2 : tensor<i32>, tensor<2x4xf32>
  }
  return %l#1 : tensor<2x4xf32>
}

// -----

// From the last row to the first, with elementwise ops before and after the product.
// CHECK-LABEL: func.func @products_of_rows_before_loop_reverse(
// CHECK: %[[T:[a-z0-9_]+]] = stablehlo.tanh %{{.*}} : tensor<3x2x8xf32>
// CHECK: %[[Y:[a-z0-9_]+]] = stablehlo.dot_general %[[T]],
// CHECK: stablehlo.add %[[Y]], %{{.*}} : tensor<3x2x4xf32>
// CHECK: stablehlo.while(%[[I:[a-zA-Z0-9_]+]] =
// CHECK: %[[AT:[a-z0-9_]+]] = stablehlo.subtract %{{.*}}, %[[I]]
// CHECK: stablehlo.dynamic_slice %{{.*}}, %[[AT]], %{{.*}}, sizes = [1, 2, 4]
// CHECK-NOT: dot_general
func.func @products_of_rows_before_loop_reverse(%x: tensor<3x2x8xf32>, %w: tensor<8x4xf32>, %h0: tensor<2x4xf32>, %bias: tensor<4xf32>) -> tensor<2x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %h = %h0) : tensor<i32>, tensor<2x4xf32>
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
    %t = stablehlo.tanh %row : tensor<2x8xf32>
    %y0 = stablehlo.dot_general %t, %w, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %b = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
    %y = stablehlo.add %y0, %b : tensor<2x4xf32>
    %h1 = stablehlo.add %h, %y : tensor<2x4xf32>
    %h2 = stablehlo.tanh %h1 : tensor<2x4xf32>
    stablehlo.return %next, %h2 : tensor<i32>, tensor<2x4xf32>
  }
  return %l#1 : tensor<2x4xf32>
}

// -----

// The rows are the right operand.
// CHECK-LABEL: func.func @products_of_rows_before_loop_right(
// CHECK: stablehlo.dot_general %{{.*}} -> tensor<4x3x2xf32>
// CHECK: stablehlo.while
// CHECK-NOT: dot_general
func.func @products_of_rows_before_loop_right(%x: tensor<3x2x8xf32>, %w: tensor<8x4xf32>, %h0: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %h = %h0) : tensor<i32>, tensor<2x4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 2, 8] : (tensor<3x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x8xf32>
    %row = stablehlo.reshape %slice : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %y0 = stablehlo.dot_general %w, %row, contracting_dims = [0] x [1] : (tensor<8x4xf32>, tensor<2x8xf32>) -> tensor<4x2xf32>
    %y = stablehlo.transpose %y0, dims = [1, 0] : (tensor<4x2xf32>) -> tensor<2x4xf32>
    %h1 = stablehlo.add %h, %y : tensor<2x4xf32>
    %h2 = stablehlo.tanh %h1 : tensor<2x4xf32>
    stablehlo.return %next, %h2 : tensor<i32>, tensor<2x4xf32>
  }
  return %l#1 : tensor<2x4xf32>
}

// -----

// The loop computes an operand of the product.
// CHECK-LABEL: func.func @products_of_rows_before_loop_not_of_carry(
// CHECK: stablehlo.while
// CHECK: dot_general
func.func @products_of_rows_before_loop_not_of_carry(%x: tensor<3x2x8xf32>, %w: tensor<8x4xf32>, %h0: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %h = %h0) : tensor<i32>, tensor<2x4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 2, 8] : (tensor<3x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x8xf32>
    %row = stablehlo.reshape %slice : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %s = stablehlo.slice %h [0:2, 0:1] : (tensor<2x4xf32>) -> tensor<2x1xf32>
    %sb = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x8xf32>
    %m = stablehlo.multiply %row, %sb : tensor<2x8xf32>
    %y = stablehlo.dot_general %m, %w, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %h1 = stablehlo.add %h, %y : tensor<2x4xf32>
    %h2 = stablehlo.tanh %h1 : tensor<2x4xf32>
    stablehlo.return %next, %h2 : tensor<i32>, tensor<2x4xf32>
  }
  return %l#1 : tensor<2x4xf32>
}

// -----

// The last iteration reads the last row again: its start index is clamped.
// CHECK-LABEL: func.func @products_of_rows_before_loop_not_clamped(
// CHECK: stablehlo.while
// CHECK: dot_general
func.func @products_of_rows_before_loop_not_clamped(%x: tensor<3x2x8xf32>, %w: tensor<8x4xf32>, %h0: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %h = %h0) : tensor<i32>, tensor<2x4xf32>
  cond {
    %limit = stablehlo.constant dense<4> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 2, 8] : (tensor<3x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x8xf32>
    %row = stablehlo.reshape %slice : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %y = stablehlo.dot_general %row, %w, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %h1 = stablehlo.add %h, %y : tensor<2x4xf32>
    %h2 = stablehlo.tanh %h1 : tensor<2x4xf32>
    stablehlo.return %next, %h2 : tensor<i32>, tensor<2x4xf32>
  }
  return %l#1 : tensor<2x4xf32>
}

// -----

// The loop may run no iteration, or any number of them.
// CHECK-LABEL: func.func @products_of_rows_before_loop_not_of_unknown_trip_count(
// CHECK: stablehlo.while
// CHECK: dot_general
func.func @products_of_rows_before_loop_not_of_unknown_trip_count(%x: tensor<3x2x8xf32>, %w: tensor<8x4xf32>, %h0: tensor<2x4xf32>, %n: tensor<i32>) -> tensor<2x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %h = %h0) : tensor<i32>, tensor<2x4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 2, 8] : (tensor<3x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x8xf32>
    %row = stablehlo.reshape %slice : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %y = stablehlo.dot_general %row, %w, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %h1 = stablehlo.add %h, %y : tensor<2x4xf32>
    %h2 = stablehlo.tanh %h1 : tensor<2x4xf32>
    stablehlo.return %next, %h2 : tensor<i32>, tensor<2x4xf32>
  }
  return %l#1 : tensor<2x4xf32>
}
