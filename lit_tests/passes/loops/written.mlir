// RUN: %jxc opt %s -p loops --target gpu --split-input-file | FileCheck %s

// The loop writes the operand; the product of all rows is behind it.
// CHECK-LABEL: func.func @written_products_after_loop(
// CHECK: %[[L:[a-z0-9_]+]]:3 = stablehlo.while({{.*}}) : tensor<i32>, tensor<2x8xf32>, tensor<3x2x8xf32>
// CHECK: %[[Y:[a-z0-9_]+]] = stablehlo.dot_general %[[L]]#2, %{{.*}}, contracting_dims = [2] x [0]
// CHECK: stablehlo.add %[[Y]], %{{.*}} : tensor<3x2x4xf32>
func.func @written_products_after_loop(%h0: tensor<2x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x4xf32>, %b: tensor<2x4xf32>) -> tensor<3x2x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %empty = stablehlo.constant dense<0.0> : tensor<3x2x4xf32>
  %l:3 = stablehlo.while(%i = %zero, %h = %h0, %ys = %empty) : tensor<i32>, tensor<2x8xf32>, tensor<3x2x4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %g = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %dz = stablehlo.tanh %g : tensor<2x8xf32>
    %y0 = stablehlo.dot_general %dz, %v, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %y = stablehlo.add %y0, %b : tensor<2x4xf32>
    %row = stablehlo.reshape %y : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
    %ys1 = stablehlo.dynamic_update_slice %ys, %row, %i, %zero, %zero : (tensor<3x2x4xf32>, tensor<1x2x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x2x4xf32>
    stablehlo.return %next, %dz, %ys1 : tensor<i32>, tensor<2x8xf32>, tensor<3x2x4xf32>
  }
  return %l#2 : tensor<3x2x4xf32>
}

// -----

// The next iteration needs the product.
// CHECK-LABEL: func.func @written_products_after_loop_not_fed_back(
// CHECK: stablehlo.while
// CHECK: dot_general
// CHECK: dot_general
// CHECK: stablehlo.return
func.func @written_products_after_loop_not_fed_back(%h0: tensor<2x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x4xf32>, %b: tensor<2x4xf32>) -> tensor<3x2x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %empty = stablehlo.constant dense<0.0> : tensor<3x2x4xf32>
  %f0 = stablehlo.constant dense<0.0> : tensor<f32>
  %l:3 = stablehlo.while(%i = %zero, %h = %h0, %ys = %empty) : tensor<i32>, tensor<2x8xf32>, tensor<3x2x4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %g = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %dz = stablehlo.tanh %g : tensor<2x8xf32>
    %y0 = stablehlo.dot_general %dz, %v, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %y = stablehlo.add %y0, %b : tensor<2x4xf32>
    %row = stablehlo.reshape %y : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
    %ys1 = stablehlo.dynamic_update_slice %ys, %row, %i, %zero, %zero : (tensor<3x2x4xf32>, tensor<1x2x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x2x4xf32>
    %z = stablehlo.pad %y, %f0, low = [0, 0], high = [0, 4], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x8xf32>
    %dz2 = stablehlo.add %dz, %z : tensor<2x8xf32>
    stablehlo.return %next, %dz2, %ys1 : tensor<i32>, tensor<2x8xf32>, tensor<3x2x4xf32>
  }
  return %l#2 : tensor<3x2x4xf32>
}

// -----

// A row stays as it was before the loop.
// CHECK-LABEL: func.func @written_products_after_loop_not_all_rows(
// CHECK: stablehlo.while
// CHECK: dot_general
// CHECK: dot_general
// CHECK: stablehlo.return
func.func @written_products_after_loop_not_all_rows(%h0: tensor<2x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x4xf32>, %b: tensor<2x4xf32>) -> tensor<4x2x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %empty = stablehlo.constant dense<0.0> : tensor<4x2x4xf32>
  %l:3 = stablehlo.while(%i = %zero, %h = %h0, %ys = %empty) : tensor<i32>, tensor<2x8xf32>, tensor<4x2x4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %g = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %dz = stablehlo.tanh %g : tensor<2x8xf32>
    %y0 = stablehlo.dot_general %dz, %v, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %y = stablehlo.add %y0, %b : tensor<2x4xf32>
    %row = stablehlo.reshape %y : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
    %ys1 = stablehlo.dynamic_update_slice %ys, %row, %i, %zero, %zero : (tensor<4x2x4xf32>, tensor<1x2x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x2x4xf32>
    stablehlo.return %next, %dz, %ys1 : tensor<i32>, tensor<2x8xf32>, tensor<4x2x4xf32>
  }
  return %l#2 : tensor<4x2x4xf32>
}
