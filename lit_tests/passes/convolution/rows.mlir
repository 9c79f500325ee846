// RUN: jxc opt %s -p 'convolution{always=true enable-patterns=convolution-to-row-products}' --split-input-file | filecheck %s

// An image without features. One product of both rows with the patches of the padded image, in
// which the two taps of a row follow each other. The second row's result is shifted by one.
// CHECK-LABEL: func.func @convolution_to_row_products(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x5x6x1xf32>, %[[W:[a-z0-9]+]]: tensor<2x2x1x1xf32>
// CHECK: %[[IMAGE:[a-z0-9_]+]] = stablehlo.pad %{{.*}}, low = [0, 0, 0, 0], high = [0, 0, 1, 1], interior = [0, 0, 0, 0]
// CHECK: %[[A:[a-z0-9_]+]] = stablehlo.slice %[[IMAGE]] [0:1, 0:1, 0:6, 0:6]
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.slice %[[IMAGE]] [0:1, 0:1, 0:6, 1:7]
// CHECK: %[[PATCHES:[a-z0-9_]+]] = stablehlo.concatenate %[[A]], %[[B]], dim = 0
// CHECK: %[[P:[a-z0-9_]+]] = stablehlo.dot_general %{{.*}}, %[[PATCHES]], contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x1x6x6xf32>) -> tensor<2x1x6x6xf32>
// CHECK: stablehlo.slice %[[P]] [0:1, 0:1, 0:6, 0:6]
// CHECK: stablehlo.slice %{{.*}} [0:1, 0:1, 0:5, 0:6]
// CHECK: stablehlo.slice %[[P]] [1:2, 0:1, 0:6, 0:6]
// CHECK: stablehlo.slice %{{.*}} [0:1, 0:1, 1:6, 0:6]
// CHECK: stablehlo.add
// CHECK-NOT: stablehlo.convolution
func.func @convolution_to_row_products(%x: tensor<1x5x6x1xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x5x6x1xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x6x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x5x6x1xf32>
  return %y : tensor<1x5x6x1xf32>
}

// `jnp.convolve`: the window of 7 taps is cut into 3 rows of 2, and a tap that is multiplied alone.
// It is reversed.
// CHECK-LABEL: func.func @convolution_to_row_products_1d(
// CHECK: stablehlo.reverse %{{.*}}, dims = [2]
// CHECK: stablehlo.dot_general %{{.*}} : (tensor<3x2xf32>, tensor<2x1x25xf32>) -> tensor<3x1x25xf32>
// CHECK: stablehlo.slice %{{.*}} [0:1, 0:1, 0:20]
// CHECK: stablehlo.slice %{{.*}} [0:1, 0:1, 2:22]
// CHECK: stablehlo.slice %{{.*}} [0:1, 0:1, 4:24]
// CHECK: stablehlo.slice %{{.*}} [0:1, 0:1, 6:26]
// CHECK: stablehlo.dot_general %{{.*}} : (tensor<1x1xf32>, tensor<1x1x20xf32>) -> tensor<1x1x20xf32>
// CHECK-NOT: stablehlo.convolution
func.func @convolution_to_row_products_1d(%x: tensor<1x1x20xf32>, %w: tensor<1x1x7xf32>) -> tensor<1x1x20xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[3, 3]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x20xf32>, tensor<1x1x7xf32>) -> tensor<1x1x20xf32>
  return %y : tensor<1x1x20xf32>
}

// Many taps in a row: a loop copies the patches. The result has every second position, and the
// image has holes.
// CHECK-LABEL: func.func @convolution_to_row_products_long_rows(
// CHECK: stablehlo.pad %{{.*}}, low = [0, 0, 1, 4], high = [0, 0, 1, 4], interior = [0, 0, 1, 0]
// CHECK: stablehlo.while
// CHECK: stablehlo.dynamic_update_slice
// CHECK: stablehlo.dot_general %{{.*}} : (tensor<3x9xf32>, tensor<9x2x9x7xf32>) -> tensor<3x2x9x7xf32>
// CHECK: stablehlo.slice %{{.*}} [0:1, 0:2, 2:9:2, 0:7]
// CHECK-NOT: stablehlo.convolution
func.func @convolution_to_row_products_long_rows(%x: tensor<2x4x13x1xbf16>, %w: tensor<3x9x1x1xbf16>) -> tensor<2x4x7x1xbf16> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [4, 4]], lhs_dilate = [2, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x13x1xbf16>, tensor<3x9x1x1xbf16>) -> tensor<2x4x7x1xbf16>
  return %y : tensor<2x4x7x1xbf16>
}

// Three spatial dimensions, with two features and three outputs, which stay last.
// CHECK-LABEL: func.func @convolution_to_row_products_volume(
// CHECK: stablehlo.concatenate %{{.*}}, dim = 4 : {{.*}} -> tensor<1x6x6x6x4xf32>
// CHECK: stablehlo.dot_general %{{.*}}, contracting_dims = [4] x [0] : (tensor<1x6x6x6x4xf32>, tensor<4x12xf32>) -> tensor<1x6x6x6x12xf32>
// CHECK-COUNT-3: stablehlo.add
// CHECK-NOT: stablehlo.convolution
func.func @convolution_to_row_products_volume(%x: tensor<1x5x5x5x2xf32>, %w: tensor<2x2x2x2x3xf32>) -> tensor<1x5x5x6x3xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f], window = {pad = [[0, 1], [0, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x5x5x2xf32>, tensor<2x2x2x2x3xf32>) -> tensor<1x5x5x6x3xf32>
  return %y : tensor<1x5x5x6x3xf32>
}

// -----

// Two features in two dimensions: XLA's library is as fast.
// CHECK-LABEL: func.func @convolution_to_row_products_not_of_features(
// CHECK-NEXT: stablehlo.convolution
func.func @convolution_to_row_products_not_of_features(%x: tensor<1x5x6x2xf32>, %w: tensor<2x2x2x1xf32>) -> tensor<1x4x5x1xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x6x2xf32>, tensor<2x2x2x1xf32>) -> tensor<1x4x5x1xf32>
  return %y : tensor<1x4x5x1xf32>
}

// 17 features of the result in three dimensions: the products would take too much memory.
// CHECK-LABEL: func.func @convolution_to_row_products_not_of_many_outputs(
// CHECK-NEXT: stablehlo.convolution
func.func @convolution_to_row_products_not_of_many_outputs(%x: tensor<1x5x5x5x1xf32>, %w: tensor<2x2x2x1x17xf32>) -> tensor<1x4x4x4x17xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x5x5x1xf32>, tensor<2x2x2x1x17xf32>) -> tensor<1x4x4x4x17xf32>
  return %y : tensor<1x4x4x4x17xf32>
}

// 129 rows: too many products.
// CHECK-LABEL: func.func @convolution_to_row_products_not_of_many_rows(
// CHECK-NEXT: stablehlo.convolution
func.func @convolution_to_row_products_not_of_many_rows(%x: tensor<1x130x3x1xf32>, %w: tensor<129x2x1x1xf32>) -> tensor<1x2x2x1xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x130x3x1xf32>, tensor<129x2x1x1xf32>) -> tensor<1x2x2x1xf32>
  return %y : tensor<1x2x2x1xf32>
}

// XLA adds integers in another kernel.
// CHECK-LABEL: func.func @convolution_to_row_products_not_of_integers(
// CHECK-NEXT: stablehlo.convolution
func.func @convolution_to_row_products_not_of_integers(%x: tensor<1x5x6x1xi32>, %w: tensor<2x2x1x1xi32>) -> tensor<1x4x5x1xi32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x6x1xi32>, tensor<2x2x1x1xi32>) -> tensor<1x4x5x1xi32>
  return %y : tensor<1x4x5x1xi32>
}
