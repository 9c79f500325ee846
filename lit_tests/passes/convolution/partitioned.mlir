// RUN: %jxc opt %s -p 'convolution{always=true}' | FileCheck %s

// Convolutions over two devices: the devices may not send more than before.

module attributes {mhlo.num_partitions = 2 : i32} {
sdy.mesh @mesh = <["d"=2]>
func.func public @main() { return }

// Each device sums its own images in the loop. The sums are added once, after it.
// CHECK-LABEL: func.func @depthwise_weight_gradient_to_sums(
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<i32>, tensor<2x3x32xf32>
// CHECK: stablehlo.dot_general {{.*}} batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x1x4xf32>, tensor<2x4x32xf32>) -> tensor<2x1x32xf32>
// CHECK: stablehlo.dynamic_update_slice
// CHECK: %[[SUM:[a-z0-9_]+]] = stablehlo.reduce(%{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<2x3x32xf32>, tensor<f32>) -> tensor<3x32xf32>
// CHECK: stablehlo.reshape %[[SUM]]
func.func @depthwise_weight_gradient_to_sums(%x: tensor<2x8x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}, {}]>}, %dy: tensor<2x4x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}, {}]>}) -> tensor<3x1x32xf32> {
  %0 = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[0, 1]], rhs_dilate = [2]} {batch_group_count = 32 : i64, feature_group_count = 1 : i64} : (tensor<2x8x32xf32>, tensor<2x4x32xf32>) -> tensor<3x1x32xf32>
  return %0 : tensor<3x1x32xf32>
}

// Space is split: each slice would be a collective.
// CHECK-LABEL: func.func @depthwise_weight_gradient_to_sums_not_along_space(
// CHECK-NEXT: stablehlo.convolution
func.func @depthwise_weight_gradient_to_sums_not_along_space(%x: tensor<2x8x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"d"}, {}]>}, %dy: tensor<2x4x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"d"}, {}]>}) -> tensor<3x1x32xf32> {
  %0 = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[0, 1]], rhs_dilate = [2]} {batch_group_count = 32 : i64, feature_group_count = 1 : i64} : (tensor<2x8x32xf32>, tensor<2x4x32xf32>) -> tensor<3x1x32xf32>
  return %0 : tensor<3x1x32xf32>
}
}
