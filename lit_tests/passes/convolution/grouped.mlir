// RUN: %jxc opt %s -p convolution --split-input-file | FileCheck %s

// As JAX writes the gradient by the kernel, stride 2: a turn of the loop for each of three taps.
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

// Channels first, 16 bits, a product of one position: no loop.
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

// A small window on a larger image: a turn of the loop for each position.
// CHECK-LABEL: func.func @grouped_weight_gradient_to_products_not_many_positions(
// CHECK-NEXT: stablehlo.convolution
func.func @grouped_weight_gradient_to_products_not_many_positions(%x: tensor<1x600x4xf32>, %w: tensor<1x2x2xf32>) -> tensor<599x2x2xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<1x600x4xf32>, tensor<1x2x2xf32>) -> tensor<599x2x2xf32>
  return %y : tensor<599x2x2xf32>
}

// Integers wrap around, and no library of integers was measured.
// CHECK-LABEL: func.func @grouped_weight_gradient_to_products_not_integers(
// CHECK-NEXT: stablehlo.convolution
func.func @grouped_weight_gradient_to_products_not_integers(%x: tensor<2x8x6xi32>, %dy: tensor<2x6x3xi32>) -> tensor<3x2x3xi32> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {} {batch_group_count = 3 : i64, feature_group_count = 1 : i64} : (tensor<2x8x6xi32>, tensor<2x6x3xi32>) -> tensor<3x2x3xi32>
  return %dw : tensor<3x2x3xi32>
}
