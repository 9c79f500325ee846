// RUN: jxc opt %s -p 'convolution{always=true enable-patterns=nested-convolution-to-features-last,convolution-to-planes}' --split-input-file | filecheck %s

// The library is called in a branch only with features last, so the operands are transposed. The
// window is reversed before, and the padding stays.
// CHECK-LABEL: func.func @nested_convolution_to_features_last(
// CHECK: stablehlo.case
// CHECK: %[[W:[a-z0-9_]+]] = stablehlo.reverse %{{.*}}, dims = [3]
// CHECK: stablehlo.transpose %{{.*}}, dims = [0, 2, 3, 1]
// CHECK: stablehlo.transpose %[[W]], dims = [2, 3, 1, 0]
// CHECK: %[[Y:[a-z0-9_]+]] = stablehlo.convolution(%{{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = {{\[\[}}1, 0], [1, 1]]
// CHECK: stablehlo.transpose %[[Y]], dims = [0, 3, 1, 2]
func.func @nested_convolution_to_features_last(%i: tensor<i32>, %x: tensor<2x3x6x5xf32>, %w: tensor<4x3x2x3xf32>, %y: tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32> {
  %r = "stablehlo.case"(%i) ({
    %c = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 1], pad = [[1, 0], [1, 1]], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x6x5xf32>, tensor<4x3x2x3xf32>) -> tensor<2x4x3x5xf32>
    stablehlo.return %c : tensor<2x4x3x5xf32>
  }, {
    stablehlo.return %y : tensor<2x4x3x5xf32>
  }) : (tensor<i32>) -> tensor<2x4x3x5xf32>
  return %r : tensor<2x4x3x5xf32>
}

// The gradient by the kernel. 16 bits are converted outside of the library.
// CHECK-LABEL: func.func @nested_convolution_to_features_last_gradient(
// CHECK: stablehlo.if
// CHECK: stablehlo.convolution(%{{.*}}) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = {{\[\[}}1, 1]]{{.*}} : (tensor<2x6x3xf32>, tensor<6x3x2xf32>) -> tensor<2x3x2xf32>
func.func @nested_convolution_to_features_last_gradient(%p: tensor<i1>, %x: tensor<3x6x2xbf16>, %dy: tensor<3x6x2xbf16>, %y: tensor<3x2x2xbf16>) -> tensor<3x2x2xbf16> {
  %r = "stablehlo.if"(%p) ({
    %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x6x2xbf16>, tensor<3x6x2xbf16>) -> tensor<3x2x2xbf16>
    stablehlo.return %dw : tensor<3x2x2xbf16>
  }, {
    stablehlo.return %y : tensor<3x2x2xbf16>
  }) : (tensor<i1>) -> tensor<3x2x2xbf16>
  return %r : tensor<3x2x2xbf16>
}

// -----

// Outside of loops and branches XLA transposes the operands itself.
// CHECK-LABEL: func.func @nested_convolution_to_features_last_not_outside(
// CHECK-NEXT: stablehlo.convolution
func.func @nested_convolution_to_features_last_not_outside(%x: tensor<2x3x6x5xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<2x4x6x5xf32> {
  %c = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x6x5xf32>, tensor<4x3x1x1xf32>) -> tensor<2x4x6x5xf32>
  return %c : tensor<2x4x6x5xf32>
}

// Features are last already.
// CHECK-LABEL: func.func @nested_convolution_to_features_last_not_twice(
// CHECK-NOT: stablehlo.transpose
func.func @nested_convolution_to_features_last_not_twice(%p: tensor<i1>, %x: tensor<2x6x3xf32>, %w: tensor<1x3x4xf32>, %y: tensor<2x6x4xf32>) -> tensor<2x6x4xf32> {
  %r = "stablehlo.if"(%p) ({
    %c = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x3xf32>, tensor<1x3x4xf32>) -> tensor<2x6x4xf32>
    stablehlo.return %c : tensor<2x6x4xf32>
  }, {
    stablehlo.return %y : tensor<2x6x4xf32>
  }) : (tensor<i1>) -> tensor<2x6x4xf32>
  return %r : tensor<2x6x4xf32>
}

// -----

// The window has two taps along the second axis, the fewest. Each is a convolution of the planes
// that it meets, with a stride of 2 between them.
// CHECK-LABEL: func.func @convolution_to_planes(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x5x6x5x2xf32>
// CHECK: stablehlo.pad %{{.*}}, low = [0, 1, 0, 0, 0], high = [0, 0, 0, 0, 0]
// CHECK: stablehlo.slice %{{.*}} [0:2, 0:5:2, 0:5, 0:5, 0:2]
// CHECK: stablehlo.convolution(%{{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{.*}} : (tensor<6x5x5x2xf32>, tensor<3x3x2x4xf32>) -> tensor<6x5x3x4xf32>
// CHECK: stablehlo.slice %{{.*}} [0:2, 1:6:2, 0:5, 0:5, 0:2]
// CHECK: stablehlo.convolution
// CHECK: stablehlo.add
// CHECK-NOT: stablehlo.convolution
func.func @convolution_to_planes(%x: tensor<2x5x6x5x2xf32>, %w: tensor<3x2x3x2x4xf32>) -> tensor<2x5x3x3x4xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f], window = {stride = [1, 2, 1], pad = [[1, 1], [1, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x6x5x2xf32>, tensor<3x2x3x2x4xf32>) -> tensor<2x5x3x3x4xf32>
  return %y : tensor<2x5x3x3x4xf32>
}

// The gradient by the kernel has two positions along the first axis. Each is a convolution in which
// the four planes of the window are features.
// CHECK-LABEL: func.func @convolution_to_planes_gradient(
// CHECK: stablehlo.convolution(%{{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{.*}} : (tensor<3x5x5x8xf32>, tensor<3x3x8x6xf32>) -> tensor<3x3x3x6xf32>
// CHECK: stablehlo.convolution
// CHECK: stablehlo.concatenate %{{.*}}, dim = 1
// CHECK: stablehlo.transpose %{{.*}}, dims = [1, 2, 3, 0, 4]
// CHECK-NOT: stablehlo.convolution
func.func @convolution_to_planes_gradient(%x: tensor<2x5x5x5x3xf32>, %dy: tensor<2x4x3x3x6xf32>) -> tensor<2x3x3x3x6xf32> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, 1, 2, b]x[i, 0, 1, 2, o]->[0, 1, 2, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x5x5x3xf32>, tensor<2x4x3x3x6xf32>) -> tensor<2x3x3x3x6xf32>
  return %dw : tensor<2x3x3x3x6xf32>
}

// -----

// The library takes two spatial dimensions.
// CHECK-LABEL: func.func @convolution_to_planes_not_of_images(
// CHECK-NEXT: stablehlo.convolution
func.func @convolution_to_planes_not_of_images(%x: tensor<2x5x5x3xf32>, %w: tensor<3x3x3x6xf32>) -> tensor<2x3x3x6xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x5x3xf32>, tensor<3x3x3x6xf32>) -> tensor<2x3x3x6xf32>
  return %y : tensor<2x3x3x6xf32>
}
