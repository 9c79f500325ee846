// RUN: jxc opt %s -p 'convolution{always=true}' --split-input-file | filecheck %s

// The kernel's gradient of a 1x1 convolution as JAX writes it: the window covers the image.
// CHECK-LABEL: func.func @convolution_to_product(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4x4x16xf32>, %[[DY:[a-z0-9]+]]: tensor<2x4x4x8xf32>
// CHECK-NEXT: %[[DW:[a-z0-9]+]] = stablehlo.dot_general %[[X]], %[[DY]], contracting_dims = [1, 2, 0] x [1, 2, 0] : {{.*}} -> tensor<16x8xf32>
// CHECK-NEXT: stablehlo.reshape %[[DW]] : (tensor<16x8xf32>) -> tensor<1x1x16x8xf32>
func.func @convolution_to_product(%x: tensor<2x4x4x16xf32>, %dy: tensor<2x4x4x8xf32>) -> tensor<1x1x16x8xf32> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x4x16xf32>, tensor<2x4x4x8xf32>) -> tensor<1x1x16x8xf32>
  return %dw : tensor<1x1x16x8xf32>
}

// The same with stride 2 and 16 bits: the window skips every other pixel and does not reach the
// last.
// CHECK-LABEL: func.func @convolution_to_product_stride(
// CHECK: stablehlo.slice %{{.*}} [0:2, 0:7:2, 0:16] : (tensor<2x7x16xbf16>) -> tensor<2x4x16xbf16>
// CHECK: %[[DW:[a-z0-9]+]] = stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [1, 0] x [1, 0] : (tensor<2x4x16xf32>, tensor<2x4x32xf32>) -> tensor<16x32xf32>
// CHECK-NOT: stablehlo.convolution
func.func @convolution_to_product_stride(%x: tensor<2x8x16xbf16>, %dy: tensor<2x4x32xbf16>) -> tensor<1x16x32xbf16> {
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[0, -1]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x16xbf16>, tensor<2x4x32xbf16>) -> tensor<1x16x32xbf16>
  return %dw : tensor<1x16x32xbf16>
}

// The gradient by the image. The kernel's inputs are its last dimension.
// CHECK-LABEL: func.func @convolution_to_product_point(
// CHECK-SAME: %[[DY:[a-z0-9]+]]: tensor<2x8x8xf32>, %[[W:[a-z0-9]+]]: tensor<1x32x8xf32>
// CHECK-NEXT: %[[MATRIX:[a-z0-9]+]] = stablehlo.reshape %[[W]] : (tensor<1x32x8xf32>) -> tensor<32x8xf32>
// CHECK-NEXT: stablehlo.dot_general %[[DY]], %[[MATRIX]], contracting_dims = [2] x [1] : {{.*}} -> tensor<2x8x32xf32>
func.func @convolution_to_product_point(%dy: tensor<2x8x8xf32>, %w: tensor<1x32x8xf32>) -> tensor<2x8x32xf32> {
  %dx = stablehlo.convolution(%dy, %w) dim_numbers = [b, 0, f]x[0, o, i]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8xf32>, tensor<1x32x8xf32>) -> tensor<2x8x32xf32>
  return %dx : tensor<2x8x32xf32>
}

// A final layer over the whole image, with a reversed kernel and the dimensions of the result
// reversed.
// CHECK-LABEL: func.func @convolution_to_product_whole(
// CHECK: stablehlo.reverse %{{.*}}, dims = [0]
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.transpose %{{.*}}, dims = [1, 0]
func.func @convolution_to_product_whole(%x: tensor<8x4x8xf32>, %w: tensor<4x8x16xf32>) -> tensor<16x1x8xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[f, 0, b], window = {reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x4x8xf32>, tensor<4x8x16xf32>) -> tensor<16x1x8xf32>
  return %y : tensor<16x1x8xf32>
}

// -----

// The window of three overlaps padding, so the product would need padding with zeros.
// CHECK-LABEL: func.func @convolution_to_product_not_padded(
// CHECK-NEXT: stablehlo.convolution
func.func @convolution_to_product_not_padded(%x: tensor<16x3x8xf32>, %w: tensor<3x8x16xf32>) -> tensor<16x1x16xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [3], pad = [[1, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<16x3x8xf32>, tensor<3x8x16xf32>) -> tensor<16x1x16xf32>
  return %y : tensor<16x1x16xf32>
}
