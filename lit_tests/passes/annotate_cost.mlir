// RUN: %jxc opt %s -p annotate-cost | FileCheck %s

// 6 x 5 results of 8 multiply-adds each: 480 flops. (48 + 40 + 30) elements of 4 bytes: 472 bytes.
// CHECK-LABEL: func.func @dot_general(
// CHECK: stablehlo.dot_general
// CHECK-SAME: jxc.bytes = 472 : i64, jxc.flops = 480 : i64, jxc.intensity = 1.017000e+00 : f64
func.func @dot_general(%x: tensor<6x8xf32>, %y: tensor<8x5xf32>) -> tensor<6x5xf32> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x5xf32>) -> tensor<6x5xf32>
  return %r : tensor<6x5xf32>
}

// A depthwise convolution: 2 x 8 x 8 x 4 results, each from a 3 x 3 window of one feature.
// CHECK-LABEL: func.func @convolution(
// CHECK: stablehlo.convolution
// CHECK-SAME: jxc.flops = 9216 : i64
func.func @convolution(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x1x4xf32>) -> tensor<2x8x8x4xf32> {
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x1x4xf32>) -> tensor<2x8x8x4xf32>
  return %r : tensor<2x8x8x4xf32>
}

// A kernel without output features: nothing is computed.
// CHECK-LABEL: func.func @convolution_without_outputs(
// CHECK: stablehlo.convolution
// CHECK-SAME: jxc.flops = 0 : i64
func.func @convolution_without_outputs(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x1x0xf32>) -> tensor<2x8x8x0xf32> {
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x1x0xf32>) -> tensor<2x8x8x0xf32>
  return %r : tensor<2x8x8x0xf32>
}

// One flop for each element, ten for a transcendental op, none for data movement. 4-bit integers
// are packed.
// CHECK-LABEL: func.func @elementwise(
// CHECK-SAME: jxc.bytes = 200 : i64, jxc.flops = 88 : i64
// CHECK: stablehlo.add
// CHECK-SAME: jxc.bytes = 96 : i64, jxc.flops = 8 : i64, jxc.intensity = 8.300000e-02 : f64
// CHECK: stablehlo.exponential
// CHECK-SAME: jxc.flops = 80 : i64
// CHECK: stablehlo.reshape
// CHECK-SAME: jxc.bytes = 8 : i64, jxc.flops = 0 : i64, jxc.intensity = 0.000000e+00 : f64
// CHECK: stablehlo.slice
// CHECK-SAME: jxc.bytes = 32 : i64
func.func @elementwise(%x: tensor<8xf32>, %i: tensor<8xi4>) -> (tensor<8xf32>, tensor<2x4xi4>) {
  %a = stablehlo.add %x, %x : tensor<8xf32>
  %b = stablehlo.exponential %a : tensor<8xf32>
  %c = stablehlo.reshape %i : (tensor<8xi4>) -> tensor<2x4xi4>
  %e = stablehlo.slice %x [0:4] : (tensor<8xf32>) -> tensor<4xf32>
  return %b, %c : tensor<8xf32>, tensor<2x4xi4>
}

// A complex product takes six real operations.
// CHECK-LABEL: func.func @complex(
// CHECK: stablehlo.multiply
// CHECK-SAME: jxc.flops = 48 : i64
// CHECK: stablehlo.fft
// CHECK-SAME: jxc.flops = 120 : i64
func.func @complex(%x: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
  %a = stablehlo.multiply %x, %x : tensor<8xcomplex<f32>>
  %r = stablehlo.fft %a, type = FFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return %r : tensor<8xcomplex<f32>>
}

// A sum of 28 additions; a sort of 32 x log2(8) comparisons; a Cholesky factor of 8^3 / 3 flops; a
// triangular solve of 8^2 for each of two right-hand sides.
// CHECK-LABEL: func.func @others(
// CHECK: stablehlo.reduce
// CHECK-SAME: jxc.flops = 28 : i64
// CHECK: stablehlo.sort
// CHECK: jxc.flops = 96 : i64
// CHECK: stablehlo.cholesky
// CHECK-SAME: jxc.flops = 171 : i64
// CHECK: stablehlo.triangular_solve
// CHECK-SAME: jxc.flops = 128 : i64
func.func @others(%x: tensor<4x8xf32>, %a: tensor<8x8xf32>, %b: tensor<8x2xf32>) -> (tensor<4xf32>, tensor<4x8xf32>, tensor<8x2xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %s = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %l = stablehlo.cholesky %a, lower = true : tensor<8x8xf32>
  %t = "stablehlo.triangular_solve"(%l, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<8x8xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  return %r, %s, %t : tensor<4xf32>, tensor<4x8xf32>, tensor<8x2xf32>
}

// Ten iterations of one addition and sixteen products, and eleven comparisons.
// CHECK-LABEL: func.func @while_costs_its_trip_count(
// CHECK: stablehlo.while
// CHECK-SAME: jxc.flops = 181 : i64
func.func @while_costs_its_trip_count(%x: tensor<16xf32>) -> tensor<16xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<16xf32>
    cond {
      %c = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %z = stablehlo.multiply %y, %y : tensor<16xf32>
      stablehlo.return %j, %z : tensor<i32>, tensor<16xf32>
    }
  return %r#1 : tensor<16xf32>
}

// The trip count depends on an argument and is unknown: one iteration is counted.
// CHECK-LABEL: func.func @while_of_unknown_trip_count_costs_one_iteration(
// CHECK: stablehlo.while
// CHECK-SAME: jxc.flops = 18 : i64
func.func @while_of_unknown_trip_count_costs_one_iteration(%x: tensor<16xf32>, %n: tensor<i32>) -> tensor<16xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %m = stablehlo.and %n, %seven : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<16xf32>
    cond {
      %c = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %z = stablehlo.multiply %y, %y : tensor<16xf32>
      stablehlo.return %j, %z : tensor<i32>, tensor<16xf32>
    }
  return %r#1 : tensor<16xf32>
}

// The flops of a custom call are unknown. Its bytes are those of its operands and results.
// CHECK-LABEL: func.func @custom_call_unknown(
// CHECK: stablehlo.custom_call
// CHECK-NOT: jxc.flops
// CHECK-SAME: jxc.bytes = 32 : i64
func.func @custom_call_unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.custom_call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @dynamic_not(
// CHECK: stablehlo.add
// CHECK-NOT: jxc.
// CHECK: return
func.func @dynamic_not(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = stablehlo.add %x, %x : tensor<?xf32>
  return %r : tensor<?xf32>
}

// The generic form without a dimension sorts along the last one: 12 * log2(4) comparisons.
// CHECK-LABEL: func.func @sort(
// CHECK: stablehlo.sort
// CHECK: jxc.flops = 24 : i64
func.func @sort(%x: tensor<3x4xi32>) -> tensor<3x4xi32> {
  %r = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<3x4xi32>) -> tensor<3x4xi32>
  return %r : tensor<3x4xi32>
}
