// RUN: %jxc opt %s -p workarounds --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @widen_update_index(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<300xf32>, %[[U:[a-z0-9]+]]: tensor<1xf32>, %[[I:[a-z0-9]+]]: tensor<ui8>
// CHECK: %[[WIDE:[a-z0-9_]+]] = stablehlo.convert %[[I]] : (tensor<ui8>) -> tensor<i32>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.dynamic_update_slice %[[X]], %[[U]], %[[WIDE]]
// CHECK: return %[[R]]
func.func @widen_update_index(%x: tensor<300xf32>, %u: tensor<1xf32>, %i: tensor<ui8>) -> tensor<300xf32> {
  %y = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<300xf32>, tensor<1xf32>, tensor<ui8>) -> tensor<300xf32>
  return %y : tensor<300xf32>
}

// The last start is 127, which i8 holds.
// CHECK-LABEL: func.func @widen_update_index_not_of_wide_enough(
// CHECK-NOT: stablehlo.convert
// CHECK: return
func.func @widen_update_index_not_of_wide_enough(%x: tensor<130xf32>, %u: tensor<3xf32>, %i: tensor<i8>) -> tensor<130xf32> {
  %y = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<130xf32>, tensor<3xf32>, tensor<i8>) -> tensor<130xf32>
  return %y : tensor<130xf32>
}

// -----

// CHECK-LABEL: func.func @widen_scatter_index(
// CHECK-SAME: %[[I:[a-z0-9]+]]: tensor<2x1xi8>
// CHECK: %[[WIDE:[a-z0-9_]+]] = stablehlo.convert %[[I]] : (tensor<2x1xi8>) -> tensor<2x1xi32>
// CHECK: "stablehlo.scatter"({{.*}}, %[[WIDE]], {{.*}})
func.func @widen_scatter_index(%x: tensor<129xf32>, %i: tensor<2x1xi8>, %u: tensor<2xf32>) -> tensor<129xf32> {
  %y = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<129xf32>, tensor<2x1xi8>, tensor<2xf32>) -> tensor<129xf32>
  return %y : tensor<129xf32>
}

// Along the dimension without an index, the last start of one row is 128.
// CHECK-LABEL: func.func @widen_scatter_index_of_another_dimension(
// CHECK: stablehlo.convert {{.*}} : (tensor<1xi8>) -> tensor<1xi32>
func.func @widen_scatter_index_of_another_dimension(%x: tensor<129x2xi32>, %i: tensor<1xi8>, %u: tensor<1xi32>) -> tensor<129x2xi32> {
  %y = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<129x2xi32>, tensor<1xi8>, tensor<1xi32>) -> tensor<129x2xi32>
  return %y : tensor<129x2xi32>
}

// A window spans that dimension: it starts at 0.
// CHECK-LABEL: func.func @widen_scatter_index_not_of_whole_windows(
// CHECK-NOT: stablehlo.convert
// CHECK: return
func.func @widen_scatter_index_not_of_whole_windows(%x: tensor<129x2xi32>, %i: tensor<1xi8>, %u: tensor<129xi32>) -> tensor<129x2xi32> {
  %y = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<129x2xi32>, tensor<1xi8>, tensor<129xi32>) -> tensor<129x2xi32>
  return %y : tensor<129x2xi32>
}

// The last index is 127, which i8 holds.
// CHECK-LABEL: func.func @widen_scatter_index_not_of_wide_enough(
// CHECK-NOT: stablehlo.convert
// CHECK: return
func.func @widen_scatter_index_not_of_wide_enough(%x: tensor<128xf32>, %i: tensor<2x1xi8>, %u: tensor<2xf32>) -> tensor<128xf32> {
  %y = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<128xf32>, tensor<2x1xi8>, tensor<2xf32>) -> tensor<128xf32>
  return %y : tensor<128xf32>
}

// -----

// CHECK-LABEL: func.func @pad_before_window_of_ones(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK: %[[C:[a-z0-9_]+]] = stablehlo.slice %[[X]] [1:8, 0:4]
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.pad %[[C]], %{{.*}}, low = [0, 1], high = [2, 0], interior = [0, 2]
// CHECK: %[[S:[a-z0-9_]+]] = stablehlo.slice %[[P]] [0:9:2, 0:11]
// CHECK: "stablehlo.reduce_window"(%[[S]],
// CHECK-SAME: base_dilations = array<i64: 1, 1>
// CHECK-SAME: padding = dense<0>
// CHECK-SAME: window_strides = array<i64: 1, 1>
func.func @pad_before_window_of_ones(%x: tensor<8x4xf32>) -> tensor<5x11xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %one) <{base_dilations = array<i64: 1, 3>, window_strides = array<i64: 2, 1>, window_dimensions = array<i64: 1, 1>, padding = dense<[[-1, 2], [1, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<5x11xf32>
  return %y : tensor<5x11xf32>
}

// Of x 0 0 y 0 0 z, a position is left in front of y, and two behind it. Sums of -0.0 from 0.0 are 0.0.
// CHECK-LABEL: func.func @pad_before_window_of_ones_from_zero(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3xf32>
// CHECK: %[[S:[a-z0-9_]+]] = stablehlo.slice %[[X]] [1:2]
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.pad %[[S]], %{{.*}}, low = [1], high = [2], interior = [2]
// CHECK: stablehlo.compare EQ, %[[P]]
// CHECK: stablehlo.select
func.func @pad_before_window_of_ones_from_zero(%x: tensor<3xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %zero) <{base_dilations = array<i64: 3>, window_dimensions = array<i64: 1>, padding = dense<[[-2, -1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// XLA computes padded windows and strided ones, and dilated ones of complex numbers.
// CHECK-LABEL: func.func @pad_before_window_of_ones_not_of_others(
// CHECK-NOT: stablehlo.pad
// CHECK: return
func.func @pad_before_window_of_ones_not_of_others(%x: tensor<4xf32>, %z: tensor<4xcomplex<f32>>, %one: tensor<complex<f32>>) -> (tensor<3xf32>, tensor<7xcomplex<f32>>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1>, window_strides = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  %w = "stablehlo.reduce_window"(%z, %one) <{base_dilations = array<i64: 2>, window_dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %s = stablehlo.multiply %a, %b : tensor<complex<f32>>
    stablehlo.return %s : tensor<complex<f32>>
  }) : (tensor<4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<7xcomplex<f32>>
  return %y, %w : tensor<3xf32>, tensor<7xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func @window_of_scalar_to_body(
// CHECK: stablehlo.multiply
// CHECK: stablehlo.tanh
func.func @window_of_scalar_to_body(%x: tensor<f32>, %init: tensor<f32>) -> tensor<f32> {
  %y = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.multiply %a, %b : tensor<f32>
    %t = stablehlo.tanh %p : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

// CHECK-LABEL: func.func @window_of_scalar_to_body_not_of_vectors(
// CHECK: stablehlo.reduce_window
func.func @window_of_scalar_to_body_not_of_vectors(%x: tensor<1xf32>, %init: tensor<f32>) -> tensor<1xf32> {
  %y = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) : (tensor<1xf32>, tensor<f32>) -> tensor<1xf32>
  return %y : tensor<1xf32>
}

// -----

// CHECK-LABEL: func.func @crop_before_pad(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x4xi32>
// CHECK: %[[S:[a-z0-9_]+]] = stablehlo.slice %[[X]] [0:1, 1:3]
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.pad %[[S]], {{.*}}, low = [0, 0], high = [0, 1], interior = [1, 1]
// CHECK: "stablehlo.reduce_window"(%[[P]],
func.func @crop_before_pad(%x: tensor<1x4xi32>) -> tensor<1x4xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.pad %x, %zero, low = [0, -2], high = [0, -1], interior = [1, 1] : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %y = "stablehlo.reduce_window"(%p, %zero) <{window_dimensions = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  return %y : tensor<1x4xi32>
}

// Only padding is left.
// CHECK-LABEL: func.func @crop_before_pad_of_nothing(
// CHECK-NOT: stablehlo.pad
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.broadcast_in_dim %{{.*}} : (tensor<i32>) -> tensor<2xi32>
// CHECK: "stablehlo.reduce_window"(%[[B]],
func.func @crop_before_pad_of_nothing(%x: tensor<2xi32>) -> tensor<1xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.pad %x, %zero, low = [-2], high = [2], interior = [0] : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %y = "stablehlo.reduce_window"(%p, %zero) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<2xi32>, tensor<i32>) -> tensor<1xi32>
  return %y : tensor<1xi32>
}

// Only in front of a window.
// CHECK-LABEL: func.func @crop_before_pad_not_of_other_uses(
// CHECK-NOT: stablehlo.slice
// CHECK: return
func.func @crop_before_pad_not_of_other_uses(%x: tensor<4xi32>) -> tensor<4xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.pad %x, %zero, low = [-2], high = [-1], interior = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return %p : tensor<4xi32>
}

// -----

// CHECK-LABEL: func.func @dilate_after_window(
// CHECK: %[[W:[a-z0-9_]+]] = "stablehlo.reduce_window"(
// CHECK-SAME: base_dilations = array<i64: 1, 1>
// CHECK: (tensor<4x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK: stablehlo.pad %[[W]], {{.*}}, low = [0, 1], high = [0, 0], interior = [0, 1]
func.func @dilate_after_window(%x: tensor<4x3xf32>) -> tensor<2x6xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %least) <{base_dilations = array<i64: 1, 2>, window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>, padding = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// Along the dilated dimension, windows hold several elements.
// CHECK-LABEL: func.func @dilate_after_window_not_of_longer(
// CHECK-NOT: stablehlo.pad
// CHECK: return
func.func @dilate_after_window_not_of_longer(%x: tensor<3xf32>) -> tensor<4xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %least) <{base_dilations = array<i64: 2>, window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @store_product_of_sum(
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.multiply
// CHECK: %[[STORED:[a-z0-9_]+]] = call @stored_{{.*}}(%[[P]])
// CHECK: stablehlo.reduce(%[[STORED]]
func.func @store_product_of_sum(%x: tensor<3x1x2x2x2x2x2xf32>, %y: tensor<3x1x2x2x2x2x2xf32>) -> tensor<3x1x2x2x2x2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.multiply %x, %y : tensor<3x1x2x2x2x2x2xf32>
  %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<3x1x2x2x2x2x2xf32>, tensor<f32>) -> tensor<3x1x2x2x2x2xf32>
  return %r : tensor<3x1x2x2x2x2xf32>
}

// Rank 6.
// CHECK-LABEL: func.func @store_product_of_sum_not_of_low_rank(
// CHECK-NOT: call
// CHECK: return
func.func @store_product_of_sum_not_of_low_rank(%x: tensor<3x1x2x2x2x2xf32>, %y: tensor<3x1x2x2x2x2xf32>) -> tensor<3x1x2x2x2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.multiply %x, %y : tensor<3x1x2x2x2x2xf32>
  %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<3x1x2x2x2x2xf32>, tensor<f32>) -> tensor<3x1x2x2x2xf32>
  return %r : tensor<3x1x2x2x2xf32>
}

// -----

// CHECK-LABEL: func.func @store_small_dot(
// CHECK: stablehlo.dot_general
// CHECK: %[[SQUARE:[a-z0-9_]+]] = stablehlo.multiply
// CHECK: %[[STORED:[a-z0-9_]+]] = call @stored_{{.*}}(%[[SQUARE]])
// CHECK: stablehlo.reduce(%[[STORED]]
func.func @store_small_dot(%m: tensor<2x2xf64>, %x: tensor<16385x2xf64>) -> tensor<16385xf64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %p = stablehlo.dot_general %m, %x, contracting_dims = [1] x [1] : (tensor<2x2xf64>, tensor<16385x2xf64>) -> tensor<2x16385xf64>
  %s = stablehlo.multiply %p, %p : tensor<2x16385xf64>
  %r = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x16385xf64>, tensor<f64>) -> tensor<16385xf64>
  return %r : tensor<16385xf64>
}

// 128 KiB of results are right.
// CHECK-LABEL: func.func @store_small_dot_not_of_few_results(
// CHECK-NOT: call
// CHECK: return
func.func @store_small_dot_not_of_few_results(%m: tensor<2x2xf64>, %x: tensor<16384x2xf64>) -> tensor<16384xf64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %p = stablehlo.dot_general %m, %x, contracting_dims = [1] x [1] : (tensor<2x2xf64>, tensor<16384x2xf64>) -> tensor<2x16384xf64>
  %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x16384xf64>, tensor<f64>) -> tensor<16384xf64>
  return %r : tensor<16384xf64>
}

// Products of 8 elements are right.
// CHECK-LABEL: func.func @store_small_dot_not_of_longer(
// CHECK-NOT: call
// CHECK: return
func.func @store_small_dot_not_of_longer(%m: tensor<2x8xf64>, %x: tensor<16385x8xf64>) -> tensor<16385xf64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %p = stablehlo.dot_general %m, %x, contracting_dims = [1] x [1] : (tensor<2x8xf64>, tensor<16385x8xf64>) -> tensor<2x16385xf64>
  %r = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x16385xf64>, tensor<f64>) -> tensor<16385xf64>
  return %r : tensor<16385xf64>
}
