// RUN: %jxc opt %s -p pooling | FileCheck %s

// The derivative of max pooling along a direction, as `jax.jvp` writes it.
// CHECK-LABEL: func.func @general_window_to_slices(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x3xf32>, %[[T:[a-z0-9]+]]: tensor<4x3xf32>
// CHECK: %[[LEAST:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %{{.*}} -> tensor<2x3xf32>
// CHECK: %[[ZERO:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %{{.*}} -> tensor<2x3xf32>
// CHECK: %[[X0:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:3:2, 0:3]
// CHECK: %[[T0:[a-z0-9_]+]] = stablehlo.slice %[[T]] [0:3:2, 0:3]
// CHECK: %[[KEEPS:[a-z0-9_]+]] = stablehlo.compare GE, %[[LEAST]], %[[X0]], FLOAT
// CHECK: %[[X1:[a-z0-9_]+]] = stablehlo.select %[[KEEPS]], %[[LEAST]], %[[X0]]
// CHECK: %[[T1:[a-z0-9_]+]] = stablehlo.select %[[KEEPS]], %[[ZERO]], %[[T0]]
// CHECK: %[[AGAIN:[a-z0-9_]+]] = stablehlo.compare GE, %[[X1]],
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.select %[[AGAIN]], %[[T1]],
// CHECK-NEXT: return %[[R]]
func.func @general_window_to_slices(%x: tensor<4x3xf32>, %t: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r:2 = "stablehlo.reduce_window"(%x, %t, %least, %zero) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %s: tensor<f32>, %b: tensor<f32>, %u: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %d = stablehlo.select %c, %a, %b : tensor<i1>, tensor<f32>
    %e = stablehlo.select %c, %s, %u : tensor<i1>, tensor<f32>
    stablehlo.return %d, %e : tensor<f32>, tensor<f32>
  }) : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return %r#1 : tensor<2x3xf32>
}

// One operand, several ops; padding meets the body as well.
// CHECK-LABEL: func.func @general_window_to_slices_padded(
// CHECK: stablehlo.pad %{{.*}}, low = [1], high = [0]
// CHECK: stablehlo.abs
// CHECK: stablehlo.add
// CHECK: stablehlo.abs
// CHECK-NOT: reduce_window
func.func @general_window_to_slices_padded(%x: tensor<5xi32>, %init: tensor<i32>) -> tensor<5xi32> {
  %r = "stablehlo.reduce_window"(%x, %init) <{padding = dense<[[1, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.abs %b : tensor<i32>
    %d = stablehlo.add %a, %c : tensor<i32>
    stablehlo.return %d : tensor<i32>
  }) : (tensor<5xi32>, tensor<i32>) -> tensor<5xi32>
  return %r : tensor<5xi32>
}

// 26 positions: as many bodies to compile.
// CHECK-LABEL: func.func @general_window_to_slices_not_many(
// CHECK: stablehlo.reduce_window
func.func @general_window_to_slices_not_many(%x: tensor<30xi32>, %init: tensor<i32>) -> tensor<5xi32> {
  %r = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 26>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.abs %b : tensor<i32>
    %d = stablehlo.add %a, %c : tensor<i32>
    stablehlo.return %d : tensor<i32>
  }) : (tensor<30xi32>, tensor<i32>) -> tensor<5xi32>
  return %r : tensor<5xi32>
}
