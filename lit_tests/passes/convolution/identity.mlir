// RUN: %jxc opt %s -p 'convolution{always=true}' | FileCheck %s

// hankel: row i is x[i : i + 8], and -0.0 becomes 0.0, as in a sum from 0.0.
// CHECK-LABEL: func.func @identity_kernel_to_windows(
// CHECK: %[[SUM:[a-z0-9_]+]] = stablehlo.reduce({{.*}} applies stablehlo.add
// CHECK: %[[FINITE:[a-z0-9_]+]] = stablehlo.is_finite %[[SUM]]
// CHECK: "stablehlo.if"(%[[FINITE]])
// CHECK: %[[X:[a-z0-9_]+]] = stablehlo.select {{.*}} : tensor<1x20xi1>, tensor<1x20xf32>
// CHECK: stablehlo.while(%[[I:[A-Za-z0-9_]+]] =
// CHECK: stablehlo.constant dense<13> : tensor<i32>
// CHECK: stablehlo.dynamic_slice %[[X]], %{{.*}}, %[[I]], sizes = [1, 8]
// CHECK: stablehlo.dynamic_update_slice
// CHECK: }, {
// CHECK: stablehlo.convolution
func.func @identity_kernel_to_windows(%x: tensor<1x20x1xf32>) -> tensor<1x13x8xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<8x8xi32>
  %1 = stablehlo.iota dim = 1 : tensor<8x8xi32>
  %2 = stablehlo.compare EQ, %0, %1, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %3 = stablehlo.convert %2 : (tensor<8x8xi1>) -> tensor<8x8xf32>
  %4 = stablehlo.reshape %3 : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
  %y = stablehlo.convolution(%x, %4) dim_numbers = [b, 0, f]x[i, o, 0]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x20x1xf32>, tensor<1x8x8xf32>) -> tensor<1x13x8xf32>
  return %y : tensor<1x13x8xf32>
}

// Two images, padded; the window is reversed, so that each row is.
// CHECK-LABEL: func.func @identity_kernel_to_windows_backwards(
// CHECK: stablehlo.pad %{{.*}}, low = [0, 2], high = [0, 1]
// CHECK: stablehlo.reverse %{{.*}}, dims = [1] : tensor<2x12xf64>
// CHECK: stablehlo.dynamic_slice %{{.*}}, sizes = [2, 4]
// CHECK: stablehlo.transpose %{{.*}}, dims = [1, 2, 0] : (tensor<9x2x4xf64>) -> tensor<2x4x9xf64>
func.func @identity_kernel_to_windows_backwards(%x: tensor<2x1x9xf64>) -> tensor<2x4x9xf64> {
  %0 = stablehlo.iota dim = 1 : tensor<4x4xi32>
  %1 = stablehlo.iota dim = 0 : tensor<4x4xi32>
  %2 = stablehlo.compare EQ, %0, %1, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
  %3 = stablehlo.convert %2 : (tensor<4x4xi1>) -> tensor<4x4xf64>
  %4 = stablehlo.reshape %3 : (tensor<4x4xf64>) -> tensor<4x1x4xf64>
  %y = stablehlo.convolution(%x, %4) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[2, 1]], reverse = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x1x9xf64>, tensor<4x1x4xf64>) -> tensor<2x4x9xf64>
  return %y : tensor<2x4x9xf64>
}

// The matrix has ones below its diagonal as well.
// CHECK-LABEL: func.func @identity_kernel_to_windows_not_triangles(
// CHECK-NOT: stablehlo.if
// CHECK: return
func.func @identity_kernel_to_windows_not_triangles(%x: tensor<1x20x1xf32>) -> tensor<1x13x8xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<8x8xi32>
  %1 = stablehlo.iota dim = 1 : tensor<8x8xi32>
  %2 = stablehlo.compare GE, %0, %1, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %3 = stablehlo.convert %2 : (tensor<8x8xi1>) -> tensor<8x8xf32>
  %4 = stablehlo.reshape %3 : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
  %y = stablehlo.convolution(%x, %4) dim_numbers = [b, 0, f]x[i, o, 0]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x20x1xf32>, tensor<1x8x8xf32>) -> tensor<1x13x8xf32>
  return %y : tensor<1x13x8xf32>
}

// The gradient of hankel: each row is added where its window lay.
// CHECK-LABEL: func.func @identity_kernel_to_overlapping_sum(
// CHECK: stablehlo.is_finite
// CHECK: "stablehlo.if"
// CHECK: %[[L:[a-z0-9_]+]]:2 = stablehlo.while(%[[I:[A-Za-z0-9_]+]] = %{{.*}}, %[[T:[A-Za-z0-9_]+]] =
// CHECK: %[[OLD:[a-z0-9_]+]] = stablehlo.dynamic_slice %[[T]], %{{.*}}, %[[I]], sizes = [1, 8]
// CHECK: %[[NEW:[a-z0-9_]+]] = stablehlo.add %[[OLD]],
// CHECK: stablehlo.dynamic_update_slice %[[T]], %[[NEW]], %{{.*}}, %[[I]]
// CHECK: stablehlo.pad %[[L]]#1, %{{.*}}, low = [0, 0], high = [0, 0]
// CHECK: }, {
// CHECK: stablehlo.convolution
func.func @identity_kernel_to_overlapping_sum(%x: tensor<1x13x8xf32>) -> tensor<1x20x1xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<8x8xi32>
  %1 = stablehlo.iota dim = 1 : tensor<8x8xi32>
  %2 = stablehlo.compare EQ, %0, %1, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %3 = stablehlo.convert %2 : (tensor<8x8xi1>) -> tensor<8x8xf32>
  %4 = stablehlo.reshape %3 : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
  %5 = stablehlo.reverse %4, dims = [2] : tensor<1x8x8xf32>
  %y = stablehlo.convolution(%x, %5) dim_numbers = [b, 0, f]x[o, i, 0]->[b, 0, f], window = {pad = [[7, 7]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x13x8xf32>, tensor<1x8x8xf32>) -> tensor<1x20x1xf32>
  return %y : tensor<1x20x1xf32>
}

// Every other position.
// CHECK-LABEL: func.func @identity_kernel_to_overlapping_sum_not_strided(
// CHECK-NOT: stablehlo.if
// CHECK: return
func.func @identity_kernel_to_overlapping_sum_not_strided(%x: tensor<1x13x8xf32>) -> tensor<1x10x1xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<8x8xi32>
  %1 = stablehlo.iota dim = 1 : tensor<8x8xi32>
  %2 = stablehlo.compare EQ, %0, %1, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %3 = stablehlo.convert %2 : (tensor<8x8xi1>) -> tensor<8x8xf32>
  %4 = stablehlo.reshape %3 : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
  %y = stablehlo.convolution(%x, %4) dim_numbers = [b, 0, f]x[o, i, 0]->[b, 0, f], window = {stride = [2], pad = [[7, 7]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x13x8xf32>, tensor<1x8x8xf32>) -> tensor<1x10x1xf32>
  return %y : tensor<1x10x1xf32>
}
