// RUN: %jxc opt %s -p 'convolution{always=true disable-patterns=wide-window-to-swapped-operands}' | FileCheck %s

// 3x3 on 2x2: one row of patches for each of four positions, multiplied by the kernel as a matrix.
// CHECK-LABEL: func.func @wide_window_to_product(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x2x2x5xf32>
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<3x3x5x7xf32>
// CHECK: %[[IMAGE:[a-z0-9_]+]] = stablehlo.pad %[[X]], %{{.*}}, low = [0, 1, 1, 0], high = [0, 1, 1, 0]
// CHECK: stablehlo.slice %[[IMAGE]] [0:3, 0:3, 0:3, 0:5]
// CHECK: stablehlo.slice %[[IMAGE]] [0:3, 0:3, 1:4, 0:5]
// CHECK: stablehlo.slice %[[IMAGE]] [0:3, 1:4, 0:3, 0:5]
// CHECK: stablehlo.slice %[[IMAGE]] [0:3, 1:4, 1:4, 0:5]
// CHECK: %[[ALL:[a-z0-9_]+]] = stablehlo.concatenate {{.*}} dim = 1 {{.*}} -> tensor<3x4x9x5xf32>
// CHECK: %[[PATCHES:[a-z0-9_]+]] = stablehlo.reshape %[[ALL]] : (tensor<3x4x9x5xf32>) -> tensor<12x9x5xf32>
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.reshape %[[W]] : (tensor<3x3x5x7xf32>) -> tensor<45x7xf32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.reshape %[[PATCHES]] : (tensor<12x9x5xf32>) -> tensor<12x45xf32>
// CHECK: %[[C:[a-z0-9_]+]] = stablehlo.dot_general %[[A]], %[[B]], contracting_dims = [1] x [0]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[C]] : (tensor<12x7xf32>) -> tensor<3x2x2x7xf32>
// CHECK-NEXT: return %[[R]]
func.func @wide_window_to_product(%x: tensor<3x2x2x5xf32>, %w: tensor<3x3x5x7xf32>) -> tensor<3x2x2x7xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x2x2x5xf32>, tensor<3x3x5x7xf32>) -> tensor<3x2x2x7xf32>
  return %y : tensor<3x2x2x7xf32>
}

// The gradient by an image of one position, channels first. The patch is reversed, not the kernel.
// CHECK-LABEL: func.func @wide_window_to_product_reversed(
// CHECK-SAME: %[[DY:[a-z0-9]+]]: tensor<3x7x1xf32>
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<7x5x3xf32>
// CHECK: stablehlo.pad {{.*}} interior = [0, 0, 0]
// CHECK-NOT: stablehlo.concatenate
// CHECK: stablehlo.reverse %{{.*}}, dims = [1] : tensor<3x3x7xf32>
// CHECK: stablehlo.transpose %[[W]], dims = [2, 0, 1]
// CHECK: stablehlo.dot_general {{.*}} (tensor<3x21xf32>, tensor<21x5xf32>) -> tensor<3x5xf32>
func.func @wide_window_to_product_reversed(%dy: tensor<3x7x1xf32>, %w: tensor<7x5x3xf32>) -> tensor<3x5x1xf32> {
  %dx = stablehlo.convolution(%dy, %w) dim_numbers = [b, f, 0]x[i, o, 0]->[b, f, 0], window = {pad = [[1, 1]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x7x1xf32>, tensor<7x5x3xf32>) -> tensor<3x5x1xf32>
  return %dx : tensor<3x5x1xf32>
}

// Channels last, as JAX writes it: one product for each tap. The kernel keeps its layout in memory.
// CHECK-LABEL: func.func @wide_window_to_product_transposed(
// CHECK-SAME: %[[DY:[a-z0-9]+]]: tensor<3x2x7xf32>, %[[W:[a-z0-9]+]]: tensor<3x5x7xf32>
// CHECK: stablehlo.reverse %{{.*}}, dims = [1] : tensor<3x3x7xf32>
// CHECK: stablehlo.reverse %{{.*}}, dims = [1] : tensor<3x3x7xf32>
// CHECK: %[[TAPS:[a-z0-9_]+]] = stablehlo.transpose %{{.*}}, dims = [1, 0, 2] : (tensor<6x3x7xf32>) -> tensor<3x6x7xf32>
// CHECK: %[[ALL:[a-z0-9_]+]] = stablehlo.dot_general %[[TAPS]], %[[W]], batching_dims = [0] x [0], contracting_dims = [2] x [2] : {{.*}} -> tensor<3x6x5xf32>
// CHECK: stablehlo.reduce(%[[ALL]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
func.func @wide_window_to_product_transposed(%dy: tensor<3x2x7xf32>, %w: tensor<3x5x7xf32>) -> tensor<3x2x5xf32> {
  %turned = stablehlo.reverse %w, dims = [0] : tensor<3x5x7xf32>
  %dx = stablehlo.convolution(%dy, %turned) dim_numbers = [b, 0, f]x[0, o, i]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x2x7xf32>, tensor<3x5x7xf32>) -> tensor<3x2x5xf32>
  return %dx : tensor<3x2x5xf32>
}

// Two reversals of the window cancel. A reversal of the features is kept.
// CHECK-LABEL: func.func @wide_window_to_product_turned_twice(
// CHECK: %[[FEATURES:[a-z0-9_]+]] = stablehlo.reverse %{{.*}}, dims = [2] : tensor<3x5x7xf32>
// CHECK-NOT: stablehlo.reverse
// CHECK: stablehlo.dot_general %{{.*}}, %[[FEATURES]], batching_dims
func.func @wide_window_to_product_turned_twice(%dy: tensor<3x2x7xf32>, %w: tensor<3x5x7xf32>) -> tensor<3x2x5xf32> {
  %features = stablehlo.reverse %w, dims = [2] : tensor<3x5x7xf32>
  %turned = stablehlo.reverse %features, dims = [0] : tensor<3x5x7xf32>
  %dx = stablehlo.convolution(%dy, %turned) dim_numbers = [b, 0, f]x[0, o, i]->[b, 0, f], window = {pad = [[1, 1]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x2x7xf32>, tensor<3x5x7xf32>) -> tensor<3x2x5xf32>
  return %dx : tensor<3x2x5xf32>
}

// The image is as large as the window: the library of XLA is as fast.
// CHECK-LABEL: func.func @wide_window_to_product_not_as_large(
// CHECK-NEXT: stablehlo.convolution
func.func @wide_window_to_product_not_as_large(%x: tensor<3x3x5xf32>, %w: tensor<3x5x7xf32>) -> tensor<3x3x7xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x3x5xf32>, tensor<3x5x7xf32>) -> tensor<3x3x7xf32>
  return %y : tensor<3x3x7xf32>
}

// Many positions: the slice for each would take long to compile.
// CHECK-LABEL: func.func @wide_window_to_product_not_many_positions(
// CHECK-NEXT: stablehlo.convolution
func.func @wide_window_to_product_not_many_positions(%x: tensor<3x5x5xf32>, %w: tensor<7x5x7xf32>) -> tensor<3x5x7xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[3, 3]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x5x5xf32>, tensor<7x5x7xf32>) -> tensor<3x5x7xf32>
  return %y : tensor<3x5x7xf32>
}

// A kernel's gradient, a window of 3 on an image of 2: each element sums four products.
// CHECK-LABEL: func.func @wide_gradient_to_product(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x2x307xf32>
// CHECK-SAME: %[[DY:[a-z0-9]+]]: tensor<2x2x311xf32>
// CHECK: %[[IMAGE:[a-z0-9_]+]] = stablehlo.pad %[[X]], %{{.*}}, low = [0, 1, 0], high = [0, 1, 0]
// CHECK: stablehlo.slice %[[IMAGE]] [0:2, 0:2, 0:307]
// CHECK: stablehlo.slice %[[IMAGE]] [0:2, 1:3, 0:307]
// CHECK: stablehlo.slice %[[IMAGE]] [0:2, 2:4, 0:307]
// CHECK: %[[Y:[a-z0-9_]+]] = stablehlo.reshape %[[DY]] : (tensor<2x2x311xf32>) -> tensor<4x311xf32>
// CHECK: %[[ALL:[a-z0-9_]+]] = stablehlo.concatenate {{.*}} dim = 0 {{.*}} -> tensor<3x4x307xf32>
// CHECK: stablehlo.dot_general %[[ALL]], %[[Y]], contracting_dims = [1] x [0]
// CHECK-NOT: stablehlo.transpose
// CHECK: return
func.func @wide_gradient_to_product(%x: tensor<2x2x307xf32>, %dy: tensor<2x2x311xf32>) -> tensor<3x307x311xf32> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x2x307xf32>, tensor<2x2x311xf32>) -> tensor<3x307x311xf32>
  return %dw : tensor<3x307x311xf32>
}

// Channels first: the product would need a transpose.
// CHECK-LABEL: func.func @wide_gradient_to_product_not_channels_first(
// CHECK-NEXT: stablehlo.convolution
func.func @wide_gradient_to_product_not_channels_first(%x: tensor<2x307x2xf32>, %dy: tensor<2x311x2xf32>) -> tensor<311x307x3xf32> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, b, 0]x[i, o, 0]->[f, b, 0], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x307x2xf32>, tensor<2x311x2xf32>) -> tensor<311x307x3xf32>
  return %dw : tensor<311x307x3xf32>
}
