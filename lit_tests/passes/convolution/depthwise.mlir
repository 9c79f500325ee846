// RUN: %jxc opt %s -p 'convolution{always=true enable-patterns=depthwise-to-multiply-add,depthwise-weight-gradient-to-sums}' --split-input-file | FileCheck %s

// As keras and flax write it. The rewrite has one pad, and a product for each tap. The sum starts
// from 0.0. This addition is written as a select, because XLA would fold x + 0.0 into x.
// CHECK-LABEL: func.func @depthwise_to_multiply_add(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x5x5x3xf32>
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<1x2x1x3xf32>
// CHECK: %[[IMAGE:[a-z0-9_]+]] = stablehlo.pad %[[X]], %{{.*}}, low = [0, 0, 0, 0], high = [0, 0, 1, 0], interior = [0, 0, 0, 0]
// CHECK: %[[TAPS:[a-z0-9_]+]] = stablehlo.reshape %{{.*}} -> tensor<6xf32>
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[IMAGE]] [0:2, 0:5, 0:5, 0:3]
// CHECK: stablehlo.slice %[[TAPS]] [0:3]
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.multiply %[[A]],
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.slice %[[IMAGE]] [0:2, 0:5, 1:6, 0:3]
// CHECK: stablehlo.slice %[[TAPS]] [3:6]
// CHECK: %[[Q:[a-z0-9_]+]] = stablehlo.multiply %[[B]],
// CHECK: %[[IS_ZERO:[a-z0-9_]+]] = stablehlo.compare EQ, %[[P]], %[[ZERO:[a-z0-9_]+]]
// CHECK: %[[SUM:[a-z0-9_]+]] = stablehlo.select %[[IS_ZERO]], %[[ZERO]], %[[P]]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.add %[[SUM]], %[[Q]]
// CHECK-NEXT: return %[[R]]
func.func @depthwise_to_multiply_add(%x: tensor<2x5x5x3xf32>, %w: tensor<1x2x1x3xf32>) -> tensor<2x5x5x3xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x5x5x3xf32>, tensor<1x2x1x3xf32>) -> tensor<2x5x5x3xf32>
  return %y : tensor<2x5x5x3xf32>
}

// Channels before space, strides, a dilated window, negative padding, and a reversed kernel.
// CHECK-LABEL: func.func @depthwise_to_multiply_add_channels_first(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x7x8xf32>
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<3x1x2x2xf32>
// CHECK: %[[IMAGE:[a-z0-9_]+]] = stablehlo.pad %[[X]], %{{.*}}, low = [0, 0, 1, -1], high = [0, 0, 0, 2]
// CHECK: stablehlo.reverse %[[W]], dims = [3]
// CHECK: stablehlo.slice %[[IMAGE]] [0:2, 0:3, 0:7:2, 0:7]
// CHECK: stablehlo.slice %[[IMAGE]] [0:2, 0:3, 0:7:2, 2:9]
// CHECK: stablehlo.slice %[[IMAGE]] [0:2, 0:3, 1:8:2, 0:7]
// CHECK: stablehlo.slice %[[IMAGE]] [0:2, 0:3, 1:8:2, 2:9]
// CHECK-NOT: stablehlo.convolution
func.func @depthwise_to_multiply_add_channels_first(%x: tensor<2x3x7x8xf32>, %w: tensor<3x1x2x2xf32>) -> tensor<2x3x4x7xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 1], pad = [[1, 0], [-1, 2]], rhs_dilate = [1, 2], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<2x3x7x8xf32>, tensor<3x1x2x2xf32>) -> tensor<2x3x4x7xf32>
  return %y : tensor<2x3x4x7xf32>
}

// The causal convolution of a state-space model. 16-bit products are summed in f32.
// CHECK-LABEL: func.func @depthwise_to_multiply_add_16_bit(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x6x2xbf16>
// CHECK: %[[WIDE:[a-z0-9_]+]] = stablehlo.convert %[[X]] : (tensor<1x6x2xbf16>) -> tensor<1x6x2xf32>
// CHECK: stablehlo.pad %[[WIDE]], %{{.*}}, low = [0, 1, 0]
// CHECK: %[[SUM:[a-z0-9_]+]] = stablehlo.add %{{.*}} : tensor<1x6x2xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.convert %[[SUM]] : (tensor<1x6x2xf32>) -> tensor<1x6x2xbf16>
// CHECK-NEXT: return %[[R]]
func.func @depthwise_to_multiply_add_16_bit(%x: tensor<1x6x2xbf16>, %w: tensor<2x1x2xbf16>) -> tensor<1x6x2xbf16> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 0]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x6x2xbf16>, tensor<2x1x2xbf16>) -> tensor<1x6x2xbf16>
  return %y : tensor<1x6x2xbf16>
}

// With `preferred_element_type`, the result keeps its wider type.
// CHECK-LABEL: func.func @depthwise_to_multiply_add_wider_result(
// CHECK-NOT: stablehlo.convolution
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.add %{{.*}} : tensor<1x5x2xf32>
// CHECK-NEXT: return %[[R]]
func.func @depthwise_to_multiply_add_wider_result(%x: tensor<1x6x2xf16>, %w: tensor<2x1x2xf16>) -> tensor<1x5x2xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x6x2xf16>, tensor<2x1x2xf16>) -> tensor<1x5x2xf32>
  return %y : tensor<1x5x2xf32>
}

// Two outputs per channel: each slice of the image is broadcast to both.
// CHECK-LABEL: func.func @depthwise_to_multiply_add_multiplier(
// CHECK: %[[TAPS:[a-z0-9_]+]] = stablehlo.reshape %{{.*}} -> tensor<2x3x2xf32>
// CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [0, 1, 2] : (tensor<1x5x3xf32>) -> tensor<1x5x3x2xf32>
// CHECK: %[[SUM:[a-z0-9_]+]] = stablehlo.add %{{.*}} : tensor<1x5x3x2xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reshape %[[SUM]] : (tensor<1x5x3x2xf32>) -> tensor<1x5x6xf32>
// CHECK-NEXT: return %[[R]]
func.func @depthwise_to_multiply_add_multiplier(%x: tensor<1x6x3xf32>, %w: tensor<2x1x6xf32>) -> tensor<1x5x6xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x6x3xf32>, tensor<2x1x6xf32>) -> tensor<1x5x6xf32>
  return %y : tensor<1x5x6xf32>
}

// The input gradient of a convolution with stride 2 and two outputs per channel.
// CHECK-LABEL: func.func @depthwise_to_multiply_add_input_gradient(
// CHECK-SAME: %[[DY:[a-z0-9]+]]: tensor<1x4x6xf32>
// CHECK: %[[IMAGE:[a-z0-9_]+]] = stablehlo.pad %[[DY]], %{{.*}}, low = [0, 2, 0], high = [0, 1, 0], interior = [0, 1, 0]
// CHECK: stablehlo.slice %[[IMAGE]] [0:1, 0:8, 0:6]
// CHECK: %[[EVEN:[a-z0-9_]+]] = stablehlo.slice %[[SUM:[a-z0-9_]+]] [0:1, 0:8, 0:3, 0:1]
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.reshape %[[EVEN]]
// CHECK: %[[ODD:[a-z0-9_]+]] = stablehlo.slice %[[SUM]] [0:1, 0:8, 0:3, 1:2]
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.reshape %[[ODD]]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.add %[[A]], %[[B]]
// CHECK-NEXT: return %[[R]]
func.func @depthwise_to_multiply_add_input_gradient(%dy: tensor<1x4x6xf32>, %w: tensor<3x3x2xf32>) -> tensor<1x8x3xf32> {
  %y = stablehlo.convolution(%dy, %w) dim_numbers = [b, 0, f]x[0, o, i]->[b, 0, f], window = {pad = [[2, 1]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x4x6xf32>, tensor<3x3x2xf32>) -> tensor<1x8x3xf32>
  return %y : tensor<1x8x3xf32>
}

// 70 taps: a loop of four iterations of 16 taps, after six taps that are unrolled before it.
// CHECK-LABEL: func.func @depthwise_to_multiply_add_loop(
// CHECK: %[[IMAGE:[a-z0-9_]+]] = stablehlo.pad
// CHECK: stablehlo.slice %[[IMAGE]] [0:1, 64:134, 0:2]
// CHECK: stablehlo.slice %[[IMAGE]] [0:1, 69:139, 0:2]
// CHECK: %[[LOOP:[a-z0-9_]+]]:2 = stablehlo.while({{.*}}) : tensor<i32>, tensor<1x70x2xf32>
// CHECK: stablehlo.constant dense<64> : tensor<i32>
// CHECK: stablehlo.dynamic_slice %[[IMAGE]], %{{.*}}, sizes = [1, 85, 2]
// CHECK: stablehlo.dynamic_slice %{{.*}}, sizes = [16, 2]
// CHECK: return %[[LOOP]]#1
func.func @depthwise_to_multiply_add_loop(%x: tensor<1x70x2xf32>, %w: tensor<70x1x2xf32>) -> tensor<1x70x2xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[69, 0]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x70x2xf32>, tensor<70x1x2xf32>) -> tensor<1x70x2xf32>
  return %y : tensor<1x70x2xf32>
}

// 25 taps: a loop with one iteration for each row of the window. The stride is 2 along the rows.
// CHECK-LABEL: func.func @depthwise_to_multiply_add_rows(
// CHECK: %[[IMAGE:[a-z0-9_]+]] = stablehlo.pad
// CHECK: %[[LOOP:[a-z0-9_]+]]:2 = stablehlo.while({{.*}}) : tensor<i32>, tensor<1x8x8x3xf32>
// CHECK: stablehlo.constant dense<10> : tensor<i32>
// CHECK: %[[SLAB:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[IMAGE]], %{{.*}}, sizes = [1, 8, 12, 3]
// CHECK: stablehlo.pad {{.*}} interior = [1, 0] : (tensor<5x15xf32>, tensor<f32>) -> tensor<9x15xf32>
// CHECK: stablehlo.dynamic_slice {{.*}} sizes = [1, 15]
// CHECK: stablehlo.slice %[[SLAB]] [0:1, 0:8, 4:12, 0:3]
// CHECK: return %[[LOOP]]#1
func.func @depthwise_to_multiply_add_rows(%x: tensor<1x8x8x3xf32>, %w: tensor<5x5x1x3xf32>) -> tensor<1x8x8x3xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[4, 4], [2, 2]], rhs_dilate = [2, 1]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x8x8x3xf32>, tensor<5x5x1x3xf32>) -> tensor<1x8x8x3xf32>
  return %y : tensor<1x8x8x3xf32>
}

// Two inputs and two outputs per group: each tap is a small matrix product, not an elementwise one.
// CHECK-LABEL: func.func @depthwise_to_multiply_add_not_grouped(
// CHECK-NEXT: stablehlo.convolution
func.func @depthwise_to_multiply_add_not_grouped(%x: tensor<1x6x4xf32>, %w: tensor<2x2x4xf32>) -> tensor<1x5x4xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x6x4xf32>, tensor<2x2x4xf32>) -> tensor<1x5x4xf32>
  return %y : tensor<1x5x4xf32>
}

// With one channel, it is an ordinary convolution, which XLA gives to a library.
// CHECK-LABEL: func.func @depthwise_to_multiply_add_not_one_channel(
// CHECK-NEXT: stablehlo.convolution
func.func @depthwise_to_multiply_add_not_one_channel(%x: tensor<1x6x1xf32>, %w: tensor<2x1x4xf32>) -> tensor<1x5x4xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x1xf32>, tensor<2x1x4xf32>) -> tensor<1x5x4xf32>
  return %y : tensor<1x5x4xf32>
}

// Not for integers: library convolutions of integers were not measured.
// CHECK-LABEL: func.func @depthwise_to_multiply_add_not_integers(
// CHECK-NEXT: stablehlo.convolution
func.func @depthwise_to_multiply_add_not_integers(%x: tensor<1x6x2xi32>, %w: tensor<2x1x2xi32>) -> tensor<1x5x2xi32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x6x2xi32>, tensor<2x1x2xi32>) -> tensor<1x5x2xi32>
  return %y : tensor<1x5x2xi32>
}

// The batch size is unknown, so no static slice of it can be written.
// CHECK-LABEL: func.func @depthwise_to_multiply_add_not_dynamic(
// CHECK-NEXT: stablehlo.convolution
func.func @depthwise_to_multiply_add_not_dynamic(%x: tensor<?x6x2xf32>, %w: tensor<2x1x2xf32>) -> tensor<?x5x2xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<?x6x2xf32>, tensor<2x1x2xf32>) -> tensor<?x5x2xf32>
  return %y : tensor<?x5x2xf32>
}

// An empty batch: there is nothing to compute.
// CHECK-LABEL: func.func @depthwise_to_multiply_add_not_empty(
// CHECK-NEXT: stablehlo.convolution
func.func @depthwise_to_multiply_add_not_empty(%x: tensor<0x6x2xf32>, %w: tensor<2x1x2xf32>) -> tensor<0x5x2xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<0x6x2xf32>, tensor<2x1x2xf32>) -> tensor<0x5x2xf32>
  return %y : tensor<0x5x2xf32>
}

// -----

// The kernel's gradient as JAX writes it, with stride 2: a loop with one iteration for each of 3
// taps.
// CHECK-LABEL: func.func @depthwise_weight_gradient_to_sums(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x8x32xf32>
// CHECK-SAME: %[[DY:[a-z0-9]+]]: tensor<2x4x32xf32>
// CHECK: %[[IMAGE:[a-z0-9_]+]] = stablehlo.pad %[[X]], %{{.*}}, low = [0, 0, 0], high = [0, 1, 0]
// CHECK: stablehlo.while(%{{.*}} = %{{.*}}, %[[START:[A-Za-z0-9_]+]] = %{{.*}}, %{{.*}} = %{{.*}}) : tensor<i32>, tensor<i32>, tensor<3x32xf32>
// CHECK: stablehlo.constant dense<3> : tensor<i32>
// CHECK: %[[PIECE:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[IMAGE]], %{{.*}}, %[[START]], %{{.*}}, sizes = [2, 7, 32]
// CHECK: %[[PART:[a-z0-9_]+]] = stablehlo.slice %[[PIECE]] [0:2, 0:7:2, 0:32]
// CHECK: stablehlo.multiply %[[PART]], %[[DY]]
// CHECK: stablehlo.dot_general {{.*}} -> tensor<1x32xf32>
// CHECK: stablehlo.dynamic_update_slice
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.transpose %{{.*}}, dims = [0, 2, 1] : (tensor<3x32x1xf32>) -> tensor<3x1x32xf32>
// CHECK-NEXT: return %[[R]]
func.func @depthwise_weight_gradient_to_sums(%x: tensor<2x8x32xf32>, %dy: tensor<2x4x32xf32>) -> tensor<3x1x32xf32> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[0, 1]], rhs_dilate = [2]} {batch_group_count = 32 : i64, feature_group_count = 1 : i64} : (tensor<2x8x32xf32>, tensor<2x4x32xf32>) -> tensor<3x1x32xf32>
  return %dw : tensor<3x1x32xf32>
}

// 2,048 products are summed in four blocks, then together: rounding errors add up along one sum.
// CHECK-LABEL: func.func @depthwise_weight_gradient_to_sums_of_blocks(
// CHECK: %[[SUMS:[a-z0-9_]+]] = stablehlo.dot_general {{.*}} : (tensor<4x1x512xf32>, tensor<4x512x8xf32>) -> tensor<4x1x8xf32>
// CHECK: stablehlo.reduce(%[[SUMS]] {{.*}} across dimensions = [0] : (tensor<4x1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
func.func @depthwise_weight_gradient_to_sums_of_blocks(%x: tensor<4x512x8xf32>, %dy: tensor<4x512x8xf32>) -> tensor<3x1x8xf32> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[1, 1]]} {batch_group_count = 8 : i64, feature_group_count = 1 : i64} : (tensor<4x512x8xf32>, tensor<4x512x8xf32>) -> tensor<3x1x8xf32>
  return %dw : tensor<3x1x8xf32>
}

// Channels first, two outputs per channel. One tap needs no loop.
// CHECK-LABEL: func.func @depthwise_weight_gradient_to_sums_multiplier(
// CHECK-NOT: stablehlo.while
// CHECK: stablehlo.multiply %{{.*}} : tensor<2x4x32x2xf32>
// CHECK: stablehlo.dot_general {{.*}} -> tensor<1x64xf32>
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.transpose %{{.*}} -> tensor<64x1x1xf32>
// CHECK-NEXT: return %[[R]]
func.func @depthwise_weight_gradient_to_sums_multiplier(%x: tensor<2x32x4xf32>, %dy: tensor<2x64x4xf32>) -> tensor<64x1x1xf32> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, b, 0]x[i, o, 0]->[f, b, 0], window = {} {batch_group_count = 32 : i64, feature_group_count = 1 : i64} : (tensor<2x32x4xf32>, tensor<2x64x4xf32>) -> tensor<64x1x1xf32>
  return %dw : tensor<64x1x1xf32>
}

// A window larger than the image, as in deep layers: most products are with padding.
// CHECK-LABEL: func.func @depthwise_weight_gradient_to_sums_small_image(
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.convolution
func.func @depthwise_weight_gradient_to_sums_small_image(%x: tensor<2x2x32xf32>, %dy: tensor<2x2x32xf32>) -> tensor<7x1x32xf32> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[3, 3]]} {batch_group_count = 32 : i64, feature_group_count = 1 : i64} : (tensor<2x2x32xf32>, tensor<2x2x32xf32>) -> tensor<7x1x32xf32>
  return %dw : tensor<7x1x32xf32>
}

// -----

// A mean follows, after another convolution. The sum is materialized: XLA would otherwise compute
// each tap in a kernel of its own.
// CHECK-LABEL: func.func @depthwise_to_multiply_add_reduced(
// CHECK: %[[SUM:[a-z0-9_]+]] = stablehlo.add
// CHECK-NEXT: %[[KEPT:[a-z0-9_]+]] = call @stored_tensor_1x5x2xf32_(%[[SUM]]) {mhlo.frontend_attributes = {inlineable = "false"}}
// CHECK-NEXT: stablehlo.convolution(%[[KEPT]],
func.func @depthwise_to_multiply_add_reduced(%x: tensor<1x6x2xf32>, %w: tensor<2x1x2xf32>, %v: tensor<1x2x3xf32>) -> tensor<1x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x6x2xf32>, tensor<2x1x2xf32>) -> tensor<1x5x2xf32>
  %z = stablehlo.convolution(%y, %v) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x2xf32>, tensor<1x2x3xf32>) -> tensor<1x5x3xf32>
  %sum = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1x5x3xf32>, tensor<f32>) -> tensor<1x3xf32>
  return %sum : tensor<1x3xf32>
}

// -----

// XLA does not fuse a clamp and its producers into such a kernel: nothing is materialized.
// CHECK-LABEL: func.func @depthwise_to_multiply_add_clamped(
// CHECK-NOT: call
// CHECK: stablehlo.clamp
func.func @depthwise_to_multiply_add_clamped(%x: tensor<1x6x2xf32>, %w: tensor<2x1x2xf32>) -> tensor<1x2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %six = stablehlo.constant dense<6.0> : tensor<f32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x6x2xf32>, tensor<2x1x2xf32>) -> tensor<1x5x2xf32>
  %z = stablehlo.clamp %zero, %y, %six : (tensor<f32>, tensor<1x5x2xf32>, tensor<f32>) -> tensor<1x5x2xf32>
  %sum = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1x5x2xf32>, tensor<f32>) -> tensor<1x2xf32>
  return %sum : tensor<1x2xf32>
}
