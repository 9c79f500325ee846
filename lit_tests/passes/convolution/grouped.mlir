// RUN: %jxc opt %s -p 'convolution{always=true}' --split-input-file | FileCheck %s

// The kernel's gradient as JAX writes it, with stride 2: a loop with one iteration for each of 3
// taps.
// CHECK-LABEL: func.func @grouped_weight_gradient_to_products(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x8x6xf32>
// CHECK-SAME: %[[DY:[a-z0-9]+]]: tensor<2x4x3xf32>
// CHECK: %[[Y:[a-z0-9_]+]] = stablehlo.reshape %[[DY]] : (tensor<2x4x3xf32>) -> tensor<8x3x1xf32>
// CHECK: %[[IMAGE:[a-z0-9_]+]] = stablehlo.pad %[[X]], %{{.*}}, low = [0, 0, 0], high = [0, 1, 0]
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<i32>, tensor<3x3x2x1xf32>
// CHECK: %[[PIECE:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[IMAGE]], %{{.*}}, sizes = [2, 7, 6]
// CHECK: %[[PART:[a-z0-9_]+]] = stablehlo.slice %[[PIECE]] [0:2, 0:7:2, 0:6]
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.reshape %[[PART]] : (tensor<2x4x6xf32>) -> tensor<8x3x2xf32>
// CHECK: stablehlo.dot_general %[[A]], %[[Y]], batching_dims = [1] x [1], contracting_dims = [0] x [0]
// CHECK: stablehlo.dynamic_update_slice
// CHECK: %[[T:[a-z0-9_]+]] = stablehlo.transpose %{{.*}}, dims = [0, 2, 1, 3] : (tensor<3x3x2x1xf32>)
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[T]] : (tensor<3x2x3x1xf32>) -> tensor<3x2x3xf32>
// CHECK-NEXT: return %[[R]]
func.func @grouped_weight_gradient_to_products(%x: tensor<2x8x6xf32>, %dy: tensor<2x4x3xf32>) -> tensor<3x2x3xf32> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[0, 1]], rhs_dilate = [2]} {batch_group_count = 3 : i64, feature_group_count = 1 : i64} : (tensor<2x8x6xf32>, tensor<2x4x3xf32>) -> tensor<3x2x3xf32>
  return %dw : tensor<3x2x3xf32>
}

// Channels first, 16 bits, and a product for a single position: no loop.
// CHECK-LABEL: func.func @grouped_weight_gradient_to_products_one_position(
// CHECK-NOT: stablehlo.while
// CHECK: stablehlo.dot_general {{.*}} : (tensor<8x2x2xf32>, tensor<8x2x3xf32>) -> tensor<2x2x3xf32>
// CHECK: stablehlo.convert %{{.*}} : (tensor<6x2x1xf32>) -> tensor<6x2x1xbf16>
func.func @grouped_weight_gradient_to_products_one_position(%x: tensor<2x4x4xbf16>, %dy: tensor<2x6x4xbf16>) -> tensor<6x2x1xbf16> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, b, 0]x[i, o, 0]->[f, b, 0], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x4x4xbf16>, tensor<2x6x4xbf16>) -> tensor<6x2x1xbf16>
  return %dw : tensor<6x2x1xbf16>
}

// No padding, stride 1.
// CHECK-LABEL: func.func @grouped_weight_gradient_to_products_plain(
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<i32>, tensor<2x2x2x2xf32>
// CHECK: stablehlo.dot_general
func.func @grouped_weight_gradient_to_products_plain(%x: tensor<2x4x4xf32>, %dy: tensor<2x3x4xf32>) -> tensor<2x2x4xf32> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x4x4xf32>, tensor<2x3x4xf32>) -> tensor<2x2x4xf32>
  return %dw : tensor<2x2x4xf32>
}

// Not for integers: library convolutions of integers were not measured.
// CHECK-LABEL: func.func @grouped_weight_gradient_to_products_not_integers(
// CHECK-NEXT: stablehlo.convolution
func.func @grouped_weight_gradient_to_products_not_integers(%x: tensor<2x8x6xi32>, %dy: tensor<2x6x3xi32>) -> tensor<3x2x3xi32> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {} {batch_group_count = 3 : i64, feature_group_count = 1 : i64} : (tensor<2x8x6xi32>, tensor<2x6x3xi32>) -> tensor<3x2x3xi32>
  return %dw : tensor<3x2x3xi32>
}

// The result has the shape of the image: each iteration overwrites the group that it has read.
// CHECK-LABEL: func.func @grouped_to_loop(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x19x19x38xf32>
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<3x3x19x38xf32>
// CHECK: stablehlo.while(%[[I:[A-Za-z0-9_]+]] = %{{.*}}, %[[TO:[A-Za-z0-9_]+]] = %{{.*}}, %[[ALL:[A-Za-z0-9_]+]] = %[[X]])
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[ALL]], %{{.*}}, %{{.*}}, %{{.*}}, %[[I]], sizes = [2, 19, 19, 19]
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[W]], %{{.*}}, %{{.*}}, %{{.*}}, %[[TO]], sizes = [3, 3, 19, 19]
// CHECK: %[[Y:[a-z0-9_]+]] = stablehlo.convolution(%[[A]], %[[B]]) {{.*}} pad = {{\[\[}}1, 1], [1, 1]{{.*}} feature_group_count = 1
// CHECK: stablehlo.dynamic_update_slice %[[ALL]], %[[Y]], %{{.*}}, %{{.*}}, %{{.*}}, %[[TO]]
func.func @grouped_to_loop(%x: tensor<2x19x19x38xf32>, %w: tensor<3x3x19x38xf32>) -> tensor<2x19x19x38xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x19x19x38xf32>, tensor<3x3x19x38xf32>) -> tensor<2x19x19x38xf32>
  return %y : tensor<2x19x19x38xf32>
}

// Channels first, 16 bits, stride 2. Inside an iteration the channels are last, and the sum is in
// f32.
// CHECK-LABEL: func.func @grouped_to_loop_channels_first(
// CHECK: %[[X:[a-z0-9_]+]] = stablehlo.convert %{{.*}} -> tensor<7x38x17x17xf32>
// CHECK: %[[W:[a-z0-9_]+]] = stablehlo.convert %{{.*}} -> tensor<46x19x3x3xf32>
// CHECK: %[[ZERO:[a-z0-9_]+]] = stablehlo.constant dense<0.000000e+00> : tensor<7x46x8x8xf32>
// CHECK: stablehlo.while({{.*}} = %[[ZERO]])
// CHECK: stablehlo.dynamic_slice %[[X]], {{.*}} sizes = [7, 19, 17, 17]
// CHECK: stablehlo.dynamic_slice %[[W]], {{.*}} sizes = [23, 19, 3, 3]
// CHECK: stablehlo.transpose {{.*}} dims = [0, 2, 3, 1]
// CHECK: stablehlo.transpose {{.*}} dims = [2, 3, 1, 0]
// CHECK: stablehlo.convolution({{.*}} dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2]
// CHECK: stablehlo.transpose {{.*}} dims = [0, 3, 1, 2]
// CHECK: stablehlo.convert %{{.*}} -> tensor<7x46x8x8xbf16>
func.func @grouped_to_loop_channels_first(%x: tensor<7x38x17x17xbf16>, %w: tensor<46x19x3x3xbf16>) -> tensor<7x46x8x8xbf16> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[0, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<7x38x17x17xbf16>, tensor<46x19x3x3xbf16>) -> tensor<7x46x8x8xbf16>
  return %y : tensor<7x46x8x8xbf16>
}

// The gradient by the image with stride 2. The kernel's inputs are its second-to-last dimension.
// CHECK-LABEL: func.func @grouped_to_loop_input_gradient(
// CHECK: stablehlo.dynamic_slice {{.*}} sizes = [3, 3, 17, 19]
// CHECK: stablehlo.reverse {{.*}} dims = [0]
// CHECK: stablehlo.transpose {{.*}} dims = [0, 1, 3, 2]
// CHECK: stablehlo.convolution({{.*}} lhs_dilate = [2, 2]
func.func @grouped_to_loop_input_gradient(%x: tensor<2x7x7x38xf32>, %w: tensor<3x3x34x19xf32>) -> tensor<2x15x15x34xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[2, 2], [2, 2]], lhs_dilate = [2, 2], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x7x7x38xf32>, tensor<3x3x34x19xf32>) -> tensor<2x15x15x34xf32>
  return %y : tensor<2x15x15x34xf32>
}

// Not for integers: library convolutions of integers were not measured.
// CHECK-LABEL: func.func @grouped_to_loop_not_integers(
// CHECK-NEXT: stablehlo.convolution
func.func @grouped_to_loop_not_integers(%x: tensor<2x19x19x38xi32>, %w: tensor<3x3x19x38xi32>) -> tensor<2x19x19x38xi32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x19x19x38xi32>, tensor<3x3x19x38xi32>) -> tensor<2x19x19x38xi32>
  return %y : tensor<2x19x19x38xi32>
}
